//! What a commit writes: rows as they stand after it, and the journal entries of its Mutations.
//!
//! Rows hold the current state, so that opening a Session and paging never fold a history. A store
//! writes all changes of one [`Commit`] in one transaction or none of them.

use std::{collections::BTreeMap, sync::Arc};

use serde::{Deserialize, Serialize};

use super::{
    interaction::Interaction,
    json::{Json, present},
    message::{Part, Role},
};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ApprovalMode {
    Ask,
    AlwaysAllow,
}

/// One transaction's worth of changes to one Session.
#[derive(Debug, Clone, PartialEq)]
pub struct Commit {
    /// Identifies the attempt: after a failure of unknown outcome the store's row tells whether it went through.
    pub commit_id: String,
    /// The `commits` counter the Session row must have, else the commit is refused as a conflict.
    pub expected_commits: u64,
    /// Delta batches need to survive a process crash only; anything else a power cut as well.
    pub durability: Durability,
    /// After it a Turn is unfinished or input is queued: only then the Session has an owner.
    pub unfinished: bool,
    pub changes: Vec<Change>,
    pub journal: Vec<JournalEntry>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Durability {
    Process,
    Power,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    Session(SessionRow),
    Turn(TurnRow),
    Message(MessageRow),
    Part(PartRow),
    Interaction(InteractionRow),
    /// Something waits in the Session's ordered input queue.
    Enqueue(QueueRow),
    /// It was taken out: absorbed, applied, withdrawn or dropped.
    Dequeue {
        queue_id: String,
    },
    /// Something a replay tool asked, kept for the next time it is entered.
    ReplayRecord(ReplayRecordRow),
}

/// One Mutation as it was published, under its `revision_of_session`.
#[derive(Debug, Clone, PartialEq)]
pub struct JournalEntry {
    pub revision: u64,
    /// The whole Mutation as JSON text.
    pub body: Arc<str>,
    /// Set for a `delta`: the fragment belongs to this Part until the Part's row says `done`.
    pub delta: Option<DeltaEntry>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct DeltaEntry {
    pub part_id: String,
    pub text: Arc<str>,
}

/// The Session itself; one row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionRow {
    pub session_id: String,
    pub metadata: Option<Json>,
    pub approval_mode: ApprovalMode,
    pub effective_approval_mode: ApprovalMode,
    /// What stood there for a mode is none, so `ask` is read in its place. Never stored.
    #[serde(skip)]
    pub unknown_mode: bool,
    /// The last `revision_of_session` that was published.
    pub revision: u64,
    /// How many commits the Session has seen; the store checks it in every append.
    pub commits: u64,
    /// `commit_id` of the last one by an owner.
    pub last_commit_id: String,
    /// `commit_id` of the last one that left the Session to its owner.
    pub last_guest_commit_id: String,
    /// How many Messages there are, which is also the last `sequence`.
    pub message_count: u64,
    /// The unfinished Turn.
    pub active_turn_id: Option<String>,
    pub created_at: i64,
    pub updated_at: i64,
}

impl SessionRow {
    /// A Session that nothing has happened to yet; `now` in milliseconds since the epoch.
    pub fn new(session_id: &str, mode: ApprovalMode, now: i64) -> Self {
        Self {
            session_id: session_id.to_owned(),
            metadata: None,
            approval_mode: mode,
            effective_approval_mode: mode,
            unknown_mode: false,
            revision: 0,
            commits: 0,
            last_commit_id: String::new(),
            last_guest_commit_id: String::new(),
            message_count: 0,
            active_turn_id: None,
            created_at: now,
            updated_at: now,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnStatus {
    Running,
    Completed,
    Failed,
    Stopped,
    /// Only in a handle's result: this process let go, the Turn itself goes on elsewhere.
    Detached,
}

/// A Turn. `status` other than `running` is final.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TurnRow {
    pub turn_id: String,
    pub status: TurnStatus,
    /// Where a running Turn stands.
    pub step: Option<StepState>,
    /// How many model requests were begun.
    pub steps: u32,
    /// How many steps in a row ended without their calls being run.
    pub unusable_steps: u32,
    /// The prompts that were absorbed.
    pub prompt_ids: Vec<String>,
    /// The assistant Message that later Parts are appended to.
    pub message_id: Option<String>,
    /// The text of the last finished step.
    pub text: String,
    /// Token counts summed over the steps.
    pub usage: Usage,
    /// By pending Interaction: its `response_schema` as the validator reads it, where that differs.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub native_schemas: BTreeMap<String, Json>,
    pub error: Option<String>,
    pub error_code: Option<String>,
    pub started_at: i64,
    pub ended_at: Option<i64>,
}

/// Token counts, as far as the provider told them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub total_tokens: u64,
    pub reasoning_tokens: u64,
    pub cached_input_tokens: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepState {
    pub step_id: String,
    pub phase: StepPhase,
    /// Its stream has brought the run or the result of a call that the provider began in an earlier step.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub late_result: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepPhase {
    /// The model was asked, and its answer is coming in.
    Model,
    /// The model's stream has ended properly and its calls are going on.
    Calls,
}

/// A Message without its Parts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MessageRow {
    pub message_id: String,
    pub turn_id: Option<String>,
    pub role: Role,
    pub sequence: u64,
    pub revision: u64,
    /// How many Parts it has, which is also the last Part `sequence`.
    pub part_count: u64,
    pub created_at: i64,
    pub updated_at: i64,
}

/// A Part of a Message as it stands after the whole commit. `part` carries no `interactions` of a tool call: their
/// rows are the one place where they stand, and a reader puts them in. Fragments of a streaming text that come later
/// stand in the journal's deltas.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PartRow {
    pub message_id: String,
    pub part: Part,
    /// Set for a tool call: what the Session knows of it beyond what is shown.
    pub call: Option<CallRecord>,
}

/// What must be known of a call to go on with it, in this process or the next.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CallRecord {
    /// `execute` was entered, or was about to be.
    pub execution_started: bool,
    /// The tool opted in to be entered again after a crash.
    pub replay: bool,
    /// Whether the gate asked; `None` while that is not decided.
    pub gate: Option<GateRecord>,
    /// What passed the schema, where it differs from `input`.
    #[serde(deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub validated_input: Option<Json>,
    /// The tool's description when it was called.
    pub tool_description: Option<String>,
    /// The arguments have passed the tool's schema.
    pub input_valid: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum GateRecord {
    /// No person has to be asked.
    Open,
    Asked {
        interaction_id: String,
    },
}

/// An Interaction and where it stands: in a Tool Part, or as a Part of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InteractionRow {
    pub part_id: String,
    pub message_id: String,
    pub interaction: Interaction,
}

/// One entry of the Session's ordered input queue.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct QueueRow {
    pub queue_id: String,
    /// Orders the queue.
    pub position: u64,
    pub input: QueuedInput,
}

impl QueueRow {
    /// As it is stored: a model belongs to the process that holds its object.
    pub fn without_model(&self) -> Self {
        let mut row = self.clone();
        if let QueuedInput::Config(command) = &mut row.input {
            command.model = None;
        }
        row
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum QueuedInput {
    Prompt { prompt_id: String, parts: Vec<super::message::PartBody> },
    Config(ConfigCommand),
}

/// A change of configuration that waits for the next checkpoint.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConfigCommand {
    pub approval_mode: Option<ApprovalMode>,
    /// The model to go on with, while the process that set it lives; never stored.
    pub model: Option<ModelChoice>,
    pub persist_action: bool,
    pub publish_mutation: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelChoice {
    /// Which of the models the host holds; meaningless in another process.
    pub key: u32,
    /// `provider/model_id`.
    pub label: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReplayRecordRow {
    pub tool_call_id: String,
    /// Orders the records of a call.
    pub position: u64,
    /// The producer's own normalised `{ type, payload }`.
    pub request: Json,
    /// The Interaction it became; `None` where it was approved without asking.
    pub interaction_id: Option<String>,
}

/// Everything of a Session that is not finished, as a store reads it back. No history.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenRows {
    pub session: SessionRow,
    /// In the order of `position`.
    pub queue: Vec<QueueRow>,
    /// The Turn named by `active_turn_id`.
    pub turn: Option<TurnRow>,
    /// The Message named by the Turn's `message_id`, and those of `parts`, by `sequence`.
    pub messages: Vec<MessageRow>,
    /// The Parts of the Turn's current step, and any other Part of the Turn that is still open, in order.
    /// Streaming text is complete: the journal's deltas are folded in.
    pub parts: Vec<PartRow>,
    /// All Interactions of those Parts, in the order they were asked.
    pub interactions: Vec<InteractionRow>,
    /// All replay records of those Parts' calls.
    pub replay_records: Vec<ReplayRecordRow>,
}

impl OpenRows {
    /// Those of a Session of which nothing is unfinished.
    pub fn of(session: SessionRow) -> Self {
        Self {
            session,
            queue: Vec::new(),
            turn: None,
            messages: Vec::new(),
            parts: Vec::new(),
            interactions: Vec::new(),
            replay_records: Vec::new(),
        }
    }
}
