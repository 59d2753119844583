//! One store for one file within the process: two would wait for each other's locks.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, LazyLock, Mutex, PoisonError, Weak, atomic::Ordering},
};

use super::{SqliteOptions, SqliteStore, Synchronous};

static STORES: LazyLock<Mutex<HashMap<PathBuf, Weak<SqliteStore>>>> = LazyLock::new(Mutex::default);

pub(super) fn get(path: &Path, options: SqliteOptions) -> Arc<SqliteStore> {
    let path = canonical(path);
    let mut stores = STORES.lock().unwrap_or_else(PoisonError::into_inner);
    stores.retain(|_, store| store.strong_count() > 0);
    if let Some(store) = stores.get(&path).and_then(Weak::upgrade) {
        if options.synchronous == Synchronous::Full {
            store.database.full.store(true, Ordering::Relaxed);
        }
        return store;
    }
    let store = Arc::new(SqliteStore::open(&path, options));
    stores.insert(path, Arc::downgrade(&store));
    store
}

/// The path without links, as far as it exists.
fn canonical(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    if let Ok(found) = path.canonicalize() {
        return found;
    }
    match (path.parent(), path.file_name()) {
        (Some(folder), Some(name)) => canonical(folder).join(name),
        _ => path,
    }
}
