//! Everything below this process.
//!
//! This process adopts what loses its parent (it is a subreaper, or the first process of its namespace), so a process
//! that forks away, starts a session of its own or daemonises is still below it.

use std::{
    collections::HashMap,
    fs,
    time::{Duration, Instant},
};

use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, WaitStatus, getpid, pidfd_open, pidfd_send_signal, wait,
};

/// After that, what cannot be ended (another user's, say) is left.
const LONGEST: Duration = Duration::from_secs(3);

/// The ends of processes that have been waited for.
pub enum Reaped {
    Some(Vec<(Pid, WaitStatus)>),
    /// There are no more processes below this one.
    NoneLeft(Vec<(Pid, WaitStatus)>),
}

/// Waits for all that have ended, without waiting for an end.
pub fn reap() -> Reaped {
    let mut ended = Vec::new();
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(end)) => ended.push(end),
            Ok(None) => return Reaped::Some(ended),
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return Reaped::NoneLeft(ended),
        }
    }
}

/// Ends everything below this process: `SIGTERM`, and `SIGKILL` after the grace. Gives the ends it has seen.
pub fn end_all(grace: Duration) -> Vec<(Pid, WaitStatus)> {
    let mut ended = Vec::new();
    let began = Instant::now();
    if !grace.is_zero() {
        signal_all(Signal::TERM);
        // What was stopped cannot end.
        signal_all(Signal::CONT);
        while began.elapsed() < grace {
            if collect(&mut ended) {
                return ended;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    while began.elapsed() < grace + LONGEST {
        if collect(&mut ended) {
            return ended;
        }
        // Stopped first, nothing forks while the others are being found.
        while signal_all(Signal::STOP) > 0 {}
        signal_all(Signal::KILL);
        std::thread::sleep(Duration::from_millis(1));
    }
    ended
}

fn collect(ended: &mut Vec<(Pid, WaitStatus)>) -> bool {
    match reap() {
        Reaped::Some(more) => {
            ended.extend(more);
            false
        }
        Reaped::NoneLeft(more) => {
            ended.extend(more);
            true
        }
    }
}

/// Signals all below. For `STOP`, those that are stopped already are passed over. Returns how many it has signalled.
fn signal_all(signal: Signal) -> usize {
    let processes = processes();
    let below = below(&processes);
    let passed_over = |process: &Process| {
        process.state == 'Z' || (signal == Signal::STOP && matches!(process.state, 'T' | 't'))
    };
    let mut signalled = 0;
    for pid in below {
        let process = &processes[&pid];
        if passed_over(process) {
            continue;
        }
        let Some(id) = Pid::from_raw(pid) else { continue };
        let Ok(handle) = pidfd_open(id, PidfdFlags::empty()) else { continue };
        // The number may have gone to another process since it was read; the handle cannot.
        if read(pid).is_some_and(|now| now.started == process.started)
            && pidfd_send_signal(&handle, signal).is_ok()
        {
            signalled += 1;
        }
    }
    signalled
}

struct Process {
    parent: i32,
    state: char,
    /// In clock ticks since the machine was started: with the number, it names the process.
    started: u64,
}

fn processes() -> HashMap<i32, Process> {
    let Ok(entries) = fs::read_dir("/proc") else { return HashMap::new() };
    let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter_map(|pid| Some((pid, read(pid)?))).collect()
}

fn read(pid: i32) -> Option<Process> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in brackets may hold anything, brackets and spaces included.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    Some(Process {
        state: fields.first()?.chars().next()?,
        parent: fields.get(1)?.parse().ok()?,
        started: fields.get(19)?.parse().ok()?,
    })
}

fn below(processes: &HashMap<i32, Process>) -> Vec<i32> {
    let own = getpid().as_raw_nonzero().get();
    let mut found = vec![own];
    let mut next = 0;
    while let Some(&parent) = found.get(next) {
        found.extend(processes.iter().filter(|(_, process)| process.parent == parent).map(|(pid, _)| *pid));
        next += 1;
    }
    found.split_off(1)
}
