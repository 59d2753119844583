//! Where time and randomness come in.

use std::{
    collections::hash_map::RandomState,
    hash::{BuildHasher, Hasher},
    sync::{
        LazyLock,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use crate::core::stamp::Stamp;

/// Time and fresh ids, and the way to do something later.
pub trait Clock: Send + Sync + 'static {
    /// The time of day and a source of ids, for one decision.
    fn stamp(&self) -> Stamp;

    /// Time since some moment that no change of the time of day touches.
    fn monotonic(&self) -> Duration;

    /// Runs something once, after this long, on any thread.
    fn after(&self, wait: Duration, run: Box<dyn FnOnce() + Send>);
}

/// The machine's own.
#[derive(Debug, Default, Clone, Copy)]
pub struct SystemClock;

/// Starts at a place of this process's own, so that no two processes count through the same numbers.
static ENTROPY: LazyLock<AtomicU64> = LazyLock::new(|| {
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_u32(std::process::id());
    AtomicU64::new(hasher.finish())
});

static START: LazyLock<Instant> = LazyLock::new(Instant::now);

impl Clock for SystemClock {
    fn stamp(&self) -> Stamp {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_millis());
        Stamp::new(i64::try_from(now).unwrap_or(i64::MAX), ENTROPY.fetch_add(1, Ordering::Relaxed))
    }

    fn monotonic(&self) -> Duration {
        START.elapsed()
    }

    /// A thread of its own is fine: what has to wait is rare.
    fn after(&self, wait: Duration, run: Box<dyn FnOnce() + Send>) {
        thread::spawn(move || {
            thread::sleep(wait);
            run();
        });
    }
}
