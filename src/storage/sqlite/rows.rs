//! Rows to columns and back.

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::{
    json::{from_json, to_json},
    sql,
};
use crate::{
    core::{
        change::{ApprovalMode, MessageRow, SessionRow},
        message::Role,
    },
    storage::{OwnerId, Ownership, SessionKey, StoreError},
};

/// What a call has to know of a Session before it does anything.
pub(super) struct Found {
    pub id: i64,
    pub ownership: Ownership,
    pub commits: u64,
    pub revision: u64,
    pub active_turn_id: Option<String>,
    pub archived: bool,
}

pub(super) fn find(db: &Connection, key: &SessionKey) -> Result<Found, StoreError> {
    let mut statement = db.prepare_cached(sql::FIND_SESSION)?;
    let found = statement.query_row(params![&*key.agent_id, &*key.session_id], |row| {
        Ok(Found {
            id: row.get(0)?,
            ownership: Ownership {
                fence: unsigned(row.get(1)?),
                owner: row.get::<_, Option<String>>(6)?.map(OwnerId::from),
            },
            commits: unsigned(row.get(2)?),
            revision: unsigned(row.get(3)?),
            active_turn_id: row.get(4)?,
            archived: row.get::<_, Option<i64>>(5)?.is_some(),
        })
    });
    found.optional()?.ok_or(StoreError::NotFound)
}

pub(super) fn session(db: &Connection, session: i64) -> Result<SessionRow, StoreError> {
    let mut statement = db.prepare_cached(sql::SESSION)?;
    let mut rows = statement.query([session])?;
    let row = rows.next()?.ok_or(StoreError::NotFound)?;
    let metadata: Option<String> = row.get(1)?;
    // Where one of the two cannot be read, the other is not to be trusted either.
    let modes = approval_mode(row, 2)?.zip(approval_mode(row, 3)?);
    let (approval_mode, effective_approval_mode) = modes.unwrap_or((ApprovalMode::Ask, ApprovalMode::Ask));
    Ok(SessionRow {
        session_id: row.get(0)?,
        metadata: metadata.as_deref().map(from_json).transpose()?,
        approval_mode,
        effective_approval_mode,
        unknown_mode: modes.is_none(),
        revision: unsigned(row.get(4)?),
        commits: unsigned(row.get(5)?),
        last_commit_id: row.get(6)?,
        message_count: unsigned(row.get(7)?),
        active_turn_id: row.get(8)?,
        created_at: row.get(9)?,
        updated_at: row.get(10)?,
        last_guest_commit_id: row.get(11)?,
    })
}

/// Whether the row is new: an existing one is left as it is.
pub(super) fn create_session(
    db: &Connection,
    key: &SessionKey,
    row: &SessionRow,
    fence: u64,
) -> Result<bool, StoreError> {
    let added = db.prepare_cached(sql::CREATE_SESSION)?.execute(params![
        &*key.agent_id,
        &*key.session_id,
        row.metadata.as_ref().map(to_json).transpose()?,
        row.approval_mode.as_str(),
        row.effective_approval_mode.as_str(),
        signed(row.revision),
        signed(row.commits),
        row.last_commit_id,
        signed(row.message_count),
        row.active_turn_id,
        row.created_at,
        row.updated_at,
        row.last_guest_commit_id,
        signed(fence),
    ])?;
    Ok(added > 0)
}

pub(super) fn put_session(db: &Connection, session: i64, row: &SessionRow) -> Result<(), StoreError> {
    db.prepare_cached(sql::PUT_SESSION)?.execute(params![
        session,
        row.metadata.as_ref().map(to_json).transpose()?,
        row.approval_mode.as_str(),
        row.effective_approval_mode.as_str(),
        signed(row.revision),
        signed(row.commits),
        row.last_commit_id,
        signed(row.message_count),
        row.active_turn_id,
        row.created_at,
        row.updated_at,
        row.last_guest_commit_id,
    ])?;
    Ok(())
}

pub(super) fn put_message(db: &Connection, session: i64, row: &MessageRow) -> Result<(), StoreError> {
    db.prepare_cached(sql::PUT_MESSAGE)?.execute(params![
        session,
        row.message_id,
        row.turn_id,
        match row.role {
            Role::User => "user",
            Role::Assistant => "assistant",
        },
        signed(row.sequence),
        signed(row.revision),
        signed(row.part_count),
        row.created_at,
        row.updated_at,
    ])?;
    Ok(())
}

/// A row of `MESSAGE` or `MESSAGES`.
pub(super) fn message(row: &Row<'_>) -> Result<MessageRow, StoreError> {
    Ok(MessageRow {
        message_id: row.get(0)?,
        turn_id: row.get(1)?,
        role: match row.get_ref(2)?.as_str().map_err(rusqlite::Error::from)? {
            "user" => Role::User,
            "assistant" => Role::Assistant,
            other => return Err(StoreError::Corrupt(format!("a Message has the role {other:?}"))),
        },
        sequence: unsigned(row.get(3)?),
        revision: unsigned(row.get(4)?),
        part_count: unsigned(row.get(5)?),
        created_at: row.get(6)?,
        updated_at: row.get(7)?,
    })
}

/// `None` for whatever else stands there, by another program's hand: it means the strictest mode.
fn approval_mode(row: &Row<'_>, column: usize) -> Result<Option<ApprovalMode>, StoreError> {
    Ok(match row.get_ref(column)?.as_bytes() {
        Ok(b"always-allow") => Some(ApprovalMode::AlwaysAllow),
        Ok(b"ask") => Some(ApprovalMode::Ask),
        _ => None,
    })
}

/// SQLite has no unsigned integers. Counters never come near the limit; page bounds may, and mean "all".
pub(super) fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

pub(super) fn unsigned(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}
