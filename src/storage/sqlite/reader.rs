//! The reader's loop: one read transaction for each request.

use std::sync::Arc;

use rusqlite::Connection;

use super::{Database, error::keeps_connection, migrations, request::Request, worker::Inbox};
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
    connection: &mut Option<Connection>,
    request: &mut dyn Request,
) -> Result<(), StoreError> {
    if connection.is_none() {
        let opened = database.connect()?;
        opened.pragma_update(None, "query_only", true)?;
        *connection = Some(opened);
    }
    let Some(connection) = connection else { unreachable!("it was opened above") };
    // Ends without a trace when dropped.
    let transaction = connection.unchecked_transaction()?;
    migrations::expect_current(&transaction)?;
    request.run(&transaction)
}
