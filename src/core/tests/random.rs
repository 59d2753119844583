//! Random inputs, random batches, crashes at random places: the invariants of [`super::scenario`] hold after each.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::scenario::Scenario;
use crate::core::input::Input;

/// Something that may happen next. Numbers pick among what there is at that moment.
#[derive(Debug, Clone)]
enum Action {
    Prompt,
    Model(ModelAction, u8),
    Prepare(u8, u8),
    Settle(u8, bool),
    Ask(u8, u8),
    Respond(u8, u8),
    Set(bool, bool),
    Stop,
    Withdraw(u8),
    /// Closed, and opened again.
    Close,
    Crash,
    /// The next actions, as far as they are inputs, are decided in one commit.
    Together(Vec<Action>),
}

#[derive(Debug, Clone, Copy)]
enum ModelAction {
    TextStart,
    ReasoningStart,
    InputStart,
    Delta,
    End,
    Call,
    /// The provider runs it itself.
    ProviderCall,
    ProviderResult,
    ApprovalRequest,
    LateResult,
    Finish,
    Fail,
}

fn model_action() -> impl Strategy<Value = ModelAction> {
    use ModelAction::{
        ApprovalRequest, Call, Delta, End, Fail, Finish, InputStart, LateResult, ProviderCall,
        ProviderResult, ReasoningStart, TextStart,
    };
    prop_oneof![
        2 => Just(TextStart), 1 => Just(ReasoningStart), 2 => Just(InputStart), 4 => Just(Delta),
        2 => Just(End), 5 => Just(Call), 3 => Just(ProviderCall), 1 => Just(ProviderResult),
        4 => Just(ApprovalRequest), 2 => Just(LateResult), 6 => Just(Finish), 1 => Just(Fail),
    ]
}

fn action() -> impl Strategy<Value = Action> {
    let single = prop_oneof![
        4 => Just(Action::Prompt),
        24 => (model_action(), any::<u8>()).prop_map(|(action, pick)| Action::Model(action, pick)),
        4 => (any::<u8>(), any::<u8>()).prop_map(|(pick, outcome)| Action::Prepare(pick, outcome)),
        6 => (any::<u8>(), any::<bool>()).prop_map(|(pick, ok)| Action::Settle(pick, ok)),
        6 => (any::<u8>(), any::<u8>()).prop_map(|(pick, kind)| Action::Ask(pick, kind)),
        8 => (any::<u8>(), any::<u8>()).prop_map(|(pick, outcome)| Action::Respond(pick, outcome)),
        2 => (any::<bool>(), any::<bool>()).prop_map(|(allow, shown)| Action::Set(allow, shown)),
        1 => Just(Action::Stop),
        1 => any::<u8>().prop_map(Action::Withdraw),
        1 => Just(Action::Close),
        2 => Just(Action::Crash),
    ];
    let batch = prop::collection::vec(single.clone(), 2..5).prop_map(Action::Together);
    prop_oneof![8 => single, 1 => batch]
}

fn pick<T: Clone>(items: impl IntoIterator<Item = T>, number: u8) -> Option<T> {
    let items: Vec<T> = items.into_iter().collect();
    (!items.is_empty()).then(|| items[usize::from(number) % items.len()].clone())
}

/// So few that they repeat.
const PROVIDER_IDS: [&str; 2] = ["srv-1", "srv-2"];

fn model_event(scenario: &mut Scenario, action: ModelAction, number: u8) -> Option<Value> {
    let tools = ["plain", "again", "gated", "hosted", "strict", "again", "no_such_tool"];
    let reference = u32::from(number) % (scenario.outside.next_ref + 1);
    let fresh = scenario.outside.next_ref + 1;
    let event = match action {
        ModelAction::TextStart => json!({ "type": "text_start", "ref": fresh }),
        ModelAction::ReasoningStart => json!({ "type": "reasoning_start", "ref": fresh }),
        ModelAction::InputStart => {
            json!({ "type": "tool_input_start", "ref": fresh, "tool_name": pick(tools, number) })
        }
        ModelAction::Delta => json!({ "type": "delta", "ref": reference, "text": "ab" }),
        ModelAction::End => json!({ "type": "text_end", "ref": reference }),
        ModelAction::Call => {
            let reference = if number.is_multiple_of(3) { reference } else { fresh };
            let input =
                if number.is_multiple_of(7) { Value::Null } else { json!({ "path": "p", "n": number }) };
            json!({ "type": "tool_call", "ref": reference, "tool_name": pick(tools, number), "input": input })
        }
        ModelAction::ProviderCall => json!({
            "type": "tool_call", "ref": fresh, "tool_name": "web_search", "provider_executed": true,
            "input": if number.is_multiple_of(11) { Value::Null } else { json!({ "n": number % 3 }) },
            "provider_tool_call_id": PROVIDER_IDS[usize::from(number) % 2],
        }),
        ModelAction::ProviderResult => json!({ "type": "tool_result", "ref": reference, "output": number }),
        ModelAction::ApprovalRequest => {
            // Mostly for the Part that came last, as providers do it.
            let reference = if number.is_multiple_of(4) { reference } else { fresh - 1 };
            json!({ "type": "approval_request", "ref": reference, "approval_id": format!("ask-{number}") })
        }
        ModelAction::LateResult => {
            let id = PROVIDER_IDS[usize::from(number) % 2];
            let error = number.is_multiple_of(5).then_some("failed");
            json!({ "type": "late_tool_result", "provider_tool_call_id": id, "output": number, "error": error })
        }
        ModelAction::Finish => {
            let reason = pick(["stop", "tool-calls", "tool-calls", "length", "other", "error"], number);
            json!({ "type": "finish", "reason": reason, "usage": { "total_tokens": 1 } })
        }
        ModelAction::Fail => {
            json!({ "type": "failed", "message": "down", "code": "MODEL_FAILED", "retryable": number.is_multiple_of(2) })
        }
    };
    scenario.outside.next_ref = fresh;
    let step_id = scenario.outside.model.as_ref()?.step_id.clone();
    Some(json!({ "input": "model", "step_id": step_id, "event": event }))
}

/// The action as an input of the Session, if it makes sense now.
fn input_of(scenario: &mut Scenario, action: &Action) -> Option<Value> {
    let outside = &scenario.outside;
    Some(match action {
        Action::Prompt => json!({ "input": "prompt", "parts": [{ "type": "text", "text": "hello" }] }),
        Action::Model(action, number) => return model_event(scenario, *action, *number),
        Action::Prepare(number, outcome) => {
            let id = pick(outside.preparing.keys().cloned(), *number)?;
            match outcome % 4 {
                0 => json!({ "input": "tool_prepared", "tool_call_id": id, "invalid": "no" }),
                1 => json!({ "input": "tool_prepared", "tool_call_id": id, "error": "threw" }),
                kind => {
                    let valid = json!({ "input": { "parsed": true }, "ask": kind == 2 });
                    json!({ "input": "tool_prepared", "tool_call_id": id, "valid": valid })
                }
            }
        }
        Action::Settle(number, ok) => {
            let id = pick(outside.running.keys().cloned(), *number)?;
            let field = if *ok { "ok" } else { "error" };
            json!({ "input": "tool_settled", "tool_call_id": id, field: "result" })
        }
        Action::Ask(number, kind) => {
            let turn_id = scenario.stored.session.active_turn_id.clone()?;
            let call = pick(outside.running.keys().cloned(), *number);
            let approval =
                json!({ "turn_id": turn_id, "tool_call_id": call, "payload": { "operation": "tool" } });
            match kind % 3 {
                0 => json!({ "input": "request", "request": { "type": "vote", "turn_id": turn_id } }),
                1 => {
                    json!({ "input": "request", "request": { "type": "question", "turn_id": turn_id, "tool_call_id": call,
                    "payload": { "questions": [{ "question_id": "q", "question": "?", "type": "text" }] } } })
                }
                _ => json!({ "input": "approval", "from_call": kind.is_multiple_of(2), "request": approval }),
            }
        }
        Action::Respond(number, outcome) => {
            let known = scenario.stored.interactions.iter().map(|row| row.interaction.clone());
            let interaction = pick(known, *number)?;
            let response = match (interaction.kind.as_str(), outcome % 4) {
                (kind, 0) => json!({ "type": kind, "outcome": "denied", "reason": "no" }),
                (kind, 1) => json!({ "type": kind, "outcome": "maybe" }),
                ("question", _) => json!({ "type": "question", "outcome": "resolved",
                    "payload": { "answers": [{ "question_id": "q", "value": "v" }] } }),
                (kind, _) => {
                    json!({ "type": kind, "outcome": "resolved", "payload": { "decision": "approved" } })
                }
            };
            json!({ "input": "respond", "interaction_id": interaction.interaction_id, "response": response })
        }
        Action::Set(allow, shown) => {
            let mode = if *allow { "always-allow" } else { "ask" };
            json!({ "input": "set", "config": { "security": { "approval_mode": mode } },
                "options": { "persist_action": shown } })
        }
        Action::Stop => json!({ "input": "stop" }),
        Action::Withdraw(number) => {
            let queued = scenario.stored.queue.iter().map(|row| row.queue_id.clone());
            json!({ "input": "withdraw", "prompt_id": pick(queued, *number)? })
        }
        Action::Close | Action::Crash | Action::Together(_) => return None,
    })
}

fn act(scenario: &mut Scenario, action: &Action) {
    match action {
        Action::Crash => scenario.crash_and_open(),
        Action::Close => {
            scenario.input(json!({ "input": "close" })).unwrap();
            scenario.crash_and_open();
        }
        Action::Together(actions) => {
            let inputs: Vec<Input> = actions
                .iter()
                .filter_map(|action| input_of(scenario, action))
                .enumerate()
                .map(|(number, mut input)| {
                    input["ticket"] = json!(1_000_000 + number);
                    serde_json::from_value(input).unwrap()
                })
                .collect();
            scenario.batch(&inputs);
        }
        action => {
            if let Some(input) = input_of(scenario, action) {
                let replays = matches!(action, Action::Ask(..));
                let before = scenario.stored.clone();
                // A request that does not match what was asked before ends its call.
                if scenario.input(input).is_err() && !replays {
                    assert_eq!(before.session, scenario.stored.session, "a refused input changes nothing");
                    assert_eq!(before.journal.len(), scenario.stored.journal.len());
                }
            }
        }
    }
    forget_what_ended(scenario);
    scenario.take_effects();
}

/// The outside stops working on what the Session has ended.
fn forget_what_ended(scenario: &mut Scenario) {
    let Some(turn) = &scenario.engine.state().turn else {
        scenario.outside.model = None;
        scenario.outside.preparing.clear();
        scenario.outside.running.clear();
        return;
    };
    let open = |id: &String| {
        turn.call(id).is_some_and(|part| part.tool().is_some_and(|tool| !tool.state.is_terminal()))
    };
    scenario.outside.running.retain(|id, _| open(id));
    let ready = |id: &String| {
        turn.call(id).is_some_and(|part| {
            part.tool().is_some_and(|tool| tool.state == crate::core::message::ToolState::Ready)
        })
    };
    scenario.outside.preparing.retain(|id, _| ready(id));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_invariants_hold_whatever_happens(actions in prop::collection::vec(action(), 1..60)) {
        let mut scenario = Scenario::new();
        for action in &actions {
            act(&mut scenario, action);
        }
        scenario.input(json!({ "input": "stop" })).unwrap();
        prop_assert!(scenario.pending().is_empty());
        prop_assert_eq!(&scenario.stored.session.active_turn_id, &None);
    }
}
