//! Opening a Session: what a process that ended left behind goes on where it can, and ends where it cannot, in one
//! commit.

use super::{
    change::StepPhase,
    draft::Draft,
    effect::{Answer, Effect},
    error::Code,
    input::Ticket,
    interaction::CancelReason,
    json::Json,
    message::{ToolErrorCode, ToolState},
    state::LivePart,
    turn::Ending,
};

const OUTCOME_UNKNOWN: &str = "The process ended while this call was going on. Its outcome is unknown: it may have \
                               taken effect. Check before calling it again.";

impl Draft<'_> {
    pub fn open(&mut self, ticket: Ticket) {
        let session_id = self.state.session.session_id.clone();
        let turn_id = self.state.turn.as_ref().map(|turn| turn.row.turn_id.clone());
        // Whoever opens it must know the Session before it is asked to work for it.
        let result = Ok(Answer::Opened { session_id, turn_id });
        self.effect_first(Effect::Answer { ticket, result });
    }

    /// Goes on with what an ended process left.
    pub fn recover(&mut self) {
        self.state.needs_recovery = false;
        if let Some(turn) = &self.state.turn {
            let turn_id = turn.row.turn_id.clone();
            self.effect(Effect::TurnTaken { turn_id });
        }
        self.recover_turn();
        if self.state.turn.is_none() {
            self.apply_config();
            let session = &self.state.session;
            if session.effective_approval_mode != session.approval_mode {
                // Nothing was queued, so what is stored was not written by a Session.
                let mode = session.approval_mode;
                self.change_session().effective_approval_mode = mode;
            }
        }
    }

    fn recover_turn(&mut self) {
        let Some(turn) = &self.state.turn else {
            self.start_queued_turn();
            return;
        };
        match turn.row.step.as_ref().map(|step| step.phase) {
            Some(StepPhase::Model) => self.recover_stream(),
            Some(StepPhase::Calls) => self.recover_calls(),
            None => self.checkpoint(),
        }
    }

    /// The model was asked. Where nothing of its answer was committed, it is asked again.
    fn recover_stream(&mut self) {
        if self.nothing_arrived() {
            self.request_model(0);
            return;
        }
        self.interrupt_parts();
        self.fail_incomplete_calls(true);
        self.give_up_turn();
    }

    /// Goes on with each call that can, and ends the others.
    fn recover_calls(&mut self) {
        let mut failed = false;
        for part_id in self.parts_where(is_our_open_call) {
            failed |= !self.recover_call(&part_id);
        }
        if self.state.turn.is_none() {
            return;
        }
        let goes_on = !self.parts_where(|part| is_our_open_call(part) || waits_at_provider(part)).is_empty();
        if failed && !goes_on {
            self.give_up_turn();
        } else {
            self.end_step_when_done();
        }
    }

    /// False when the call had to be ended.
    fn recover_call(&mut self, part_id: &str) -> bool {
        let part = self.turn().part(part_id).expect("the Part was just listed");
        let tool = part.tool().expect("only tool calls are listed");
        let (state, name) = (tool.state, tool.tool_name.clone());
        let record = part.row.call.clone().unwrap_or_default();
        let problem = self.why_it_cannot_run(&name, tool.input.as_ref());
        let waits = self.turn().has_pending(part_id);
        let started = record.execution_started;
        match (started, problem) {
            (true, _) if !record.replay => {
                self.cancel_pending(Some(part_id), CancelReason::RuntimeInterrupted);
                self.fail_call(part_id, ToolErrorCode::Interrupted, OUTCOME_UNKNOWN);
                return false;
            }
            // A person was asked: that stays, and an answer ends the call.
            (_, Some(why)) if waits => self.note_resumed(part_id, Some(why)),
            (true, Some(why)) => {
                self.fail_call(part_id, ToolErrorCode::CannotGoOn, &format!("{why} {OUTCOME_UNKNOWN}"));
                return false;
            }
            (true, None) => {
                self.note_resumed(part_id, None);
                let call = self.tool_call(part_id);
                self.effect(Effect::EnterTool { call, resumed: true });
            }
            (false, Some(why)) => {
                self.fail_call(part_id, ToolErrorCode::CannotGoOn, &why);
                return false;
            }
            (false, None) => match state {
                ToolState::Ready => self.prepare_call(part_id),
                ToolState::Running => self.effect(Effect::GoOn),
                // A gate waits. Whether the host's own schema still takes the arguments, it has to say.
                _ if self.settings.tool(&name).is_some_and(|tool| tool.schema.is_none()) => {
                    self.note_resumed(part_id, None);
                    let call = self.tool_call(part_id);
                    self.effect(Effect::CheckTool(call));
                }
                _ => {}
            },
        }
        true
    }

    /// Never another function, never another input.
    fn why_it_cannot_run(&self, tool_name: &str, input: Option<&Json>) -> Option<String> {
        let Some(tool) = self.settings.tool(tool_name) else {
            return Some(format!("The tool {tool_name:?} is no longer there, so the call cannot go on."));
        };
        let issues =
            tool.schema.as_ref().zip(input).map(|(schema, input)| schema.issues(input.as_value(), ""));
        let first = issues.into_iter().flatten().next()?;
        Some(format!(
            "The recorded arguments no longer pass the schema of {tool_name:?} ({}: {}), so the call cannot go on.",
            first.path, first.message
        ))
    }

    fn give_up_turn(&mut self) {
        self.cancel_pending(None, CancelReason::RuntimeInterrupted);
        let message = "The process ended while the Turn was going on.".to_owned();
        self.end_turn(Ending::Failed { code: Code::RuntimeInterrupted, message });
    }
}

/// It needs no tool of ours: an approval that is pending waits on, and one that was given is told next.
fn waits_at_provider(part: &LivePart) -> bool {
    part.is_open_call() && part.tool().is_some_and(|tool| tool.provider_approval.is_some())
}

/// A call that has not ended and that a tool of ours runs.
fn is_our_open_call(part: &LivePart) -> bool {
    part.is_open_call() && part.tool().is_some_and(|tool| !tool.provider_executed)
}
