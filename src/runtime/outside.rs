//! What the runtime is given to work with.

use std::sync::Arc;

use super::{clock::Clock, feed::Feed, host::Host};
use crate::storage::Store;

#[derive(Clone)]
pub struct Outside {
    pub store: Arc<dyn Store>,
    pub host: Arc<dyn Host>,
    pub clock: Arc<dyn Clock>,
}

/// What an Agent gives each of its runners.
pub(super) struct Around {
    pub outside: Outside,
    pub feed: Arc<Feed>,
    /// To be called when somebody else owns a Session.
    pub watch_owners: Arc<dyn Fn() + Send + Sync>,
}

impl Outside {
    pub(super) fn feed_of(&self, agent_id: Arc<str>) -> Arc<Feed> {
        Feed::new(agent_id, self.store.clone(), self.host.clone(), self.clock.clone())
    }
}
