//! Rows for tests, with only what a test cares about spelled out.

mod commit;
mod parts;

use std::sync::{Arc, mpsc};

pub use self::{
    commit::CommitBuilder,
    parts::{answered, done, interaction, interaction_part, reasoning, streaming, tool},
};
use super::{Authority, MessagePage, Opened, OwnerId, Reply, SessionKey, Snapshot, Store, StoreError};
use crate::core::{
    change::{ApprovalMode, SessionRow},
    engine::Receipt,
    message::{Message, PartBody},
};

/// The calls that a store for tests passes on as they are.
macro_rules! pass_on {
    ($inner:ident: $($call:ident($($argument:ident: $kind:ty),*) -> $answer:ty;)*) => {
        $(fn $call(&self, $($argument: $kind,)* reply: Reply<$answer>) {
            self.$inner.$call($($argument,)* reply);
        })*
    };
    ($inner:ident) => {
        $crate::storage::fixture::pass_on! { $inner:
            messages(key: &SessionKey, page: $crate::storage::MessagePage)
                -> Vec<$crate::core::message::Message>;
            snapshot(key: &SessionKey, limit: u32) -> $crate::storage::Snapshot;
            pending(key: &SessionKey) -> Vec<$crate::core::interaction::Interaction>;
            journal(key: &SessionKey, after: u64, limit: u32) -> Vec<(u64, Arc<str>)>;
            list(agent_id: &str, page: $crate::storage::ListPage) -> $crate::storage::SessionList;
            pending_of_agent(agent_id: &str, limit: u32, after: Option<String>)
                -> $crate::storage::PendingList;
            archive(key: &SessionKey) -> ();
            remove(key: &SessionKey) -> ();
        }
    };
}
pub(crate) use pass_on;

pub const AGENT: &str = "agent";

pub fn key(session_id: &str) -> SessionKey {
    key_of(AGENT, session_id)
}

pub fn key_of(agent_id: &str, session_id: &str) -> SessionKey {
    SessionKey { agent_id: Arc::from(agent_id), session_id: Arc::from(session_id) }
}

pub fn session_row(session_id: &str) -> SessionRow {
    SessionRow::new(session_id, ApprovalMode::Ask, 1_000)
}

/// Makes a call and waits for its answer.
pub fn ask<T: Send + 'static>(call: impl FnOnce(Reply<T>)) -> Result<T, StoreError> {
    later(call).recv().expect("every reply is called")
}

/// Makes a call; the answer can be received when it is there.
pub fn later<T: Send + 'static>(call: impl FnOnce(Reply<T>)) -> mpsc::Receiver<Result<T, StoreError>> {
    let (sender, answer) = mpsc::channel();
    call(Box::new(move |result| {
        // A test may have lost interest in the answer.
        let _ = sender.send(result);
    }));
    answer
}

/// A Session that is open for writing, as a runtime holds it.
pub struct Hand {
    pub store: Arc<dyn Store>,
    pub key: SessionKey,
    pub me: OwnerId,
    pub fence: u64,
    /// It takes the Session with its next commit.
    pub taking: bool,
    /// The row as of the last commit.
    pub row: SessionRow,
}

impl Hand {
    /// Creates a Session and opens it.
    pub fn create(store: &Arc<dyn Store>, session_id: &str) -> Self {
        Self::create_as(store, &key(session_id), session_row(session_id))
    }

    pub fn create_as(store: &Arc<dyn Store>, key: &SessionKey, row: SessionRow) -> Self {
        let fence = ask(|reply| store.create(key, row.clone(), reply)).expect("the id is free");
        Self { store: store.clone(), key: key.clone(), me: "creator".into(), fence, taking: false, row }
    }

    pub fn open(store: &Arc<dyn Store>, key: &SessionKey) -> Self {
        let Opened { rows, ownership } = ask(|reply| store.open(key, reply)).expect("the Session exists");
        let (me, fence) = ("opener".into(), ownership.fence);
        Self { store: store.clone(), key: key.clone(), me, fence, taking: true, row: rows.session }
    }

    fn authority(&self) -> Authority {
        if self.taking {
            Authority::Taking { seen: self.fence }
        } else {
            Authority::Owner { fence: self.fence }
        }
    }

    /// Appends a commit that leaves the Session to its owner.
    pub fn commit_as_guest(
        &mut self,
        build: impl FnOnce(&mut CommitBuilder) -> &mut CommitBuilder,
    ) -> Result<Receipt, StoreError> {
        self.submit_as(Authority::Guest, build).recv().expect("every reply is called")
    }

    /// Appends a commit and takes over its Session row.
    pub fn commit(&mut self, build: impl FnOnce(&mut CommitBuilder) -> &mut CommitBuilder) -> Receipt {
        self.try_commit(build).expect("the commit is accepted")
    }

    pub fn try_commit(
        &mut self,
        build: impl FnOnce(&mut CommitBuilder) -> &mut CommitBuilder,
    ) -> Result<Receipt, StoreError> {
        let receipt = self.submit(build).recv().expect("every reply is called")?;
        (self.fence, self.taking) = (receipt.fence(), false);
        Ok(receipt)
    }

    /// Appends a commit without waiting, taking over its Session row as if it were accepted.
    pub fn submit(
        &mut self,
        build: impl FnOnce(&mut CommitBuilder) -> &mut CommitBuilder,
    ) -> mpsc::Receiver<Result<Receipt, StoreError>> {
        self.submit_as(self.authority(), build)
    }

    fn submit_as(
        &mut self,
        authority: Authority,
        build: impl FnOnce(&mut CommitBuilder) -> &mut CommitBuilder,
    ) -> mpsc::Receiver<Result<Receipt, StoreError>> {
        let mut builder = CommitBuilder::on(&self.row);
        build(&mut builder);
        let (row, commit) = builder.finish();
        self.row = row;
        later(|reply| self.store.append(&self.key, &self.me, authority, Arc::new(commit), reply))
    }

    pub fn snapshot(&self) -> Snapshot {
        ask(|reply| self.store.snapshot(&self.key, 100, reply)).expect("the Session exists")
    }

    pub fn messages(&self, before_sequence: Option<u64>, limit: u32) -> Vec<Message> {
        let page = MessagePage { before_sequence, limit };
        ask(|reply| self.store.messages(&self.key, page, reply)).expect("the Session exists")
    }

    /// The body of a Part as a reader sees it.
    pub fn part(&self, part_id: &str) -> PartBody {
        let parts = self.messages(None, 100).into_iter().flat_map(|message| message.parts);
        parts.into_iter().find(|part| part.part_id == part_id).expect("the Part exists").body
    }
}
