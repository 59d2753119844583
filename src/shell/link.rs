//! The thread of one command: it alone reads and writes the helper's pipes.

use std::{
    io::{self, ErrorKind, Read, Write},
    os::{
        fd::{AsFd, OwnedFd},
        unix::net::UnixStream,
    },
    process::Child,
    sync::Arc,
    time::{Duration, Instant},
};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::{
    process::{End, Phase, Shared},
    protocol::{Lines, Plan, Report, line},
};

/// A helper that has not ended everything by then is ended itself, where the kernel then ends what is in its sandbox.
const HELPER_GRACE: Duration = Duration::from_millis(900);
/// How long output is still read once the helper is gone: it closes the pipes, unless something has got away.
const LAST_OUTPUT: Duration = Duration::from_millis(500);
/// Nothing happens later than that after it has become due.
const TICK: Duration = Duration::from_millis(50);

pub(super) struct Link {
    child: Child,
    control: Option<UnixStream>,
    stdout: Option<OwnedFd>,
    stderr: Option<OwnedFd>,
    shared: Arc<Shared>,
    outgoing: Vec<u8>,
    lines: Lines,
    deadline: Option<Instant>,
    /// The kernel ends what is below the helper when the helper is ended.
    confined: bool,
    gone_since: Option<Instant>,
    end: End,
    refused: Option<String>,
}

#[derive(Clone, Copy)]
enum Source {
    Signal,
    Control,
    Stdout,
    Stderr,
}

impl Link {
    pub fn new(
        mut child: Child,
        control: UnixStream,
        plan: &Plan,
        shared: Arc<Shared>,
        timeout: Option<Duration>,
    ) -> Self {
        Self {
            stdout: child.stdout.take().map(OwnedFd::from),
            stderr: child.stderr.take().map(OwnedFd::from),
            child,
            control: Some(control),
            shared,
            outgoing: line(plan),
            lines: Lines::default(),
            deadline: timeout.map(|timeout| Instant::now() + timeout),
            confined: plan.sandbox.is_some(),
            gone_since: None,
            end: End::default(),
            refused: None,
        }
    }

    pub fn run(mut self, wake: impl Fn(bool)) {
        while self.control.is_some() || self.stdout.is_some() || self.stderr.is_some() {
            if self.gone_since.is_some_and(|since| since.elapsed() > LAST_OUTPUT) {
                break;
            }
            match self.turn() {
                Ok(true) => wake(false),
                Ok(false) => {}
                // Without poll there is no way to go on; the helper ends when its socket does.
                Err(_) => break,
            }
        }
        self.control = None;
        let _ = self.child.wait();
        let mut state = self.shared.lock();
        state.stdout.close();
        state.stderr.close();
        state.phase = match self.refused {
            Some(why) => Phase::Refused(why),
            None => Phase::Ended(self.end),
        };
        drop(state);
        wake(true);
    }

    /// Waits for something to happen, and takes it. True when there is something to tell.
    fn turn(&mut self) -> io::Result<bool> {
        self.watch_the_clock();
        let mut news = false;
        for source in self.wait()? {
            match source {
                Source::Signal => self.take_orders(),
                Source::Control => news |= self.talk(),
                Source::Stdout | Source::Stderr => news |= self.read_output(source),
            }
        }
        Ok(news)
    }

    /// The sources that have something.
    fn wait(&self) -> io::Result<Vec<Source>> {
        let (mut sources, mut fds) = (Vec::new(), Vec::new());
        let mut add = |source, fd, flags| {
            sources.push(source);
            fds.push(PollFd::from_borrowed_fd(fd, flags));
        };
        add(Source::Signal, self.shared.signal.as_fd(), PollFlags::IN);
        if let Some(control) = &self.control {
            let flags = if self.outgoing.is_empty() { PollFlags::IN } else { PollFlags::IN | PollFlags::OUT };
            add(Source::Control, control.as_fd(), flags);
        }
        if let Some(stdout) = &self.stdout {
            add(Source::Stdout, stdout.as_fd(), PollFlags::IN);
        }
        if let Some(stderr) = &self.stderr {
            add(Source::Stderr, stderr.as_fd(), PollFlags::IN);
        }
        let timeout = self
            .next_time()
            .map(|wait| Timespec::try_from(wait).expect("a tick and a timeout in milliseconds fit"));
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let ready = fds.iter().map(|fd| !fd.revents().is_empty());
        Ok(sources.into_iter().zip(ready).filter_map(|(source, ready)| ready.then_some(source)).collect())
    }

    /// How long nothing can become due; `None` when nothing will.
    fn next_time(&self) -> Option<Duration> {
        if self.gone_since.is_some() || self.shared.lock().ending_since.is_some() {
            return Some(TICK);
        }
        self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()))
    }

    fn watch_the_clock(&mut self) {
        if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            self.deadline = None;
            let mut state = self.shared.lock();
            if state.ending_since.is_none() {
                self.end.timed_out = true;
                state.end();
            }
            drop(state);
            self.take_orders();
        }
        let ending_since = self.shared.lock().ending_since;
        let overdue = ending_since.is_some_and(|since| since.elapsed() > HELPER_GRACE);
        if overdue && self.confined && self.control.is_some() {
            // Without a sandbox nobody else could end the rest: then it is left to do its work.
            let _ = self.child.kill();
        }
    }

    fn take_orders(&mut self) {
        let mut buffer = [0; 8];
        let _ = rustix::io::read(&self.shared.signal, &mut buffer);
        let orders = std::mem::take(&mut self.shared.lock().orders);
        for order in orders {
            self.outgoing.extend(line(&order));
        }
        self.send();
    }

    /// Sends what the socket takes. Once it is closed, there is nobody to send to.
    fn send(&mut self) {
        while let Some(control) = self.control.as_mut().filter(|_| !self.outgoing.is_empty()) {
            match control.write(&self.outgoing) {
                Ok(sent) => drop(self.outgoing.drain(..sent)),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(_) => self.outgoing.clear(),
            }
        }
    }

    fn talk(&mut self) -> bool {
        self.send();
        let Some(control) = &mut self.control else { return false };
        let mut buffer = [0; 4096];
        match control.read(&mut buffer) {
            Ok(0) => self.helper_is_gone(),
            Ok(count) => return self.take_reports(&buffer[..count]),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(_) => self.helper_is_gone(),
        }
        false
    }

    fn helper_is_gone(&mut self) {
        self.control = None;
        self.gone_since = Some(Instant::now());
    }

    fn take_reports(&mut self, bytes: &[u8]) -> bool {
        self.lines.push(bytes);
        let mut news = false;
        while let Some(report) = self.lines.take::<Report>() {
            match report {
                Ok(Report::Started) => {
                    self.shared.lock().phase = Phase::Running;
                    news = true;
                }
                Ok(Report::Written { bytes }) => {
                    let mut state = self.shared.lock();
                    state.unread_input = state.unread_input.saturating_sub(bytes);
                }
                Ok(Report::Refused { why }) => self.refused = Some(why),
                Ok(Report::Ended { exit_code, signal }) => {
                    self.end = End { exit_code, signal, ..self.end };
                }
                // The helper is ours, but what runs below it might have got at its socket.
                Err(_) => {}
            }
        }
        news
    }

    fn read_output(&mut self, source: Source) -> bool {
        let (stream, is_stdout) = match source {
            Source::Stdout => (&mut self.stdout, true),
            _ => (&mut self.stderr, false),
        };
        let Some(fd) = stream else { return false };
        let mut buffer = [0; 65536];
        let count = match rustix::io::read(&*fd, &mut buffer) {
            Err(rustix::io::Errno::INTR) => return false,
            Ok(0) | Err(_) => {
                *stream = None;
                return false;
            }
            Ok(count) => count,
        };
        let mut state = self.shared.lock();
        let output = if is_stdout { &mut state.stdout } else { &mut state.stderr };
        output.push(&buffer[..count]);
        true
    }
}
