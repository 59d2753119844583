//! The smallest store: rows by id, for tests of the core alone.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::Value;

use crate::core::{
    change::{
        Change, Commit, InteractionRow, MessageRow, OpenRows, PartRow, QueueRow, ReplayRecordRow, SessionRow,
        TurnRow,
    },
    message::{Message, PartBody, PartState, ToolState},
    state::{LivePart, PromptFeed, SessionState, Stream},
};

#[derive(Debug, Clone)]
pub struct Stored {
    pub session: SessionRow,
    pub turns: BTreeMap<String, TurnRow>,
    pub messages: BTreeMap<String, MessageRow>,
    pub parts: BTreeMap<String, PartRow>,
    /// Interactions in the order they were asked.
    pub interactions: Vec<InteractionRow>,
    pub queue: Vec<QueueRow>,
    pub journal: Vec<Value>,
    pub replay_records: Vec<ReplayRecordRow>,
}

impl Stored {
    pub fn new(session: SessionRow) -> Self {
        Self {
            session,
            turns: BTreeMap::new(),
            messages: BTreeMap::new(),
            parts: BTreeMap::new(),
            interactions: Vec::new(),
            queue: Vec::new(),
            journal: Vec::new(),
            replay_records: Vec::new(),
        }
    }

    pub fn apply(&mut self, commit: &Commit) {
        assert_eq!(commit.expected_commits, self.session.commits);
        for (entry, revision) in commit.journal.iter().zip(self.session.revision + 1..) {
            assert_eq!(entry.revision, revision, "revisions have no gaps");
            self.journal.push(serde_json::from_str(&entry.body).unwrap());
            if let Some(delta) = &entry.delta
                && let Some(row) = self.parts.get_mut(&delta.part_id)
            {
                append(row, &delta.text);
            }
        }
        let revision = self.session.revision + commit.journal.len() as u64;
        for change in &commit.changes {
            self.change(change.clone());
        }
        assert_eq!(self.session.revision, revision, "the Session's row counts what was published");
        assert_eq!(self.session.message_count, self.messages.len() as u64);
    }

    fn change(&mut self, change: Change) {
        match change {
            Change::Session(row) => self.session = row,
            Change::Turn(row) => {
                self.turns.insert(row.turn_id.clone(), row);
            }
            Change::Message(row) => {
                let is_next = row.sequence == self.messages.len() as u64 + 1;
                assert!(
                    is_next || self.messages.contains_key(&row.message_id),
                    "Messages are written in order"
                );
                self.messages.insert(row.message_id.clone(), row);
            }
            Change::Part(row) => {
                self.parts.insert(row.part.part_id.clone(), row);
            }
            Change::Interaction(row) => {
                let id = &row.interaction.interaction_id;
                match self.interactions.iter_mut().find(|known| known.interaction.interaction_id == *id) {
                    Some(known) => {
                        assert!(known.interaction.is_pending(), "a terminal Interaction never changes (I5)");
                        *known = row;
                    }
                    None => self.interactions.push(row),
                }
            }
            Change::Enqueue(row) => self.queue.push(row),
            Change::Dequeue { queue_id } => {
                let before = self.queue.len();
                self.queue.retain(|row| row.queue_id != queue_id);
                assert_eq!(self.queue.len() + 1, before, "only what is queued is taken out");
            }
            Change::ReplayRecord(row) => self.replay_records.push(row),
        }
    }

    fn of_part(&self, part_id: &str) -> impl Iterator<Item = &InteractionRow> {
        self.interactions.iter().filter(move |row| row.part_id == part_id)
    }

    /// What a store gives when the Session is opened.
    pub fn open_rows(&self) -> OpenRows {
        let turn = self.session.active_turn_id.as_ref().map(|id| self.turns[id].clone());
        let in_turn =
            |row: &MessageRow| turn.as_ref().is_some_and(|turn| row.turn_id.as_ref() == Some(&turn.turn_id));
        let step_id = turn.as_ref().and_then(|turn| turn.step.as_ref()).map(|step| &step.step_id);
        let wanted = |row: &&PartRow| {
            let pending = self.of_part(&row.part.part_id).any(|row| row.interaction.is_pending());
            let of_step = step_id.is_some() && row.part.step_id.as_ref() == step_id;
            in_turn(&self.messages[&row.message_id]) && (of_step || row.part.is_open() || pending)
        };
        let mut parts: Vec<PartRow> = self.parts.values().filter(wanted).cloned().collect();
        parts.sort_by_key(|row| (self.messages[&row.message_id].sequence, row.part.sequence));
        let current = turn.as_ref().and_then(|turn| turn.message_id.clone());
        let mut messages: Vec<MessageRow> = self
            .messages
            .values()
            .filter(|row| {
                Some(&row.message_id) == current.as_ref()
                    || parts.iter().any(|part| part.message_id == row.message_id)
            })
            .cloned()
            .collect();
        messages.sort_by_key(|row| row.sequence);
        let interactions = self
            .interactions
            .iter()
            .filter(|row| parts.iter().any(|part| part.part.part_id == row.part_id))
            .cloned()
            .collect();
        let of_calls = |row: &&ReplayRecordRow| {
            parts.iter().any(|part| match &part.part.body {
                PartBody::Tool(tool) => tool.tool_call_id == row.tool_call_id,
                _ => false,
            })
        };
        let replay_records = self.replay_records.iter().filter(of_calls).cloned().collect();
        OpenRows {
            session: self.session.clone(),
            queue: self.queue.clone(),
            turn,
            messages,
            parts,
            interactions,
            replay_records,
        }
    }

    /// `messages()`, as JSON.
    pub fn shown(&self) -> Vec<Value> {
        let mut rows: Vec<&MessageRow> = self.messages.values().collect();
        rows.sort_by_key(|row| row.sequence);
        rows.iter().map(|row| serde_json::to_value(self.message(row)).unwrap()).collect()
    }

    fn message(&self, row: &MessageRow) -> Message {
        let mut parts: Vec<_> = self
            .parts
            .values()
            .filter(|part| part.message_id == row.message_id)
            .map(|part| part.part.clone())
            .collect();
        parts.sort_by_key(|part| part.sequence);
        for part in &mut parts {
            let mut asked = self.of_part(&part.part_id).map(|row| row.interaction.clone()).peekable();
            match &mut part.body {
                PartBody::Tool(tool) if asked.peek().is_some() => tool.interactions = Some(asked.collect()),
                PartBody::Interaction { interaction } => **interaction = asked.next().unwrap(),
                _ => {}
            }
        }
        Message {
            message_id: row.message_id.clone(),
            session_id: self.session.session_id.clone(),
            turn_id: row.turn_id.clone(),
            role: row.role,
            sequence: row.sequence,
            revision: row.revision,
            parts,
            created_at: row.created_at,
            updated_at: row.updated_at,
        }
    }

    /// I1, as every reader and every crash sees it: `waiting-user` if and only if something is pending.
    pub fn assert_tools_match_their_interactions(&self) {
        for row in self.parts.values() {
            let pending = self.of_part(&row.part.part_id).any(|row| row.interaction.is_pending());
            if let PartBody::Tool(tool) = &row.part.body {
                assert_eq!(tool.state == ToolState::WaitingUser, pending, "I1: {row:?}");
            }
            if pending || row.part.is_open() {
                let turn_id = self.messages[&row.message_id].turn_id.as_ref();
                assert_eq!(
                    turn_id,
                    self.session.active_turn_id.as_ref(),
                    "only the active Turn has open Parts"
                );
            }
        }
    }
}

fn append(row: &mut PartRow, delta: &str) {
    match &mut row.part.body {
        PartBody::Text(text) | PartBody::Reasoning(text) if text.state == PartState::Streaming => {
            text.text.push_str(delta);
        }
        PartBody::Tool(tool) if tool.state == ToolState::InputStreaming => {
            tool.input_text.get_or_insert_default().push_str(delta);
        }
        _ => {}
    }
}

pub fn as_json(messages: &[Arc<Message>]) -> Vec<Value> {
    messages.iter().map(|message| serde_json::to_value(message).unwrap()).collect()
}

pub fn tools_of(messages: &[Value]) -> BTreeMap<String, Value> {
    let parts = messages.iter().flat_map(|message| message["parts"].as_array().unwrap());
    let tools = parts.filter(|part| part["type"] == "tool");
    tools.map(|part| (part["part_id"].as_str().unwrap().to_owned(), part.clone())).collect()
}

/// The state without what belongs to the process, and without what ended and is only still at hand.
pub fn persisted(state: &SessionState) -> SessionState {
    let mut state = state.clone();
    state.feed = PromptFeed::default();
    state.needs_recovery = false;
    state.closed = false;
    for row in &mut state.queue {
        *row = Arc::new(row.without_model());
    }
    if let Some(turn) = &mut state.turn {
        turn.stream = Stream::default();
        turn.resumed.clear();
        let whole = turn.clone();
        let open = |part: &LivePart| whole.in_current_step(part) || whole.is_open(part);
        turn.parts.retain(open);
        let kept = turn.parts.clone();
        turn.interactions.retain(|row| kept.iter().any(|part| part.id() == row.part_id));
        let current = turn.row.message_id.clone();
        turn.messages.retain(|row| {
            Some(&row.message_id) == current.as_ref()
                || kept.iter().any(|part| part.row.message_id == row.message_id)
        });
    }
    state
}
