//! Reads of one Session. None of them walks the history.

use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension, Row, Rows, params};

use super::{
    json::from_json,
    rows::{self, find, signed, unsigned},
    sql,
};
use crate::{
    core::{
        change::{InteractionRow, MessageRow, PartRow},
        interaction::Interaction,
        message::{Message, Part},
    },
    storage::{MessagePage, PAGE_BYTES, SessionKey, Snapshot, StoreError, shown},
};

pub(super) fn messages(
    db: &Connection,
    key: &SessionKey,
    page: MessagePage,
) -> Result<Vec<Message>, StoreError> {
    page_of(db, key, find(db, key)?.id, page)
}

pub(super) fn snapshot(db: &Connection, key: &SessionKey, limit: u32) -> Result<Snapshot, StoreError> {
    let session = find(db, key)?.id;
    Ok(Snapshot {
        session: rows::session(db, session)?,
        messages: page_of(db, key, session, MessagePage { before_sequence: None, limit })?,
        pending: pending_of(db, session)?,
    })
}

pub(super) fn pending(db: &Connection, key: &SessionKey) -> Result<Vec<Interaction>, StoreError> {
    pending_of(db, find(db, key)?.id)
}

pub(super) fn interaction(
    db: &Connection,
    key: &SessionKey,
    interaction_id: &str,
) -> Result<Option<Interaction>, StoreError> {
    let session = find(db, key)?.id;
    let mut statement = db.prepare_cached(sql::INTERACTION)?;
    let body: Option<String> =
        statement.query_row(params![session, interaction_id], |row| row.get(0)).optional()?;
    body.as_deref().map(from_json).transpose()
}

pub(super) fn journal(
    db: &Connection,
    key: &SessionKey,
    after: u64,
    limit: u32,
) -> Result<Vec<(u64, Arc<str>)>, StoreError> {
    let session = find(db, key)?.id;
    let mut statement = db.prepare_cached(sql::JOURNAL)?;
    collect(statement.query(params![session, signed(after), limit])?, |row| {
        Ok((unsigned(row.get(0)?), Arc::from(text(row, 1)?)))
    })
}

fn pending_of(db: &Connection, session: i64) -> Result<Vec<Interaction>, StoreError> {
    let mut statement = db.prepare_cached(sql::PENDING)?;
    collect(statement.query([session])?, |row| from_json(text(row, 0)?))
}

fn page_of(
    db: &Connection,
    key: &SessionKey,
    session: i64,
    page: MessagePage,
) -> Result<Vec<Message>, StoreError> {
    let before = page.before_sequence.map_or(i64::MAX, signed);
    let mut statement = db.prepare_cached(sql::MESSAGES)?;
    let rows = collect(statement.query(params![session, before, page.limit])?, rows::message)?;
    let mut bytes = 0;
    let mut messages = Vec::with_capacity(rows.len());
    for row in rows {
        messages.push(message(db, key, session, row, &mut bytes)?);
        if bytes > PAGE_BYTES {
            break;
        }
    }
    messages.reverse();
    Ok(messages)
}

/// A Message with its Parts; their size is added to `bytes`.
fn message(
    db: &Connection,
    key: &SessionKey,
    session: i64,
    row: MessageRow,
    bytes: &mut usize,
) -> Result<Message, StoreError> {
    let mut statement = db.prepare_cached(sql::PARTS_OF_MESSAGE)?;
    let parts = statement.query(params![session, row.message_id])?;
    let parts = collect(parts, |row| {
        *bytes += text(row, 1)?.len();
        shown_part(db, session, part(db, session, row)?.part)
    })?;
    Ok(shown::message(&key.session_id, row, parts))
}

fn shown_part(db: &Connection, session: i64, part: Part) -> Result<Part, StoreError> {
    if !shown::may_ask(&part.body) {
        return Ok(part);
    }
    let asked = interactions_of_part(db, session, &part.part_id)?;
    Ok(shown::with_interactions(part, asked.into_iter().map(|(_, row)| row.interaction).collect()))
}

/// A row of `PARTS_OF_MESSAGE` or `OPEN_PARTS`, with the fragments that were journaled since it was written.
pub(super) fn part(db: &Connection, session: i64, row: &Row<'_>) -> Result<PartRow, StoreError> {
    let written: i64 = row.get(0)?;
    let mut stored: PartRow = from_json(text(row, 1)?)?;
    if shown::is_streaming(&stored.part.body) {
        let mut statement = db.prepare_cached(sql::DELTAS)?;
        let mut deltas = statement.query(params![session, written, stored.part.part_id])?;
        while let Some(delta) = deltas.next()? {
            shown::append_fragment(&mut stored.part.body, text(delta, 0)?);
        }
    }
    Ok(stored)
}

/// The Interactions of a Part, oldest first, each with its place in the order of asking.
pub(super) fn interactions_of_part(
    db: &Connection,
    session: i64,
    part_id: &str,
) -> Result<Vec<(i64, InteractionRow)>, StoreError> {
    let mut statement = db.prepare_cached(sql::INTERACTIONS_OF_PART)?;
    collect(statement.query(params![session, part_id])?, |row| {
        let interaction = from_json(text(row, 3)?)?;
        Ok((row.get(0)?, InteractionRow { part_id: row.get(1)?, message_id: row.get(2)?, interaction }))
    })
}

pub(super) fn text<'a>(row: &'a Row<'_>, column: usize) -> Result<&'a str, StoreError> {
    Ok(row.get_ref(column)?.as_str().map_err(rusqlite::Error::from)?)
}

pub(super) fn collect<T>(
    mut rows: Rows<'_>,
    mut read: impl FnMut(&Row<'_>) -> Result<T, StoreError>,
) -> Result<Vec<T>, StoreError> {
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        all.push(read(row)?);
    }
    Ok(all)
}
