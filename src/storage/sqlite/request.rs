//! A call on its way through a thread.

use std::panic::{AssertUnwindSafe, catch_unwind};

use rusqlite::Connection;

use crate::{
    core::change::Durability,
    storage::{Reply, StoreError},
};

pub(super) trait Request: Send {
    fn durability(&self) -> Durability;

    /// Does the work. After an error, what it changed must not be kept.
    fn run(&mut self, connection: &Connection) -> Result<(), StoreError>;

    /// Tells the caller, once it is known how the transaction around the work ended.
    fn answer(self: Box<Self>, transaction: Result<(), StoreError>);
}

pub(super) struct Call<T, W> {
    durability: Durability,
    work: Option<W>,
    result: Result<T, StoreError>,
    reply: Answer<T>,
}

impl<T, W> Call<T, W>
where
    T: Send + 'static,
    W: FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
{
    pub fn boxed(durability: Durability, reply: Reply<T>, work: W) -> Box<dyn Request> {
        Box::new(Self { durability, work: Some(work), result: Err(ended()), reply: Answer(Some(reply)) })
    }
}

impl<T, W> Request for Call<T, W>
where
    T: Send,
    W: FnOnce(&Connection) -> Result<T, StoreError> + Send,
{
    fn durability(&self) -> Durability {
        self.durability
    }

    fn run(&mut self, connection: &Connection) -> Result<(), StoreError> {
        if let Some(work) = self.work.take() {
            // A broken invariant must not take down the thread that all Sessions share.
            let outcome = catch_unwind(AssertUnwindSafe(|| work(connection)));
            self.result = outcome.unwrap_or_else(|_| {
                Err(StoreError::Unavailable("the store's work panicked: please report it".to_owned()))
            });
        }
        self.result.as_ref().map(|_| ()).map_err(Clone::clone)
    }

    fn answer(self: Box<Self>, transaction: Result<(), StoreError>) {
        let Self { result, reply, .. } = *self;
        reply.give(transaction.and(result));
    }
}

/// A reply that cannot be forgotten: dropped without an answer, it says that the store has ended.
struct Answer<T>(Option<Reply<T>>);

impl<T> Answer<T> {
    fn give(mut self, result: Result<T, StoreError>) {
        self.send(result);
    }

    fn send(&mut self, result: Result<T, StoreError>) {
        if let Some(reply) = self.0.take() {
            // What the caller does with the answer is not the thread's to die of.
            let _ = catch_unwind(AssertUnwindSafe(|| reply(result)));
        }
    }
}

impl<T> Drop for Answer<T> {
    fn drop(&mut self) {
        self.send(Err(ended()));
    }
}

fn ended() -> StoreError {
    StoreError::Unavailable("the store ended before it could answer".to_owned())
}
