//! What holds in each state, and what changes nothing in it.

use std::fmt;

use serde_json::{Value, json};

use super::{
    canon::put,
    events::{Outcome, said},
    outside::number_of,
    world::{CALLS, World, tool_of},
};
use crate::core::{
    effect::{Effect, ModelRequest, ToolCall},
    engine::{Decided, Engine, Role},
    error::Code,
    input::Input,
    stamp::Stamp,
    state::SessionState,
    tests::stored::persisted,
};

impl World {
    /// What one transition must not have broken.
    pub fn check_transition(&self) {
        self.stored.assert_tools_match_their_interactions();
        assert_eq!(self.picture, self.stored.shown(), "folded Mutations are what queries show");
        for (number, status) in &self.history.acknowledged {
            let stored = &self.stored.interactions[*number].interaction;
            assert_eq!(stored.status, *status, "I4: an answer that counted stays");
            assert!(stored.response.is_some());
        }
        let Some(engine) = &self.engine else { return };
        let restored = SessionState::restore(self.stored.open_rows());
        assert_eq!(persisted(&restored), persisted(engine.state()), "restore(rows) is the live state");
        self.assert_nothing_stalls(engine);
        self.assert_what_runs_is_written();
    }

    /// What is tried in each state, and must change nothing.
    pub fn check_state(&self) {
        let Some(engine) = &self.engine else { return };
        self.assert_ends_are_final(engine);
        self.assert_late_words_change_nothing(engine);
    }

    /// I12: while a Turn is unfinished somebody has something to do, and nobody waits for what has ended.
    fn assert_nothing_stalls(&self, engine: &Engine) {
        let pending = self.stored.interactions.iter().any(|row| row.interaction.is_pending());
        if engine.state().turn.is_some() {
            assert!(self.outside.is_busy() || pending, "I12: nothing is outstanding");
        }
        for id in self.outside.running.values().flat_map(|running| &running.waits) {
            let mut rows = self.stored.interactions.iter().map(|row| &row.interaction);
            let known = rows.find(|known| known.interaction_id == *id).expect("it was asked");
            assert!(known.is_pending(), "I12: a call waits for an answer that was given");
        }
    }

    /// I9: whatever was entered was written as started before, and has not ended.
    fn assert_what_runs_is_written(&self) {
        for call in self.outside.running.keys() {
            let row = self.part_of(*call).expect("it was called");
            assert!(row.call.as_ref().is_some_and(|record| record.execution_started), "I9: {row:?}");
            assert!(!tool_of(row).state.is_terminal(), "a call that has ended goes on outside: {row:?}");
        }
    }

    /// I5: whatever is said about an Interaction that has ended is refused and changes nothing.
    fn assert_ends_are_final(&self, engine: &Engine) {
        for (number, row) in self.stored.interactions.iter().enumerate() {
            if row.interaction.is_pending() {
                continue;
            }
            for outcome in [Outcome::Good, Outcome::Bad] {
                let effects = nothing_changes(engine, self.role, &said(self.response(number, outcome)));
                let refused = match &effects[..] {
                    [Effect::AnswerFromHistory { interaction_id, .. }] => {
                        *interaction_id == row.interaction.interaction_id
                    }
                    [Effect::Answer { result: Err(refusal), .. }] => {
                        let closed = engine.state().closed && refusal.code == Code::SessionClosed;
                        let committed = refusal.interaction.as_deref() == Some(&row.interaction);
                        closed || refusal.code == Code::InteractionTerminal && committed
                    }
                    _ => false,
                };
                assert!(refused, "I5, I3: {effects:?}");
            }
        }
    }

    /// What `execute` still says after the Session has ended its call is dropped.
    fn assert_late_words_change_nothing(&self, engine: &Engine) {
        for call in &self.outside.late {
            let settled = json!({ "input": "tool_settled", "tool_call_id": CALLS[*call], "ok": "late" });
            assert!(nothing_changes(engine, self.role, &said(settled)).is_empty());
            let asked = nothing_changes(engine, self.role, &said(self.question_of(*call, 0)));
            let refused = matches!(&asked[..], [Effect::Answer { result: Err(refusal), .. }]
                if matches!(refusal.code, Code::ToolCallNotActive | Code::SessionClosed | Code::InvalidInput));
            assert!(refused, "{asked:?}");
        }
    }

    /// I9: entered once, and again only where the tool opted in and an earlier process had entered it.
    pub fn assert_may_enter(&mut self, call: &ToolCall, resumed: bool) {
        let number = number_of(&call.tool_call_id);
        let record = self.part_of(number).and_then(|row| row.call.clone()).expect("a call has a record");
        let before = std::mem::replace(&mut self.history.entered[number], true);
        if resumed {
            assert!(record.replay, "I9: only a replay tool is entered again");
        } else {
            assert!(!before, "I9: execute is entered once");
        }
    }

    /// I10: what the model is sent is the whole conversation, with one result for each call.
    pub fn assert_sendable(&mut self, request: &ModelRequest) {
        let shown = self.stored.shown();
        let of_model = |part: &&Value| part["type"] == "tool" || part["type"] == "text";
        let parts = |messages: &[Value]| -> Vec<Value> {
            let parts = messages.iter().flat_map(|message| message["parts"].as_array().unwrap());
            parts.filter(of_model).cloned().collect()
        };
        let sent: Vec<Value> =
            request.messages.iter().map(|message| serde_json::to_value(message).unwrap()).collect();
        if request.history {
            self.outside.prompt = parts(&shown);
        } else {
            self.outside.prompt.extend(parts(&sent));
        }
        assert_eq!(self.outside.prompt, parts(&shown), "I10: the prompt is the conversation so far");
        for part in self.outside.prompt.iter().filter(|part| part["type"] == "tool") {
            let has_result = part["output"].is_null() == part["error"].is_string();
            let ended = part["state"] == "completed" || part["state"] == "failed";
            assert!(ended && has_result, "I10: a call without its one result: {part}");
        }
    }

    /// What a state is: the rows that the next process would be given, what this process knows beyond them, and what
    /// must be remembered to judge what follows. Rows that no process reads again are left out: nothing that follows
    /// depends on them, and that nothing changes them is checked as it is written.
    pub fn write_state(&self, out: &mut String) -> fmt::Result {
        let rows = self.stored.open_rows();
        let history = &self.history;
        put(out, "rows", &rows)?;
        put(out, "asked", &self.stored.interactions.len().min(3))?;
        put(out, "over", &self.turn_has_ended())?;
        put(out, "history", &(history.prompted, history.allowed, history.host_asked, history.entered))?;
        let outside = &self.outside;
        let woken = rows.interactions.iter().map(|row| &row.interaction.interaction_id);
        let woken: Vec<_> = woken.filter(|id| outside.woken.contains(*id)).collect();
        put(out, "model", &outside.model)?;
        put(out, "calls", &(&outside.preparing, &outside.running, &outside.late, woken))?;
        put(out, "goes_on", &outside.goes_on)?;
        let Some(engine) = &self.engine else { return Ok(()) };
        let state = engine.state();
        put(out, "flags", &(state.closed, state.needs_recovery, self.role))?;
        let Some(turn) = &state.turn else { return Ok(()) };
        put(out, "feed", &(state.feed.sent > 0, state.feed.history, &state.feed.fresh))?;
        put(out, "stream", &turn.stream)?;
        put(out, "resumed", &turn.resumed)?;
        put(out, "at hand", &turn.parts.iter().map(|part| part.id()).collect::<Vec<_>>())
    }
}

/// The effects of an input that must leave everything as it is.
fn nothing_changes(engine: &Engine, role: Role, input: &Input) -> Vec<Effect> {
    let mut engine = engine.clone();
    let before = engine.state().clone();
    match engine.decide(std::slice::from_ref(input), role, Stamp::new(1, 1)) {
        Decided::Settled(settlement) => {
            let effects = engine.settle(*settlement);
            assert_eq!(engine.state(), &before, "{input:?} changes what is not written");
            effects
        }
        Decided::Proposed(proposal) => panic!("{input:?} changes {:?}", proposal.commit()),
    }
}
