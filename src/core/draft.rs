//! The draft: a copy of the state that one batch of inputs works on, and the record of what they change.
//!
//! Everything that is written, published or asked of the outside goes through here, in the order it is decided.
//! Nothing of it counts before the store has given its receipt.

use std::{collections::BTreeSet, sync::Arc};

use super::{
    change::{Change, Commit, DeltaEntry, Durability, InteractionRow, JournalEntry, QueueRow, TurnRow},
    effect::{Answer, Effect},
    engine::Role,
    input::Ticket,
    message::{Message, Part},
    mutation::{Mutation, MutationBody},
    settings::Settings,
    stamp::Stamp,
    state::{SessionState, Turn},
};

pub(super) struct Draft<'a> {
    pub settings: &'a Settings,
    role: Role,
    pub stamp: Stamp,
    pub state: SessionState,
    effects: Vec<Effect>,
    journal: Vec<JournalEntry>,
    pub(super) changes: Vec<Change>,
    pub(super) durability: Durability,
    pub(super) dirty: Dirty,
}

/// Rows that differ from what is stored; written when the batch ends or when they leave the state.
#[derive(Default)]
pub(super) struct Dirty {
    pub session: bool,
    pub turn: bool,
    pub messages: BTreeSet<String>,
    pub parts: BTreeSet<String>,
    pub interactions: BTreeSet<String>,
    /// Messages whose revision has grown in this batch already.
    pub revised: BTreeSet<String>,
}

pub(super) fn note(ids: &mut BTreeSet<String>, id: &str) {
    if !ids.contains(id) {
        ids.insert(id.to_owned());
    }
}

impl<'a> Draft<'a> {
    pub fn new(settings: &'a Settings, state: SessionState, role: Role, stamp: Stamp) -> Self {
        Self {
            settings,
            role,
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

    /// An effect that goes out before all others.
    pub fn effect_first(&mut self, effect: Effect) {
        self.effects.insert(0, effect);
    }

    pub fn is_guest(&self) -> bool {
        self.role == Role::Guest
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
        self.changes.push(Change::Enqueue(row.without_model()));
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

    pub fn publish_message(&mut self, message: Message) {
        let body = MutationBody::Message {
            role: message.role,
            message_id: message.message_id.clone(),
            revision: message.revision,
            message,
        };
        self.publish(body, None);
    }

    pub fn publish_part(&mut self, message_id: &str, revision: u64, part: Part) {
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
                .filter(|part| dirty.parts.contains(part.id()))
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
        if self.is_guest() {
            // The owner hears of it by the commit, and does what follows from it.
            self.effects.retain(is_for_guests);
            self.state.forget_feed();
        }
        let unfinished = self.state.is_unfinished();
        // Whoever goes on with something owns it first.
        let takes = self.role == Role::NewOwner && unfinished;
        if self.changes.is_empty() && self.journal.is_empty() && !self.dirty.session && !takes {
            return (self.state, None, self.effects);
        }
        let commit_id = self.stamp.id("commit");
        let expected_commits = self.state.session.commits;
        let now = self.now();
        let session = &mut self.state.session;
        session.commits += 1;
        let last = match self.role {
            Role::Guest => &mut session.last_guest_commit_id,
            Role::Owner | Role::NewOwner => &mut session.last_commit_id,
        };
        last.clone_from(&commit_id);
        session.updated_at = now;
        self.changes.push(Change::Session(session.clone()));
        let commit = Commit {
            commit_id,
            expected_commits,
            durability: self.durability,
            unfinished,
            changes: self.changes,
            journal: self.journal,
        };
        (self.state, Some(commit), self.effects)
    }
}

fn is_for_guests(effect: &Effect) -> bool {
    !matches!(
        effect,
        Effect::RequestModel(_)
            | Effect::AbortModel { .. }
            | Effect::PrepareTool(_)
            | Effect::CheckTool(_)
            | Effect::EnterTool { .. }
            | Effect::GoOn
            | Effect::AbortTool { .. }
    )
}
