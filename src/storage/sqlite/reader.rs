//! The reader's loop: one read transaction for each request.

use std::sync::Arc;

use super::{
    Database, connect::Connected, error::keeps_connection, migrations, request::Request, worker::Inbox,
};
use crate::storage::StoreError;

pub(super) fn serve(database: &Arc<Database>, inbox: &Inbox) {
    let mut connection = None;
    while let Ok(mut request) = inbox.recv() {
        let outcome = read(database, &mut connection, &mut *request);
        if outcome.as_ref().is_err_and(|error| !keeps_connection(error)) {
            connection = None;
        }
        request.answer(outcome);
    }
}

fn read(
    database: &Database,
    connection: &mut Option<Connected>,
    request: &mut dyn Request,
) -> Result<(), StoreError> {
    if connection.is_none() {
        let opened = database.connect()?;
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
