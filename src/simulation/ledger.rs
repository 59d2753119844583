//! What is on record outside of the product, and what must never contradict it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::scheduler::ProcessId;
use crate::core::{
    change::{CallRecord, Change, Commit, PartRow, QueueRow, QueuedInput, SessionRow, StepPhase, TurnStatus},
    effect::ToolCall,
    interaction::{Interaction, InteractionStatus},
    message::{PartBody, ToolPart},
    tests::{fold, stored::Stored},
};

/// Follows every commit that the store has accepted.
#[derive(Default)]
pub struct Ledger {
    stored: Option<Stored>,
    /// What a subscriber makes of the Mutations.
    picture: Vec<Value>,
    /// Every Mutation, as its text.
    journal: Vec<String>,
    /// Answers whose callers were told that they count.
    acknowledged: BTreeMap<String, InteractionStatus>,
    /// Prompts whose callers were told that they are queued, and that nothing has dropped.
    prompts: BTreeSet<String>,
    entered: BTreeMap<String, u32>,
    /// How much of the journal each process was told, or knew when it began to listen.
    fed: BTreeMap<ProcessId, usize>,
    pub commits: u64,
    pub checks: u64,
}

impl Ledger {
    pub fn created(&mut self, row: SessionRow) {
        assert!(self.stored.is_none(), "a Session is made once");
        self.stored = Some(Stored::new(row));
    }

    pub fn exists(&self) -> bool {
        self.stored.is_some()
    }

    pub fn stored(&self) -> &Stored {
        self.stored.as_ref().expect("the Session was made")
    }

    /// I1, I5 and the order of revisions, at each commit.
    pub fn committed(&mut self, commit: &Commit) {
        self.commits += 1;
        let stored = self.stored.as_mut().expect("the Session was made");
        stored.apply(commit);
        let stops =
            |change: &Change| matches!(change, Change::Turn(turn) if turn.status == TurnStatus::Stopped);
        for change in &commit.changes {
            if let Change::Dequeue { queue_id } = change
                && self.prompts.contains(queue_id)
                && !stored.messages.contains_key(&message_of(queue_id))
            {
                assert!(
                    commit.changes.iter().any(stops),
                    "a prompt was dropped and nothing stopped: {queue_id}"
                );
                self.prompts.remove(queue_id);
            }
        }
        for mutation in stored.journal.drain(..) {
            fold::take(&mut self.picture, &mutation);
        }
        self.journal.extend(commit.journal.iter().map(|entry| entry.body.to_string()));
        stored.assert_tools_match_their_interactions();
        if self.commits.is_multiple_of(8) {
            self.assert_picture();
        }
    }

    fn assert_picture(&mut self) {
        self.checks += 1;
        assert_eq!(self.picture, self.stored().shown(), "folded Mutations are what is stored");
    }

    /// I2 and I11: what a process is told stands in the journal, one after the other. Gives its revision.
    pub fn told(&self, body: &str, last: Option<u64>) -> u64 {
        let mutation: Value = serde_json::from_str(body).expect("a Mutation is JSON");
        let revision = mutation["revision_of_session"].as_u64().expect("it has a revision");
        let place = usize::try_from(revision - 1).expect("a small number");
        assert_eq!(self.journal.get(place).map(String::as_str), Some(body), "I2: it is not what is stored");
        if let Some(last) = last {
            assert_eq!(revision, last + 1, "I11: something was left out or told twice");
        }
        revision
    }

    /// From now on the process is told everything.
    pub fn feed_begins(&mut self, process: ProcessId) {
        self.fed.insert(process, self.journal.len());
    }

    /// I2 and I11, for those who listen to the whole store.
    pub fn fed(&mut self, process: ProcessId, body: &str) {
        let place = self.fed.get_mut(&process).expect("it listens");
        let next = self.journal.get(*place).map(String::as_str);
        assert_eq!(next, Some(body), "I11: a listener to the store missed something, or was told twice");
        *place += 1;
    }

    /// True as well of a process that does not listen.
    pub fn has_heard_all(&self, process: ProcessId) -> bool {
        self.fed.get(&process).is_none_or(|place| *place == self.journal.len())
    }

    fn call(&self, tool_call_id: &str) -> (&ToolPart, &CallRecord) {
        let mut parts = self.stored().parts.values();
        let found = parts.find_map(|row| match (&row.part.body, &row.call) {
            (PartBody::Tool(tool), Some(call)) if tool.tool_call_id == tool_call_id => Some((&**tool, call)),
            _ => None,
        });
        found.expect("a call that is entered is stored")
    }

    /// I9.
    pub fn entered(&mut self, call: &ToolCall, resumed: bool) {
        let (_, record) = self.call(&call.tool_call_id);
        assert!(record.execution_started, "I9: entered before that was stored: {call:?}");
        let replay = record.replay;
        let times = self.entered.entry(call.tool_call_id.clone()).or_default();
        *times += 1;
        assert!(replay || *times == 1, "I9: entered twice: {call:?}");
        assert!(!resumed || replay, "I9: only a replay tool is resumed: {call:?}");
        assert!(resumed || *times == 1, "I9: entered anew without being resumed: {call:?}");
    }

    pub fn times_entered(&self) -> usize {
        self.entered.len()
    }

    /// I3 and I4.
    pub fn answered(&mut self, interaction: &Interaction) {
        let id = &interaction.interaction_id;
        let before = self.acknowledged.insert(id.clone(), interaction.status);
        assert_eq!(before, None, "I3: two answers won: {interaction:?}");
        assert_eq!(self.interaction(id).as_ref(), Some(interaction), "I4: told before it was stored");
    }

    pub fn interaction(&self, interaction_id: &str) -> Option<Interaction> {
        let mut known = self.stored().interactions.iter().map(|row| &row.interaction);
        known.find(|known| known.interaction_id == interaction_id).cloned()
    }

    /// A prompt that counts is queued or absorbed, unless the Turn it came to was stopped.
    pub fn prompted(&mut self, prompt_id: &str) {
        let stored = self.stored();
        let kept = stored.queue.iter().any(|row| row.queue_id == prompt_id)
            || stored.messages.contains_key(&message_of(prompt_id));
        if kept {
            self.prompts.insert(prompt_id.to_owned());
        } else {
            let stopped = stored.turns.values().any(|turn| turn.status == TurnStatus::Stopped);
            assert!(stopped, "I2: a prompt was taken and is nowhere: {prompt_id}");
        }
    }

    pub fn is_finished(&self) -> bool {
        let stored = self.stored();
        // A mode that was set in an idle Session waits for the next prompt.
        let is_prompt = |row: &QueueRow| matches!(row.input, QueuedInput::Prompt { .. });
        stored.session.active_turn_id.is_none() && !stored.queue.iter().any(is_prompt)
    }

    pub fn pending(&self) -> Vec<Interaction> {
        let rows = self.stored().interactions.iter().map(|row| &row.interaction);
        rows.filter(|known| known.is_pending()).cloned().collect()
    }

    /// What is left when everything has come to its end.
    pub fn assert_whole(&mut self) {
        self.assert_picture();
        assert!(self.pending().is_empty(), "no Turn, nothing to answer: {:?}", self.pending());
        for (id, status) in &self.acknowledged {
            let known = self.interaction(id).expect("it was answered");
            assert_eq!(known.status, *status, "I4, I5: an answer that counted is gone");
        }
        for id in &self.prompts {
            let is_there = self.stored().messages.contains_key(&message_of(id));
            assert!(is_there, "a prompt that was taken is gone: {id}");
        }
        for row in self.stored().parts.values() {
            if let PartBody::Tool(tool) = &row.part.body {
                let ends = usize::from(tool.output.is_some()) + usize::from(tool.error.is_some());
                assert!(tool.state.is_terminal() && ends > 0, "I10: a call without a result: {tool:?}");
            }
        }
    }

    /// I10: what goes to a model has a result for each call.
    pub fn assert_sendable(&mut self, step_id: &str) {
        let mut steps = self.stored().turns.values().filter_map(|turn| turn.step.as_ref());
        if !steps.any(|step| step.step_id == step_id && step.phase == StepPhase::Model) {
            // Another process has gone on meanwhile: what this one asks is no longer heard.
            return;
        }
        let of_step = |row: &&PartRow| row.part.step_id.as_deref() == Some(step_id);
        for row in self.stored().parts.values().filter(|row| !of_step(row)) {
            if let PartBody::Tool(tool) = &row.part.body {
                assert!(tool.state.is_terminal(), "I10: the model is asked while a call goes on: {tool:?}");
            }
        }
        self.checks += 1;
    }
}

/// The Message that a prompt becomes.
fn message_of(prompt_id: &str) -> String {
    prompt_id.replacen("prompt:", "message:", 1)
}
