use crate::{core::error::Refusal, storage::StoreError};

/// Why a call ended without success.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RuntimeError {
    /// The caller mends its input; nothing was changed.
    #[error("{}", .0.message)]
    Refused(Box<Refusal>),
    /// See the variant of the store; nothing was changed.
    #[error("{0}")]
    Store(#[from] StoreError),
    /// The caller opens the Session first.
    #[error("the Session is not open")]
    NotOpen,
    /// A bug of ours: an invariant of the core was broken. Nothing was changed.
    #[error("an internal invariant was broken: {0}")]
    Broken(String),
}

impl From<Refusal> for RuntimeError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(Box::new(refusal))
    }
}
