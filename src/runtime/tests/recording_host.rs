//! A host that writes down what it is asked, and lets a test wait for it.

use std::sync::{
    Arc, Condvar, Mutex, MutexGuard,
    atomic::{AtomicU64, Ordering},
};

use serde_json::Value;

use crate::{
    core::{effect::Effect, input::Ticket},
    runtime::{
        error::RuntimeError,
        host::{Host, SessionRef},
    },
};

#[derive(Default)]
pub struct RecordingHost {
    tickets: AtomicU64,
    seen: Mutex<Seen>,
    changed: Condvar,
}

#[derive(Default)]
pub struct Seen {
    pub answers: Vec<(Ticket, Result<Value, String>)>,
    pub effects: Vec<Effect>,
    pub warnings: Vec<String>,
    pub lost: Vec<String>,
    pub fed: Vec<Value>,
}

impl RecordingHost {
    pub fn next_ticket(&self) -> Ticket {
        self.tickets.fetch_add(1, Ordering::Relaxed) + 1
    }

    pub fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap()
    }

    /// Waits until `look` finds what it wants.
    pub fn wait<T>(&self, look: impl Fn(&mut Seen) -> Option<T>) -> T {
        let mut seen = self.seen();
        loop {
            if let Some(found) = look(&mut seen) {
                return found;
            }
            seen = self.changed.wait(seen).unwrap();
        }
    }

    pub fn wait_for_answer(&self, ticket: Ticket) -> Result<Value, String> {
        self.wait(|seen| seen.answers.iter().find(|(of, _)| *of == ticket).map(|(_, answer)| answer.clone()))
    }

    pub fn answers_to(&self, ticket: Ticket) -> usize {
        self.seen().answers.iter().filter(|(of, _)| *of == ticket).count()
    }

    /// The step whose model request is waiting; taken once.
    pub fn wait_for_step(&self) -> String {
        self.wait(|seen| {
            let place = seen.effects.iter().position(|effect| matches!(effect, Effect::RequestModel(_)))?;
            match seen.effects.remove(place) {
                Effect::RequestModel(request) => Some(request.step_id),
                _ => unreachable!("it was just found"),
            }
        })
    }

    pub fn wait_for_entered(&self, tool_call_id: &str) {
        self.wait(|seen| {
            let entered = |effect: &&Effect| matches!(effect, Effect::EnterTool { call, .. } if call.tool_call_id == tool_call_id);
            seen.effects.iter().find(entered).map(|_| ())
        });
    }

    pub fn entered(&self, tool_call_id: &str) -> usize {
        let of_call = |effect: &&Effect| matches!(effect, Effect::EnterTool { call, .. } if call.tool_call_id == tool_call_id);
        self.seen().effects.iter().filter(of_call).count()
    }

    pub fn wait_for_turn_end(&self) -> String {
        self.wait(|seen| {
            seen.effects.iter().find_map(|effect| match effect {
                Effect::TurnEnded { result } => Some(result.text.clone()),
                _ => None,
            })
        })
    }

    fn note(&self, note: impl FnOnce(&mut Seen)) {
        note(&mut self.seen());
        self.changed.notify_all();
    }
}

impl Host for RecordingHost {
    fn perform(&self, _session: &SessionRef, effect: Effect) {
        self.note(|seen| match effect {
            Effect::Answer { ticket, result } => {
                let answer = result.map(|answer| serde_json::to_value(answer).unwrap());
                let answer = match answer {
                    Ok(mut opened) if opened.get("session_id").is_some() => {
                        opened["session"] = _session.handle.into();
                        Ok(opened)
                    }
                    Ok(answer) => Ok(answer),
                    Err(refusal) => Err(refusal.code.as_str().to_owned()),
                };
                seen.answers.push((ticket, answer));
            }
            effect => seen.effects.push(effect),
        });
    }

    fn answer(&self, ticket: Ticket, result: Result<String, RuntimeError>) {
        let answer = result.map(|text| serde_json::from_str(&text).unwrap());
        let answer = answer.map_err(|error| match error {
            RuntimeError::Refused(refusal) => refusal.code.as_str().to_owned(),
            other => format!("{other:?}"),
        });
        self.note(|seen| seen.answers.push((ticket, answer)));
    }

    fn fed(&self, body: Arc<str>) {
        self.note(|seen| seen.fed.push(serde_json::from_str(&body).unwrap()));
    }

    fn lost(&self, _session: &SessionRef, why: RuntimeError) {
        self.note(|seen| seen.lost.push(format!("{why:?}")));
    }

    fn warn(&self, _session: &SessionRef, message: String) {
        self.note(|seen| seen.warnings.push(message));
    }

    fn wake(&self) {}
}
