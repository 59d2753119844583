//! No statement walks a table: what a call costs depends on what it gives, not on what is stored.

use super::{create, store_at, write};
use crate::{core::change::Durability, storage::sqlite::sql};

#[test]
fn every_statement_is_a_search() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = store_at(&folder.path().join("s.db"));
    create(&store, "s").expect("the file is new");
    let plans = write(&store, Durability::Process, |db| {
        let mut plans = Vec::new();
        for (name, sql) in sql::ALL {
            let mut statement = db.prepare(&format!("EXPLAIN QUERY PLAN {sql}"))?;
            let count = statement.parameter_count();
            let nothing = vec![rusqlite::types::Null; count];
            let mut rows = statement.query(rusqlite::params_from_iter(nothing))?;
            while let Some(row) = rows.next()? {
                plans.push((*name, row.get::<_, String>(3)?));
            }
        }
        Ok(plans)
    });
    for (name, step) in plans.expect("every statement is valid") {
        // The table of one row that holds the last fence, and no table at all.
        let scans = step.starts_with("SCAN") && !["SCAN store", "SCAN CONSTANT ROW"].contains(&step.as_str());
        let sorts = step.contains("TEMP B-TREE");
        assert!(!scans && !sorts, "{name}: {step}");
    }
}
