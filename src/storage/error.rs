/// What can go wrong in a store. The text in a variant is the driver's own.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The caller picks another id.
    #[error("a Session with this id exists already")]
    Exists,
    /// The caller checks the id.
    #[error("no Session with this id")]
    NotFound,
    /// The caller waits for the Turn, or stops it.
    #[error("the Session has a Turn that is not finished")]
    Running,
    /// The runtime reloads and decides again.
    #[error("another writer has committed to the Session meanwhile")]
    Conflict,
    /// The runtime gives the Session up: another process owns it now.
    #[error("the Session was taken over by another owner")]
    LeaseLost,
    /// Retrying helps once the other program lets go.
    #[error("the store is locked by another program: {0}")]
    Busy(String),
    /// The operator frees space.
    #[error("the disk is full: {0}")]
    Full(String),
    /// The operator restores a backup; nothing was written.
    #[error("the store is damaged or is no store of this program: {0}")]
    Corrupt(String),
    /// The operator installs a newer version of the program.
    #[error("the store has schema version {found}, this program knows up to {known}")]
    Version { found: i64, known: i64 },
    /// The operator looks at the path, its rights or the network.
    #[error("the store is out of reach: {0}")]
    Unavailable(String),
    /// A cursor that this store never gave.
    #[error("the page cursor is not one this store gave")]
    BadCursor,
}
