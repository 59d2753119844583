//! Runs commands through the helper, as the binding does.

use std::{
    path::Path,
    sync::mpsc::{Receiver, channel},
    time::Duration,
};

use downcity_agent::shell::{
    process::{Limits, Phase, Process, Snapshot},
    protocol::{Plan, Sandbox},
};

pub const NO_LIMIT: Limits = Limits { max_output: 65536, timeout: None };

pub struct Running {
    pub process: Process,
    news: Receiver<()>,
}

impl Running {
    /// Waits until it is as wanted. A command that never gets there fails its test by the runner's own limit.
    pub fn until(&self, wanted: impl Fn(&Snapshot) -> bool) -> Snapshot {
        loop {
            let snapshot = self.process.snapshot();
            if wanted(&snapshot) {
                return snapshot;
            }
            self.news.recv().expect("the command is watched until its end");
        }
    }

    pub fn end(&self) -> Snapshot {
        self.until(|snapshot| matches!(snapshot.phase, Phase::Ended(_) | Phase::Refused(_)))
    }
}

pub fn start(plan: &Plan, limits: Limits) -> Running {
    let (wake, news) = channel();
    let helper = Path::new(env!("CARGO_BIN_EXE_downcity-shell"));
    let process =
        Process::start(helper, plan, limits, move |_| _ = wake.send(())).expect("the helper starts");
    Running { process, news }
}

pub fn plan(folder: &Path, command: &str) -> Plan {
    let path = std::env::var("PATH").expect("tests run with a PATH");
    Plan {
        command: Some(command.to_owned()),
        cwd: text(folder),
        env: vec![("PATH".to_owned(), path), ("GIVEN".to_owned(), "yes".to_owned())],
        has_input: false,
        sandbox: None,
    }
}

pub fn confined(folder: &Path, command: &str) -> Plan {
    let hidden = folder.join(".downcity");
    let sandbox =
        Sandbox { workspace: text(folder), hidden_folders: vec![text(&hidden)], hidden_files: Vec::new() };
    Plan { sandbox: Some(sandbox), ..plan(folder, command) }
}

pub fn text(path: &Path) -> String {
    path.to_str().expect("temporary folders have plain names").to_owned()
}

pub const A_MOMENT: Duration = Duration::from_millis(10);
