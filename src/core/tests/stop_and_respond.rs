//! Every interleaving of `stop` and `respond`: one order in which each is decided, so exactly one thing is true.

use serde_json::json;

use super::scenario::Scenario;
use crate::core::{
    error::Code,
    input::Input,
    interaction::{CancelReason, InteractionStatus},
    message::ToolState,
};

fn two_pending() -> (Scenario, Vec<String>) {
    let mut scenario = Scenario::new();
    scenario.prompt("go");
    scenario.calls(&[("c1", "gated", json!({})), ("c2", "plain", json!({}))]);
    scenario.ask_approval("c2").unwrap();
    let ids = scenario.pending().iter().map(|pending| pending.interaction_id.clone()).collect();
    (scenario, ids)
}

/// All orders of `items`.
fn permutations(items: &[usize]) -> Vec<Vec<usize>> {
    if items.len() <= 1 {
        return vec![items.to_vec()];
    }
    let mut all = Vec::new();
    for (index, first) in items.iter().enumerate() {
        let mut rest = items.to_vec();
        rest.remove(index);
        all.extend(permutations(&rest).into_iter().map(|mut order| {
            order.insert(0, *first);
            order
        }));
    }
    all
}

fn event(which: usize, ids: &[String]) -> serde_json::Value {
    let payload = json!({ "decision": "approved" });
    let response = json!({ "type": "approval", "outcome": "resolved", "payload": payload });
    match which {
        0 => json!({ "input": "stop" }),
        1 => json!({ "input": "respond", "interaction_id": ids[0], "response": response }),
        2 => json!({ "input": "respond", "interaction_id": ids[1], "response": response }),
        _ => json!({ "input": "tool_settled", "tool_call_id": "c2", "ok": "late" }),
    }
}

fn assert_ended(scenario: &Scenario, ids: &[String], answered: &[bool]) {
    assert!(scenario.pending().is_empty());
    for (id, answered) in ids.iter().zip(answered) {
        let rows = scenario.stored.interactions.iter();
        let interaction =
            &rows.map(|row| &row.interaction).find(|known| known.interaction_id == *id).unwrap();
        match interaction.status {
            InteractionStatus::Resolved => assert!(answered),
            InteractionStatus::Cancelled => assert!(!answered, "an answer that was acknowledged is kept"),
            other => panic!("{other:?}"),
        }
    }
    assert!(scenario.tool_state("c1").is_terminal() && scenario.tool_state("c2").is_terminal());
    assert_eq!(scenario.stored.session.active_turn_id, None);
}

#[test]
fn in_any_order_each_answer_wins_or_is_told_that_it_lost() {
    for order in permutations(&[0, 1, 2, 3]) {
        let (mut scenario, ids) = two_pending();
        let mut answered = [false, false];
        for which in &order {
            let result = scenario.input(event(*which, &ids));
            if let 1 | 2 = which {
                match result {
                    Ok(_) => answered[which - 1] = true,
                    Err(refusal) => assert_eq!(refusal.code, Code::InteractionTerminal),
                }
            }
        }
        assert_ended(&scenario, &ids, &answered);
        let entered = scenario.outside.entered.contains("c1");
        assert_eq!(entered, answered[0], "a gated tool is entered if and only if its answer won: {order:?}");
    }
}

#[test]
fn the_same_holds_when_they_are_decided_in_one_commit() {
    for order in permutations(&[0, 1, 2, 3]) {
        let (mut scenario, ids) = two_pending();
        let inputs: Vec<Input> = order
            .iter()
            .map(|which| {
                let mut input = event(*which, &ids);
                input["ticket"] = json!(1000 + which);
                serde_json::from_value(input).unwrap()
            })
            .collect();
        scenario.batch(&inputs);
        let place = |which| order.iter().position(|item| *item == which).unwrap();
        let answered = [place(1) < place(0), place(2) < place(0) && place(2) < place(3)];
        assert_ended(&scenario, &ids, &answered);
    }
}

#[test]
fn a_stop_cancels_everything_and_leaves_the_session_usable() {
    let (mut scenario, _) = two_pending();
    scenario.input(json!({ "input": "stop" })).unwrap();
    for row in &scenario.stored.interactions {
        assert_eq!(row.interaction.cancel_reason, Some(CancelReason::TurnStopped));
    }
    assert_eq!(scenario.tool("c1")["error_code"], "stopped");
    assert_eq!(scenario.tool_state("c2"), ToolState::Failed);
    scenario.prompt("again");
    scenario.says("fine");
    assert!(scenario.last_turn().success);
}

#[test]
fn closing_says_that_the_session_was_closed() {
    let (mut scenario, _) = two_pending();
    scenario.input(json!({ "input": "close" })).unwrap();
    for row in &scenario.stored.interactions {
        assert_eq!(row.interaction.cancel_reason, Some(CancelReason::SessionDisposed));
    }
}
