//! No statement walks a table: what a call costs depends on what it gives, not on what is stored.

use super::{create, store_at, write};
use crate::{core::change::Durability, storage::sqlite::sql};

#[test]
fn every_statement_is_a_search() {
    for (name, step) in plans_of(sql::ALL) {
        // The table of one row that holds the last fence, and no table at all.
        let scans = step.starts_with("SCAN") && !["SCAN store", "SCAN CONSTANT ROW"].contains(&step.as_str());
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
