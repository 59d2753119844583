//! A step's model stream: from its events to Parts, and what becomes of it when it ends.

use super::{
    change::{CallRecord, Durability, StepPhase, Usage},
    draft::Draft,
    effect::Effect,
    error::Code,
    explanation::take_explanation,
    input::{CallStart, FinishReason, ModelEvent, ModelFailure, PartEdge},
    json::Json,
    message::{PartBody, PartState, TextPart, ToolErrorCode, ToolPart, ToolState},
    mutation::DeltaKind,
    provider_call::PROVIDER_IS_SILENT,
    state::LivePart,
    turn::Ending,
};

/// How often a failing request is made again.
const RETRIES: u32 = 2;
/// The wait before the first retry; it doubles for the next.
const FIRST_DELAY_MS: u64 = 500;
const LONGEST_DELAY_MS: u64 = 30_000;
/// How many steps in a row may end without their calls being run.
const UNUSABLE_STEPS: u32 = 3;

const NOT_RUN: &str = "The call was not run because the model's answer ended before it was complete.";

impl Draft<'_> {
    /// Takes a part of the model's stream. What comes for another step than the running one is dropped.
    pub fn model_event(&mut self, step_id: &str, event: &ModelEvent) {
        let running = self.state.turn.as_ref().and_then(|turn| turn.row.step.as_ref());
        if !running.is_some_and(|step| step.step_id == step_id && step.phase == StepPhase::Model) {
            return;
        }
        match event {
            ModelEvent::TextStart(edge) => self.start_text(edge, PartBody::Text),
            ModelEvent::ReasoningStart(edge) => self.start_text(edge, PartBody::Reasoning),
            ModelEvent::TextEnd(edge) | ModelEvent::ReasoningEnd(edge) => self.end_text(edge),
            ModelEvent::Delta { part, text } => self.delta(*part, text),
            ModelEvent::ToolInputStart(start) => {
                let body = self.new_call(start, ToolState::InputStreaming);
                self.add_call(start, body);
            }
            ModelEvent::ToolCall { start, input, provider_metadata, .. }
                if self.is_approved_run(start, input.as_ref(), provider_metadata.as_ref()) => {}
            ModelEvent::ToolCall { start, input, input_text, problem, provider_metadata } => {
                let part_id =
                    self.call_arrived(start, input.as_ref(), input_text.as_ref(), provider_metadata);
                self.judge_call(&part_id, problem.as_deref());
            }
            ModelEvent::ToolResult { part, output, error, provider_metadata } => {
                let part_id = self.turn().part_of_ref(*part).map(|part| part.id().to_owned());
                self.provider_result(part_id, output.as_ref(), error.as_deref(), provider_metadata.as_ref());
            }
            ModelEvent::LateToolResult { provider_tool_call_id, output, error, provider_metadata } => {
                let part_id = self.open_provider_call(provider_tool_call_id);
                self.provider_result(part_id, output.as_ref(), error.as_deref(), provider_metadata.as_ref());
            }
            ModelEvent::ApprovalRequest { part, approval_id } => self.approval_requested(*part, approval_id),
            ModelEvent::File(file) => {
                self.add_part(PartBody::File(file.clone()), None, true);
            }
            ModelEvent::Source(source) => {
                self.add_part(PartBody::Source(source.clone()), None, true);
            }
            ModelEvent::Finish { reason: FinishReason::Error, usage, .. } => {
                self.count(usage);
                self.stream_failed(Code::ModelFailed, "The model's answer ended with an error.", None);
            }
            ModelEvent::Finish { reason, usage, unconfirmed } => {
                if *unconfirmed {
                    self.interrupt_parts();
                }
                self.stream_ended(*reason, usage);
            }
            ModelEvent::Failed { message, code, retryable, retry_after_ms } => {
                let code = match code {
                    ModelFailure::ModelMissing => Code::ModelMissing,
                    ModelFailure::ModelFailed => Code::ModelFailed,
                };
                self.stream_failed(code, message, retryable.then_some(retry_after_ms.unwrap_or(0)));
            }
        }
    }

    fn start_text(&mut self, edge: &PartEdge, body: fn(TextPart) -> PartBody) {
        let provider_metadata = edge.provider_metadata.clone();
        let part = TextPart { text: String::new(), state: PartState::Streaming, provider_metadata };
        let part_id = self.add_part(body(part), None, true);
        self.turn_mut().stream.refs.push((edge.part, part_id.into()));
    }

    fn end_text(&mut self, edge: &PartEdge) {
        let Some(part) = self.turn().part_of_ref(edge.part).filter(|part| part.is_streaming()) else {
            return;
        };
        let part_id = part.id().to_owned();
        self.finish_text(&part_id, edge.provider_metadata.clone());
    }

    fn finish_text(&mut self, part_id: &str, metadata: Option<Json>) {
        self.change_part(part_id, |row, streamed| {
            if let PartBody::Text(text) | PartBody::Reasoning(text) = &mut row.part.body {
                text.text = streamed.collect();
                text.state = PartState::Done;
                text.provider_metadata = metadata.or(text.provider_metadata.take());
            }
        });
    }

    fn delta(&mut self, reference: u32, text: &str) {
        let part = self.turn().part_of_ref(reference).filter(|part| part.is_streaming());
        let Some((part_id, kind)) = part.and_then(|part| Some((part.id().to_owned(), delta_kind(part)?)))
        else {
            return;
        };
        self.append_text(&part_id, kind, text);
    }

    fn new_call(&mut self, start: &CallStart, state: ToolState) -> ToolPart {
        let in_use = |id: &String| self.turn().call(id).is_some();
        let kept = start.tool_call_id.clone().filter(|id| !id.is_empty() && !in_use(id));
        let title = self.settings.tool(&start.tool_name).and_then(|tool| tool.title.clone());
        ToolPart {
            provider_tool_call_id: match &kept {
                Some(_) => start.provider_tool_call_id.clone(),
                None => start.provider_tool_call_id.clone().or(start.tool_call_id.clone()),
            },
            tool_call_id: kept.unwrap_or_else(|| self.stamp.id("call")),
            tool_name: start.tool_name.clone(),
            state,
            input_text: (state == ToolState::InputStreaming).then(String::new),
            input: None,
            output: None,
            error: None,
            error_code: None,
            title: start.title.clone().or(title),
            model_explanation: None,
            model_explanation_index: None,
            provider_executed: start.provider_executed,
            provider_metadata: None,
            preliminary: false,
            model_output: None,
            result_metadata: None,
            result_step_id: None,
            provider_approval: None,
            interactions: None,
        }
    }

    fn add_call(&mut self, start: &CallStart, tool: ToolPart) -> String {
        let definition = self.settings.tool(&tool.tool_name);
        let record = CallRecord {
            replay: definition.is_some_and(|tool| tool.replay),
            tool_description: definition.and_then(|tool| tool.description.clone()),
            ..CallRecord::default()
        };
        let part_id = self.add_part(PartBody::Tool(Box::new(tool)), Some(record), true);
        self.turn_mut().stream.refs.push((start.part, part_id.as_str().into()));
        part_id
    }

    /// The arguments are complete.
    pub fn call_arrived(
        &mut self,
        start: &CallStart,
        input: Option<&Json>,
        input_text: Option<&String>,
        provider_metadata: &Option<Json>,
    ) -> String {
        let streams_input = |part: &&LivePart| part.is_streaming() && part.tool().is_some();
        let known = self.turn().part_of_ref(start.part).filter(streams_input);
        let known = known.map(|part| part.id().to_owned());
        let explains = self.settings.tool(&start.tool_name).is_some_and(|tool| tool.explain);
        let (input, explanation) = match input {
            Some(input) if explains => take_explanation(input),
            other => (other.cloned(), None),
        };
        let (explanation, index) = explanation.unzip();
        let fill = |tool: &mut ToolPart| {
            tool.state = ToolState::Ready;
            tool.input = input;
            tool.input_text = input_text.map(|text| bounded(text));
            tool.model_explanation = explanation;
            tool.model_explanation_index = index.flatten();
            tool.provider_executed |= start.provider_executed;
            tool.provider_metadata.clone_from(provider_metadata);
        };
        if let Some(part_id) = known {
            self.change_tool(&part_id, |tool, _| fill(tool));
            return part_id;
        }
        let mut tool = self.new_call(start, ToolState::Ready);
        fill(&mut tool);
        self.raise_durability(Durability::Power);
        self.add_call(start, tool)
    }

    /// A call that can never run fails as soon as it is known; nobody is asked about it.
    pub fn judge_call(&mut self, part_id: &str, problem: Option<&str>) {
        let tool = self.turn().part(part_id).and_then(LivePart::tool).expect("the call was just added");
        if tool.provider_executed {
            self.set_tool_state(part_id, ToolState::Running);
        } else if self.settings.tool(&tool.tool_name).is_none() {
            let message = self.unknown_tool_message(&tool.tool_name);
            self.fail_call(part_id, ToolErrorCode::UnknownTool, &message);
        } else if tool.input.is_none() {
            let problem = problem.unwrap_or("they are not a JSON object");
            let message = format!("The arguments of {} cannot be used: {problem}.", tool.tool_name);
            self.fail_call(part_id, ToolErrorCode::InvalidInput, &message);
        }
    }

    fn unknown_tool_message(&self, name: &str) -> String {
        let known = self.settings.tool_names();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        format!("There is no tool named {name:?}. The available tools are: {known}.")
    }

    /// The stream was read to its proper end: its calls go on, unless the answer was cut.
    fn stream_ended(&mut self, reason: FinishReason, usage: &Usage) {
        self.count(usage);
        self.finish_texts();
        let cut = matches!(reason, FinishReason::Length | FinishReason::ContentFilter);
        let had_calls = self.has_calls();
        self.fail_incomplete_calls(cut);
        if !had_calls {
            self.fail_silent_provider_calls();
        }
        let unusable = if cut && had_calls { self.turn().row.unusable_steps + 1 } else { 0 };
        self.begin_calls(unusable);
        if unusable >= UNUSABLE_STEPS {
            self.give_up_on_unusable_steps();
            return;
        }
        self.prepare_calls();
        self.decide_provider_approvals();
        self.end_step_when_done();
    }

    /// The request was refused, or its stream broke off. `retry_after` is set where trying again may help.
    fn stream_failed(&mut self, code: Code, message: &str, retry_after: Option<u64>) {
        let attempt = self.turn().stream.attempt;
        let nothing_arrived = self.nothing_arrived();
        if let Some(retry_after) = retry_after.filter(|_| nothing_arrived && attempt < RETRIES) {
            self.turn_mut().stream.attempt += 1;
            let delay = FIRST_DELAY_MS << attempt;
            self.request_model(delay.max(retry_after).min(LONGEST_DELAY_MS));
            return;
        }
        self.interrupt_parts();
        let had_calls = self.has_calls();
        self.fail_incomplete_calls(true);
        self.fail_interrupted_runs();
        let unusable = self.turn().row.unusable_steps + 1;
        if had_calls && unusable < UNUSABLE_STEPS {
            self.begin_calls(unusable);
            self.end_step_when_done();
        } else {
            self.end_turn(Ending::Failed { code, message: message.to_owned() });
        }
    }

    /// The step's stream has ended: what is left of it are its calls.
    fn begin_calls(&mut self, unusable_steps: u32) {
        self.change_turn(|turn| {
            turn.unusable_steps = unusable_steps;
            turn.step.as_mut().expect("a step is running").phase = StepPhase::Calls;
        });
    }

    fn give_up_on_unusable_steps(&mut self) {
        let message = format!(
            "The model's answer was cut off in {UNUSABLE_STEPS} steps in a row, so its tool calls could not be run."
        );
        self.end_turn(Ending::Failed { code: Code::ModelFailed, message });
    }

    /// Stops listening to a stream that is still coming in, and keeps what has come.
    pub fn abandon_stream(&mut self) {
        let streaming = self
            .turn()
            .row
            .step
            .as_ref()
            .filter(|step| step.phase == StepPhase::Model)
            .map(|step| step.step_id.clone());
        if let Some(step_id) = streaming {
            self.effect(Effect::AbortModel { step_id });
            self.interrupt_parts();
        }
    }

    /// Text that is still streaming is done as far as it came.
    fn finish_texts(&mut self) {
        for part_id in self.parts_where(|part| part.is_streaming() && part.tool().is_none()) {
            self.finish_text(&part_id, None);
        }
    }

    /// The stream will not come to its proper end: text is done as far as it came, and what came says so.
    pub fn interrupt_parts(&mut self) {
        for part_id in self.parts_where(is_to_be_interrupted) {
            self.change_part(&part_id, |row, streamed| {
                row.part.interrupted = true;
                if let PartBody::Text(text) | PartBody::Reasoning(text) = &mut row.part.body
                    && text.state == PartState::Streaming
                {
                    text.text = streamed.collect();
                    text.state = PartState::Done;
                }
            });
        }
    }

    fn has_calls(&self) -> bool {
        self.turn().step_parts().filter_map(LivePart::tool).any(ToolPart::needs_answer)
    }

    /// Fails the calls whose arguments never came, and where the answer was cut all others too.
    pub fn fail_incomplete_calls(&mut self, cut: bool) {
        for part_id in self.parts_where(LivePart::is_open_call) {
            let tool =
                self.turn().part(&part_id).and_then(LivePart::tool).expect("only tool calls were picked");
            let message = if tool.needs_answer() { NOT_RUN } else { PROVIDER_IS_SILENT };
            if cut || tool.state == ToolState::InputStreaming {
                self.fail_call(&part_id, ToolErrorCode::NotRun, message);
            }
        }
    }

    /// Whether the running step's stream has brought nothing yet.
    pub fn nothing_arrived(&self) -> bool {
        let of_model = |part: &LivePart| !matches!(part.row.part.body, PartBody::Interaction { .. });
        let late_result = self.turn().row.step.as_ref().is_some_and(|step| step.late_result);
        !late_result && self.parts_where(of_model).is_empty()
    }

    /// The ids of the step's Parts that are wanted.
    pub fn parts_where(&self, wanted: impl Fn(&LivePart) -> bool) -> Vec<String> {
        self.turn().step_parts().filter(|part| wanted(part)).map(|part| part.id().to_owned()).collect()
    }

    fn count(&mut self, usage: &Usage) {
        self.change_turn(|turn| {
            let sum = &mut turn.usage;
            sum.input_tokens = sum.input_tokens.saturating_add(usage.input_tokens);
            sum.output_tokens = sum.output_tokens.saturating_add(usage.output_tokens);
            sum.total_tokens = sum.total_tokens.saturating_add(usage.total_tokens);
            sum.reasoning_tokens = sum.reasoning_tokens.saturating_add(usage.reasoning_tokens);
            sum.cached_input_tokens = sum.cached_input_tokens.saturating_add(usage.cached_input_tokens);
        });
    }
}

/// Something the model said or called, and that does not say yet that it broke off.
fn is_to_be_interrupted(part: &LivePart) -> bool {
    let of_model = matches!(
        part.row.part.body,
        PartBody::Text(_) | PartBody::Reasoning(_) | PartBody::Tool(_) | PartBody::File(_)
    );
    of_model && !part.row.part.interrupted
}

fn delta_kind(part: &LivePart) -> Option<DeltaKind> {
    match &part.row.part.body {
        PartBody::Text(_) => Some(DeltaKind::Text),
        PartBody::Reasoning(_) => Some(DeltaKind::Reasoning),
        PartBody::Tool(_) => Some(DeltaKind::ToolInput),
        _ => None,
    }
}

/// Arguments that are no JSON are kept for whoever looks for the reason, but not without end.
fn bounded(text: &str) -> String {
    const MOST: usize = 64 * 1024;
    if text.len() <= MOST {
        return text.to_owned();
    }
    let end = (0..=MOST).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    format!("{}… ({} more bytes)", &text[..end], text.len() - end)
}
