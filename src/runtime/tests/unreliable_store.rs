//! A store that keeps its word only when it is told to.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use crate::{
    core::{
        change::{Commit, OpenRows, SessionRow},
        engine::Receipt,
        interaction::Interaction,
        message::Message,
    },
    storage::{
        ListPage, MessagePage, Opened, PendingList, Reply, SessionKey, SessionList, Snapshot, Store,
        StoreError, memory::MemoryStore,
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
    /// How many of the next reloads fail.
    failing_reloads: Mutex<usize>,
    held: Mutex<Vec<Box<dyn FnOnce() + Send>>>,
}

impl UnreliableStore {
    pub fn next(&self, fate: Fate) {
        self.fates.lock().unwrap().push_back(fate);
    }

    pub fn fail_reloads(&self, count: usize) {
        *self.failing_reloads.lock().unwrap() = count;
    }

    /// Gives the answers that were held back, from another thread, in order.
    pub fn release(&self) {
        let held = std::mem::take(&mut *self.held.lock().unwrap());
        std::thread::spawn(move || held.into_iter().for_each(|answer| answer())).join().unwrap();
    }
}

impl Store for UnreliableStore {
    fn append(&self, key: &SessionKey, fence: u64, commit: Arc<Commit>, reply: Reply<Receipt>) {
        let fate = self.fates.lock().unwrap().pop_front();
        match fate {
            None => self.inner.append(key, fence, commit, reply),
            Some(Fate::Fail(error)) => reply(Err(error)),
            Some(Fate::WriteAndFail(error)) => {
                self.inner.append(key, fence, commit, Box::new(|written| drop(written.unwrap())));
                reply(Err(error));
            }
            Some(Fate::Hold) => {
                let written = Arc::new(Mutex::new(None));
                let slot = written.clone();
                self.inner.append(
                    key,
                    fence,
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

    fn reload(&self, key: &SessionKey, reply: Reply<OpenRows>) {
        let mut left = self.failing_reloads.lock().unwrap();
        if *left > 0 {
            *left -= 1;
            drop(left);
            return reply(Err(StoreError::Unavailable("out of reach".into())));
        }
        drop(left);
        self.inner.reload(key, reply);
    }

    fn create(&self, key: &SessionKey, row: SessionRow, reply: Reply<()>) {
        self.inner.create(key, row, reply);
    }

    fn open(&self, key: &SessionKey, reply: Reply<Opened>) {
        self.inner.open(key, reply);
    }

    fn messages(&self, key: &SessionKey, page: MessagePage, reply: Reply<Vec<Message>>) {
        self.inner.messages(key, page, reply);
    }

    fn snapshot(&self, key: &SessionKey, limit: u32, reply: Reply<Snapshot>) {
        self.inner.snapshot(key, limit, reply);
    }

    fn pending(&self, key: &SessionKey, reply: Reply<Vec<Interaction>>) {
        self.inner.pending(key, reply);
    }

    fn interaction(&self, key: &SessionKey, interaction_id: &str, reply: Reply<Option<Interaction>>) {
        self.inner.interaction(key, interaction_id, reply);
    }

    fn journal(&self, key: &SessionKey, after: u64, limit: u32, reply: Reply<Vec<(u64, Arc<str>)>>) {
        self.inner.journal(key, after, limit, reply);
    }

    fn list(&self, agent_id: &str, page: ListPage, reply: Reply<SessionList>) {
        self.inner.list(agent_id, page, reply);
    }

    fn pending_of_agent(&self, agent_id: &str, limit: u32, after: Option<String>, reply: Reply<PendingList>) {
        self.inner.pending_of_agent(agent_id, limit, after, reply);
    }

    fn archive(&self, key: &SessionKey, reply: Reply<()>) {
        self.inner.archive(key, reply);
    }

    fn remove(&self, key: &SessionKey, reply: Reply<()>) {
        self.inner.remove(key, reply);
    }
}
