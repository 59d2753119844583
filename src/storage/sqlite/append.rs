//! Writes a commit.

use rusqlite::{Connection, params};

use super::{
    json::to_json,
    lifecycle,
    owners::Owners,
    rows::{self, Found, find, signed, unsigned},
    sql,
};
use crate::{
    core::{
        change::{Change, Commit, InteractionRow, JournalEntry, PartRow},
        engine::Receipt,
    },
    storage::{Authority, OwnerId, SessionKey, StoreError, shown},
};

pub(super) fn append(
    db: &Connection,
    owners: &Owners,
    key: &SessionKey,
    by: &OwnerId,
    authority: Authority,
    commit: &Commit,
) -> Result<Receipt, StoreError> {
    let found = find(db, key)?;
    let fence = found.ownership.fence;
    match authority {
        Authority::Owner { fence: shown } if shown != fence => return Err(StoreError::LeaseLost),
        Authority::Taking { seen } if seen != fence => return Err(StoreError::Conflict),
        _ if found.commits != commit.expected_commits => return Err(StoreError::Conflict),
        _ => {}
    }
    let fence = lifecycle::own(db, owners, &found, by, authority, commit.unfinished)?;
    if commit.journal.is_empty() {
        lifecycle::note(db, Some(found.id))?;
    }
    let revision = commit.journal.last().map_or(found.revision, |entry| entry.revision);
    let target = Target { db, key, found, revision };
    // The commit's Session row, where it has one, says the same and more.
    target.count(commit)?;
    for change in &commit.changes {
        target.put(change)?;
    }
    for entry in &commit.journal {
        target.publish(entry)?;
    }
    let receipt = Receipt::new(&commit.commit_id, fence);
    // The journal was written last, and nobody else writes meanwhile.
    let place = unsigned(db.last_insert_rowid());
    Ok(if commit.journal.is_empty() { receipt } else { receipt.published_at(place) })
}

struct Target<'a> {
    db: &'a Connection,
    key: &'a SessionKey,
    found: Found,
    /// The Session's revision after the commit.
    revision: u64,
}

impl Target<'_> {
    fn count(&self, commit: &Commit) -> Result<(), StoreError> {
        if commit.changes.iter().any(|change| matches!(change, Change::Session(_))) {
            return Ok(());
        }
        let commits = signed(commit.expected_commits + 1);
        let values = params![self.found.id, commits, commit.commit_id, signed(self.revision)];
        self.db.prepare_cached(sql::COUNT_COMMIT)?.execute(values)?;
        Ok(())
    }

    fn put(&self, change: &Change) -> Result<(), StoreError> {
        let session = self.found.id;
        let run = |sql, values: &[&dyn rusqlite::ToSql]| -> Result<(), StoreError> {
            self.db.prepare_cached(sql)?.execute(values)?;
            Ok(())
        };
        match change {
            Change::Session(row) => rows::put_session(self.db, session, row),
            Change::Turn(row) => run(sql::PUT_TURN, params![session, row.turn_id, to_json(row)?]),
            Change::Message(row) => rows::put_message(self.db, session, row),
            Change::Part(row) => self.put_part(row),
            Change::Interaction(row) => self.put_interaction(row),
            Change::Enqueue(row) => {
                run(sql::ENQUEUE, params![session, row.queue_id, signed(row.position), to_json(&row.input)?])
            }
            Change::Dequeue { queue_id } => run(sql::DEQUEUE, params![session, queue_id]),
            Change::ReplayRecord(row) => run(
                sql::PUT_REPLAY_RECORD,
                params![session, row.tool_call_id, signed(row.position), to_json(row)?],
            ),
        }
    }

    /// The row stands as it is after the commit, so the fragments of this very commit are in it.
    fn put_part(&self, row: &PartRow) -> Result<(), StoreError> {
        self.db.prepare_cached(sql::PUT_PART)?.execute(params![
            self.found.id,
            row.part.part_id,
            row.message_id,
            signed(row.part.sequence),
            row.part.step_id,
            shown::is_open(&row.part),
            signed(self.revision),
            to_json(row)?,
        ])?;
        Ok(())
    }

    fn put_interaction(&self, row: &InteractionRow) -> Result<(), StoreError> {
        let interaction = &row.interaction;
        self.db.prepare_cached(sql::PUT_INTERACTION)?.execute(params![
            self.found.id,
            &*self.key.agent_id,
            interaction.interaction_id,
            row.part_id,
            row.message_id,
            interaction.is_pending(),
            interaction.created_at,
            to_json(interaction)?,
        ])?;
        Ok(())
    }

    fn publish(&self, entry: &JournalEntry) -> Result<(), StoreError> {
        let delta = entry.delta.as_ref();
        self.db.prepare_cached(sql::PUBLISH)?.execute(params![
            self.found.id,
            signed(entry.revision),
            &*entry.body,
            delta.map(|delta| delta.part_id.as_str()),
            delta.map(|delta| &*delta.text),
        ])?;
        Ok(())
    }
}
