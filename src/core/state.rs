//! What the core holds of a Session: what is open, never the history.

use std::sync::Arc;

use super::{
    change::{
        InteractionRow, MessageRow, OpenRows, PartRow, QueueRow, QueuedInput, ReplayRecordRow, SessionRow,
        TurnRow,
    },
    input::CallStart,
    json::Json,
    message::{Message, Part, PartBody, PartState, ToolPart, ToolState},
    settings::Settings,
    text::StreamingText,
};

#[derive(Debug, Clone, PartialEq)]
pub struct SessionState {
    pub session: SessionRow,
    /// The ordered input queue: prompts and configuration commands that wait for a checkpoint.
    pub queue: Vec<Arc<QueueRow>>,
    pub turn: Option<Turn>,
    pub feed: PromptFeed,
    /// The handle was closed: nothing more is taken here. Opening the Session again makes another.
    pub closed: bool,
    /// Read from a store, and what an ended process may have left is not gone on with yet.
    pub needs_recovery: bool,
}

/// How far the host's copy of the model's prompt is. Belongs to this process and is never stored.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PromptFeed {
    /// How many updates were given out.
    pub sent: u64,
    /// What is new since the last of them.
    pub fresh: Vec<Arc<Message>>,
    /// There are Messages from before the Session was opened here.
    pub history: bool,
    /// Which of the host's models the Session was set to.
    pub model_key: Option<u32>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    pub row: Arc<TurnRow>,
    /// The Messages that can still change: the open assistant Message and those of open Parts.
    pub messages: Vec<MessageRow>,
    /// The Parts of the current step, and Parts of earlier ones that are still open, in order.
    pub parts: Vec<LivePart>,
    /// The Interactions of those Parts, oldest first.
    pub interactions: Vec<Arc<InteractionRow>>,
    /// What the replay tools among the calls asked, in order.
    pub replay_records: Vec<Arc<ReplayRecordRow>>,
    /// Calls that were going on when an earlier process ended. Ends with the process.
    pub resumed: Vec<ResumedCall>,
    /// The stream that is coming in. Ends with the process.
    pub stream: Stream,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ResumedCall {
    pub part_id: String,
    /// Positions of the records that were matched by what it asks now.
    pub used: Vec<u64>,
    /// Why it cannot go on; what it asked can still be answered.
    pub stuck: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Stream {
    /// The adapter's numbers for the Parts of this stream.
    pub refs: Vec<(u32, Arc<str>)>,
    /// The calls of this stream that were taken for the run of one that was approved.
    pub runs: Vec<ApprovedRun>,
    /// How often the request was retried.
    pub attempt: u32,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ApprovedRun {
    pub start: CallStart,
    pub provider_metadata: Option<Json>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct LivePart {
    pub row: Arc<PartRow>,
    /// The text of a Part that streams; the row's own is empty meanwhile.
    pub text: StreamingText,
}

impl LivePart {
    pub fn id(&self) -> &str {
        &self.row.part.part_id
    }

    pub fn tool(&self) -> Option<&ToolPart> {
        match &self.row.part.body {
            PartBody::Tool(tool) => Some(tool),
            _ => None,
        }
    }

    /// It is a tool call that has not ended.
    pub fn is_open_call(&self) -> bool {
        self.tool().is_some_and(|tool| !tool.state.is_terminal())
    }

    pub fn is_streaming(&self) -> bool {
        match &self.row.part.body {
            PartBody::Text(text) | PartBody::Reasoning(text) => text.state == PartState::Streaming,
            PartBody::Tool(tool) => tool.state == ToolState::InputStreaming,
            _ => false,
        }
    }

    /// The row with its text so far.
    pub fn full_row(&self) -> PartRow {
        let mut row = PartRow::clone(&self.row);
        if self.is_streaming() {
            match &mut row.part.body {
                PartBody::Text(text) | PartBody::Reasoning(text) => text.text = self.text.collect(),
                PartBody::Tool(tool) => tool.input_text = Some(self.text.collect()),
                _ => {}
            }
        }
        row
    }
}

impl Turn {
    pub fn new(row: TurnRow) -> Self {
        Self {
            row: Arc::new(row),
            messages: Vec::new(),
            parts: Vec::new(),
            interactions: Vec::new(),
            replay_records: Vec::new(),
            resumed: Vec::new(),
            stream: Stream::default(),
        }
    }

    pub fn row_mut(&mut self) -> &mut TurnRow {
        Arc::make_mut(&mut self.row)
    }

    pub fn part(&self, part_id: &str) -> Option<&LivePart> {
        self.parts.iter().find(|part| part.id() == part_id)
    }

    /// The Part of a tool call of the current step, or of one that is still open.
    pub fn call(&self, tool_call_id: &str) -> Option<&LivePart> {
        self.parts.iter().find(|part| part.tool().is_some_and(|tool| tool.tool_call_id == tool_call_id))
    }

    pub fn part_of_ref(&self, reference: u32) -> Option<&LivePart> {
        let (_, part_id) = self.stream.refs.iter().rev().find(|(number, _)| *number == reference)?;
        self.part(part_id)
    }

    pub fn interaction(&self, interaction_id: &str) -> Option<&Arc<InteractionRow>> {
        self.interactions.iter().find(|row| row.interaction.interaction_id == interaction_id)
    }

    pub fn pending(&self) -> impl Iterator<Item = &Arc<InteractionRow>> {
        self.interactions.iter().filter(|row| row.interaction.is_pending())
    }

    pub fn resumed(&self, part_id: &str) -> Option<&ResumedCall> {
        self.resumed.iter().find(|resumed| resumed.part_id == part_id)
    }

    pub fn resumed_mut(&mut self, part_id: &str) -> Option<&mut ResumedCall> {
        self.resumed.iter_mut().find(|resumed| resumed.part_id == part_id)
    }

    /// The records of a call that was resumed which nothing it asked has matched yet.
    pub fn unmatched(&self, part: &LivePart) -> Vec<&Arc<ReplayRecordRow>> {
        let (Some(resumed), Some(tool)) = (self.resumed(part.id()), part.tool()) else { return Vec::new() };
        let of_call = self.replay_records.iter().filter(|record| record.tool_call_id == tool.tool_call_id);
        of_call.filter(|record| !resumed.used.contains(&record.position)).collect()
    }

    pub fn has_pending(&self, part_id: &str) -> bool {
        self.pending().any(|row| row.part_id == part_id)
    }

    /// Whether the Part belongs to the step that is going on.
    pub fn in_current_step(&self, part: &LivePart) -> bool {
        self.row.step.as_ref().is_some_and(|step| part.row.part.step_id.as_deref() == Some(&step.step_id))
    }

    /// The Parts of the step that is going on, in order.
    pub fn step_parts(&self) -> impl Iterator<Item = &LivePart> {
        self.parts.iter().filter(|part| self.in_current_step(part))
    }

    /// Whether the Part is needed after its step: something of it may still change.
    pub fn is_open(&self, part: &LivePart) -> bool {
        self.has_pending(part.id()) || part.is_open_call()
    }

    /// The Part as it is shown: with its text so far and its Interactions.
    pub fn view(&self, part: &LivePart) -> Part {
        let mut shown = part.full_row().part;
        let mut of_part = self.interactions.iter().filter(|row| row.part_id == part.id()).peekable();
        match &mut shown.body {
            PartBody::Tool(tool) if of_part.peek().is_some() => {
                tool.interactions = Some(of_part.map(|row| row.interaction.clone()).collect());
            }
            PartBody::Interaction { interaction } => {
                if let Some(row) = of_part.next() {
                    **interaction = row.interaction.clone();
                }
            }
            _ => {}
        }
        shown
    }
}

impl SessionState {
    /// The state that these rows are of.
    pub fn restore(rows: OpenRows) -> Self {
        let OpenRows { session, queue, turn, messages, parts, interactions, replay_records } = rows;
        let turn = turn.map(|row| Turn {
            messages,
            parts: parts.into_iter().map(restore_part).collect(),
            interactions: interactions.into_iter().map(Arc::new).collect(),
            replay_records: replay_records.into_iter().map(Arc::new).collect(),
            ..Turn::new(row)
        });
        let feed = PromptFeed { history: session.message_count > 0, ..PromptFeed::default() };
        Self {
            session,
            queue: queue.into_iter().map(Arc::new).collect(),
            turn,
            feed,
            closed: false,
            needs_recovery: true,
        }
    }

    /// A Turn is unfinished or input is queued: the Session needs an owner.
    pub fn is_unfinished(&self) -> bool {
        !self.closed && (self.turn.is_some() || !self.queue.is_empty())
    }

    /// An unfinished Turn needs a model to go on with, and prompts that wait need one to begin with.
    pub fn can_be_recovered(&self, settings: &Settings) -> bool {
        let needs_model = self.turn.is_some() || self.has_queued_prompt();
        !needs_model || settings.has_model || self.configured_model().is_some()
    }

    pub fn has_queued_prompt(&self) -> bool {
        self.queue.iter().any(|row| matches!(row.input, QueuedInput::Prompt { .. }))
    }

    /// The model that was set here, whether it rules already or not.
    pub fn configured_model(&self) -> Option<u32> {
        let queued = self.queue.iter().rev().find_map(|row| match &row.input {
            QueuedInput::Config(command) => command.model.as_ref().map(|model| model.key),
            QueuedInput::Prompt { .. } => None,
        });
        queued.or(self.feed.model_key)
    }

    /// The host's copy of the prompt is no longer what the history says: it is built anew for the next request.
    pub fn forget_feed(&mut self) {
        let (history, model_key) = (self.session.message_count > 0, self.feed.model_key);
        self.feed = PromptFeed { history, model_key, ..PromptFeed::default() };
    }
}

fn restore_part(mut row: PartRow) -> LivePart {
    let text = match &mut row.part.body {
        PartBody::Text(text) | PartBody::Reasoning(text) if text.state == PartState::Streaming => {
            std::mem::take(&mut text.text)
        }
        PartBody::Tool(tool) if tool.state == ToolState::InputStreaming => {
            tool.input_text.replace(String::new()).unwrap_or_default()
        }
        _ => String::new(),
    };
    LivePart { row: Arc::new(row), text: StreamingText::from(text.as_str()) }
}
