//! The outside, as the runtime sees it.

use super::error::RuntimeError;
use crate::core::{effect::Effect, input::Ticket};

/// Names an open Session towards the host: a number of this process, and its id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRef {
    pub handle: u32,
    pub session_id: std::sync::Arc<str>,
}

/// Whoever performs effects. Calls come in the order things happened, under the Session's lock: an
/// implementation queues them and returns; it must not call back into the runtime.
pub trait Host: Send + Sync + 'static {
    /// Work the core asks for, after its commit.
    fn perform(&self, session: &SessionRef, effect: Effect);

    /// The answer to a call that is no input of a Session, as JSON text.
    fn answer(&self, ticket: Ticket, result: Result<String, RuntimeError>);

    /// A Mutation of any Session of the Agent, as JSON text, where its feed was begun.
    fn fed(&self, body: std::sync::Arc<str>);

    /// The Session is no more to be had through this handle: taken over by another owner, or removed.
    fn lost(&self, session: &SessionRef, why: RuntimeError);

    /// Something a developer should know that no call can be told.
    fn warn(&self, session: &SessionRef, message: String);

    /// There is something new. Called once after a run of the calls above, outside any lock.
    fn wake(&self);
}
