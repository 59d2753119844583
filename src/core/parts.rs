//! Messages, Parts and Interactions as a draft changes them: the row, the revision, and what subscribers are told.

use std::sync::Arc;

use super::{
    change::{CallRecord, Change, DeltaEntry, Durability, InteractionRow, MessageRow, PartRow},
    draft::{Draft, note},
    interaction::Interaction,
    message::{Message, Part, PartBody, Role, ToolPart},
    mutation::{DeltaKind, MutationBody},
    state::LivePart,
    text::StreamingText,
};

impl Draft<'_> {
    /// Adds a user Message; later Parts of the Turn open a new assistant Message.
    pub fn add_user_message(&mut self, message_id: String, bodies: &[PartBody]) {
        self.durability = Durability::Power;
        // New Messages are written in the order of their sequence.
        self.flush_rows();
        let mut row = self.new_message_row(Role::User, message_id);
        let mut parts = Vec::with_capacity(bodies.len());
        for body in bodies {
            row.part_count += 1;
            let part_id = self.stamp.id("part");
            parts.push(Part {
                part_id,
                sequence: row.part_count,
                step_id: None,
                interrupted: false,
                body: body.clone(),
            });
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
        let part = Part {
            part_id: part_id.clone(),
            sequence: message.part_count,
            step_id,
            interrupted: false,
            body,
        };
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
        let message_id = self.stamp.id("message");
        let mut row = self.new_message_row(Role::Assistant, message_id);
        row.part_count = 1;
        let part =
            Part { part_id: self.stamp.id("part"), sequence: 1, step_id: None, interrupted: false, body };
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

    fn new_message_row(&mut self, role: Role, message_id: String) -> MessageRow {
        let now = self.now();
        let turn_id = self.state.turn.as_ref().map(|turn| turn.row.turn_id.clone());
        self.dirty.session = true;
        self.state.session.message_count += 1;
        MessageRow {
            message_id,
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
        let message_id = self.stamp.id("message");
        let row = self.new_message_row(Role::Assistant, message_id.clone());
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
        let first = !self.dirty.revised.contains(message_id);
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
}
