//! How much goes wrong in a run. Each seed has a mixture of its own: some have none of a kind and much of another.

use super::random::Random;
use crate::storage::StoreError;

/// Chances in a hundred.
#[derive(Debug, Clone, Default)]
pub struct Faults {
    /// A write is not made.
    pub failed: u32,
    /// A write is made and said to have failed.
    pub doubtful: u32,
    /// A read is refused.
    pub unread: u32,
    /// The answer of the store comes later.
    pub slow: u32,
    /// At a step of a user, a process is killed instead.
    pub crash: u32,
    /// At a step of a user, a process is stopped for a while instead.
    pub pause: u32,
    /// How many processes there are at the most.
    pub processes: usize,
    /// How many things users do.
    pub steps: usize,
}

impl Faults {
    pub fn of(random: &mut Random) -> Self {
        let mut chance = |most: usize| {
            let chosen = if random.percent(40) { 0 } else { random.below(most) };
            u32::try_from(chosen).expect("a small number")
        };
        let (failed, doubtful, unread) = (chance(25), chance(20), chance(15));
        let (slow, crash, pause) = (chance(90), chance(20), chance(12));
        let (processes, steps) = (1 + random.below(3), 4 + random.below(22));
        Self { failed, doubtful, unread, slow, crash, pause, processes, steps }
    }

    /// Nothing goes wrong any more.
    pub fn stop(&mut self) {
        *self = Self { processes: self.processes, ..Self::default() };
    }

    pub fn error(random: &mut Random) -> StoreError {
        match random.below(3) {
            0 => StoreError::Busy("simulated".into()),
            1 => StoreError::Full("simulated".into()),
            _ => StoreError::Unavailable("simulated".into()),
        }
    }
}
