//! Replay: a tool that opted in is entered again after a crash, and finds what it had asked.
//!
//! What it asks is compared with the records of what it asked before: the producer's own `{ type, payload }`. A
//! request takes the oldest equal record that is left. Once none is left, a request is new.

use std::sync::Arc;

use super::{
    ask::Request,
    change::{Change, Durability, ReplayRecordRow},
    draft::Draft,
    effect::Effect,
    error::{Code, Refusal},
    input::Ticket,
    interaction::{Interaction, InteractionStatus},
    json::Json,
    message::ToolErrorCode,
    respond::decision_of,
    state::ResumedCall,
};

/// What the records say of a request.
pub(super) enum Replay {
    New,
    /// It was asked: the Interaction as it stands now, answered or not.
    Asked(Box<Interaction>),
    /// It was approved without asking.
    AutoApproved,
    /// Something else was asked at this point.
    Mismatch,
}

impl Draft<'_> {
    pub fn replay(&mut self, request: &Request) -> Replay {
        let Some(part_id) = request.part_id.as_ref().filter(|_| request.from_call) else {
            return Replay::New;
        };
        let turn = self.turn();
        let part = turn.part(part_id).expect("the call is in the state");
        let unmatched = turn.unmatched(part);
        if unmatched.is_empty() {
            return Replay::New;
        }
        let Some(record) =
            unmatched.into_iter().find(|record| record.request.as_value() == &request.own).cloned()
        else {
            return Replay::Mismatch;
        };
        let resumed = self.turn_mut().resumed_mut(part_id);
        resumed.expect("only resumed calls have unmatched records").used.push(record.position);
        match &record.interaction_id {
            None => Replay::AutoApproved,
            Some(interaction_id) => {
                let row =
                    self.turn().interaction(interaction_id).expect("what a live call asked is in the state");
                Replay::Asked(Box::new(row.interaction.clone()))
            }
        }
    }

    /// Keeps what a replay tool asked, for the next time it is entered.
    pub fn record_request(&mut self, request: &Request, interaction_id: Option<&str>) {
        let Some(part) = request.part_id.as_deref().and_then(|part_id| self.turn().part(part_id)) else {
            return;
        };
        if !request.from_call || !part.row.call.as_ref().is_some_and(|call| call.replay) {
            return;
        }
        let (part_id, tool) = (part.id().to_owned(), part.tool().expect("only calls ask with a Part"));
        let tool_call_id = tool.tool_call_id.clone();
        let of_call = self.turn().replay_records.iter().filter(|record| record.tool_call_id == tool_call_id);
        let row = ReplayRecordRow {
            position: of_call.count() as u64 + 1,
            tool_call_id,
            request: Json::new(request.own.clone()),
            interaction_id: interaction_id.map(str::to_owned),
        };
        self.raise_durability(Durability::Power);
        self.changes.push(Change::ReplayRecord(row.clone()));
        let turn = self.turn_mut();
        if let Some(resumed) = turn.resumed_mut(&part_id) {
            resumed.used.push(row.position);
        }
        turn.replay_records.push(Arc::new(row));
    }

    /// An answer that was given before is handed to the tool again at once.
    pub fn wake_if_ended(&mut self, interaction: &Interaction) {
        if !interaction.is_pending() {
            let decision = decision_of(interaction).map(Box::new);
            let interaction = Box::new(interaction.clone());
            self.effect(Effect::InteractionEnded { interaction, decision });
        }
    }

    pub fn refuse_replay(&mut self, ticket: Ticket, request: &Request) {
        let message = format!(
            "The tool was entered again and asked something it had not asked before ({}). A replay tool has to ask \
             the same, in the same words, until it is past what it had asked.",
            request.kind
        );
        let part_id = request.part_id.clone().expect("only calls are replayed");
        self.fail_replay(&part_id, "it asked something else");
        let refusal = Refusal::new(Code::ReplayMismatch, message);
        self.effect(Effect::Answer { ticket, result: Err(refusal) });
        self.end_step_when_done();
    }

    /// The call fails; what is pending of it ends `failed`.
    pub fn fail_replay(&mut self, part_id: &str, why: &str) {
        let pending: Vec<String> = self
            .turn()
            .pending()
            .filter(|row| row.part_id == part_id)
            .map(|row| row.interaction.interaction_id.clone())
            .collect();
        for interaction_id in pending {
            self.end_interaction(&interaction_id, InteractionStatus::Failed, None, None);
        }
        let message =
            format!("The tool was entered again after an interruption, and {why} (REPLAY_MISMATCH).");
        self.fail_call(part_id, ToolErrorCode::ReplayMismatch, &message);
        let tool_call_id = self.tool_call(part_id).tool_call_id;
        self.effect(Effect::AbortTool { tool_call_id });
    }

    /// A resumed call's arguments no longer pass: it fails, once what it asked is answered. False where the call was
    /// not resumed.
    pub fn give_up_resumed_call(&mut self, tool_call_id: &str, why: &str) -> bool {
        let Some(turn) = &mut self.state.turn else { return false };
        let Some(part_id) = turn.call(tool_call_id).map(|part| part.id().to_owned()) else { return false };
        if turn.resumed(&part_id).is_none() {
            return false;
        }
        if !turn.has_pending(&part_id) {
            self.fail_call(&part_id, ToolErrorCode::CannotGoOn, why);
            self.end_step_when_done();
        } else if let Some(resumed) = turn.resumed_mut(&part_id) {
            resumed.stuck = Some(why.to_owned());
        }
        true
    }

    pub fn note_resumed(&mut self, part_id: &str, stuck: Option<String>) {
        let resumed = ResumedCall { part_id: part_id.to_owned(), used: Vec::new(), stuck };
        self.turn_mut().resumed.push(resumed);
    }
}
