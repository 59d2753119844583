//! Time and fresh ids come in from outside, so that the core stays a function of its input.

use uuid::Builder;

/// What the runtime hands to the core with every input: the time, and a source of ids.
///
/// Ids are UUIDv7 with a readable prefix. Within one stamp they sort in the order they were made.
#[derive(Debug, Clone)]
pub struct Stamp {
    now: i64,
    entropy: u64,
    made: u32,
}

impl Stamp {
    /// `now` in milliseconds since the epoch; `entropy` is never used twice by the runtime.
    pub fn new(now: i64, entropy: u64) -> Self {
        Self { now, entropy, made: 0 }
    }

    /// Milliseconds since the epoch.
    pub fn now(&self) -> i64 {
        self.now
    }

    /// A fresh id such as `turn:0199…`.
    pub fn id(&mut self, prefix: &str) -> String {
        self.made = self.made.wrapping_add(1);
        let mut bytes = [0u8; 10];
        // The first twelve random bits of a UUIDv7 order the ids made within one millisecond, as far as they reach.
        let place = u16::try_from(self.made).unwrap_or(u16::MAX).min(0x0fff);
        bytes[..2].copy_from_slice(&place.to_be_bytes());
        bytes[2..].copy_from_slice(&split_mix(self.entropy ^ (u64::from(self.made) << 32)).to_be_bytes());
        let millis = u64::try_from(self.now).unwrap_or(0);
        let uuid = Builder::from_unix_timestamp_millis(millis, &bytes).into_uuid();
        format!("{prefix}:{uuid}")
    }
}

/// Steele, Lea and Flood's SplitMix64 finaliser: spreads a counter over all 64 bits.
fn split_mix(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hundred_thousand_ids_of_one_stamp_are_distinct() {
        let mut stamp = Stamp::new(1_700_000_000_000, 7);
        let ids: std::collections::HashSet<String> = (0..100_000).map(|_| stamp.id("part")).collect();
        assert_eq!(ids.len(), 100_000);
    }

    #[test]
    fn ids_of_one_stamp_are_distinct_and_sort_in_the_order_they_were_made() {
        let mut stamp = Stamp::new(1_700_000_000_000, 7);
        let ids: Vec<String> = (0..1000).map(|_| stamp.id("part")).collect();
        let mut sorted = ids.clone();
        sorted.sort();
        sorted.dedup();
        assert_eq!(ids, sorted);
    }
}
