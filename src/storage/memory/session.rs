//! One Session in memory: its rows, and what finds them without walking the history.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use crate::{
    core::{
        change::{
            Change, Commit, InteractionRow, MessageRow, OpenRows, PartRow, QueueRow, ReplayRecordRow,
            SessionRow, TurnRow, TurnStatus,
        },
        interaction::Interaction,
        message::{Message, Part, PartBody},
    },
    storage::{MessagePage, Ownership, cursor::Pending, shown},
};

/// Rows in the order they were first written, found by id.
struct Rows<T> {
    items: Vec<T>,
    places: HashMap<String, usize>,
}

impl<T> Rows<T> {
    fn new() -> Self {
        Self { items: Vec::new(), places: HashMap::new() }
    }

    /// The place of the row, and whether it is a new one.
    fn put(&mut self, id: &str, row: T) -> (usize, bool) {
        if let Some(&place) = self.places.get(id) {
            self.items[place] = row;
            return (place, false);
        }
        self.places.insert(id.to_owned(), self.items.len());
        self.items.push(row);
        (self.items.len() - 1, true)
    }

    fn get(&self, id: &str) -> Option<&T> {
        self.places.get(id).map(|&place| &self.items[place])
    }

    fn get_mut(&mut self, id: &str) -> Option<&mut T> {
        self.places.get(id).map(|&place| &mut self.items[place])
    }
}

pub(super) struct Session {
    pub row: SessionRow,
    pub archived: bool,
    pub ownership: Ownership,
    queue: Vec<QueueRow>,
    /// The unfinished Turn; nobody reads one that ended.
    turn: Option<TurnRow>,
    /// In the order of `sequence`.
    messages: Rows<MessageRow>,
    parts: Rows<PartRow>,
    parts_of_message: HashMap<String, Vec<usize>>,
    parts_of_step: HashMap<String, Vec<usize>>,
    open_parts: BTreeSet<usize>,
    interactions: Rows<(InteractionRow, Pending)>,
    interactions_of_part: HashMap<String, Vec<usize>>,
    pending: BTreeSet<usize>,
    replay_records: HashMap<String, BTreeMap<u64, ReplayRecordRow>>,
    journal: Vec<(u64, Arc<str>)>,
    /// Where the journal stands in the store's feed.
    pub feed_places: Vec<usize>,
}

impl Session {
    pub fn new(row: SessionRow, fence: u64) -> Self {
        Self {
            row,
            archived: false,
            ownership: Ownership { fence, owner: None },
            queue: Vec::new(),
            turn: None,
            messages: Rows::new(),
            parts: Rows::new(),
            parts_of_message: HashMap::new(),
            parts_of_step: HashMap::new(),
            open_parts: BTreeSet::new(),
            interactions: Rows::new(),
            interactions_of_part: HashMap::new(),
            pending: BTreeSet::new(),
            replay_records: HashMap::new(),
            journal: Vec::new(),
            feed_places: Vec::new(),
        }
    }

    /// Counts the commit; its Session row, where it has one, says the same.
    pub fn count(&mut self, commit: &Commit) {
        self.row.commits = commit.expected_commits + 1;
        self.row.last_commit_id.clone_from(&commit.commit_id);
        if let Some(last) = commit.journal.last() {
            self.row.revision = last.revision;
        }
    }

    /// Applies a change to anything but an Interaction.
    pub fn apply(&mut self, change: &Change) {
        match change {
            Change::Session(row) => self.row = row.clone(),
            Change::Turn(row) => self.put_turn(row),
            Change::Message(row) => {
                self.messages.put(&row.message_id, row.clone());
            }
            Change::Part(row) => self.put_part(row),
            Change::Interaction(_) => {}
            Change::Enqueue(row) => {
                self.queue.retain(|queued| queued.queue_id != row.queue_id);
                self.queue.push(row.clone());
                self.queue.sort_by_key(|queued| queued.position);
            }
            Change::Dequeue { queue_id } => self.queue.retain(|queued| queued.queue_id != *queue_id),
            Change::ReplayRecord(row) => {
                let records = self.replay_records.entry(row.tool_call_id.clone()).or_default();
                records.insert(row.position, row.clone());
            }
        }
    }

    fn put_turn(&mut self, row: &TurnRow) {
        if row.status == TurnStatus::Running {
            self.turn = Some(row.clone());
        } else {
            self.turn.take_if(|turn| turn.turn_id == row.turn_id);
        }
    }

    fn put_part(&mut self, row: &PartRow) {
        let (place, is_new) = self.parts.put(&row.part.part_id, row.clone());
        if is_new {
            self.parts_of_message.entry(row.message_id.clone()).or_default().push(place);
            if let Some(step_id) = &row.part.step_id {
                self.parts_of_step.entry(step_id.clone()).or_default().push(place);
            }
        }
        if shown::is_open(&row.part) {
            self.open_parts.insert(place);
        } else {
            self.open_parts.remove(&place);
        }
    }

    /// The place of the Interaction, and its age among all of the store.
    pub fn put_interaction(&mut self, row: &InteractionRow, asked: &mut u64) -> (usize, Pending) {
        let id = &row.interaction.interaction_id;
        let age = self.interactions.get(id).map(|(_, age)| *age).unwrap_or_else(|| {
            *asked += 1;
            Pending { created_at: row.interaction.created_at, asked: *asked }
        });
        let (place, is_new) = self.interactions.put(id, (row.clone(), age));
        if is_new {
            self.interactions_of_part.entry(row.part_id.clone()).or_default().push(place);
        }
        if row.interaction.is_pending() {
            self.pending.insert(place);
        } else {
            self.pending.remove(&place);
        }
        (place, age)
    }

    /// Adds the journal, which stands in the feed from `place` on. A Part row of the same commit has the commit's
    /// fragments already.
    pub fn publish(&mut self, commit: &Commit, place: usize) {
        self.feed_places.extend(place..place + commit.journal.len());
        let written = |part_id: &str| {
            commit.changes.iter().any(|c| matches!(c, Change::Part(row) if row.part.part_id == part_id))
        };
        for entry in &commit.journal {
            self.journal.push((entry.revision, entry.body.clone()));
            let Some(delta) = &entry.delta else { continue };
            if let Some(row) = self.parts.get_mut(&delta.part_id).filter(|_| !written(&delta.part_id)) {
                shown::append_fragment(&mut row.part.body, &delta.text);
            }
        }
    }

    pub fn is_unfinished(&self) -> bool {
        self.row.active_turn_id.is_some() || !self.queue.is_empty()
    }

    pub fn open_rows(&self) -> OpenRows {
        let turn = self.turn.as_ref().filter(|turn| Some(&turn.turn_id) == self.row.active_turn_id.as_ref());
        let parts = turn.map(|turn| self.open_parts(turn)).unwrap_or_default();
        let mut messages: Vec<&MessageRow> = parts.iter().map(|(message, _)| *message).collect();
        messages.extend(turn.and_then(|turn| self.messages.get(turn.message_id.as_ref()?)));
        messages.sort_by_key(|row| row.sequence);
        messages.dedup_by_key(|row| row.sequence);
        let mut interactions: Vec<usize> =
            parts.iter().flat_map(|(_, row)| self.places_of_part(&row.part.part_id)).copied().collect();
        interactions.sort_unstable();
        let records = parts.iter().filter_map(|(_, row)| match &row.part.body {
            PartBody::Tool(tool) => self.replay_records.get(&tool.tool_call_id),
            _ => None,
        });
        OpenRows {
            session: self.row.clone(),
            queue: self.queue.clone(),
            turn: turn.cloned(),
            messages: messages.into_iter().cloned().collect(),
            replay_records: records.flat_map(BTreeMap::values).cloned().collect(),
            interactions: interactions.into_iter().map(|at| self.interactions.items[at].0.clone()).collect(),
            parts: parts.into_iter().map(|(_, row)| row.clone()).collect(),
        }
    }

    /// The Parts of the Turn's current step and its other open ones, in order, each with its Message.
    fn open_parts(&self, turn: &TurnRow) -> Vec<(&MessageRow, &PartRow)> {
        let mut places = self.open_parts.clone();
        let asking = self.pending.iter().map(|&at| &self.interactions.items[at].0.part_id);
        places.extend(asking.filter_map(|part_id| self.parts.places.get(part_id)));
        if let Some(step) = &turn.step {
            places.extend(self.parts_of_step.get(&step.step_id).into_iter().flatten());
        }
        let mut parts: Vec<_> = places
            .into_iter()
            .map(|place| &self.parts.items[place])
            .filter_map(|row| Some((self.messages.get(&row.message_id)?, row)))
            .filter(|(message, _)| message.turn_id.as_ref() == Some(&turn.turn_id))
            .collect();
        parts.sort_by_key(|(message, row)| (message.sequence, row.part.sequence));
        parts
    }

    fn places_of_part(&self, part_id: &str) -> &[usize] {
        self.interactions_of_part.get(part_id).map_or(&[], Vec::as_slice)
    }

    pub fn messages(&self, page: MessagePage) -> Vec<Message> {
        let all = &self.messages.items;
        let end = page.before_sequence.map_or(all.len(), |end| all.partition_point(|row| row.sequence < end));
        let start = end.saturating_sub(page.limit as usize);
        all[start..end].iter().map(|row| self.message(row)).collect()
    }

    fn message(&self, row: &MessageRow) -> Message {
        let places = self.parts_of_message.get(&row.message_id).into_iter().flatten();
        let mut parts: Vec<Part> = places
            .map(|&place| {
                let part = self.parts.items[place].part.clone();
                let asked = self.places_of_part(&part.part_id);
                let asked = asked.iter().map(|&at| self.interaction_at(at).clone()).collect();
                shown::with_interactions(part, asked)
            })
            .collect();
        parts.sort_by_key(|part| part.sequence);
        shown::message(&self.row.session_id, row.clone(), parts)
    }

    pub fn interaction_at(&self, place: usize) -> &Interaction {
        &self.interactions.items[place].0.interaction
    }

    pub fn interaction(&self, interaction_id: &str) -> Option<&Interaction> {
        self.interactions.get(interaction_id).map(|(row, _)| &row.interaction)
    }

    pub fn pending(&self) -> Vec<Interaction> {
        self.pending.iter().map(|&place| self.interaction_at(place).clone()).collect()
    }

    pub fn pending_count(&self) -> u64 {
        self.pending.len() as u64
    }

    pub fn pending_ages(&self) -> impl Iterator<Item = Pending> {
        self.pending.iter().map(|&place| self.interactions.items[place].1)
    }

    pub fn journal_after(&self, after: u64, limit: u32) -> Vec<(u64, Arc<str>)> {
        let start = self.journal.partition_point(|(revision, _)| *revision <= after);
        self.journal[start..].iter().take(limit as usize).cloned().collect()
    }
}
