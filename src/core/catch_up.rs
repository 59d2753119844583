//! Catching up with what others have committed to the Session: an answer, a queued prompt, whole Turns.

use std::sync::Arc;

use serde::Deserialize;

use super::{
    change::{OpenRows, QueuedInput, StepPhase, TurnStatus, Usage},
    draft::Draft,
    effect::{Effect, TurnResult},
    engine::Engine,
    interaction::Interaction,
    message::{Role, ToolState},
    respond::decision_of,
    state::{LivePart, SessionState},
    turn::message_of_prompt,
};

/// What of a published Mutation matters to those who wait for something.
#[derive(Deserialize)]
#[serde(tag = "variant", rename_all = "snake_case")]
enum Told {
    Message { message: ToldMessage },
    Part { part: ToldPart },
    Turn(ToldTurn),
    Delta {},
    Session {},
}

#[derive(Deserialize)]
struct ToldMessage {
    message_id: String,
    role: Role,
    turn_id: Option<String>,
}

#[derive(Deserialize)]
struct ToldPart {
    #[serde(default)]
    interactions: Vec<Interaction>,
    #[serde(default)]
    interaction: Option<Interaction>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ToldTurn {
    Start {
        turn_id: String,
    },
    Finish {
        turn_id: String,
        status: TurnStatus,
        text: String,
        #[serde(default)]
        usage: Usage,
        error: Option<String>,
        error_code: Option<String>,
    },
}

impl Engine {
    /// Takes over what the store has now. `journal` has the Mutations published since this engine's revision;
    /// `is_owner` says that this process owns the Session still, and what it has going on goes on.
    pub fn catch_up(&mut self, rows: OpenRows, journal: &[Arc<str>], is_owner: bool) -> Vec<Effect> {
        let before = std::mem::replace(self.state_mut(), SessionState::restore(rows));
        let state = self.state_mut();
        state.closed = before.closed;
        state.feed = before.feed.clone();
        for row in &mut state.queue {
            // What was set here keeps its model, which no store has.
            if let Some(known) = before.queue.iter().find(|known| known.queue_id == row.queue_id) {
                row.clone_from(known);
            }
        }
        let mut effects = Vec::new();
        let turn_of = |state: &SessionState| state.session.active_turn_id.clone();
        let same_turn = turn_of(state) == turn_of(&before);
        if is_owner {
            keep_what_goes_on(state, &before);
            effects = abandoned(state, &before);
        }
        if !is_owner || !same_turn {
            state.forget_feed();
        }
        tell(&before, state, journal, &mut effects);
        if is_owner {
            effects.push(Effect::GoOn);
        }
        effects
    }
}

fn keep_what_goes_on(state: &mut SessionState, before: &SessionState) {
    state.needs_recovery = before.needs_recovery;
    if let (Some(turn), Some(known)) = (&mut state.turn, &before.turn)
        && turn.row.turn_id == known.row.turn_id
    {
        turn.stream = known.stream.clone();
        turn.resumed = known.resumed.clone();
    }
}

/// Ends what goes on here and was ended by somebody else: a Turn that was stopped.
fn abandoned(state: &SessionState, before: &SessionState) -> Vec<Effect> {
    let Some(turn) = &before.turn else { return Vec::new() };
    let now = state.turn.as_ref().filter(|now| now.row.turn_id == turn.row.turn_id);
    let streaming = turn.row.step.as_ref().filter(|step| step.phase == StepPhase::Model && now.is_none());
    let mut effects: Vec<Effect> =
        streaming.map(|step| Effect::AbortModel { step_id: step.step_id.clone() }).into_iter().collect();
    for part in turn.parts.iter().filter(|part| part.is_open_call()) {
        let still = now.and_then(|now| now.part(part.id())).is_some_and(LivePart::is_open_call);
        let tool = part.tool().expect("only calls go on");
        if !still {
            effects.push(Effect::AbortTool { tool_call_id: tool.tool_call_id.clone() });
        }
    }
    effects
}

/// Publishes the journal, and tells those who wait what it says.
fn tell(before: &SessionState, state: &SessionState, journal: &[Arc<str>], effects: &mut Vec<Effect>) {
    let still_queued = |queue_id: &str| state.queue.iter().any(|row| row.queue_id == queue_id);
    let mut gone: Vec<&str> = before
        .queue
        .iter()
        .filter(|row| matches!(row.input, QueuedInput::Prompt { .. }) && !still_queued(&row.queue_id))
        .map(|row| row.queue_id.as_str())
        .collect();
    let mut waiting: Vec<&str> = before
        .turn
        .iter()
        .flat_map(|turn| turn.pending())
        .map(|row| row.interaction.interaction_id.as_str())
        .collect();
    for body in journal {
        effects.push(Effect::Publish { body: body.clone() });
        // What a newer program publishes beyond these waits for nobody here.
        match serde_json::from_str::<Told>(body) {
            Ok(Told::Message { message }) => effects.extend(absorbed(message, &mut gone)),
            Ok(Told::Part { part }) => {
                for interaction in part.interactions.into_iter().chain(part.interaction) {
                    effects.extend(ended(interaction, &mut waiting));
                }
            }
            Ok(Told::Turn(ToldTurn::Start { turn_id })) => effects.push(Effect::TurnSeen { turn_id }),
            Ok(Told::Turn(ToldTurn::Finish { turn_id, status, text, usage, error, error_code })) => {
                let success = status == TurnStatus::Completed;
                let result = TurnResult { turn_id, status, success, text, usage, error, error_code };
                effects.push(Effect::TurnEnded { result });
            }
            Ok(Told::Delta {} | Told::Session {}) | Err(_) => {}
        }
    }
    for prompt_id in gone {
        let turn_id = before.session.active_turn_id.clone().unwrap_or_default();
        let result = TurnResult::of_dropped_prompt(turn_id);
        effects.push(Effect::PromptDropped { prompt_id: prompt_id.to_owned(), result });
    }
}

fn absorbed(message: ToldMessage, gone: &mut Vec<&str>) -> Option<Effect> {
    let turn_id = message.turn_id.filter(|_| message.role == Role::User)?;
    let place = gone.iter().position(|prompt_id| message_of_prompt(prompt_id) == message.message_id)?;
    Some(Effect::PromptTurn { prompt_id: gone.remove(place).to_owned(), turn_id })
}

fn ended(interaction: Interaction, waiting: &mut Vec<&str>) -> Option<Effect> {
    if interaction.is_pending() {
        return None;
    }
    let place = waiting.iter().position(|id| *id == interaction.interaction_id)?;
    waiting.remove(place);
    let decision = decision_of(&interaction).map(Box::new);
    Some(Effect::InteractionEnded { interaction: Box::new(interaction), decision })
}

impl Draft<'_> {
    /// Does what follows from what is answered or queued by now.
    pub fn go_on(&mut self) {
        if self.state.needs_recovery {
            return;
        }
        if self.state.turn.is_none() {
            self.start_queued_turn();
            return;
        }
        self.end_answered_stuck_calls();
        if self.state.turn.is_some() {
            self.enter_approved();
            self.end_step_when_done();
        }
    }

    /// Who answered could not know that nobody can go on with the call.
    fn end_answered_stuck_calls(&mut self) {
        let answered = |part: &LivePart| part.tool().is_some_and(|tool| tool.state == ToolState::Running);
        for part_id in self.parts_where(answered) {
            let Some(turn) = &self.state.turn else { return };
            let stuck = turn.resumed(&part_id).and_then(|resumed| resumed.stuck.clone());
            let of_part = turn.interactions.iter().filter(|row| row.part_id == part_id);
            let last =
                of_part.max_by_key(|row| row.interaction.resolved_at).map(|row| row.interaction.clone());
            if let (Some(why), Some(last)) = (stuck, last) {
                self.end_stuck_call(&part_id, &last, &why);
            }
        }
    }
}
