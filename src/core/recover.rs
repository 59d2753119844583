//! Opening a Session: settles what a process that ended left behind, in one commit.

use super::{
    change::{QueuedInput, StepPhase},
    draft::Draft,
    effect::{Answer, Effect},
    error::Code,
    input::Ticket,
    interaction::CancelReason,
    message::ToolErrorCode,
    turn::Ending,
};

const OUTCOME_UNKNOWN: &str = "The process ended while this call was going on. Its outcome is unknown: it may have \
                               taken effect. Check before calling it again.";
const NOT_STARTED: &str = "The process ended before this call was run.";

impl Draft<'_> {
    pub fn open(&mut self, ticket: Ticket) {
        let place = self.effects_so_far();
        if std::mem::take(&mut self.state.unsettled) {
            self.recover();
        }
        let session_id = self.state.session.session_id.clone();
        let turn_id = self.state.turn.as_ref().map(|turn| turn.row.turn_id.clone());
        // Whoever opens it must know the Session before it is asked to work for it.
        let result = Ok(Answer::Opened { session_id, turn_id });
        self.effect_at(place, Effect::Answer { ticket, result });
    }

    fn recover(&mut self) {
        if self.state.turn.is_none() {
            self.recover_idle();
            return;
        }
        self.close_interrupted_stream();
        for part_id in self.parts_where(|part| part.tool().is_some_and(|tool| !tool.state.is_terminal())) {
            let part = self.turn().part(&part_id).expect("the Part was just listed");
            let entered = part.row.call.as_ref().is_some_and(|call| call.execution_started);
            let message = if entered { OUTCOME_UNKNOWN } else { NOT_STARTED };
            self.cancel_pending(Some(&part_id), CancelReason::RuntimeInterrupted);
            self.fail_call(&part_id, ToolErrorCode::Interrupted, message);
        }
        self.cancel_pending(None, CancelReason::RuntimeInterrupted);
        let message = "The process ended while the Turn was going on.".to_owned();
        self.end_turn(Ending::Failed { code: Code::RuntimeInterrupted, message });
    }

    /// A restored Session shows its configured mode as the effective one, and goes on with prompts that waited.
    fn recover_idle(&mut self) {
        if self.state.queue.iter().any(|row| matches!(row.input, QueuedInput::Prompt { .. })) {
            let turn_id = self.stamp.id("turn");
            self.start_turn(turn_id);
        } else {
            self.apply_config();
        }
    }

    /// Keeps what the model had said; nobody is listening to its stream any more.
    fn close_interrupted_stream(&mut self) {
        self.finish_texts();
        if self.turn().row.step.as_ref().is_some_and(|step| step.phase == StepPhase::Model) {
            self.change_turn(|turn| {
                if let Some(step) = &mut turn.step {
                    step.phase = StepPhase::Calls;
                }
            });
        }
    }
}
