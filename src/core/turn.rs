//! A Turn from its first prompt to its end: checkpoints, steps, stop.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::Value;

use super::{
    change::{QueueRow, QueuedInput, StepPhase, StepState, TurnRow, TurnStatus, Usage},
    draft::Draft,
    effect::{Answer, Effect, ModelRequest, StopReason, TurnResult},
    error::{Code, Refusal},
    input::Ticket,
    interaction::CancelReason,
    json::Json,
    message::{PartBody, ToolErrorCode, ToolPart},
    mutation::{MutationBody, SessionMutation, TurnMutation},
    prompt::prompt_parts,
    state::{LivePart, Stream, Turn},
};

/// How a Turn ends when it does not complete.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Ending {
    Completed,
    Stopped(CancelReason),
    Failed { code: Code, message: String },
}

impl Draft<'_> {
    pub fn prompt(&mut self, ticket: Ticket, parts: &Value) -> Result<(), Refusal> {
        let parts = prompt_parts(parts)?;
        let prompt_id = self.stamp.id("prompt");
        let row = QueueRow {
            queue_id: prompt_id.clone(),
            position: self.next_position(),
            input: QueuedInput::Prompt { prompt_id: prompt_id.clone(), parts },
        };
        self.enqueue(row);
        let running = self.state.turn.as_ref().map(|turn| turn.row.turn_id.clone());
        let turn_id = running.clone().unwrap_or_else(|| self.stamp.id("turn"));
        self.answer(ticket, Answer::Prompt { prompt_id, turn_id: turn_id.clone() });
        if running.is_none() && !self.is_guest() {
            self.start_turn(turn_id);
        }
        Ok(())
    }

    /// A prompt's signal fired: takes it out of the queue, or stops the Turn that has absorbed it.
    pub fn withdraw(&mut self, prompt_id: &str) {
        let waiting = self.dequeue(|row| row.queue_id == prompt_id);
        if !waiting.is_empty() {
            let turn_id = self.state.turn.as_ref().map(|turn| turn.row.turn_id.clone()).unwrap_or_default();
            self.drop_prompt(prompt_id.to_owned(), turn_id);
            return;
        }
        let absorbed = |turn: &Turn| turn.row.prompt_ids.iter().any(|id| id == prompt_id);
        if self.state.turn.as_ref().is_some_and(absorbed) {
            self.drop_queued_prompts();
            self.end_turn(Ending::Stopped(CancelReason::TurnStopped));
        }
    }

    pub fn stop(&mut self, ticket: Ticket) {
        if self.state.turn.is_none() {
            self.answer(
                ticket,
                Answer::Stop {
                    stopped: false,
                    turn_id: None,
                    cancelled_prompts: 0,
                    reason: StopReason::Idle,
                },
            );
            return;
        }
        let turn_id = Some(self.turn().row.turn_id.clone());
        let cancelled_prompts = self.drop_queued_prompts();
        self.end_turn(Ending::Stopped(CancelReason::TurnStopped));
        let reason = StopReason::Stopped;
        self.answer(ticket, Answer::Stop { stopped: true, turn_id, cancelled_prompts, reason });
    }

    pub fn close(&mut self, ticket: Ticket) {
        if self.is_guest() {
            // It is not this process's to end.
            self.state.closed = true;
            self.answer(ticket, Answer::Nothing);
            return;
        }
        if self.state.turn.is_some() {
            self.drop_queued_prompts();
            self.end_turn(Ending::Stopped(CancelReason::SessionDisposed));
        }
        self.publish(MutationBody::Session(SessionMutation::Closed), None);
        self.state.closed = true;
        self.answer(ticket, Answer::Nothing);
    }

    /// Begins a Turn with what the queue holds.
    pub fn start_turn(&mut self, turn_id: String) {
        let row = TurnRow {
            turn_id: turn_id.clone(),
            status: TurnStatus::Running,
            step: None,
            steps: 0,
            unusable_steps: 0,
            prompt_ids: Vec::new(),
            message_id: None,
            text: String::new(),
            usage: Usage::default(),
            native_schemas: BTreeMap::new(),
            error: None,
            error_code: None,
            started_at: self.now(),
            ended_at: None,
        };
        self.state.turn = Some(Turn::new(row));
        self.change_session().active_turn_id = Some(turn_id.clone());
        let status = TurnStatus::Running;
        self.publish(MutationBody::Turn(TurnMutation::Start { turn_id, status }), None);
        self.checkpoint();
    }

    /// Between steps: applies queued commands, absorbs queued prompts, and asks the model.
    pub fn checkpoint(&mut self) {
        self.leave_step();
        let limit = self.settings.max_steps;
        if self.turn().row.steps >= limit {
            // Before anything is absorbed: what waits starts the next Turn.
            let message = format!("The Turn was ended after {limit} steps (max_steps).");
            self.end_turn(Ending::Failed { code: Code::MaxSteps, message });
            return;
        }
        self.apply_config();
        self.absorb_prompts();
        self.forget_finished_parts();
        let step = StepState { step_id: self.stamp.id("step"), phase: StepPhase::Model, late_result: false };
        self.change_turn(|turn| {
            turn.steps += 1;
            turn.step = Some(step);
        });
        self.turn_mut().stream = Stream::default();
        self.request_model(0);
    }

    pub fn request_model(&mut self, delay_ms: u64) {
        let turn = self.turn();
        let step_id = turn.row.step.as_ref().expect("a step has begun").step_id.clone();
        let (turn_id, attempt) = (turn.row.turn_id.clone(), turn.stream.attempt);
        let feed = &mut self.state.feed;
        let request = ModelRequest {
            turn_id,
            step_id,
            attempt,
            delay_ms,
            model_key: feed.model_key,
            base: feed.sent,
            history: feed.history && feed.sent == 0,
            messages: std::mem::take(&mut feed.fresh),
        };
        feed.sent += 1;
        self.effect(Effect::RequestModel(request));
    }

    fn absorb_prompts(&mut self) {
        let turn_id = self.turn().row.turn_id.clone();
        for row in self.dequeue(|row| matches!(row.input, QueuedInput::Prompt { .. })) {
            if let QueuedInput::Prompt { prompt_id, parts } = &row.input {
                self.add_user_message(message_of_prompt(prompt_id), parts);
                self.change_turn(|turn| turn.prompt_ids.push(prompt_id.clone()));
                self.effect(Effect::PromptTurn { prompt_id: prompt_id.clone(), turn_id: turn_id.clone() });
            }
        }
    }

    /// Takes leave of the step: its text is the Turn's, its Parts go to the host's copy of the prompt.
    fn leave_step(&mut self) {
        let turn = self.turn();
        if turn.row.step.is_none() {
            return;
        }
        let parts: Vec<_> = turn.step_parts().collect();
        let message = parts.first().map(|first| {
            let row = turn.messages.iter().find(|row| row.message_id == first.row.message_id);
            let row = row.expect("the Message of a live Part is in the state");
            self.message_of(row, parts.iter().map(|part| turn.view(part)).collect())
        });
        self.state.feed.fresh.extend(message.map(Arc::new));
        let text = self.step_text();
        self.change_turn(|turn| {
            turn.step = None;
            turn.text = text;
        });
    }

    /// Lets go of what can no longer change; it is in the store.
    fn forget_finished_parts(&mut self) {
        self.flush_rows();
        let turn = self.turn_mut();
        let open: Vec<String> =
            turn.parts.iter().filter(|part| turn.is_open(part)).map(|part| part.id().to_owned()).collect();
        turn.parts.retain(|part| open.iter().any(|id| id == part.id()));
        turn.interactions.retain(|row| open.contains(&row.part_id));
        turn.replay_records.clear();
        turn.resumed.clear();
        let current = turn.row.message_id.clone();
        let parts = &turn.parts;
        turn.messages.retain(|row| {
            Some(&row.message_id) == current.as_ref()
                || parts.iter().any(|part| part.row.message_id == row.message_id)
        });
    }

    /// Ends the step once nothing of it is open; the Turn goes on or completes.
    pub fn end_step_when_done(&mut self) {
        let Some(turn) = self.state.turn.as_ref().filter(|_| !self.is_guest()) else { return };
        let calls_phase = turn.row.step.as_ref().is_some_and(|step| step.phase == StepPhase::Calls);
        // What the provider runs itself may take longer than the step; what it wants to be approved is told next.
        let calls = || turn.step_parts().filter_map(LivePart::tool).filter(|tool| tool.needs_answer());
        let waits = |tool: &ToolPart| !tool.state.is_terminal() && !tool.is_approved_at_provider();
        if !calls_phase || calls().any(waits) {
            return;
        }
        let has_calls = calls().next().is_some();
        let has_prompts = self.state.has_queued_prompt();
        if has_calls || has_prompts {
            self.checkpoint();
        } else {
            self.end_turn(Ending::Completed);
        }
    }

    /// Ends the Turn in this commit, whatever it is doing, and starts the next one if prompts are left.
    pub fn end_turn(&mut self, ending: Ending) {
        self.abandon_stream();
        match ending {
            Ending::Stopped(reason) => {
                let message = match reason {
                    CancelReason::SessionDisposed => "The Session was closed before the call ended.",
                    _ => "The Turn was stopped before the call ended.",
                };
                self.end_open_calls(ToolErrorCode::Stopped, message, reason);
                self.cancel_pending(None, reason);
            }
            _ => {
                self.cancel_pending(None, CancelReason::TurnEnded);
                self.fail_silent_provider_calls();
            }
        }
        if let Ending::Failed { code, message } = &ending {
            let body = PartBody::Error { error_code: code.as_str().to_owned(), message: message.clone() };
            self.add_part(body, None, true);
        }
        self.leave_step();
        assert!(
            !self.turn().parts.iter().any(LivePart::is_open_call),
            "a Turn ends when every call of it has ended"
        );
        let (status, error) = match ending {
            Ending::Completed => (TurnStatus::Completed, None),
            Ending::Stopped(_) => (TurnStatus::Stopped, None),
            Ending::Failed { code, message } => (TurnStatus::Failed, Some((code.as_str(), message))),
        };
        self.conclude_turn(status, error);
        self.start_queued_turn();
    }

    /// Begins a Turn where prompts wait and none is going on.
    pub fn start_queued_turn(&mut self) {
        if self.state.has_queued_prompt() && self.state.turn.is_none() && !self.is_guest() {
            let turn_id = self.stamp.id("turn");
            self.start_turn(turn_id);
        }
    }

    fn conclude_turn(&mut self, status: TurnStatus, error: Option<(&str, String)>) {
        let now = self.now();
        let (error_code, error) = error.map(|(code, message)| (code.to_owned(), message)).unzip();
        self.change_turn(|turn| {
            turn.status = status;
            turn.error.clone_from(&error);
            turn.error_code.clone_from(&error_code);
            turn.ended_at = Some(now);
        });
        let TurnRow { turn_id, usage, text, .. } = TurnRow::clone(&self.turn().row);
        self.publish(
            MutationBody::Turn(TurnMutation::Finish {
                turn_id: turn_id.clone(),
                status,
                text: text.clone(),
                usage: serde_json::to_value(usage).ok().map(Json::new),
                error: error.clone(),
                error_code: error_code.clone(),
            }),
            None,
        );
        self.flush_rows();
        self.state.turn = None;
        self.change_session().active_turn_id = None;
        let success = status == TurnStatus::Completed;
        let result = TurnResult { turn_id, status, success, text, usage, error, error_code };
        self.effect(Effect::TurnEnded { result });
    }

    /// The text of the step that is going on.
    fn step_text(&self) -> String {
        self.turn()
            .step_parts()
            .filter_map(|part| match &part.row.part.body {
                PartBody::Text(text) => Some(text.text.as_str()),
                _ => None,
            })
            .collect()
    }

    fn drop_queued_prompts(&mut self) -> u64 {
        let turn_id = self.turn().row.turn_id.clone();
        let dropped = self.dequeue(|row| matches!(row.input, QueuedInput::Prompt { .. }));
        for row in &dropped {
            self.drop_prompt(row.queue_id.clone(), turn_id.clone());
        }
        dropped.len() as u64
    }

    fn drop_prompt(&mut self, prompt_id: String, turn_id: String) {
        let result = TurnResult::of_dropped_prompt(turn_id);
        self.effect(Effect::PromptDropped { prompt_id, result });
    }

    /// Sorts behind everything that is queued.
    pub fn next_position(&self) -> u64 {
        self.state.queue.last().map_or(1, |row| row.position + 1)
    }
}

/// The id of the Message that a prompt becomes: whoever queued it finds it by that, in any process.
pub(super) fn message_of_prompt(prompt_id: &str) -> String {
    format!("message:{}", prompt_id.strip_prefix("prompt:").unwrap_or(prompt_id))
}
