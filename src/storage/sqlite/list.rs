//! Reads over all Sessions of an agent: range scans from where the page before ended.

use rusqlite::{Connection, Row, Rows, params};

use super::{
    json::from_json,
    read::{collect, text},
    rows::{self, signed, unsigned},
    sql,
};
use crate::storage::{
    FeedPage, ListPage, PendingItem, PendingList, SessionList, SessionSummary, StoreError,
    cursor::{self, Listed, Pending},
};

pub(super) fn list(db: &Connection, agent_id: &str, page: &ListPage) -> Result<SessionList, StoreError> {
    let after = page.after.as_deref().map(Listed::decode).transpose()?;
    let (ties, rest) =
        if page.archived { (sql::ARCHIVED_TIES, sql::ARCHIVED) } else { (sql::LISTED_TIES, sql::LISTED) };
    let wanted = i64::from(page.limit) + 1;
    let mut found = Vec::new();
    if let Some(last) = &after {
        let mut statement = db.prepare_cached(ties)?;
        found = ids(statement.query(params![agent_id, last.updated_at, last.session_id, wanted])?)?;
    }
    let before = after.map_or(i64::MAX, |last| last.updated_at);
    let missing = wanted - found.len() as i64;
    let mut statement = db.prepare_cached(rest)?;
    found.extend(ids(statement.query(params![agent_id, before, missing])?)?);
    let items = found.into_iter().map(|id| summary(db, id)).collect::<Result<Vec<_>, _>>()?;
    let (items, next) = cursor::page(items, page.limit, |last: &SessionSummary| {
        Listed::encode(last.session.updated_at, &last.session.session_id)
    });
    Ok(SessionList { items, next })
}

fn ids(rows: Rows<'_>) -> Result<Vec<i64>, StoreError> {
    collect(rows, |row| Ok(row.get(0)?))
}

fn summary(db: &Connection, session: i64) -> Result<SessionSummary, StoreError> {
    let pending = db.prepare_cached(sql::PENDING_COUNT)?.query_row([session], |row| row.get(0))?;
    Ok(SessionSummary { session: rows::session(db, session)?, pending: unsigned(pending) })
}

pub(super) fn pending_of_agent(
    db: &Connection,
    agent_id: &str,
    limit: u32,
    after: Option<&str>,
) -> Result<PendingList, StoreError> {
    let after = after.map(Pending::decode).transpose()?;
    let wanted = i64::from(limit) + 1;
    let mut found = Vec::new();
    if let Some(last) = after {
        let mut ties = db.prepare_cached(sql::PENDING_OF_AGENT_TIES)?;
        let values = params![agent_id, last.created_at, signed(last.asked), wanted];
        found = collect(ties.query(values)?, pending_item)?;
    }
    // Nothing was asked before all time.
    let since = after.map_or(i64::MIN, |last| last.created_at);
    let missing = wanted - found.len() as i64;
    let mut rest = db.prepare_cached(sql::PENDING_OF_AGENT)?;
    found.extend(collect(rest.query(params![agent_id, since, missing])?, pending_item)?);
    let (items, next) = cursor::page(found, limit, |(age, _)| age.encode());
    Ok(PendingList { items: items.into_iter().map(|(_, item)| item).collect(), next })
}

/// Without a place, where the feed ends; runs on the writer then, behind what was appended before.
pub(super) fn feed(
    db: &Connection,
    agent_id: &str,
    after: Option<u64>,
    limit: u32,
) -> Result<FeedPage, StoreError> {
    let Some(after) = after else {
        let end = db.prepare_cached(sql::FEED_END)?.query_row([], |row| row.get(0))?;
        return Ok(FeedPage { bodies: Vec::new(), place: unsigned(end) });
    };
    let mut statement = db.prepare_cached(sql::FEED)?;
    let mut rows = statement.query(params![agent_id, signed(after), limit])?;
    let mut page = FeedPage { bodies: Vec::new(), place: after };
    while let Some(row) = rows.next()? {
        page.place = unsigned(row.get(0)?);
        page.bodies.push(text(row, 1)?.into());
    }
    Ok(page)
}

fn pending_item(row: &Row<'_>) -> Result<(Pending, PendingItem), StoreError> {
    let age = Pending { created_at: row.get(0)?, asked: unsigned(row.get(1)?) };
    Ok((age, PendingItem { session_id: row.get(2)?, interaction: from_json(text(row, 3)?)? }))
}
