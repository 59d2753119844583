//! The one thread, its time, and the order of everything: what is due at once happens in an order of the seed's own.

use std::{
    fmt::Write,
    hash::{DefaultHasher, Hasher},
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use super::{faults::Faults, ledger::Ledger, random::Random};
use crate::{core::stamp::Stamp, runtime::clock::Clock, storage::Member};

pub type ProcessId = usize;

/// 2026-01-01, in milliseconds.
const START: u64 = 1_767_225_600_000;

pub enum Job {
    /// Something of the store or a timer of the runtime.
    Run(Box<dyn FnOnce() + Send>),
    /// The next write that waits at a process's connection.
    Write,
    Act(Act),
}

/// What happens outside of the runtime.
#[derive(Debug, Clone, PartialEq)]
pub enum Act {
    /// A process hears what its host was told.
    Hear,
    Open,
    /// A process listens to all Sessions of the store.
    Listen,
    /// The next part of the stream of a step.
    Stream(String),
    Prepare(String),
    /// The next thing that `execute` does. The number tells one entering from the next.
    Execute(String, u64),
    User,
    Start,
}

struct Task {
    due: u64,
    process: Option<ProcessId>,
    what: String,
    job: Job,
}

/// A process as the others see it.
#[derive(Debug, Default, Clone)]
pub struct Seen {
    pub dead: bool,
    pub paused_until: u64,
    pub paused_at: u64,
}

/// A write that waits at a connection: applied, it gives what answers it.
pub type Pending = Box<dyn FnOnce() -> Box<dyn FnOnce() + Send> + Send>;

pub struct State {
    pub random: Random,
    pub faults: Faults,
    pub ledger: Ledger,
    pub members: Vec<(ProcessId, Member)>,
    pub processes: Vec<Seen>,
    pub writes: Vec<std::collections::VecDeque<Pending>>,
    now: u64,
    stamps: u64,
    tickets: u64,
    tasks: Vec<Task>,
    trace: Trace,
}

/// What happened, in words where somebody wants to read it, and always as one number.
struct Trace {
    hash: DefaultHasher,
    lines: Option<Vec<String>>,
}

#[derive(Clone)]
pub struct Sim(Arc<Mutex<State>>);

impl Sim {
    pub fn new(seed: u64, verbose: bool) -> Self {
        let mut random = Random::new(seed);
        let faults = Faults::of(&mut random);
        let trace = Trace { hash: DefaultHasher::new(), lines: verbose.then(Vec::new) };
        let state = State {
            random,
            faults,
            ledger: Ledger::default(),
            members: Vec::new(),
            processes: Vec::new(),
            writes: Vec::new(),
            now: 0,
            stamps: 0,
            tickets: 0,
            tasks: Vec::new(),
            trace,
        };
        Self(Arc::new(Mutex::new(state)))
    }

    pub fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    pub fn later(&self, process: Option<ProcessId>, wait: u64, what: &str, job: Job) {
        self.lock().later(process, wait, what, job);
    }

    pub fn act(&self, process: ProcessId, wait: u64, act: Act) {
        let what = format!("{act:?}");
        self.later(Some(process), wait, &what, Job::Act(act));
    }
}

impl State {
    pub fn now(&self) -> u64 {
        self.now
    }

    pub fn ticket(&mut self) -> u64 {
        self.tickets += 1;
        self.tickets
    }

    pub fn later(&mut self, process: Option<ProcessId>, wait: u64, what: &str, job: Job) {
        self.tasks.push(Task { due: self.now + wait, process, what: what.to_owned(), job });
    }

    /// A process ends: nothing of it happens any more.
    pub fn forget(&mut self, process: ProcessId) {
        self.processes[process].dead = true;
        self.tasks.retain(|task| task.process != Some(process));
    }

    /// When a task may happen; `None` where something of the same process is before it.
    fn ready_at(&self, task: &Task) -> u64 {
        let paused = task.process.map_or(0, |process| self.processes[process].paused_until);
        task.due.max(paused)
    }

    /// Takes what happens next, and moves the time to it. `None` when nothing is due until `end`.
    pub fn next(&mut self, end: u64) -> Option<(Option<ProcessId>, Job)> {
        let first = self.tasks.iter().map(|task| self.ready_at(task)).min().filter(|at| *at <= end)?;
        self.now = self.now.max(first);
        let ready: Vec<usize> =
            (0..self.tasks.len()).filter(|at| self.ready_at(&self.tasks[*at]) <= self.now).collect();
        let chosen = ready[self.random.below(ready.len())];
        let Task { process, what, job, .. } = self.tasks.remove(chosen);
        let who = process.map_or_else(|| "world".to_owned(), |process| format!("p{process}"));
        self.note(&format!("{who} {what}"));
        Some((process, job))
    }

    pub fn rest_until(&mut self, end: u64) {
        self.now = self.now.max(end);
    }

    pub fn note(&mut self, what: &str) {
        let mut line = String::new();
        write!(line, "{} {what}", self.now).expect("writing to a String succeeds");
        self.trace.hash.write(line.as_bytes());
        if let Some(lines) = &mut self.trace.lines {
            lines.push(line);
        }
    }

    pub fn trace(&self) -> (u64, &[String]) {
        (self.trace.hash.finish(), self.trace.lines.as_deref().unwrap_or_default())
    }
}

/// The clock of one process.
pub struct SimClock {
    pub sim: Sim,
    pub process: ProcessId,
}

impl Clock for SimClock {
    fn stamp(&self) -> Stamp {
        let mut state = self.sim.lock();
        state.stamps += 1;
        Stamp::new(i64::try_from(START + state.now).expect("a date"), state.stamps)
    }

    fn monotonic(&self) -> Duration {
        Duration::from_millis(self.sim.lock().now)
    }

    fn after(&self, wait: Duration, run: Box<dyn FnOnce() + Send>) {
        let wait = u64::try_from(wait.as_millis()).expect("a short wait");
        self.sim.later(Some(self.process), wait, "timer", Job::Run(run));
    }
}
