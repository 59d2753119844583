use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use napi::{bindgen_prelude::Function, threadsafe_function::ThreadsafeFunctionCallMode};
use napi_derive::napi;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{convert::parse, guard::guarded, outbox::Wake};
use crate::shell::{
    process::{Limits, Phase, Process, Snapshot},
    protocol::Plan,
};

/// A command of the Shell. It ends when it is told to, when this object is collected, and with this process.
#[napi]
pub struct NativeProcess {
    process: Process,
    news: Arc<News>,
}

/// One call of `wake` for any number of changes that JavaScript has not looked at.
struct News {
    told: AtomicBool,
    wake: Wake,
}

#[derive(Deserialize)]
struct Start {
    plan: Plan,
    max_output: u32,
    timeout_ms: Option<u32>,
}

#[napi]
impl NativeProcess {
    /// Throws where the helper program cannot be run at all.
    #[napi(constructor)]
    pub fn new(helper: String, start_json: String, wake: Function<(), ()>) -> napi::Result<Self> {
        guarded(|| {
            let Start { plan, max_output, timeout_ms } = parse(&start_json)?;
            let wake = wake.build_threadsafe_function().weak::<true>().build()?;
            let news = Arc::new(News { told: AtomicBool::new(false), wake });
            let limits = Limits {
                max_output: max_output as usize,
                timeout: timeout_ms.map(|timeout| Duration::from_millis(timeout.into())),
            };
            let teller = news.clone();
            let process = Process::start(Path::new(&helper), &plan, limits, move |ended| teller.tell(ended));
            let process = process.map_err(|error| {
                napi::Error::from_reason(format!("the helper {helper:?} could not be started ({error})"))
            })?;
            Ok(Self { process, news })
        })
    }

    /// JSON of all there is: `{ phase, why?, exit_code?, signal?, timed_out?, stdout, stderr, truncated }`.
    #[napi]
    pub fn snapshot(&self) -> napi::Result<String> {
        guarded(|| {
            self.news.told.store(false, Ordering::SeqCst);
            Ok(shown(&self.process.snapshot()))
        })
    }

    /// The same with the output since the last time, which is then forgotten.
    #[napi]
    pub fn take(&self) -> napi::Result<String> {
        guarded(|| {
            self.news.told.store(false, Ordering::SeqCst);
            Ok(shown(&self.process.take()))
        })
    }

    /// Input for the command; a text says why it was not taken.
    #[napi]
    pub fn write(&self, text: String) -> napi::Result<Option<String>> {
        guarded(|| Ok(self.process.write(text).err()))
    }

    #[napi]
    pub fn close_input(&self) -> napi::Result<()> {
        guarded(|| {
            self.process.close_input();
            Ok(())
        })
    }

    /// Ends the command and everything it has started, within a second.
    #[napi]
    pub fn end(&self) -> napi::Result<()> {
        guarded(|| {
            self.process.end();
            Ok(())
        })
    }
}

impl News {
    /// The end is told although something else was told before: who waits a moment waits for it alone.
    fn tell(&self, ended: bool) {
        if !self.told.swap(true, Ordering::SeqCst) || ended {
            self.wake.call((), ThreadsafeFunctionCallMode::NonBlocking);
        }
    }
}

fn shown(snapshot: &Snapshot) -> String {
    let Snapshot { phase, stdout, stderr, truncated } = snapshot;
    let mut shown = json!({ "stdout": stdout, "stderr": stderr, "truncated": truncated });
    let phase = match phase {
        Phase::Starting => "starting",
        Phase::Running => "running",
        Phase::Refused(why) => {
            shown["why"] = json!(why);
            "refused"
        }
        Phase::Ended(end) => {
            shown["exit_code"] = json!(end.exit_code);
            shown["signal"] = json!(end.signal);
            shown["timed_out"] = Value::Bool(end.timed_out);
            "ended"
        }
    };
    shown["phase"] = json!(phase);
    shown.to_string()
}
