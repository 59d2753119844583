//! The reader's loop: one read transaction for each request.

use std::sync::Arc;

use super::{
    Database, connect::Connected, error::keeps_connection, locked, migrations, request::Request,
    worker::Inbox,
};
use crate::storage::StoreError;

pub(super) fn serve(database: &Arc<Database>, inbox: &Inbox) {
    while let Ok(mut request) = inbox.recv() {
        let mut connection = locked(&database.reading);
        let outcome = read(database, &mut connection, &mut *request);
        if let Err(error) = &outcome
            && !keeps_connection(error)
            && let Some(connected) = connection.take()
        {
            database.let_go(connected, error);
        }
        drop(connection);
        request.answer(outcome);
    }
    *locked(&database.reading) = None;
}

fn read(
    database: &Database,
    connection: &mut Option<Connected>,
    request: &mut dyn Request,
) -> Result<(), StoreError> {
    if connection.is_none() {
        let opened = database.connect_reader()?;
        opened.connection.pragma_update(None, "query_only", true)?;
        *connection = Some(opened);
    }
    let Some(connected) = connection else { unreachable!("it was opened above") };
    // Ends without a trace when dropped.
    let transaction = connected.connection.unchecked_transaction()?;
    migrations::expect_current(&transaction)?;
    let outcome = request.run(&transaction);
    connected.expect_files(&database.path).and(outcome)
}
