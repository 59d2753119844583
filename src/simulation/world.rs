//! Everything: the processes, the disk they share, the users, and the run from its beginning to its end.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{
    process::Process,
    scheduler::{Act, Job, ProcessId, Seen, Sim, State},
    script,
};
use crate::{core::interaction::Interaction, storage::memory::MemoryStore};

/// More happens in no run: something goes round in circles.
const MOST: usize = 60_000;
/// Between two things that users do, in milliseconds.
const PAUSE: u64 = 1_500;
/// Within this long everything has to come to its end once nothing goes wrong any more.
const CALM: u64 = 10 * 60_000;

/// What a run came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// Says in one number what happened, in which order.
    pub trace: u64,
    pub happened: usize,
    pub commits: u64,
    pub entered: usize,
    pub crashes: usize,
    pub pauses: usize,
}

pub struct World {
    sim: Sim,
    disk: Arc<MemoryStore>,
    processes: Vec<Option<Process>>,
    outcome: Outcome,
}

impl World {
    pub fn new(sim: Sim) -> Self {
        let outcome = Outcome { trace: 0, happened: 0, commits: 0, entered: 0, crashes: 0, pauses: 0 };
        Self { sim, disk: Arc::default(), processes: Vec::new(), outcome }
    }

    pub fn run(mut self) -> Outcome {
        self.start(true);
        self.sim.later(None, 10, "user", Job::Act(Act::User));
        while let Some((process, job)) = self.take(u64::MAX, |state| state.faults.steps == 0) {
            self.happen(process, job);
        }
        self.calm_down();
        let mut state = self.sim.lock();
        state.ledger.assert_whole();
        self.outcome.trace = state.trace().0;
        self.outcome.commits = state.ledger.commits;
        self.outcome.entered = state.ledger.times_entered();
        self.outcome.clone()
    }

    fn take(&mut self, end: u64, over: impl Fn(&State) -> bool) -> Option<(Option<ProcessId>, Job)> {
        let mut state = self.sim.lock();
        if over(&state) {
            return None;
        }
        self.outcome.happened += 1;
        assert!(self.outcome.happened < MOST, "it goes round in circles");
        state.next(end)
    }

    fn happen(&mut self, process: Option<ProcessId>, job: Job) {
        match (job, process) {
            (Job::Run(run), _) => run(),
            (Job::Write, Some(process)) => {
                let pending = self.sim.lock().writes[process].pop_front();
                if let Some(pending) = pending {
                    pending()();
                }
            }
            (Job::Act(Act::User), _) => {
                self.user();
                let mut state = self.sim.lock();
                state.faults.steps -= 1;
                let wait = state.random.wait(PAUSE);
                state.later(None, wait, "user", Job::Act(Act::User));
            }
            (Job::Act(Act::Start), _) => {
                let has_model = self.sim.lock().random.percent(80);
                self.start(has_model);
            }
            (Job::Act(act), Some(process)) => self.act(process, act),
            (Job::Write | Job::Act(_), None) => unreachable!("only users and starts are nobody's"),
        }
    }

    fn act(&mut self, process: ProcessId, act: Act) {
        let Some(process) = &mut self.processes[process] else { return };
        match act {
            Act::Hear => process.hear(),
            Act::Open => process.open(),
            Act::Listen => process.listen(),
            Act::Stream(step_id) => stream(process, &self.sim, step_id),
            Act::Prepare(call) => {
                let verdict = self.sim.lock().random.below(10);
                let mut prepared = json!({ "input": "tool_prepared", "tool_call_id": call });
                match verdict {
                    0 => prepared["invalid"] = json!("no"),
                    1 => prepared["error"] = json!("threw"),
                    _ => prepared["valid"] = json!({ "input": { "n": 1 }, "ask": verdict < 7 }),
                }
                process.tell(prepared);
            }
            Act::Execute(call, entering) => execute(process, &self.sim, &call, entering),
            Act::User | Act::Start => unreachable!("they are no process's"),
        }
    }

    // ---- Processes ---------------------------------------------------------------------------

    fn start(&mut self, has_model: bool) {
        let id = self.processes.len();
        let mut state = self.sim.lock();
        state.processes.push(Seen::default());
        state.writes.push(std::collections::VecDeque::new());
        drop(state);
        let process = Process::start(id, &self.sim, &self.disk, script::settings(has_model));
        self.processes.push(Some(process));
    }

    fn alive(&self) -> Vec<ProcessId> {
        (0..self.processes.len()).filter(|id| self.processes[*id].is_some()).collect()
    }

    /// Killed: what it had written last may have arrived, or not.
    fn crash(&mut self, id: ProcessId) {
        self.outcome.crashes += 1;
        let mut state = self.sim.lock();
        let arrives = state.random.percent(50);
        let written = state.writes[id].pop_front().filter(|_| arrives);
        drop(state);
        if let Some(pending) = written {
            drop(pending());
        }
        let mut state = self.sim.lock();
        state.note(&format!("p{id} is killed"));
        state.forget(id);
        state.writes[id].clear();
        state.members.retain(|(process, _)| *process != id);
        let wait = state.random.wait(2_000);
        state.later(None, wait, "start", Job::Act(Act::Start));
        drop(state);
        self.processes[id] = None;
    }

    /// Stopped: it does nothing for longer than the others wait for it, or for a moment.
    fn pause(&mut self, id: ProcessId) {
        self.outcome.pauses += 1;
        let mut state = self.sim.lock();
        let (now, wait) = (state.now(), state.random.wait(20_000));
        state.processes[id] = Seen { dead: false, paused_until: now + wait, paused_at: now };
        state.note(&format!("p{id} is stopped for {wait}"));
    }

    // ---- Users -------------------------------------------------------------------------------

    fn user(&mut self) {
        let alive = self.alive();
        let mut state = self.sim.lock();
        let faults = state.faults.clone();
        if alive.is_empty() || alive.len() < faults.processes && state.random.percent(10) {
            let wait = state.random.wait(1_000);
            return state.later(None, wait, "start", Job::Act(Act::Start));
        }
        let id = state.random.pick(&alive).expect("one is alive");
        let (crash, pause) = (state.random.percent(faults.crash), state.random.percent(faults.pause));
        let kind = state.random.below(100);
        let known = if state.ledger.exists() { known(&state) } else { Vec::new() };
        let about = state.random.pick(&known);
        let response = about.as_ref().map(|about| response(&mut state, about));
        state.note(&format!("user {kind} at p{id}"));
        drop(state);
        if crash {
            return self.crash(id);
        }
        if pause {
            return self.pause(id);
        }
        let Some(process) = self.processes[id].as_mut().filter(|process| process.session.is_some()) else {
            return;
        };
        match (kind, about, response) {
            (0..=44, Some(about), Some(response)) => process.respond(&about, &response),
            (0..=69, ..) => process.prompt(),
            (70..=79, ..) => {
                let mode = if kind.is_multiple_of(2) { "ask" } else { "always-allow" };
                process.other(json!({ "input": "set", "config": { "security": { "approval_mode": mode } } }));
            }
            (80..=85, ..) => {
                let turn_id = self.sim.lock().ledger.stored().session.active_turn_id.clone();
                let request = json!({ "type": "vote", "turn_id": turn_id });
                process.other(json!({ "input": "request", "request": request }));
            }
            (86..=91, ..) => process.other(json!({ "input": "stop" })),
            (92..=94, ..) => process.other(json!({ "input": "close" })),
            _ => process.release(),
        }
    }

    // ---- The end -----------------------------------------------------------------------------

    /// I12: once nothing goes wrong any more and people answer, everything comes to its end.
    fn calm_down(&mut self) {
        let mut state = self.sim.lock();
        state.faults.stop();
        for seen in &mut state.processes {
            seen.paused_until = 0;
        }
        state.note("calm");
        let end = state.now() + CALM;
        drop(state);
        self.start(true);
        loop {
            let until = self.sim.lock().now() + 2_000;
            while let Some((process, job)) = self.take(until, |_| false) {
                self.happen_calmly(process, job);
            }
            self.sim.lock().rest_until(until);
            if self.is_over() {
                return;
            }
            let state = self.sim.lock();
            assert!(state.now() < end, "I12: it does not come to its end: {}", self.describe(&state));
            drop(state);
            self.answer_all();
        }
    }

    fn happen_calmly(&mut self, process: Option<ProcessId>, job: Job) {
        if !matches!(job, Job::Act(Act::User | Act::Start)) {
            self.happen(process, job);
        }
    }

    fn is_over(&self) -> bool {
        let ledger = &self.sim.lock().ledger;
        let is_done = |process: &Process| process.is_quiet() && ledger.has_heard_all(process.id);
        self.processes.iter().flatten().all(is_done) && ledger.exists() && ledger.is_finished()
    }

    fn describe(&self, state: &State) -> String {
        let stored = state.ledger.stored();
        let tools: Vec<_> = stored.parts.values().filter(|row| row.call.is_some()).collect();
        let processes = self
            .processes
            .iter()
            .flatten()
            .map(|process| format!("\np{} {}", process.id, process.describe()));
        format!("{:?}\n{:?}\n{tools:?}{}", stored.session, stored.queue, processes.collect::<String>())
    }

    fn answer_all(&mut self) {
        let mut state = self.sim.lock();
        let pending = if state.ledger.exists() { state.ledger.pending() } else { Vec::new() };
        let answers: Vec<Value> = pending.iter().map(|about| good_response(&mut state, about)).collect();
        drop(state);
        let open = self.processes.iter_mut().flatten().find(|process| process.session.is_some());
        if let Some(process) = open {
            for (about, response) in pending.iter().zip(&answers) {
                process.respond(about, response);
            }
        }
    }
}

fn known(state: &State) -> Vec<Interaction> {
    state.ledger.stored().interactions.iter().rev().take(4).map(|row| row.interaction.clone()).collect()
}

fn response(state: &mut State, about: &Interaction) -> Value {
    if state.random.percent(10) {
        return json!({ "type": about.kind, "outcome": "perhaps" });
    }
    good_response(state, about)
}

fn good_response(state: &mut State, about: &Interaction) -> Value {
    if state.random.percent(35) {
        json!({ "type": about.kind, "outcome": "denied", "reason": "no" })
    } else {
        json!({ "type": about.kind, "outcome": "resolved", "payload": { "decision": "approved" } })
    }
}

fn stream(process: &mut Process, sim: &Sim, step_id: String) {
    let Some(saying) = process.streams.get_mut(&step_id) else { return };
    let next = saying.pop_front();
    if saying.is_empty() {
        process.streams.remove(&step_id);
    } else {
        let wait = sim.lock().random.wait(100);
        sim.act(process.id, wait, Act::Stream(step_id));
    }
    if let Some(next) = next {
        process.tell(next);
    }
}

fn execute(process: &mut Process, sim: &Sim, call: &str, entering: u64) {
    let Some(program) = process.tools.get_mut(call).filter(|program| program.entering == entering) else {
        return;
    };
    match program.ask() {
        Some(request) => process.ask_for(call, entering, request),
        None => {
            let settled = program.end(&mut sim.lock().random);
            process.tools.remove(call);
            process.tell(settled);
        }
    }
}
