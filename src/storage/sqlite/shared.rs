//! One store for one file within the process: two would wait for each other's locks.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, LazyLock, Mutex, PoisonError, Weak, atomic::Ordering},
};

use super::{SqliteOptions, SqliteStore, Store, Synchronous};

static STORES: LazyLock<Mutex<HashMap<PathBuf, Weak<SharedStore>>>> = LazyLock::new(Mutex::default);

/// The store of one file, as its users hold it: the file is let go with the last of them, though a thread may still
/// be about to drop the store itself.
pub struct SharedStore(Arc<SqliteStore>);

impl SharedStore {
    pub fn store(&self) -> &Arc<SqliteStore> {
        &self.0
    }
}

impl Drop for SharedStore {
    fn drop(&mut self) {
        self.0.close();
    }
}

pub(super) fn get(path: &Path, options: SqliteOptions) -> Arc<SharedStore> {
    let path = canonical(path);
    let mut stores = STORES.lock().unwrap_or_else(PoisonError::into_inner);
    stores.retain(|_, store| store.strong_count() > 0);
    if let Some(store) = stores.get(&path).and_then(Weak::upgrade) {
        if options.synchronous == Synchronous::Full {
            store.0.database.full.store(true, Ordering::Relaxed);
        }
        return store;
    }
    let store = Arc::new(SharedStore(Arc::new(SqliteStore::open(&path, options))));
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
