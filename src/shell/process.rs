//! One command from the host's side: its helper, its output, its end.

use std::{
    collections::VecDeque,
    io,
    os::{fd::OwnedFd, unix::net::UnixStream},
    path::Path,
    process::{Command, Stdio},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use rustix::event::{EventfdFlags, eventfd};

use super::{
    link::Link,
    output::Output,
    protocol::{Order, Plan},
};

/// What a process gets to end by itself once it is told to.
const GRACE: Duration = Duration::from_millis(400);
/// Input the command has not read yet.
const MAX_INPUT: u64 = 1024 * 1024;

#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Bytes kept of each stream.
    pub max_output: usize,
    /// `None` lets it run for as long as it does.
    pub timeout: Option<Duration>,
}

/// How it ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct End {
    pub exit_code: Option<i32>,
    pub signal: Option<i32>,
    pub timed_out: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Phase {
    Starting,
    Running,
    /// The helper would not run it; nothing was run.
    Refused(String),
    Ended(End),
}

/// What there is of it at one moment.
#[derive(Debug, Clone)]
pub struct Snapshot {
    pub phase: Phase,
    pub stdout: String,
    pub stderr: String,
    pub truncated: bool,
}

/// A command, as long as this is held: dropping it ends the command.
#[derive(Debug)]
pub struct Process {
    shared: Arc<Shared>,
}

#[derive(Debug)]
pub(super) struct Shared {
    state: Mutex<State>,
    /// Wakes the thread for what it is to send.
    pub signal: OwnedFd,
}

#[derive(Debug)]
pub(super) struct State {
    pub phase: Phase,
    pub stdout: Output,
    pub stderr: Output,
    pub orders: VecDeque<Order>,
    pub unread_input: u64,
    input_closed: bool,
    pub ending_since: Option<Instant>,
}

impl Process {
    /// Starts the helper, which starts the command. `wake` is called from another thread whenever there is
    /// news, with true for the end.
    ///
    /// # Errors
    /// Where the helper cannot be run at all.
    pub fn start(
        helper: &Path,
        plan: &Plan,
        limits: Limits,
        wake: impl Fn(bool) + Send + 'static,
    ) -> io::Result<Self> {
        let (control, theirs) = UnixStream::pair()?;
        control.set_nonblocking(true)?;
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                phase: Phase::Starting,
                stdout: Output::new(limits.max_output),
                stderr: Output::new(limits.max_output),
                orders: VecDeque::new(),
                unread_input: 0,
                input_closed: !plan.has_input,
                ending_since: None,
            }),
            signal: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
        });
        let child = Command::new(helper)
            .env_clear()
            .current_dir("/")
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let link = Link::new(child, control, plan, shared.clone(), limits.timeout);
        thread::Builder::new().name("shell-command".to_owned()).spawn(move || link.run(wake))?;
        Ok(Self { shared })
    }

    pub fn snapshot(&self) -> Snapshot {
        let state = self.shared.lock();
        Snapshot {
            phase: state.phase.clone(),
            stdout: state.stdout.text(),
            stderr: state.stderr.text(),
            truncated: state.stdout.is_cut() || state.stderr.is_cut(),
        }
    }

    /// What has come since the last time.
    pub fn take(&self) -> Snapshot {
        let mut state = self.shared.lock();
        let truncated = state.stdout.is_cut() || state.stderr.is_cut();
        let (stdout, stderr) = (state.stdout.take(), state.stderr.take());
        Snapshot { phase: state.phase.clone(), stdout, stderr, truncated }
    }

    /// Input for the command.
    ///
    /// # Errors
    /// In words, where it has ended, takes no input, or has not read what it was given.
    pub fn write(&self, text: String) -> Result<(), String> {
        let mut state = self.shared.lock();
        if !matches!(state.phase, Phase::Starting | Phase::Running) {
            return Err("The process has ended.".to_owned());
        }
        if state.input_closed {
            return Err("The input of the process is closed.".to_owned());
        }
        if state.unread_input > MAX_INPUT {
            return Err(format!(
                "The process has not read the {} bytes it was given before.",
                state.unread_input
            ));
        }
        state.unread_input += text.len() as u64;
        state.orders.push_back(Order::Write { text });
        drop(state);
        self.shared.signal();
        Ok(())
    }

    pub fn close_input(&self) {
        let mut state = self.shared.lock();
        if !state.input_closed {
            state.input_closed = true;
            state.orders.push_back(Order::CloseInput);
        }
        drop(state);
        self.shared.signal();
    }

    /// Ends the command and everything it has started, within a second. Its end is told like any other.
    pub fn end(&self) {
        self.shared.lock().end();
        self.shared.signal();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}

impl Shared {
    pub fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn signal(&self) {
        // It only fails where the thread has been told often enough.
        let _ = rustix::io::write(&self.signal, &1u64.to_ne_bytes());
    }
}

impl State {
    pub fn end(&mut self) {
        if self.ending_since.is_none() {
            self.ending_since = Some(Instant::now());
            self.orders.push_back(Order::End { grace_ms: GRACE.as_millis() as u64 });
        }
    }
}
