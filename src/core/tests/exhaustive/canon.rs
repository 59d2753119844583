//! When two states are the same: where they differ in ids, times and counters alone.

use std::{
    collections::HashMap,
    fmt::{self, Debug, Write},
};

use super::world::World;

/// The state as text in which ids are numbered by their first appearance, and times and counters are left out.
pub fn canonical(world: &World) -> String {
    let mut text = String::new();
    world.write_state(&mut text).expect("writing to a String succeeds");
    let mut out = Canon { text: String::with_capacity(text.len()), ids: HashMap::new() };
    out.take(&text);
    out.text
}

pub fn put(out: &mut String, name: &str, value: &impl Debug) -> fmt::Result {
    write!(out, "{name}={value:?};")
}

struct Canon<'a> {
    text: String,
    /// Ids by the order in which they are met.
    ids: HashMap<&'a str, usize>,
}

/// Nothing is decided by their value: they only ever grow, or tell when.
const LEFT_OUT: [&str; 3] = ["revision", "commits", "commit_id"];
const UUID: usize = 36;

impl<'a> Canon<'a> {
    /// Ids stand behind a colon (`turn:0199…`), and so do the fields' values.
    fn take(&mut self, mut rest: &'a str) {
        while let Some(place) = rest.find(':') {
            let (before, after) = rest.split_at(place + 1);
            self.text.push_str(before);
            rest = after;
            if let Some(id) = rest.get(..UUID).filter(|id| is_uuid(id.as_bytes())) {
                let next = self.ids.len();
                let number = *self.ids.entry(id).or_insert(next);
                write!(self.text, "{number}").expect("writing to a String succeeds");
                rest = &rest[UUID..];
            } else if before.ends_with("_at:") || LEFT_OUT.iter().any(|name| before[..place].ends_with(name))
            {
                rest = &rest[rest.find(',').unwrap_or(rest.len())..];
            }
        }
        self.text.push_str(rest);
    }
}

fn is_uuid(text: &[u8]) -> bool {
    [8, 13, 18, 23].iter().all(|place| text[*place] == b'-') && text[0].is_ascii_hexdigit()
}
