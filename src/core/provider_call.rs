//! Calls that the provider runs itself: nothing is executed here, and the result may come in a later step. Before it
//! runs one it may ask for an approval, which the next request carries.

use std::sync::Arc;

use super::{
    change::ApprovalMode,
    draft::Draft,
    input::CallStart,
    json::Json,
    lifecycle::tool_may_become,
    message::{ProviderApproval, ToolErrorCode, ToolPart, ToolState},
    state::{ApprovedRun, LivePart},
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
        let asked_in_vain = late_in.is_none() && part.tool().is_some_and(ToolPart::awaits_approval);
        if late_in.is_some() {
            self.note_late_result();
        }
        if metadata.is_some() || late_in.is_some() || asked_in_vain {
            self.change_tool(&part_id, |tool, _| {
                if asked_in_vain {
                    // It did not wait for the answer.
                    tool.provider_approval = None;
                }
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

    fn note_late_result(&mut self) {
        self.change_turn(|turn| turn.step.as_mut().expect("a step is running").late_result = true);
    }

    /// The provider will not run its call before a person has agreed. Nobody is asked before the stream's proper end.
    pub fn approval_requested(&mut self, reference: u32, approval_id: &str) {
        let turn = self.turn();
        let part = turn.part_of_ref(reference).filter(|part| is_open_provider_call(part));
        let Some(part) = part else { return };
        let part_id =
            if turn.in_current_step(part) { part.id().to_owned() } else { self.call_anew(reference) };
        let approval =
            || ProviderApproval { approval_id: approval_id.to_owned(), approved: None, reason: None };
        self.change_tool(&part_id, |tool, _| {
            tool.provider_approval.get_or_insert_with(approval);
        });
    }

    /// Asks for each approval the provider wants in this step, where the approval mode does not give it.
    pub fn decide_provider_approvals(&mut self) {
        for part_id in self.parts_where(|part| part.tool().is_some_and(ToolPart::awaits_approval)) {
            let tool = self.turn().part(&part_id).and_then(LivePart::tool).expect("the call was just listed");
            if tool.input.is_none() {
                let message = format!(
                    "The arguments of {} are not a JSON object, so nobody could be asked to approve them.",
                    tool.tool_name
                );
                self.fail_call(&part_id, ToolErrorCode::InvalidInput, &message);
            } else if self.state.session.effective_approval_mode == ApprovalMode::AlwaysAllow {
                self.approve_provider_call(&part_id, None);
            } else {
                self.ask_gate(&part_id, None);
            }
        }
    }

    /// The next request tells the provider to run its call.
    pub fn approve_provider_call(&mut self, part_id: &str, reason: Option<String>) {
        self.change_tool(part_id, |tool, _| {
            let runs = ToolState::Running;
            assert!(tool.state == runs || tool_may_become(tool.state, runs), "only an open call is approved");
            tool.state = runs;
            let approval = tool.provider_approval.as_mut().expect("the provider has asked");
            approval.approved = Some(true);
            approval.reason = reason;
        });
    }

    /// Whether a call is no new one but the run of a call that was approved in an earlier step. Some providers give
    /// the run an id of its own: what tells it is the same tool with the same arguments.
    pub fn is_approved_run(
        &mut self,
        start: &CallStart,
        input: Option<&Json>,
        metadata: Option<&Json>,
    ) -> bool {
        let Some(part_id) = self.approved_call(start, input) else { return false };
        let stream = &mut self.turn_mut().stream;
        stream.refs.push((start.part, part_id.into()));
        stream.runs.push(ApprovedRun { start: start.clone(), provider_metadata: metadata.cloned() });
        self.note_late_result();
        true
    }

    fn approved_call(&self, start: &CallStart, input: Option<&Json>) -> Option<String> {
        let turn = self.turn();
        if !start.provider_executed || input.is_none() || turn.part_of_ref(start.part).is_some() {
            return None;
        }
        let is_same = |part: &&LivePart| {
            let tool = part.tool().filter(|tool| tool.is_approved_at_provider());
            let is_run = turn.stream.refs.iter().any(|(_, part_id)| **part_id == *part.id());
            is_open_provider_call(part)
                && !turn.in_current_step(part)
                && !is_run
                && tool.is_some_and(|tool| tool.tool_name == start.tool_name && tool.input.as_ref() == input)
        };
        let candidates: Vec<&LivePart> = turn.parts.iter().filter(is_same).collect();
        let has_id = |part: &&&LivePart| {
            part.tool().is_some_and(|tool| start.provider_tool_call_id.as_deref() == Some(tool.provider_id()))
        };
        let part = candidates.iter().find(has_id).or(candidates.first())?;
        Some(part.id().to_owned())
    }

    /// Ends the runs that the stream broke off in: asked once more, the provider might run them twice.
    pub fn fail_interrupted_runs(&mut self) {
        let turn = self.turn();
        let runs = turn.stream.runs.iter().filter_map(|run| turn.part_of_ref(run.start.part));
        let open: Vec<String> =
            runs.filter(|part| is_open_provider_call(part)).map(|part| part.id().to_owned()).collect();
        for part_id in open {
            self.fail_call(&part_id, ToolErrorCode::NotRun, PROVIDER_IS_SILENT);
            self.feed_if_earlier(&part_id);
        }
    }

    /// What was taken for the run of an approved call is one of its own: the provider asks again.
    fn call_anew(&mut self, reference: u32) -> String {
        let turn = self.turn_mut();
        let approved = turn.part_of_ref(reference).and_then(LivePart::tool);
        let input = approved.and_then(|tool| tool.input.clone());
        turn.stream.refs.retain(|(number, _)| *number != reference);
        let place = turn.stream.runs.iter().position(|run| run.start.part == reference);
        let run = turn.stream.runs.remove(place.expect("only a run belongs to an earlier step"));
        let part_id = self.call_arrived(&run.start, input.as_ref(), None, &run.provider_metadata);
        self.judge_call(&part_id, None);
        part_id
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
