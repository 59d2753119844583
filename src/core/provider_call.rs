//! Calls that the provider runs itself: nothing is executed here, and the result may come in a later step.

use std::sync::Arc;

use super::{
    draft::Draft,
    json::Json,
    message::{ToolErrorCode, ToolState},
    state::LivePart,
};

pub(super) const PROVIDER_IS_SILENT: &str = "The provider gave no result for its own tool call.";

impl Draft<'_> {
    /// The newest call the provider has begun under this id in this Turn and not ended.
    pub fn open_provider_call(&self, provider_id: &str) -> Option<String> {
        let part = self.turn().parts.iter().rev().find(|part| {
            is_open_provider_call(part) && part.tool().is_some_and(|tool| tool.provider_id() == provider_id)
        });
        part.map(|part| part.id().to_owned())
    }

    /// A result for a call that has none yet; any other is dropped.
    pub fn provider_result(
        &mut self,
        part_id: Option<String>,
        output: Option<&Json>,
        error: Option<&str>,
        metadata: Option<&Json>,
    ) {
        let turn = self.turn();
        let part = part_id.as_deref().and_then(|part_id| turn.part(part_id));
        let Some(part) = part.filter(|part| is_open_provider_call(part)) else { return };
        let part_id = part.id().to_owned();
        let step_id = turn.row.step.as_ref().map(|step| step.step_id.clone());
        let late_in = step_id.filter(|_| !turn.in_current_step(part));
        if late_in.is_some() {
            self.change_turn(|turn| turn.step.as_mut().expect("a step is running").late_result = true);
        }
        if metadata.is_some() || late_in.is_some() {
            self.change_tool(&part_id, |tool, _| {
                tool.result_metadata = metadata.cloned();
                tool.result_step_id = late_in;
            });
        }
        match error {
            Some(message) => {
                if output.is_some() {
                    self.change_tool(&part_id, |tool, _| tool.output = output.cloned());
                }
                self.fail_call(&part_id, ToolErrorCode::ToolFailed, message);
            }
            None => {
                let output = output.cloned().unwrap_or_else(|| Json::new(serde_json::Value::Null));
                self.complete_call(&part_id, output, None);
            }
        }
        self.feed_if_earlier(&part_id);
    }

    /// Ends the provider's calls that have no result, of whatever step: none will come any more.
    pub fn fail_silent_provider_calls(&mut self) {
        let open = self.turn().parts.iter().filter(|part| is_open_provider_call(part));
        let open: Vec<String> = open.map(|part| part.id().to_owned()).collect();
        for part_id in open {
            self.fail_call(&part_id, ToolErrorCode::NotRun, PROVIDER_IS_SILENT);
            self.feed_if_earlier(&part_id);
        }
    }

    /// A Part of a step that was left has changed: the host's copy of the prompt has it as it was.
    pub fn feed_if_earlier(&mut self, part_id: &str) {
        let turn = self.turn();
        let part = turn.part(part_id).expect("a Part that was changed is in the state");
        if turn.in_current_step(part) {
            return;
        }
        let row = turn.messages.iter().find(|row| row.message_id == part.row.message_id);
        let row = row.expect("the Message of a live Part is in the state");
        let message = self.message_of(row, vec![turn.view(part)]);
        self.state.feed.fresh.push(Arc::new(message));
    }
}

/// The provider was given its arguments and has not answered.
pub(super) fn is_open_provider_call(part: &LivePart) -> bool {
    part.tool().is_some_and(|tool| tool.provider_executed && tool.state == ToolState::Running)
}
