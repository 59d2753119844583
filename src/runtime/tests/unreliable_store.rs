//! A store that keeps its word only when it is told to.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use crate::{
    core::{
        change::{Commit, SessionRow},
        engine::Receipt,
        interaction::Interaction,
    },
    storage::{
        Authority, CaughtUp, FeedPage, Liveness, Member, Notice, Opened, OwnerId, Reply, SessionKey, Store,
        StoreError, UnfinishedSession, fixture::pass_on, memory::MemoryStore,
    },
};

/// What the next append does.
#[derive(Debug, Clone, PartialEq)]
pub enum Fate {
    /// Nothing is written.
    Fail(StoreError),
    /// It is written, and the store says that it failed.
    WriteAndFail(StoreError),
    /// It is written, and the answer is held back until `release`.
    Hold,
}

#[derive(Default)]
pub struct UnreliableStore {
    inner: MemoryStore,
    fates: Mutex<VecDeque<Fate>>,
    /// How many of the next times that a runner catches up fail.
    failing_looks: Mutex<usize>,
    /// How many of the next releases fail.
    failing_releases: Mutex<usize>,
    /// What is said of every owner that is not `Alive`, instead of what is.
    pretence: Mutex<Option<Liveness>>,
    held: Mutex<Vec<Box<dyn FnOnce() + Send>>>,
    /// Nobody is given notice for now.
    quiet: Arc<AtomicBool>,
}

impl UnreliableStore {
    pub fn next(&self, fate: Fate) {
        self.fates.lock().unwrap().push_back(fate);
    }

    pub fn fail_looks(&self, count: usize) {
        *self.failing_looks.lock().unwrap() = count;
    }

    pub fn fail_releases(&self, count: usize) {
        *self.failing_releases.lock().unwrap() = count;
    }

    /// Says this of every owner from now on.
    pub fn pretend(&self, seen: Liveness) {
        *self.pretence.lock().unwrap() = Some(seen);
    }

    /// Gives nobody notice from now on.
    pub fn keep_quiet(&self) {
        self.quiet.store(true, Ordering::Relaxed);
    }

    /// Gives the answers that were held back, from another thread, in order.
    pub fn release(&self) {
        let held = std::mem::take(&mut *self.held.lock().unwrap());
        std::thread::spawn(move || held.into_iter().for_each(|answer| answer())).join().unwrap();
    }
}

/// Counts one of those that are to fail.
fn fails(left: &Mutex<usize>) -> bool {
    let mut left = left.lock().unwrap();
    let fails = *left > 0;
    *left = left.saturating_sub(1);
    fails
}

impl Store for UnreliableStore {
    pass_on!(inner);
    pass_on! { inner: feed(agent_id: &str, after: Option<u64>, limit: u32) -> FeedPage; }

    fn append(
        &self,
        key: &SessionKey,
        by: &OwnerId,
        authority: Authority,
        commit: Arc<Commit>,
        reply: Reply<Receipt>,
    ) {
        let fate = self.fates.lock().unwrap().pop_front();
        match fate {
            None => self.inner.append(key, by, authority, commit, reply),
            Some(Fate::Fail(error)) => reply(Err(error)),
            Some(Fate::WriteAndFail(error)) => {
                let written = Box::new(|written: Result<Receipt, StoreError>| drop(written.unwrap()));
                self.inner.append(key, by, authority, commit, written);
                reply(Err(error));
            }
            Some(Fate::Hold) => {
                let written = Arc::new(Mutex::new(None));
                let slot = written.clone();
                self.inner.append(
                    key,
                    by,
                    authority,
                    commit,
                    Box::new(move |result| *slot.lock().unwrap() = Some(result)),
                );
                let answer = move || {
                    let result = written.lock().unwrap().take().expect("a store in memory answers at once");
                    reply(result);
                };
                self.held.lock().unwrap().push(Box::new(answer));
            }
        }
    }

    fn catch_up(&self, key: &SessionKey, after: u64, reply: Reply<CaughtUp>) {
        if fails(&self.failing_looks) {
            return reply(Err(StoreError::Unavailable("out of reach".into())));
        }
        self.inner.catch_up(key, after, reply);
    }

    fn create(&self, key: &SessionKey, row: SessionRow, reply: Reply<u64>) {
        self.inner.create(key, row, reply);
    }

    fn open(&self, key: &SessionKey, reply: Reply<Opened>) {
        self.inner.open(key, reply);
    }

    fn release(&self, key: &SessionKey, by: &OwnerId, reply: Reply<()>) {
        if fails(&self.failing_releases) {
            return reply(Err(StoreError::Unavailable("out of reach".into())));
        }
        self.inner.release(key, by, reply);
    }

    fn join(&self, member: Member) {
        let (quiet, told) = (self.quiet.clone(), member.notice.clone());
        let notice: Notice = Arc::new(move |key| {
            if !quiet.load(Ordering::Relaxed) {
                told(key);
            }
        });
        self.inner.join(Member { notice, ..member });
    }

    fn leave(&self, owner: &OwnerId) {
        self.inner.leave(owner);
    }

    fn liveness(&self, owner: &OwnerId, reply: Reply<Liveness>) {
        let pretence = *self.pretence.lock().unwrap();
        match pretence {
            Some(seen) => reply(Ok(seen)),
            None => self.inner.liveness(owner, reply),
        }
    }

    fn unfinished(&self, agent_id: &str, reply: Reply<Vec<UnfinishedSession>>) {
        self.inner.unfinished(agent_id, reply);
    }

    fn interaction(&self, key: &SessionKey, interaction_id: &str, reply: Reply<Option<Interaction>>) {
        self.inner.interaction(key, interaction_id, reply);
    }
}
