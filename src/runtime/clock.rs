//! Where time and randomness come in.

use std::{
    collections::hash_map::RandomState,
    hash::{BuildHasher, Hasher},
    sync::{
        LazyLock,
        atomic::{AtomicU64, Ordering},
    },
    time::{SystemTime, UNIX_EPOCH},
};

use crate::core::stamp::Stamp;

/// Starts at a place of this process's own, so that no two processes count through the same numbers.
static ENTROPY: LazyLock<AtomicU64> = LazyLock::new(|| {
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_u32(std::process::id());
    AtomicU64::new(hasher.finish())
});

pub(super) fn stamp() -> Stamp {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_millis());
    Stamp::new(i64::try_from(now).unwrap_or(i64::MAX), ENTROPY.fetch_add(1, Ordering::Relaxed))
}
