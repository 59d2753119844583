//! The file: ours is made and found again, anybody else's is left alone.

use std::{
    fs,
    path::Path,
    sync::{Arc, Barrier},
    thread,
};

use rusqlite::Connection;

use super::{create, store_at};
use crate::{
    core::change::Durability,
    storage::{
        ListPage, Store, StoreError,
        fixture::{AGENT, Hand, ask, key},
        sqlite::{SqliteOptions, SqliteStore, Synchronous, migrations},
    },
};

/// A read and a write are refused alike, and the file keeps every byte.
fn refused(path: &Path) -> StoreError {
    let before = fs::read(path).expect("the file is there");
    let store = store_at(path);
    let written = create(&store, "s").expect_err("a write is refused");
    let read = ask(|reply| store.pending(&key("s"), reply)).expect_err("a read is refused");
    assert_eq!(written, read);
    store.close();
    assert!(fs::read(path).expect("the file is there") == before, "the file was touched");
    written
}

fn database(path: &Path, sql: &str) {
    Connection::open(path).and_then(|db| db.execute_batch(sql)).expect("the test's own database");
}

#[test]
fn a_file_that_is_no_database_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("s.db");
    let magic = format!("SQLite format 3\0{}", "x".repeat(9_000));
    let texts = [1, 15, 100, 511, 512, 513, 4_095, 4_096, 20_000].map(|length| "x".repeat(length));
    for content in texts.into_iter().chain([magic]) {
        fs::write(&path, content).expect("it is written");
        assert!(matches!(refused(&path), StoreError::Corrupt(_)));
    }
}

#[test]
fn the_store_recovers_once_a_bad_file_is_gone() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("s.db");
    fs::write(&path, "not a database".repeat(1_000)).expect("it is written");
    let store = store_at(&path);
    assert!(matches!(create(&store, "s"), Err(StoreError::Corrupt(_))));
    assert!(ask(|reply| store.pending(&key("s"), reply)).is_err());
    fs::remove_file(&path).expect("it is removed");
    assert_eq!(create(&store, "s"), Ok(()));
    assert_eq!(ask(|reply| store.pending(&key("s"), reply)), Ok(Vec::new()));
}

#[test]
fn a_newer_schema_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("s.db");
    let application = migrations::APPLICATION_ID;
    database(
        &path,
        &format!(
            "PRAGMA journal_mode = wal; CREATE TABLE future (x); PRAGMA user_version = 99;
             PRAGMA application_id = {application}"
        ),
    );
    assert_eq!(refused(&path), StoreError::Version { found: 99, known: migrations::KNOWN });
}

#[test]
fn a_newer_schema_that_still_stands_in_the_log_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (path, crashed) = (folder.path().join("s.db"), folder.path().join("crashed.db"));
    let store = store_at(&path);
    create(&store, "s").expect("the file is new");
    store.close();
    let newer = Connection::open(&path).expect("the test's own connection");
    newer.execute_batch("CREATE TABLE future (x); PRAGMA user_version = 99").expect("it is migrated");
    // What a crash of the newer program would leave: its log was never written back.
    let log = |path: &Path| path.with_extension("db-wal");
    fs::copy(&path, &crashed).expect("it is copied");
    fs::copy(log(&path), log(&crashed)).expect("it is copied");
    let before = fs::read(log(&crashed)).expect("the log is there");
    assert_eq!(refused(&crashed), StoreError::Version { found: 99, known: migrations::KNOWN });
    assert!(fs::read(log(&crashed)).expect("the log is there") == before, "the log was touched");
}

#[test]
fn a_file_that_is_migrated_while_open_takes_no_more_commits() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("s.db");
    let store: Arc<dyn Store> = Arc::new(store_at(&path));
    let mut hand = Hand::create(&store, "s");
    database(&path, "PRAGMA user_version = 99");
    let newer = StoreError::Version { found: 99, known: migrations::KNOWN };
    assert_eq!(hand.try_commit(|c| c.message("m", 1)), Err(newer.clone()));
    assert_eq!(ask(|reply| store.pending(&hand.key, reply)), Err(newer));
}

#[test]
fn the_database_of_another_program_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (n, sql) in [
        "CREATE TABLE notes (text)",
        "PRAGMA journal_mode = wal; CREATE TABLE sessions (id)",
        "PRAGMA user_version = 1",
        "PRAGMA application_id = 7",
        "PRAGMA application_id = 7; PRAGMA user_version = 1; CREATE TABLE notes (text)",
    ]
    .iter()
    .enumerate()
    {
        let path = folder.path().join(format!("{n}.db"));
        database(&path, sql);
        let error = refused(&path);
        assert!(matches!(&error, StoreError::Corrupt(text) if text.contains("another program")), "{error:?}");
    }
}

#[test]
fn an_empty_file_becomes_a_store() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("s.db");
    fs::write(&path, "").expect("it is written");
    assert_eq!(create(&store_at(&path), "s"), Ok(()));
}

#[test]
fn a_path_that_cannot_be_a_file_is_out_of_reach_until_it_can() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let blocked = folder.path().join("blocked");
    fs::write(&blocked, "a file where a folder should be").expect("it is written");
    let store = store_at(&blocked.join("s.db"));
    assert!(matches!(create(&store, "s"), Err(StoreError::Unavailable(_))));
    fs::remove_file(&blocked).expect("it is removed");
    assert_eq!(create(&store, "s"), Ok(()));
    let occupied = store_at(folder.path());
    assert!(matches!(create(&occupied, "s"), Err(StoreError::Unavailable(_))));
}

#[test]
fn nothing_is_made_before_the_first_request() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("new/folder/s.db");
    let store = store_at(&path);
    assert!(!folder.path().join("new").exists());
    // A read makes the file as well.
    assert_eq!(ask(|reply| store.pending(&key("s"), reply)), Err(StoreError::NotFound));
    assert!(path.exists());
}

#[test]
fn many_stores_can_make_one_file_at_once() {
    const STORES: usize = 8;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("new/s.db");
    let start = Barrier::new(STORES);
    thread::scope(|scope| {
        for n in 0..STORES {
            let (path, start) = (&path, &start);
            scope.spawn(move || {
                let store = store_at(path);
                start.wait();
                assert_eq!(create(&store, &format!("s{n}")), Ok(()));
                assert_eq!(ask(|reply| store.pending(&key(&format!("s{n}")), reply)), Ok(Vec::new()));
            });
        }
    });
    let page = ListPage { limit: 100, after: None, archived: false };
    let list = ask(|reply| store_at(&path).list(AGENT, page, reply)).expect("a page");
    assert_eq!(list.items.len(), STORES);
}

#[test]
fn closing_lets_the_file_go_and_a_later_request_opens_it_again() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = store_at(&folder.path().join("s.db"));
    create(&store, "s").expect("the file is new");
    ask(|reply| store.pending(&key("s"), reply)).expect("it was created");
    store.close();
    // The last connection takes its log along.
    let left: Vec<_> =
        fs::read_dir(folder.path()).expect("it is there").flatten().map(|f| f.file_name()).collect();
    assert_eq!(left, ["s.db"]);
    assert_eq!(create(&store, "s"), Err(StoreError::Exists));
}

#[test]
fn a_path_has_one_shared_store_however_it_is_spelled() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let normal = SqliteOptions { synchronous: Synchronous::Normal, ..SqliteOptions::default() };
    let one = SqliteStore::shared(folder.path().join("new/s.db"), normal);
    let other = SqliteStore::shared(folder.path().join("./new//s.db"), normal);
    assert!(Arc::ptr_eq(&one, &other));
    assert_eq!(one.store().database.synchronous_for(Durability::Power), Synchronous::Normal);
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(folder.path(), folder.path().join("link")).expect("it is linked");
        let linked = SqliteStore::shared(folder.path().join("link/new/s.db"), SqliteOptions::default());
        assert!(Arc::ptr_eq(&one, &linked));
        assert_eq!(
            one.store().database.synchronous_for(Durability::Power),
            Synchronous::Full,
            "the stricter rule"
        );
    }
    assert!(!Arc::ptr_eq(&one, &SqliteStore::shared(folder.path().join("other.db"), normal)));
}

#[test]
fn a_shared_store_ends_with_its_last_holder() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("s.db");
    let former = SqliteStore::shared(&path, SqliteOptions::default());
    create(former.store(), "s").expect("the file is new");
    let weak = Arc::downgrade(&former);
    // Whatever is about to be dropped on some thread does not keep the file.
    let _still_held = former.store().clone();
    drop(former);
    assert!(weak.upgrade().is_none());
    assert!(!path.with_extension("db-wal").exists(), "it was let go");
    let next = SqliteStore::shared(&path, SqliteOptions::default());
    assert_eq!(create(next.store(), "s"), Err(StoreError::Exists));
}

/// With a Session, and with a connection of each of its threads.
fn store_in_use(path: &Path) -> SqliteStore {
    let store = store_at(path);
    create(&store, "s").expect("the file is new");
    ask(|reply| store.pending(&key("s"), reply)).expect("it was created");
    store
}

/// Its log and the log's index are removed from beside it.
fn remove_log(path: &Path) {
    for end in ["db-wal", "db-shm"] {
        fs::remove_file(path.with_extension(end)).expect("it is there while the file is open");
    }
}

#[test]
fn nothing_is_acknowledged_in_a_file_that_was_moved_away() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (path, aside) = (folder.path().join("s.db"), folder.path().join("aside.db"));
    let store = store_in_use(&path);
    fs::rename(&path, &aside).expect("it is moved");
    for session_id in ["t", "u"] {
        let written = create(&store, session_id).expect_err("a write is refused");
        let read = ask(|reply| store.pending(&key("s"), reply)).expect_err("a read is refused");
        assert_eq!(written, read);
        assert!(matches!(&read, StoreError::Unavailable(text) if text.contains("put it back")), "{read:?}");
    }
    assert!(!path.exists(), "an empty file in its place would hide that the Sessions are gone");
    fs::rename(&aside, &path).expect("it is moved back");
    assert_eq!(create(&store, "s"), Err(StoreError::Exists));
    assert_eq!(create(&store, "v"), Ok(()));
    assert_eq!(ask(|reply| store.pending(&key("v"), reply)), Ok(Vec::new()));
}

#[test]
fn nothing_is_acknowledged_in_a_file_that_was_replaced() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (path, other) = (folder.path().join("s.db"), folder.path().join("other.db"));
    let moved = store_at(&other);
    create(&moved, "moved").expect("the file is new");
    moved.close();
    let store = store_in_use(&path);
    remove_log(&path);
    fs::rename(&other, &path).expect("it is replaced");
    // Its new user's log must outlive those who stand on the old one.
    let elsewhere = store_at(&path);
    assert_eq!(create(&elsewhere, "in-the-log"), Ok(()));
    // The store may have noticed by itself already.
    let written = create(&store, "t");
    let found = ask(|reply| elsewhere.pending(&key("t"), reply)).is_ok();
    assert_eq!(written.is_ok(), found, "{written:?}");
    for session_id in ["moved", "in-the-log"] {
        assert_eq!(create(&store, session_id), Err(StoreError::Exists));
    }
    // The reader notices for itself.
    let read = || ask(|reply| store.pending(&key("moved"), reply));
    assert_eq!(read().or_else(|_| read()), Ok(Vec::new()));
}

/// Its log and the log's index are moved beside it, or back.
fn move_log(from: &Path, to: &Path) {
    for end in ["db-wal", "db-shm"] {
        fs::rename(from.with_extension(end), to.with_extension(end)).expect("it is moved");
    }
}

#[test]
fn a_file_without_its_log_is_not_gone_on_with_until_that_is_back() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (path, aside) = (folder.path().join("s.db"), folder.path().join("aside.db"));
    let store = store_in_use(&path);
    move_log(&path, &aside);
    // The first finds that the log has gone, the others a file that lacks what was acknowledged.
    for session_id in ["t", "u", "v"] {
        assert!(matches!(create(&store, session_id), Err(StoreError::Unavailable(_))));
        let read = ask(|reply| store.pending(&key("s"), reply));
        assert!(matches!(&read, Err(StoreError::Unavailable(_))), "{read:?}");
    }
    move_log(&aside, &path);
    let again = || ask(|reply| store.pending(&key("s"), reply));
    assert_eq!(again().or_else(|_| again()), Ok(Vec::new()));
    assert_eq!(create(&store, "s"), Err(StoreError::Exists));
    assert_eq!(create(&store, "t"), Ok(()));
    store.close();
    let found = store_at(&path);
    for session_id in ["s", "t"] {
        assert_eq!(create(&found, session_id), Err(StoreError::Exists));
    }
}

#[test]
fn a_log_that_was_removed_is_missed_until_its_process_lets_the_file_go() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("s.db");
    let store = store_in_use(&path);
    fs::remove_file(path.with_extension("db-wal")).expect("it is there while the file is open");
    for session_id in ["t", "u"] {
        assert!(matches!(create(&store, session_id), Err(StoreError::Unavailable(_))));
        assert!(matches!(ask(|reply| store.pending(&key("s"), reply)), Err(StoreError::Unavailable(_))));
    }
    store.close();
    assert_eq!(create(&store, "t"), Ok(()));
}

#[test]
fn an_index_that_was_removed_is_made_again_and_nothing_is_lost() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("s.db");
    let store = store_in_use(&path);
    fs::remove_file(path.with_extension("db-shm")).expect("it is there while the file is open");
    // With an index of its own it would not see what the store writes, and write over it.
    let elsewhere = store_at(&path);
    let again = |store: &SqliteStore, id| create(store, id).or_else(|_| create(store, id));
    assert_eq!(again(&store, "t"), Ok(()));
    assert_eq!(again(&elsewhere, "u"), Ok(()));
    for session_id in ["s", "t", "u"] {
        for store in [&store, &elsewhere] {
            assert_eq!(create(store, session_id), Err(StoreError::Exists));
        }
    }
}

#[test]
fn an_earlier_copy_is_not_taken_for_the_file_while_it_is_in_use() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (path, copy) = (folder.path().join("s.db"), folder.path().join("copy.db"));
    let store = store_at(&path);
    create(&store, "s").expect("the file is new");
    store.close();
    fs::copy(&path, &copy).expect("it is copied");
    create(&store, "t").expect("it is new");
    fs::rename(&copy, &path).expect("it is replaced");
    remove_log(&path);
    for _ in 0..2 {
        assert!(matches!(create(&store, "t"), Err(StoreError::Unavailable(_))));
    }
    store.close();
    assert_eq!(create(&store, "t"), Ok(()), "the copy, as a new process finds it");
}
