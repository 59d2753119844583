//! No statement walks a table: what a call costs depends on what it gives, not on what is stored.

use rusqlite::{Connection, StatementStatus};

use super::{create, store_at, write};
use crate::{
    core::change::Durability,
    storage::{StoreError, sqlite::sql},
};

#[test]
fn every_statement_is_a_search() {
    for (name, step) in plans_of(sql::ALL) {
        // The table of one row that holds the last fence, others of a few rows, and no table at all.
        let short = ["SCAN store", "SCAN sqlite_sequence", "SCAN owners", "SCAN queue", "SCAN CONSTANT ROW"];
        let scans = step.starts_with("SCAN") && !short.iter().any(|table| step.starts_with(table));
        let sorts = step.contains("TEMP B-TREE");
        assert!(!scans && !sorts, "{name}: {step}");
    }
}

/// In the order of its index, a page of an agent's inbox ends where its limit does.
#[test]
fn an_agents_inbox_is_read_in_the_order_of_its_index() {
    for sql in [sql::PENDING_OF_AGENT, sql::PENDING_OF_AGENT_TIES] {
        let plans = plans_of(&[("inbox", sql)]);
        let [(_, first), (_, second)] = &plans[..] else { panic!("{plans:?}") };
        let expected =
            "SEARCH interactions USING INDEX interactions_pending_of_agent (agent_id=? AND created_at";
        assert!(first.starts_with(expected), "{first}");
        assert_eq!(second, "SEARCH sessions USING INTEGER PRIMARY KEY (rowid=?)");
    }
}

/// What SQLite would do for each, step by step, with the statement's name.
fn plans_of(statements: &[(&'static str, &'static str)]) -> Vec<(&'static str, String)> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = store_at(&folder.path().join("s.db"));
    create(&store, "s").expect("the file is new");
    let statements = statements.to_vec();
    let plans = write(&store, Durability::Process, move |db| {
        let mut plans = Vec::new();
        for (name, sql) in statements {
            let mut statement = db.prepare(&format!("EXPLAIN QUERY PLAN {sql}"))?;
            let count = statement.parameter_count();
            let nothing = vec![rusqlite::types::Null; count];
            let mut rows = statement.query(rusqlite::params_from_iter(nothing))?;
            while let Some(row) = rows.next()? {
                plans.push((name, row.get::<_, String>(3)?));
            }
        }
        Ok(plans)
    });
    plans.expect("every statement is valid")
}

/// Counted in steps of SQLite's virtual machine, which no clock and no other program changes.
#[test]
fn a_page_of_an_agents_inbox_costs_the_same_with_a_hundred_thousand_sessions() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = store_at(&folder.path().join("s.db"));
    create(&store, "s").expect("the file is new");
    let few = write(&store, Durability::Process, |db| {
        pending_sessions(db, 1, 100)?;
        steps_of_pages(db, 50)
    });
    let many = write(&store, Durability::Process, |db| {
        pending_sessions(db, 101, 100_000)?;
        steps_of_pages(db, 50_000)
    });
    let (few, many) = (few.expect("they are read"), many.expect("they are read"));
    assert_eq!(few, many);
    assert!(few.iter().all(|steps| (50..2000).contains(steps)), "{few:?}");
}

/// Sessions `from` to `to`, each with one Interaction that waits.
fn pending_sessions(db: &Connection, from: i64, to: i64) -> Result<(), StoreError> {
    let numbers = "WITH RECURSIVE n (i) AS (SELECT ?1 UNION ALL SELECT i + 1 FROM n WHERE i < ?2)";
    let sessions = "INSERT INTO sessions (agent_id, session_id, approval_mode, effective_approval_mode,
        revision, commits, last_commit_id, last_guest_commit_id, message_count, created_at, updated_at, fence)
        SELECT 'inbox', 'session' || i, 'ask', 'ask', 1, 1, '', '', 1, i, i, i FROM n";
    let interactions = "INSERT INTO interactions (session, agent_id, interaction_id, part_id, message_id,
        pending, created_at, body) SELECT sessions.id, 'inbox', 'i', 'p', 'm', 1, i, '{}'
        FROM n CROSS JOIN sessions ON sessions.agent_id = 'inbox' AND sessions.session_id = 'session' || i";
    for insert in [sessions, interactions] {
        db.execute(&format!("{numbers} {insert}"), [from, to])?;
    }
    Ok(())
}

/// What the first page costs, and one that begins at `middle`.
fn steps_of_pages(db: &Connection, middle: i64) -> Result<[i32; 2], StoreError> {
    let mut steps = [0; 2];
    for (since, taken) in [0, middle].into_iter().zip(&mut steps) {
        let mut statement = db.prepare(sql::PENDING_OF_AGENT)?;
        let mut rows = statement.query(rusqlite::params!["inbox", since, 50])?;
        let mut count = 0;
        while rows.next()?.is_some() {
            count += 1;
        }
        assert_eq!(count, 50);
        drop(rows);
        *taken = statement.get_status(StatementStatus::VmStep);
    }
    Ok(steps)
}
