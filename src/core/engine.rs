/// A store's word that a commit is durable. `Engine::commit` cannot be called without one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    commit_id: String,
}

impl Receipt {
    /// For stores only, once the transaction of `commit_id` is durable.
    pub fn of(commit_id: &str) -> Self {
        Self { commit_id: commit_id.to_owned() }
    }

    pub fn commit_id(&self) -> &str {
        &self.commit_id
    }
}
