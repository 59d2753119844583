//! Runs the command and stays above it until nothing of it is left.

use std::{
    io::{ErrorKind, Read, Write},
    os::{
        fd::{AsFd, OwnedFd},
        unix::{net::UnixStream, process::CommandExt},
    },
    process::{ChildStdin, Command, Stdio, exit},
    time::Duration,
};

use downcity_agent::shell::protocol::{Lines, Order, Plan, Report};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::{CWD, Mode, OFlags, ResolveFlags, openat2},
    process::{Pid, PidfdFlags, WaitStatus, fchdir, getpid, pidfd_open, set_child_subreaper},
};

use crate::{tell, tree};

/// What is left when the command itself has ended is background work it started: it may end tidily, but soon.
const GRACE_AFTER_END: Duration = Duration::from_millis(200);
/// Processes that ended meanwhile are waited for at least that often.
const REAP: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

/// Never comes back.
pub fn run(plan: &Plan, control: UnixStream, lines: Lines) -> ! {
    let Some(command) = &plan.command else {
        tell(&control, &Report::Started);
        exit(0);
    };
    match start(plan, command, control, lines) {
        Ok(mut supervisor) => supervisor.run(),
        Err((control, why)) => {
            tell(&control, &Report::Refused { why });
            exit(1)
        }
    }
}

fn start(
    plan: &Plan,
    command: &str,
    control: UnixStream,
    lines: Lines,
) -> Result<Supervisor, (UnixStream, String)> {
    match spawn(plan, command) {
        Ok((main, input, handle)) => {
            tell(&control, &Report::Started);
            let _ = control.set_nonblocking(true);
            Ok(Supervisor { control, lines, main, handle, input, pending: Vec::new(), closing: false })
        }
        Err(why) => Err((control, why)),
    }
}

type Spawned = (Pid, Option<ChildStdin>, OwnedFd);

fn spawn(plan: &Plan, command: &str) -> Result<Spawned, String> {
    // Whoever loses its parent below becomes a child of this process.
    set_child_subreaper(Some(getpid())).map_err(|error| format!("it could not be supervised ({error})"))?;
    enter_folder(&plan.cwd)?;
    let child = Command::new("/bin/sh")
        .args(["-c", "--", command])
        .env_clear()
        .envs(plan.env.iter().map(|(name, value)| (name, value)))
        .stdin(if plan.has_input { Stdio::piped() } else { Stdio::null() })
        .stdout(Stdio::inherit())
        .stderr(Stdio::inherit())
        .process_group(0)
        .spawn();
    let mut child = child.map_err(|error| format!("/bin/sh could not be started ({error})"))?;
    let input = child.stdin.take();
    if let Some(input) = &input {
        let flags = rustix::fs::fcntl_getfl(input).unwrap_or(OFlags::empty());
        let _ = rustix::fs::fcntl_setfl(input, flags | OFlags::NONBLOCK);
    }
    let main = Pid::from_child(&child);
    let handle = pidfd_open(main, PidfdFlags::empty())
        .map_err(|error| format!("this system has no handles of processes ({error})"));
    match handle {
        Ok(handle) => Ok((main, input, handle)),
        Err(why) => {
            tree::end_all(Duration::ZERO);
            Err(why)
        }
    }
}

/// The path was free of symbolic links when it was approved: where one has been put in since, nothing is run.
fn enter_folder(path: &str) -> Result<(), String> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)
        .map_err(|error| format!("{path:?} could not be entered as it was given ({error})"))?;
    fchdir(&folder).map_err(|error| format!("{path:?} could not be entered ({error})"))
}

struct Supervisor {
    control: UnixStream,
    lines: Lines,
    main: Pid,
    /// Readable once the command has ended.
    handle: OwnedFd,
    input: Option<ChildStdin>,
    pending: Vec<u8>,
    /// The input ends behind what is pending.
    closing: bool,
}

impl Supervisor {
    fn run(&mut self) -> ! {
        let mut main_end = None;
        // Orders may have come along with the plan.
        if let Some(grace) = self.obey() {
            self.finish(main_end, grace);
        }
        loop {
            let wakes = self.wait();
            if wakes.control
                && let Some(grace) = self.take_orders()
            {
                self.finish(main_end, grace);
            }
            if wakes.input {
                self.feed();
            }
            let ended = match tree::reap() {
                tree::Reaped::Some(ended) | tree::Reaped::NoneLeft(ended) => ended,
            };
            main_end = main_end.or_else(|| self.end_of_main(&ended));
            if main_end.is_some() {
                self.finish(main_end, GRACE_AFTER_END);
            }
        }
    }

    fn end_of_main(&self, ended: &[(Pid, WaitStatus)]) -> Option<WaitStatus> {
        ended.iter().find(|(pid, _)| *pid == self.main).map(|(_, status)| *status)
    }

    fn finish(&self, main_end: Option<WaitStatus>, grace: Duration) -> ! {
        let ended = tree::end_all(grace);
        let end = main_end.or_else(|| self.end_of_main(&ended));
        let exit_code = end.and_then(WaitStatus::exit_status);
        let signal = end.and_then(WaitStatus::terminating_signal);
        tell(&self.control, &Report::Ended { exit_code, signal });
        exit(0)
    }

    fn wait(&self) -> Wakes {
        let mut fds = vec![
            PollFd::from_borrowed_fd(self.control.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(self.handle.as_fd(), PollFlags::IN),
        ];
        if let Some(input) = self.input.as_ref().filter(|_| !self.pending.is_empty() || self.closing) {
            fds.push(PollFd::from_borrowed_fd(input.as_fd(), PollFlags::OUT));
        }
        if poll(&mut fds, Some(&REAP)).is_err() {
            return Wakes { control: false, input: false };
        }
        let woken = |index: usize| fds.get(index).is_some_and(|fd| !fd.revents().is_empty());
        Wakes { control: woken(0), input: woken(2) }
    }

    /// The grace, once everything is to end.
    fn take_orders(&mut self) -> Option<Duration> {
        let mut buffer = [0; 65536];
        match self.control.read(&mut buffer) {
            // The host has closed the socket, or is gone: there is nobody left to run this for.
            Ok(0) => return Some(Duration::ZERO),
            Ok(count) => self.lines.push(&buffer[..count]),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(_) => return Some(Duration::ZERO),
        }
        self.obey()
    }

    fn obey(&mut self) -> Option<Duration> {
        while let Some(order) = self.lines.take() {
            match order {
                Ok(Order::Write { text }) => self.pending.extend(text.into_bytes()),
                Ok(Order::CloseInput) => self.closing = true,
                Ok(Order::End { grace_ms }) => return Some(Duration::from_millis(grace_ms)),
                Err(_) => return Some(Duration::ZERO),
            }
        }
        self.feed();
        None
    }

    fn feed(&mut self) {
        let mut written = 0;
        while let Some(input) = self.input.as_mut().filter(|_| !self.pending.is_empty()) {
            match input.write(&self.pending) {
                Ok(count) => {
                    self.pending.drain(..count);
                    written += count as u64;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(_) => {
                    // Nobody reads it any more.
                    written += self.pending.len() as u64;
                    self.pending.clear();
                    self.input = None;
                }
            }
        }
        if self.closing && self.pending.is_empty() {
            self.input = None;
        }
        if written > 0 {
            tell(&self.control, &Report::Written { bytes: written });
        }
    }
}

struct Wakes {
    control: bool,
    input: bool,
}
