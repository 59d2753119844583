//! What the runtime is given to work with.

use std::sync::Arc;

use super::{clock::Clock, host::Host};
use crate::storage::Store;

#[derive(Clone)]
pub struct Outside {
    pub store: Arc<dyn Store>,
    pub host: Arc<dyn Host>,
    pub clock: Arc<dyn Clock>,
}
