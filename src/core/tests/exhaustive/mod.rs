//! Every interleaving of what can happen to one Turn with two calls and three Interactions, and every crash point.
//!
//! A search over all states that can be reached from a fresh Session. From each state every event that is possible
//! is tried, and after each the process goes on, or ends with the commit written and nothing of its effects done; it
//! may end between two events as well, which is the crash before a commit. Opening the Session again is an event like
//! any other, with crash points of its own. States that differ in ids, times and counters alone are one state, so the
//! search ends. What is checked after each transition is in [`checks`].

mod canon;
mod checks;
mod events;
mod outside;
mod world;

use std::{
    collections::{HashMap, VecDeque},
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
};

use self::{
    canon::canonical,
    events::Event,
    world::{Fate, Shape, World},
};

/// What a search has seen.
struct Explored {
    states: usize,
    transitions: usize,
    /// Transitions that end with a crash between a commit and its effects.
    cut_off: usize,
    /// States in which the Turn has ended.
    ended: usize,
}

/// The way to each state, for the message of a failing search.
#[derive(Default)]
struct Paths(Vec<Option<(usize, Event, Fate)>>);

impl Paths {
    fn to(&self, state: usize) -> Vec<(Event, Fate)> {
        let mut steps = Vec::new();
        let mut at = state;
        while let Some((before, event, fate)) = self.0[at] {
            steps.push((event, fate));
            at = before;
        }
        steps.reverse();
        steps
    }
}

/// What an event leads to. Where it panics, it is told how the search got there.
fn after(paths: &Paths, state: usize, world: &World, event: Event) -> Vec<(Fate, World)> {
    catch_unwind(AssertUnwindSafe(|| world.after(event))).unwrap_or_else(|panic| {
        eprintln!("{:#?}\nthen {event:?}", paths.to(state));
        resume_unwind(panic)
    })
}

fn explore(shape: Shape) -> Explored {
    let first = World::new(shape);
    let mut known = HashMap::from([(canonical(&first), 0)]);
    let mut paths = Paths(vec![None]);
    let mut waiting = VecDeque::from([(0, first)]);
    let mut edges: Vec<(usize, usize)> = Vec::new();
    let mut ends = Vec::new();
    let (mut transitions, mut cut_off) = (0, 0);
    while let Some((state, world)) = waiting.pop_front() {
        if world.turn_has_ended() {
            ends.push(state);
        }
        world.check_state();
        for event in world.events() {
            for (fate, next) in after(&paths, state, &world, event) {
                transitions += 1;
                cut_off += usize::from(fate == Fate::DiesAfterCommit);
                let number = known.len();
                let to = *known.entry(canonical(&next)).or_insert(number);
                if to == number {
                    paths.0.push(Some((state, event, fate)));
                    waiting.push_back((number, next));
                }
                if event.is_ordinary() && fate == Fate::GoesOn {
                    edges.push((state, to));
                }
            }
        }
    }
    assert_each_can_end(&paths, known.len(), &edges, &ends);
    Explored { states: known.len(), transitions, cut_off, ended: ends.len() }
}

/// I12: from each state the Turn can come to its end by answers and by what models and tools do, without anybody
/// stopping it.
fn assert_each_can_end(paths: &Paths, states: usize, edges: &[(usize, usize)], ends: &[usize]) {
    let mut before: Vec<Vec<usize>> = vec![Vec::new(); states];
    for (from, to) in edges {
        before[*to].push(*from);
    }
    let mut can_end = vec![false; states];
    let mut waiting = ends.to_vec();
    while let Some(state) = waiting.pop() {
        if !std::mem::replace(&mut can_end[state], true) {
            waiting.extend(&before[state]);
        }
    }
    if let Some(stuck) = can_end.iter().position(|can| !can) {
        panic!("I12: the Turn can no longer end after {:#?}", paths.to(stuck));
    }
}

/// The bounds keep a search from becoming empty unnoticed; they are what it has seen when it was written, rounded
/// down.
fn assert_seen(name: &str, seen: &Explored, states: usize, transitions: usize) {
    let Explored { states: s, transitions: t, cut_off, ended } = seen;
    println!(
        "{name}: {s} states, {t} transitions, {cut_off} of them cut off after their commit, {ended} ends"
    );
    assert!(*s >= states && *t >= transitions, "{name}: {s} states and {t} transitions are too few");
    assert!(*cut_off > 0 && *ended > 0);
}

#[test]
fn a_gated_call_beside_a_plain_one() {
    let shape = Shape { tools: ["gated", "plain"], asks: [1, 2], ..Shape::default() };
    assert_seen("gated and plain", &explore(shape), 2_300, 21_000);
}

#[test]
fn a_gated_call_beside_one_that_is_entered_again() {
    let shape = Shape { tools: ["gated", "again"], asks: [0, 1], ..Shape::default() };
    assert_seen("gated and replayed", &explore(shape), 700, 6_000);
}

#[test]
fn a_call_that_is_entered_again_and_asks_twice() {
    let shape = Shape { tools: ["again", "plain"], asks: [2, 0], ..Shape::default() };
    assert_seen("replayed, asking twice", &explore(shape), 850, 8_000);
}

#[test]
fn a_call_whose_gate_the_host_judges() {
    let shape = Shape { tools: ["hosted", "plain"], asks: [0, 0], ..Shape::default() };
    assert_seen("judged by the host", &explore(shape), 440, 3_200);
}

#[test]
fn a_host_that_asks_beside_a_gate() {
    let shape = Shape { tools: ["gated", "plain"], asks: [0, 0], host_asks: true, ..Shape::default() };
    assert_seen("with a host that asks", &explore(shape), 2_700, 25_000);
}

#[test]
fn a_mode_that_changes_while_a_gate_and_a_tool_ask() {
    let shape = Shape { tools: ["gated", "again"], asks: [0, 1], mode_changes: true, ..Shape::default() };
    assert_seen("with a mode that changes", &explore(shape), 1_600, 14_000);
}
