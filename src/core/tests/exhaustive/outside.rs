//! The outside of one process: the model, the tools and who waits. It ends with the process.

use std::collections::{BTreeMap, BTreeSet};

use super::world::CALLS;
use crate::core::{
    effect::{Answer, Effect, ModelRequest},
    interaction::Interaction,
};

#[derive(Debug, Clone, Default)]
pub struct Outside {
    pub model: Option<Model>,
    pub preparing: BTreeSet<usize>,
    pub running: BTreeMap<usize, Running>,
    /// Entered in this process and ended by the Session, while `execute` goes on and does not know.
    pub late: BTreeSet<usize>,
    pub goes_on: bool,
    /// The copy of the prompt, as the model knows it.
    pub prompt: Vec<serde_json::Value>,
    /// Interactions whose end was handed to who waited.
    pub woken: BTreeSet<String>,
}

#[derive(Debug, Clone)]
pub struct Model {
    pub step_id: String,
    /// It answers with the two calls, as opposed to text.
    pub calls: bool,
    pub sent: usize,
}

#[derive(Debug, Clone, Default)]
pub struct Running {
    /// How many things it has asked since it was entered.
    pub asked: usize,
    /// What it waits for.
    pub waits: BTreeSet<String>,
}

pub fn number_of(tool_call_id: &str) -> usize {
    CALLS.iter().position(|id| *id == tool_call_id).expect("only the two calls of the script are known")
}

impl Outside {
    /// What an effect sets going, or ends. `asking` is the call whose request is being answered.
    pub fn take(&mut self, effect: &Effect, asking: Option<usize>, first_step: bool) {
        match effect {
            Effect::Answer { result: Ok(answer), .. } => self.answered(answer, asking),
            Effect::RequestModel(ModelRequest { step_id, .. }) => {
                self.model = Some(Model { step_id: step_id.clone(), calls: first_step, sent: 0 });
            }
            Effect::AbortModel { step_id } => {
                self.model.take_if(|model| model.step_id == *step_id);
            }
            Effect::PrepareTool(call) => {
                self.preparing.insert(number_of(&call.tool_call_id));
            }
            Effect::EnterTool { call, .. } => {
                let before = self.running.insert(number_of(&call.tool_call_id), Running::default());
                assert!(before.is_none(), "I9: entered while it is going on");
            }
            Effect::AbortTool { tool_call_id } => self.abort(number_of(tool_call_id)),
            Effect::GoOn => self.goes_on = true,
            Effect::InteractionEnded { interaction, .. } => self.wake(interaction),
            Effect::TurnEnded { .. } => {
                self.preparing.clear();
                self.goes_on = false;
            }
            _ => {}
        }
    }

    fn answered(&mut self, answer: &Answer, asking: Option<usize>) {
        let Some(running) = asking.and_then(|call| self.running.get_mut(&call)) else { return };
        match answer {
            Answer::Interaction(interaction) | Answer::Asked { interaction } => {
                running.asked += 1;
                let new = running.waits.insert(interaction.interaction_id.clone());
                assert!(new, "two requests of one call never share an Interaction");
            }
            Answer::Decided { .. } => running.asked += 1,
            _ => {}
        }
    }

    fn abort(&mut self, call: usize) {
        self.preparing.remove(&call);
        if self.running.remove(&call).is_some() {
            self.late.insert(call);
        }
    }

    /// I4: who waits gets the answer exactly once.
    fn wake(&mut self, interaction: &Interaction) {
        assert!(!interaction.is_pending(), "only an end wakes");
        let id = &interaction.interaction_id;
        let waiting: usize =
            self.running.values_mut().map(|running| usize::from(running.waits.remove(id))).sum();
        assert!(waiting <= 1, "an answer belongs to one request");
        // A replay tool may not have come to ask again yet: then it gets the answer when it does.
        let first = waiting == 0 || self.woken.insert(id.clone());
        assert!(first, "I4: an answer is handed over once in a process");
    }

    /// Somebody other than a person has something to do.
    pub fn is_busy(&self) -> bool {
        self.model.is_some() || !self.preparing.is_empty() || !self.running.is_empty() || self.goes_on
    }
}
