//! Sessions come, are opened, put away and go. Runs on the writer, so each sees what was committed before it.

use std::time::{SystemTime, UNIX_EPOCH};

use rusqlite::{Connection, OptionalExtension, params};

use super::{
    json::from_json,
    owners::Owners,
    read,
    rows::{self, Found, find, signed, unsigned},
    sql,
};
use crate::{
    core::{
        change::{MessageRow, OpenRows, PartRow, QueueRow, SessionRow, TurnRow},
        message::PartBody,
    },
    storage::{Authority, CaughtUp, Opened, OwnerId, Ownership, SessionKey, StoreError, UnfinishedSession},
};

/// How many notes are kept: others look for them every few milliseconds.
pub(super) const KEPT_NOTES: i64 = 10_000;

pub(super) fn create(db: &Connection, key: &SessionKey, row: &SessionRow) -> Result<u64, StoreError> {
    let fence = next_fence(db)?;
    if rows::create_session(db, key, row, fence)? { Ok(fence) } else { Err(StoreError::Exists) }
}

pub(super) fn open(db: &Connection, key: &SessionKey) -> Result<Opened, StoreError> {
    let found = find(db, key)?;
    let rows = open_rows(db, &found)?;
    Ok(Opened { rows, ownership: found.ownership })
}

pub(super) fn catch_up(db: &Connection, key: &SessionKey, after: u64) -> Result<CaughtUp, StoreError> {
    let opened = open(db, key)?;
    let journal = read::journal(db, key, after, u32::MAX)?.into_iter().map(|(_, body)| body).collect();
    Ok(CaughtUp { opened, journal })
}

fn next_fence(db: &Connection) -> Result<u64, StoreError> {
    Ok(unsigned(db.prepare_cached(sql::NEXT_FENCE)?.query_row([], |row| row.get(0))?))
}

/// Writes whose the Session is after a commit, and gives its fencing number.
pub(super) fn own(
    db: &Connection,
    owners: &Owners,
    found: &Found,
    by: &OwnerId,
    authority: Authority,
    unfinished: bool,
) -> Result<u64, StoreError> {
    let fence = match authority {
        Authority::Guest if unfinished => return Ok(found.ownership.fence),
        Authority::Guest => found.ownership.fence,
        Authority::Owner { fence } => fence,
        Authority::Taking { .. } => next_fence(db)?,
    };
    // Nobody owns what is finished, whoever has finished it.
    let now = Ownership { fence, owner: unfinished.then(|| by.clone()) };
    if now == found.ownership {
        return Ok(fence);
    }
    if now.owner.is_some() {
        owners.show_life(db, by)?;
    }
    db.prepare_cached(sql::SET_OWNER)?.execute(params![found.id, signed(fence), now.owner.as_deref()])?;
    if let Some(former) = found.ownership.owner.as_ref().filter(|former| *former != by) {
        owners.clear_away(db, former)?;
    }
    Ok(fence)
}

pub(super) fn release(db: &Connection, key: &SessionKey, by: &OwnerId) -> Result<(), StoreError> {
    let found = find(db, key)?;
    db.prepare_cached(sql::RELEASE)?.execute(params![found.id, &**by])?;
    note(db, Some(found.id))
}

/// Gives up all that an owner has.
pub(super) fn leave(db: &Connection, owner: &OwnerId) -> Result<Vec<SessionKey>, StoreError> {
    let mut given_up = Vec::new();
    let mut statement = db.prepare_cached(sql::RELEASE_ALL)?;
    let mut rows = statement.query([&**owner])?;
    while let Some(row) = rows.next()? {
        let key = SessionKey {
            agent_id: row.get::<_, String>(1)?.into(),
            session_id: row.get::<_, String>(2)?.into(),
        };
        given_up.push((row.get(0)?, key));
    }
    for (session, _) in &given_up {
        note(db, Some(*session))?;
    }
    db.prepare_cached(sql::DISCHARGE)?.execute([&**owner])?;
    Ok(given_up.into_iter().map(|(_, key)| key).collect())
}

/// Lets other processes notice what the journal does not show.
pub(super) fn note(db: &Connection, session: Option<i64>) -> Result<(), StoreError> {
    db.prepare_cached(sql::NOTE)?.execute([session])?;
    db.prepare_cached(sql::FORGET_NOTES)?.execute([db.last_insert_rowid() - KEPT_NOTES])?;
    Ok(())
}

pub(super) fn unfinished(db: &Connection, agent_id: &str) -> Result<Vec<UnfinishedSession>, StoreError> {
    let mut found = Vec::new();
    for sql in [sql::UNFINISHED, sql::QUEUED] {
        let mut statement = db.prepare_cached(sql)?;
        found.extend(read::collect(statement.query([agent_id])?, |row| {
            Ok(UnfinishedSession {
                session_id: row.get::<_, String>(0)?.into(),
                owner: row.get::<_, Option<String>>(1)?.map(OwnerId::from),
            })
        })?);
    }
    found.sort_unstable_by(|a, b| a.session_id.cmp(&b.session_id));
    found.dedup();
    Ok(found)
}

pub(super) fn archive(db: &Connection, key: &SessionKey) -> Result<(), StoreError> {
    let found = find(db, key)?;
    if found.active_turn_id.is_some() && !found.archived {
        return Err(StoreError::Running);
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    let now = i64::try_from(now).unwrap_or(i64::MAX);
    db.prepare_cached(sql::ARCHIVE)?.execute([found.id, now])?;
    Ok(())
}

pub(super) fn remove(db: &Connection, key: &SessionKey) -> Result<(), StoreError> {
    let found = find(db, key)?;
    if found.active_turn_id.is_some() {
        return Err(StoreError::Running);
    }
    db.prepare_cached(sql::REMOVE)?.execute([found.id])?;
    note(db, None)
}

fn open_rows(db: &Connection, found: &Found) -> Result<OpenRows, StoreError> {
    let session = rows::session(db, found.id)?;
    let mut open = OpenRows { queue: queue(db, found.id)?, ..OpenRows::of(session) };
    let Some(turn) = turn(db, found)? else { return Ok(open) };
    let (messages, parts) = open_parts(db, found.id, &turn)?;
    let mut interactions = Vec::new();
    for row in &parts {
        interactions.extend(read::interactions_of_part(db, found.id, &row.part.part_id)?);
        if let PartBody::Tool(tool) = &row.part.body {
            let mut statement = db.prepare_cached(sql::REPLAY_RECORDS)?;
            let mut records = statement.query(params![found.id, tool.tool_call_id])?;
            while let Some(record) = records.next()? {
                open.replay_records.push(from_json(read::text(record, 0)?)?);
            }
        }
    }
    // Gathered by Part; the order of asking is the order of all of them.
    interactions.sort_by_key(|(asked, _)| *asked);
    let interactions = interactions.into_iter().map(|(_, row)| row).collect();
    Ok(OpenRows { turn: Some(turn), messages, parts, interactions, ..open })
}

fn queue(db: &Connection, session: i64) -> Result<Vec<QueueRow>, StoreError> {
    let mut statement = db.prepare_cached(sql::QUEUE)?;
    let mut rows = statement.query([session])?;
    let mut queue = Vec::new();
    while let Some(row) = rows.next()? {
        queue.push(QueueRow {
            queue_id: row.get(0)?,
            position: unsigned(row.get(1)?),
            input: from_json(read::text(row, 2)?)?,
        });
    }
    queue.sort_by_key(|row| row.position);
    Ok(queue)
}

fn turn(db: &Connection, found: &Found) -> Result<Option<TurnRow>, StoreError> {
    let Some(turn_id) = &found.active_turn_id else { return Ok(None) };
    let mut statement = db.prepare_cached(sql::TURN)?;
    let body: Option<String> =
        statement.query_row(params![found.id, turn_id], |row| row.get(0)).optional()?;
    body.as_deref().map(from_json).transpose()
}

/// The Messages and Parts of a Turn that are needed to go on with it, in order.
fn open_parts(
    db: &Connection,
    session: i64,
    turn: &TurnRow,
) -> Result<(Vec<MessageRow>, Vec<PartRow>), StoreError> {
    let mut messages: Vec<MessageRow> = Vec::new();
    let mut see = |message_id: &str| -> Result<(), StoreError> {
        if messages.iter().all(|row| row.message_id != message_id) {
            messages.extend(message(db, session, message_id)?);
        }
        Ok(())
    };
    if let Some(message_id) = &turn.message_id {
        see(message_id)?;
    }
    let mut parts = Vec::new();
    let mut statement = db.prepare_cached(sql::OPEN_PARTS)?;
    let step_id = turn.step.as_ref().map(|step| &step.step_id);
    let mut found = statement.query(params![session, step_id])?;
    while let Some(row) = found.next()? {
        let row = read::part(db, session, row)?;
        see(&row.message_id)?;
        parts.push(row);
    }
    messages.retain(|row| {
        row.turn_id.as_ref() == Some(&turn.turn_id) || Some(&row.message_id) == turn.message_id.as_ref()
    });
    messages.sort_by_key(|row| row.sequence);
    let place = |row: &PartRow| messages.iter().position(|message| message.message_id == row.message_id);
    parts.retain(|row| place(row).is_some());
    parts.sort_by_key(|row| (place(row), row.part.sequence));
    Ok((messages, parts))
}

fn message(db: &Connection, session: i64, message_id: &str) -> Result<Option<MessageRow>, StoreError> {
    let mut statement = db.prepare_cached(sql::MESSAGE)?;
    let mut rows = statement.query(params![session, message_id])?;
    rows.next()?.map(rows::message).transpose()
}
