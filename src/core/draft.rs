//! The draft: a copy of the state that one batch of inputs works on, and the record of what they change.
//!
//! Everything that is written, published or asked of the outside goes through here, in the order it is decided.
//! Nothing of it counts before the store has given its receipt.

use std::sync::Arc;

use super::{
    change::{
        CallRecord, Change, Commit, DeltaEntry, Durability, InteractionRow, JournalEntry, MessageRow,
        PartRow, QueueRow, TurnRow,
    },
    effect::{Answer, Effect},
    input::Ticket,
    interaction::Interaction,
    message::{Message, Part, PartBody, Role, ToolPart},
    mutation::{DeltaKind, Mutation, MutationBody},
    settings::Settings,
    stamp::Stamp,
    state::{LivePart, SessionState, Turn},
    text::StreamingText,
};

pub(super) struct Draft<'a> {
    pub settings: &'a Settings,
    pub stamp: Stamp,
    pub state: SessionState,
    effects: Vec<Effect>,
    journal: Vec<JournalEntry>,
    changes: Vec<Change>,
    durability: Durability,
    dirty: Dirty,
}

/// Rows that differ from what is stored; written when the batch ends or when they leave the state.
#[derive(Default)]
struct Dirty {
    session: bool,
    turn: bool,
    messages: Vec<String>,
    parts: Vec<String>,
    interactions: Vec<String>,
    /// Messages whose revision has grown in this batch already.
    revised: Vec<String>,
}

fn note(list: &mut Vec<String>, id: &str) {
    if !list.iter().any(|known| known == id) {
        list.push(id.to_owned());
    }
}

impl<'a> Draft<'a> {
    pub fn new(settings: &'a Settings, state: SessionState, stamp: Stamp) -> Self {
        Self {
            settings,
            stamp,
            state,
            effects: Vec::new(),
            journal: Vec::new(),
            changes: Vec::new(),
            durability: Durability::Process,
            dirty: Dirty::default(),
        }
    }

    pub fn now(&self) -> i64 {
        self.stamp.now()
    }

    pub fn effect(&mut self, effect: Effect) {
        self.effects.push(effect);
    }

    /// Takes back that a call is entered, where that was decided in this very batch.
    pub fn take_back_entering(&mut self, tool_call_id: &str) -> bool {
        let before = self.effects.len();
        self.effects.retain(
            |effect| !matches!(effect, Effect::EnterTool { call, .. } if call.tool_call_id == tool_call_id),
        );
        self.effects.len() < before
    }

    pub fn answer(&mut self, ticket: Ticket, answer: Answer) {
        self.effect(Effect::Answer { ticket, result: Ok(answer) });
    }

    /// The running Turn.
    pub fn turn(&self) -> &Turn {
        self.state.turn.as_ref().expect("only called while a Turn is running")
    }

    pub fn turn_mut(&mut self) -> &mut Turn {
        self.state.turn.as_mut().expect("only called while a Turn is running")
    }

    /// Changes the running Turn's row. What it says must survive a power cut.
    pub fn change_turn(&mut self, change: impl FnOnce(&mut TurnRow)) {
        self.dirty.turn = true;
        self.durability = Durability::Power;
        change(self.turn_mut().row_mut());
    }

    pub fn change_session(&mut self) -> &mut super::change::SessionRow {
        self.dirty.session = true;
        self.durability = Durability::Power;
        &mut self.state.session
    }

    pub fn raise_durability(&mut self, durability: Durability) {
        self.durability = self.durability.max(durability);
    }

    pub fn enqueue(&mut self, row: QueueRow) {
        self.durability = Durability::Power;
        self.changes.push(Change::Enqueue(row.clone()));
        self.state.queue.push(Arc::new(row));
    }

    /// Takes everything out of the queue that `wanted` picks, in order.
    pub fn dequeue(&mut self, wanted: impl Fn(&QueueRow) -> bool) -> Vec<Arc<QueueRow>> {
        let (taken, kept): (Vec<_>, Vec<_>) = self.state.queue.drain(..).partition(|row| wanted(row));
        self.state.queue = kept;
        for row in &taken {
            self.durability = Durability::Power;
            // What came in with this very batch never has to rest in the stored queue.
            let before = self.changes.len();
            self.changes
                .retain(|change| !matches!(change, Change::Enqueue(new) if new.queue_id == row.queue_id));
            if self.changes.len() == before {
                self.changes.push(Change::Dequeue { queue_id: row.queue_id.clone() });
            }
        }
        taken
    }

    // ---- Messages and Parts ------------------------------------------------------------------

    /// Adds a user Message; later Parts of the Turn open a new assistant Message.
    pub fn add_user_message(&mut self, bodies: &[PartBody]) {
        self.durability = Durability::Power;
        let mut row = self.new_message_row(Role::User);
        let mut parts = Vec::with_capacity(bodies.len());
        for body in bodies {
            row.part_count += 1;
            let part_id = self.stamp.id("part");
            parts.push(Part { part_id, sequence: row.part_count, step_id: None, body: body.clone() });
        }
        for part in &parts {
            let row = PartRow { message_id: row.message_id.clone(), part: part.clone(), call: None };
            self.changes.push(Change::Part(row));
        }
        self.changes.push(Change::Message(row.clone()));
        let message = self.message_of(&row, parts);
        self.state.feed.fresh.push(Arc::new(message.clone()));
        self.publish_message(message);
        if self.state.turn.is_some() {
            self.change_turn(|turn| turn.message_id = None);
        }
    }

    /// Adds a Part to the open assistant Message, or to a new one. `publish` tells subscribers.
    pub fn add_part(&mut self, body: PartBody, call: Option<CallRecord>, publish: bool) -> String {
        let step_id = self.turn().row.step.as_ref().map(|step| step.step_id.clone());
        let (message_id, is_new) = self.open_assistant_message();
        let revision = self.revise(&message_id);
        let part_id = self.stamp.id("part");
        let message = self.message_row_mut(&message_id);
        message.part_count += 1;
        let part = Part { part_id: part_id.clone(), sequence: message.part_count, step_id, body };
        let row = PartRow { message_id: message_id.clone(), part: part.clone(), call };
        self.turn_mut().parts.push(LivePart { row: Arc::new(row), text: StreamingText::default() });
        note(&mut self.dirty.parts, &part_id);
        if publish {
            if is_new {
                let row = self.message_row_mut(&message_id).clone();
                let message = self.message_of(&row, vec![part.clone()]);
                self.publish_message(message);
            }
            self.publish_part(&message_id, revision, part);
        }
        part_id
    }

    /// A completed Part in an assistant Message of its own, outside any Turn.
    pub fn add_standalone_part(&mut self, body: PartBody, publish: bool) {
        self.durability = Durability::Power;
        let mut row = self.new_message_row(Role::Assistant);
        row.part_count = 1;
        let part = Part { part_id: self.stamp.id("part"), sequence: 1, step_id: None, body };
        self.changes.push(Change::Part(PartRow {
            message_id: row.message_id.clone(),
            part: part.clone(),
            call: None,
        }));
        self.changes.push(Change::Message(row.clone()));
        if publish {
            let message = self.message_of(&row, vec![part.clone()]);
            self.publish_message(message);
            self.publish_part(&row.message_id, row.revision, part);
        }
    }

    /// Changes a Part that is still in the state, and publishes it as it stands now.
    pub fn change_part(&mut self, part_id: &str, change: impl FnOnce(&mut PartRow, &StreamingText)) {
        let part = self.part_mut(part_id);
        let text = part.text.clone();
        change(Arc::make_mut(&mut part.row), &text);
        if !part.is_streaming() {
            part.text = StreamingText::default();
        }
        self.publish_part_now(part_id);
    }

    /// Changes a Part where nothing of the change is shown.
    pub fn change_call_record(&mut self, part_id: &str, change: impl FnOnce(&mut CallRecord)) {
        let row = Arc::make_mut(&mut self.part_mut(part_id).row);
        change(row.call.get_or_insert_with(CallRecord::default));
        note(&mut self.dirty.parts, part_id);
        self.durability = Durability::Power;
    }

    pub fn change_tool(&mut self, part_id: &str, change: impl FnOnce(&mut ToolPart, &StreamingText)) {
        self.durability = Durability::Power;
        self.change_part(part_id, |row, text| match &mut row.part.body {
            PartBody::Tool(tool) => change(tool, text),
            _ => unreachable!("only tool calls are changed as such"),
        });
    }

    /// Publishes a Part with its Interactions, after either of them changed.
    pub fn publish_part_now(&mut self, part_id: &str) {
        note(&mut self.dirty.parts, part_id);
        let turn = self.turn();
        let part = turn.part(part_id).expect("a Part that is changed is in the state");
        let (message_id, shown) = (part.row.message_id.clone(), turn.view(part));
        let revision = self.revise(&message_id);
        self.publish_part(&message_id, revision, shown);
    }

    pub fn append_text(&mut self, part_id: &str, kind: DeltaKind, text: &str) {
        let part = self.part_mut(part_id);
        part.text.push(text);
        let message_id = part.row.message_id.clone();
        let revision = self.revise(&message_id);
        self.publish(
            MutationBody::Delta {
                kind,
                message_id,
                part_id: part_id.to_owned(),
                revision,
                delta: text.to_owned(),
            },
            Some(DeltaEntry { part_id: part_id.to_owned(), text: text.into() }),
        );
    }

    /// Writes an Interaction. Publishing the Part that shows it is the caller's, so that both change at once.
    pub fn put_interaction(&mut self, row: InteractionRow) {
        self.durability = Durability::Power;
        note(&mut self.dirty.interactions, &row.interaction.interaction_id);
        let turn = self.turn_mut();
        if let Some(part) = turn.parts.iter_mut().find(|part| part.id() == row.part_id)
            && matches!(part.row.part.body, PartBody::Interaction { .. })
        {
            let interaction = Box::new(row.interaction.clone());
            Arc::make_mut(&mut part.row).part.body = PartBody::Interaction { interaction };
        }
        let known = turn
            .interactions
            .iter_mut()
            .find(|known| known.interaction.interaction_id == row.interaction.interaction_id);
        match known {
            Some(known) => *known = Arc::new(row),
            None => turn.interactions.push(Arc::new(row)),
        }
    }

    pub fn change_interaction(
        &mut self,
        interaction_id: &str,
        change: impl FnOnce(&mut Interaction),
    ) -> Interaction {
        let row =
            self.turn().interaction(interaction_id).expect("an Interaction that is changed is in the state");
        let mut row = InteractionRow::clone(row);
        change(&mut row.interaction);
        let interaction = row.interaction.clone();
        self.put_interaction(row);
        interaction
    }

    fn part_mut(&mut self, part_id: &str) -> &mut LivePart {
        self.turn_mut()
            .parts
            .iter_mut()
            .find(|part| part.id() == part_id)
            .expect("a Part that is changed is in the state")
    }

    fn message_row_mut(&mut self, message_id: &str) -> &mut MessageRow {
        self.turn_mut()
            .messages
            .iter_mut()
            .find(|row| row.message_id == message_id)
            .expect("a Message whose Parts can change is in the state")
    }

    fn new_message_row(&mut self, role: Role) -> MessageRow {
        let now = self.now();
        let turn_id = self.state.turn.as_ref().map(|turn| turn.row.turn_id.clone());
        self.dirty.session = true;
        self.state.session.message_count += 1;
        MessageRow {
            message_id: self.stamp.id("message"),
            turn_id,
            role,
            sequence: self.state.session.message_count,
            revision: 1,
            part_count: 0,
            created_at: now,
            updated_at: now,
        }
    }

    fn open_assistant_message(&mut self) -> (String, bool) {
        if let Some(message_id) = &self.turn().row.message_id {
            return (message_id.clone(), false);
        }
        let row = self.new_message_row(Role::Assistant);
        let message_id = row.message_id.clone();
        note(&mut self.dirty.messages, &message_id);
        note(&mut self.dirty.revised, &message_id);
        let turn = self.turn_mut();
        turn.messages.push(row);
        turn.row_mut().message_id = Some(message_id.clone());
        self.dirty.turn = true;
        (message_id, true)
    }

    /// The Message's revision after this commit.
    fn revise(&mut self, message_id: &str) -> u64 {
        let now = self.now();
        let first = !self.dirty.revised.iter().any(|known| known == message_id);
        note(&mut self.dirty.revised, message_id);
        note(&mut self.dirty.messages, message_id);
        let row = self.message_row_mut(message_id);
        if first {
            row.revision += 1;
            row.updated_at = now;
        }
        row.revision
    }

    pub fn message_of(&self, row: &MessageRow, parts: Vec<Part>) -> Message {
        Message {
            message_id: row.message_id.clone(),
            session_id: self.state.session.session_id.clone(),
            turn_id: row.turn_id.clone(),
            role: row.role,
            sequence: row.sequence,
            revision: row.revision,
            parts,
            created_at: row.created_at,
            updated_at: row.updated_at,
        }
    }

    // ---- Publishing --------------------------------------------------------------------------

    fn publish_message(&mut self, message: Message) {
        let body = MutationBody::Message {
            role: message.role,
            message_id: message.message_id.clone(),
            revision: message.revision,
            message,
        };
        self.publish(body, None);
    }

    fn publish_part(&mut self, message_id: &str, revision: u64, part: Part) {
        let part_type = part.body.type_name();
        self.publish(
            MutationBody::Part { part_type, message_id: message_id.to_owned(), revision, part },
            None,
        );
    }

    pub fn publish(&mut self, body: MutationBody, delta: Option<DeltaEntry>) {
        self.dirty.session = true;
        self.state.session.revision += 1;
        let mutation = Mutation {
            mutation_id: self.stamp.id("mutation"),
            session_id: self.state.session.session_id.clone(),
            revision_of_session: self.state.session.revision,
            created_at: self.now(),
            body,
        };
        let text = serde_json::to_string(&mutation).expect("a Mutation is plain JSON");
        let body: Arc<str> = text.into();
        self.journal.push(JournalEntry { revision: mutation.revision_of_session, body: body.clone(), delta });
        self.effect(Effect::Publish { body });
    }

    // ---- Rows --------------------------------------------------------------------------------

    /// Writes what is dirty. Must run before rows leave the state.
    pub fn flush_rows(&mut self) {
        let dirty = std::mem::take(&mut self.dirty);
        self.dirty.session = dirty.session;
        self.dirty.revised = dirty.revised;
        let Some(turn) = &self.state.turn else { return };
        let rows = &mut self.changes;
        rows.extend(
            turn.messages
                .iter()
                .filter(|row| dirty.messages.contains(&row.message_id))
                .map(|row| Change::Message(row.clone())),
        );
        rows.extend(
            turn.parts
                .iter()
                .filter(|part| dirty.parts.iter().any(|id| id == part.id()))
                .map(|part| Change::Part(part.full_row())),
        );
        rows.extend(
            turn.interactions
                .iter()
                .filter(|row| dirty.interactions.contains(&row.interaction.interaction_id))
                .map(|row| Change::Interaction(InteractionRow::clone(row))),
        );
        if dirty.turn {
            rows.push(Change::Turn(TurnRow::clone(&turn.row)));
        }
    }

    /// Ends the batch: the state after it, what to write (if anything), and what to do once it is written.
    pub fn finish(mut self) -> (SessionState, Option<Commit>, Vec<Effect>) {
        self.flush_rows();
        if self.changes.is_empty() && self.journal.is_empty() && !self.dirty.session {
            return (self.state, None, self.effects);
        }
        let commit_id = self.stamp.id("commit");
        let expected_commits = self.state.session.commits;
        let now = self.now();
        let session = &mut self.state.session;
        session.commits += 1;
        session.last_commit_id.clone_from(&commit_id);
        session.updated_at = now;
        self.changes.push(Change::Session(session.clone()));
        let commit = Commit {
            commit_id,
            expected_commits,
            durability: self.durability,
            changes: self.changes,
            journal: self.journal,
        };
        (self.state, Some(commit), self.effects)
    }
}
