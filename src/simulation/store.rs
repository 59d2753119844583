//! The store as one process has it: a connection that may be slow or fail, to what all of them share.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use super::{
    faults::Faults,
    scheduler::{Job, Pending, ProcessId, Sim},
};
use crate::{
    core::{
        change::{Commit, SessionRow},
        engine::Receipt,
        interaction::Interaction,
    },
    storage::{
        Authority, CaughtUp, FeedPage, Liveness, Member, Opened, OwnerId, Reply, SessionKey, Store,
        StoreError, UnfinishedSession, fixture::pass_on, memory::MemoryStore,
    },
};

/// How often an owner shows that it lives.
const BEAT: u64 = 1_000;

pub struct SimStore {
    pub sim: Sim,
    pub process: ProcessId,
    /// Outlives every process.
    pub disk: Arc<MemoryStore>,
}

/// The answer of a store that answers at once.
pub fn now<T: Send + 'static>(ask: impl FnOnce(Reply<T>)) -> Result<T, StoreError> {
    let answer = Arc::new(Mutex::new(None));
    let slot = answer.clone();
    ask(Box::new(move |result| *slot.lock().expect("nobody else has it") = Some(result)));
    answer.lock().expect("nobody else has it").take().expect("a store in memory answers at once")
}

/// What becomes of a write.
enum Fate {
    Written,
    Failed(StoreError),
    Doubtful(StoreError),
}

impl SimStore {
    fn is_dead(&self) -> bool {
        self.sim.lock().processes[self.process].dead
    }

    /// Writes are applied one after the other, in the order of the calls.
    fn write<T: Send + 'static>(
        &self,
        what: &str,
        reply: Reply<T>,
        work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
    ) {
        let mut state = self.sim.lock();
        if state.processes[self.process].dead {
            return;
        }
        let (failed, doubtful, slow) = (state.faults.failed, state.faults.doubtful, state.faults.slow);
        let fate = if state.random.percent(failed) {
            Fate::Failed(Faults::error(&mut state.random))
        } else if state.random.percent(doubtful) {
            Fate::Doubtful(Faults::error(&mut state.random))
        } else {
            Fate::Written
        };
        let waits = !state.writes[self.process].is_empty() || state.random.percent(slow);
        let wait = if waits { state.random.wait(400) } else { 0 };
        let fated = match &fate {
            Fate::Written => "written",
            Fate::Failed(_) => "fails",
            Fate::Doubtful(_) => "is written and said to fail",
        };
        state.note(&format!("p{} {what} {fated} after {wait}", self.process));
        let pending: Pending = Box::new(move || {
            let result = match fate {
                Fate::Written => work(),
                Fate::Failed(error) => Err(error),
                Fate::Doubtful(error) => {
                    drop(work());
                    Err(error)
                }
            };
            Box::new(move || reply(result))
        });
        if waits {
            state.writes[self.process].push_back(pending);
            state.later(Some(self.process), wait, "write", Job::Write);
        } else {
            drop(state);
            pending()();
        }
    }

    fn read<T: Send + 'static>(
        &self,
        reply: Reply<T>,
        work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
    ) {
        let mut state = self.sim.lock();
        if state.processes[self.process].dead {
            return;
        }
        let (unread, slow) = (state.faults.unread, state.faults.slow);
        let error = state.random.percent(unread).then(|| Faults::error(&mut state.random));
        let answer = move || reply(error.map_or_else(work, Err));
        if state.random.percent(slow) {
            let wait = state.random.wait(200);
            state.later(Some(self.process), wait, "read", Job::Run(Box::new(answer)));
        } else {
            drop(state);
            answer();
        }
    }
}

/// Tells the members of other processes, and those of this one that are not `by`, each after a while of its own.
fn notify(sim: &Sim, key: &SessionKey, by: &OwnerId) {
    let mut state = sim.lock();
    let others: Vec<(ProcessId, Member)> =
        state.members.iter().filter(|(_, member)| member.owner != *by).cloned().collect();
    for (process, member) in others {
        let (wait, which) = (state.random.wait(100), state.random.percent(70).then(|| key.clone()));
        let run = Box::new(move || (member.notice)(which.as_ref()));
        state.later(Some(process), wait, "notice", Job::Run(run));
    }
}

impl Store for SimStore {
    pass_on!(disk);

    fn create(&self, key: &SessionKey, row: SessionRow, reply: Reply<u64>) {
        let (disk, key) = (self.disk.clone(), key.clone());
        let sim = self.sim.clone();
        self.write("create", reply, move || {
            let made = now(|reply| disk.create(&key, row.clone(), reply));
            if made.is_ok() {
                sim.lock().ledger.created(row);
            }
            made
        });
    }

    fn open(&self, key: &SessionKey, reply: Reply<Opened>) {
        let (disk, key) = (self.disk.clone(), key.clone());
        self.read(reply, move || now(|reply| disk.open(&key, reply)));
    }

    /// Goes the way of the writes, so that it sees those before it.
    fn catch_up(&self, key: &SessionKey, after: u64, reply: Reply<CaughtUp>) {
        let (disk, key) = (self.disk.clone(), key.clone());
        self.write("catch_up", reply, move || now(|reply| disk.catch_up(&key, after, reply)));
    }

    fn append(
        &self,
        key: &SessionKey,
        by: &OwnerId,
        authority: Authority,
        commit: Arc<Commit>,
        reply: Reply<Receipt>,
    ) {
        let (disk, sim, key, by) = (self.disk.clone(), self.sim.clone(), key.clone(), by.clone());
        let what = format!("{authority:?} {}", commit.commit_id);
        self.write(&what, reply, move || {
            let written = now(|reply| disk.append(&key, &by, authority, commit.clone(), reply));
            if written.is_ok() {
                sim.lock().ledger.committed(&commit);
                notify(&sim, &key, &by);
            }
            written
        });
    }

    fn release(&self, key: &SessionKey, by: &OwnerId, reply: Reply<()>) {
        let (disk, sim, key, by) = (self.disk.clone(), self.sim.clone(), key.clone(), by.clone());
        self.write("release", reply, move || {
            let released = now(|reply| disk.release(&key, &by, reply));
            notify(&sim, &key, &by);
            released
        });
    }

    fn join(&self, member: Member) {
        self.sim.lock().members.push((self.process, member));
    }

    fn leave(&self, owner: &OwnerId) {
        if self.is_dead() {
            return;
        }
        self.sim.lock().members.retain(|(_, member)| member.owner != *owner);
        self.disk.leave(owner);
    }

    fn liveness(&self, owner: &OwnerId, reply: Reply<Liveness>) {
        let (sim, owner, me) = (self.sim.clone(), owner.clone(), self.process);
        self.read(reply, move || {
            let state = sim.lock();
            let of =
                state.members.iter().find(|(_, member)| member.owner == owner).map(|(process, _)| *process);
            Ok(match of {
                None => Liveness::Dead,
                Some(process) if process == me => Liveness::Alive,
                Some(process) => {
                    let seen = &state.processes[process];
                    let at = if seen.paused_until > state.now() { seen.paused_at } else { state.now() };
                    Liveness::Beating { beat: at / BEAT, lease: Duration::ZERO }
                }
            })
        });
    }

    fn unfinished(&self, agent_id: &str, reply: Reply<Vec<UnfinishedSession>>) {
        self.disk.unfinished(agent_id, reply);
    }

    /// Goes the way of the writes where it begins, so that what is acknowledged before comes before.
    fn feed(&self, agent_id: &str, after: Option<u64>, limit: u32, reply: Reply<FeedPage>) {
        let (disk, sim, process) = (self.disk.clone(), self.sim.clone(), self.process);
        let agent_id = agent_id.to_owned();
        let work = move || {
            if after.is_none() {
                sim.lock().ledger.feed_begins(process);
            }
            now(|reply| disk.feed(&agent_id, after, limit, reply))
        };
        match after {
            Some(_) => self.read(reply, work),
            None => self.write("feed", reply, work),
        }
    }

    fn interaction(&self, key: &SessionKey, interaction_id: &str, reply: Reply<Option<Interaction>>) {
        let (disk, key, id) = (self.disk.clone(), key.clone(), interaction_id.to_owned());
        self.read(reply, move || now(|reply| disk.interaction(&key, &id, reply)));
    }
}
