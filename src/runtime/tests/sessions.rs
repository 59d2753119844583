use serde_json::{Value, json};

use super::Fixture;

#[test]
fn opening_an_open_session_gives_the_same_one() {
    let fixture = Fixture::new();
    let again = fixture.call(json!({ "op": "open", "session_id": "s" })).unwrap();
    assert_eq!(again["session"], json!(fixture.session));
}

#[test]
fn ids_that_exist_or_do_not_are_told_apart() {
    let fixture = Fixture::new();
    assert!(fixture.call(json!({ "op": "create", "session_id": "s" })).unwrap_err().contains("Exists"));
    assert!(fixture.call(json!({ "op": "open", "session_id": "other" })).unwrap_err().contains("NotFound"));
    assert!(fixture.call(json!({ "op": "open", "session_id": "S" })).unwrap_err().contains("NotFound"));
}

#[test]
fn an_id_is_never_a_path() {
    let fixture = Fixture::new();
    let long = "a".repeat(129);
    let wrong = [
        "",
        ".",
        "../x",
        "a/b",
        "a\\b",
        "/etc/x",
        "a b",
        "é",
        "a\u{0}",
        "%2e%2e",
        "a'; DROP TABLE",
        long.as_str(),
    ];
    for id in wrong {
        for op in ["create", "open", "archive", "remove"] {
            let refused = fixture.call(json!({ "op": op, "session_id": id })).unwrap_err();
            assert_eq!(refused, "INVALID_INPUT", "{op} {id:?}");
        }
    }
    for value in [json!(1), json!([]), json!({}), json!(true)] {
        assert_eq!(
            fixture.call(json!({ "op": "create", "session_id": value })).unwrap_err(),
            "INVALID_INPUT"
        );
    }
}

#[test]
fn a_session_that_runs_is_neither_archived_nor_removed() {
    let fixture = Fixture::new();
    fixture.prompt("go").unwrap();
    for op in ["archive", "remove"] {
        assert!(fixture.call(json!({ "op": op, "session_id": "s" })).unwrap_err().contains("Running"));
    }
    fixture.model_says("done");
    fixture.host.wait_for_turn_end();
    fixture.call(json!({ "op": "archive", "session_id": "s" })).unwrap();
    let list = |archived: bool| fixture.call(json!({ "op": "list", "archived": archived })).unwrap();
    assert_eq!(list(false)["items"], json!([]));
    assert_eq!(list(true)["items"][0]["session_id"], "s");
    assert_eq!(list(true)["items"][0]["message_count"], 2);
}

#[test]
fn a_removed_session_is_gone_for_whoever_has_it_open() {
    let fixture = Fixture::new();
    fixture.call(json!({ "op": "remove", "session_id": "s" })).unwrap();
    assert_eq!(fixture.host.seen().lost, ["Store(NotFound)"]);
    assert!(fixture.prompt("go").unwrap_err().contains("NotOpen"));
    assert!(fixture.call(json!({ "op": "open", "session_id": "s" })).unwrap_err().contains("NotFound"));
    let made_again = fixture.call(json!({ "op": "create", "session_id": "s" })).unwrap();
    assert_ne!(made_again["session"], json!(fixture.session));
}

#[test]
fn pages_take_whole_numbers_and_cursors_only() {
    let fixture = Fixture::new();
    for limit in [json!(0), json!(-1), json!(1.5), json!("10"), json!(1001)] {
        let refused = fixture.call(json!({ "op": "list", "limit": limit })).unwrap_err();
        assert_eq!(refused, "INVALID_INPUT", "{limit}");
    }
    assert_eq!(fixture.call(json!({ "op": "list", "after": 1 })).unwrap_err(), "INVALID_INPUT");
    assert!(fixture.call(json!({ "op": "list", "after": "nonsense" })).unwrap_err().contains("BadCursor"));
    let before: Value = json!(0);
    let page = json!({ "op": "messages", "session": fixture.session, "before_sequence": before });
    assert_eq!(fixture.call(page).unwrap_err(), "INVALID_INPUT");
}

#[test]
fn a_released_session_answers_no_more_and_can_be_opened_again() {
    let fixture = Fixture::new();
    fixture.agent.call(crate::runtime::request::Request {
        ticket: 0,
        operation: serde_json::from_value(json!({ "op": "release", "session": fixture.session })).unwrap(),
    });
    assert!(fixture.prompt("go").unwrap_err().contains("NotOpen"));
    let again = fixture.call(json!({ "op": "open", "session_id": "s" })).unwrap();
    assert_ne!(again["session"], json!(fixture.session));
}
