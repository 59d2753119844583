use std::{sync::Arc, time::Duration};

use napi_derive::napi;
use serde::Deserialize;

use super::{convert::parse, guard::guarded};
use crate::storage::{
    Store,
    memory::MemoryStore,
    sqlite::{SharedStore, SqliteOptions, SqliteStore, Synchronous},
};

/// A store that Agents can share. A file is open while an Agent uses it.
#[napi]
pub struct NativeStore {
    source: Source,
}

enum Source {
    Memory(Arc<MemoryStore>),
    Sqlite { path: String, options: SqliteOptions },
}

/// A store, for as long as an Agent uses it.
pub(super) struct StoreInUse {
    pub store: Arc<dyn Store>,
    _file: Option<Arc<SharedStore>>,
}

impl NativeStore {
    pub(super) fn open(&self) -> StoreInUse {
        match &self.source {
            Source::Memory(store) => StoreInUse { store: store.clone(), _file: None },
            Source::Sqlite { path, options } => {
                let file = SqliteStore::shared(path, *options);
                StoreInUse { store: file.store().clone(), _file: Some(file) }
            }
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SqliteSettings {
    synchronous: Option<Level>,
    busy_timeout_ms: Option<u32>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Level {
    Full,
    Normal,
}

#[napi]
impl NativeStore {
    #[napi(factory)]
    pub fn memory() -> napi::Result<Self> {
        guarded(|| Ok(Self { source: Source::Memory(Arc::default()) }))
    }

    /// The file is opened with the first call; what is wrong with it comes with that call's answer.
    #[napi(factory)]
    pub fn sqlite(path: String, options_json: String) -> napi::Result<Self> {
        guarded(|| {
            let settings: SqliteSettings = parse(&options_json)?;
            let mut options = SqliteOptions::default();
            if let Some(Level::Normal) = settings.synchronous {
                options.synchronous = Synchronous::Normal;
            }
            if let Some(timeout) = settings.busy_timeout_ms {
                options.busy_timeout = Duration::from_millis(timeout.into());
            }
            Ok(Self { source: Source::Sqlite { path, options } })
        })
    }
}
