//! What has come in and is not decided yet.

use std::collections::VecDeque;

use crate::core::input::{Input, ModelEvent};

/// How many inputs are decided in one commit at the most.
const BATCH: usize = 1024;

#[derive(Default)]
pub(super) struct Inbox {
    inputs: VecDeque<Input>,
    /// How many are to be decided one at a time, because one among them makes the core panic.
    one_by_one: usize,
}

impl Inbox {
    /// Adds an input; fragments of one Part that wait together become one, and of a tool's progress the last counts.
    pub fn push(&mut self, input: Input) {
        if let Input::Model { step_id, event: ModelEvent::Delta { part, text } } = &input
            && let Some(Input::Model { step_id: last_step, event: last }) = self.inputs.back_mut()
            && let ModelEvent::Delta { part: last_part, text: so_far } = last
            && (&*last_step, &*last_part) == (step_id, part)
        {
            so_far.push_str(text);
            return;
        }
        if let Input::ToolProgress { tool_call_id, .. } = &input
            && let Some(last @ Input::ToolProgress { .. }) = self.inputs.back_mut()
            && matches!(last, Input::ToolProgress { tool_call_id: of_last, .. } if of_last == tool_call_id)
        {
            *last = input;
            return;
        }
        self.inputs.push_back(input);
    }

    pub fn is_empty(&self) -> bool {
        self.inputs.is_empty()
    }

    /// What is decided next, together.
    pub fn take_batch(&mut self) -> Vec<Input> {
        let most = if self.one_by_one > 0 { 1 } else { BATCH };
        self.one_by_one = self.one_by_one.saturating_sub(1);
        let count = self.inputs.len().min(most);
        self.inputs.drain(..count).collect()
    }

    /// They come first again.
    pub fn put_back(&mut self, inputs: Vec<Input>) {
        for input in inputs.into_iter().rev() {
            self.inputs.push_front(input);
        }
    }

    pub fn put_back_one_by_one(&mut self, inputs: Vec<Input>) {
        self.one_by_one = inputs.len();
        self.put_back(inputs);
    }

    /// Drops what would only lead to something being started.
    pub fn keep_what_has_happened(&mut self) {
        self.inputs.retain(|input| input.ticket().is_some() || matches!(input, Input::ToolSettled { .. }));
    }

    /// Takes the callers' inputs out; the others stay.
    pub fn take_calls(&mut self) -> Vec<Input> {
        let inputs = std::mem::take(&mut self.inputs).into_iter();
        let (calls, kept): (Vec<_>, Vec<_>) = inputs.partition(|input| input.ticket().is_some());
        self.inputs = kept.into();
        calls
    }
}
