//! The helper of one command of the Shell.
//!
//! It is started with a socket as its standard input, takes a plan from it, enters the sandbox where the plan has
//! one, runs the command, and ends everything below it when it is told to or when the socket closes. One thread, so
//! that it may fork. It ships beside the binding, and nothing but the binding starts it.

mod namespaces;
mod supervise;
mod tree;
mod view;
mod walls;

use std::{
    io::{Read, Write},
    os::{fd::AsFd, unix::net::UnixStream},
    process::exit,
};

use downcity_agent::shell::protocol::{Lines, Plan, Report, line};

fn main() {
    if close_what_was_inherited().is_err() {
        exit(1);
    }
    // A copy that no command inherits: the descriptor 0 of each is its own input.
    let Ok(control) = std::io::stdin().as_fd().try_clone_to_owned().map(UnixStream::from) else { exit(1) };
    let mut lines = Lines::default();
    let Some(plan) = read_plan(&control, &mut lines) else { exit(1) };
    // No terminal of the host's is ours, nor are the signals it sends.
    let _ = rustix::process::setsid();
    if let Some(sandbox) = &plan.sandbox
        && let Err(why) = enter(sandbox)
    {
        tell(&control, &Report::Refused { why });
        exit(1);
    }
    supervise::run(&plan, control, lines)
}

/// Comes back in the process that is in the sandbox.
fn enter(sandbox: &downcity_agent::shell::protocol::Sandbox) -> Result<(), String> {
    namespaces::enter()?;
    view::arrange(sandbox)?;
    walls::raise(sandbox)
}

fn read_plan(mut control: &UnixStream, lines: &mut Lines) -> Option<Plan> {
    let mut buffer = [0; 65536];
    loop {
        if let Some(plan) = lines.take() {
            return plan.ok();
        }
        match control.read(&mut buffer) {
            Ok(count) if count > 0 => lines.push(&buffer[..count]),
            _ => return None,
        }
    }
}

/// Reports are few and small. Where the host is gone, there is nobody to tell.
pub fn tell(mut control: &UnixStream, report: &Report) {
    let _ = control.write_all(&line(report));
}

/// A descriptor that the host forgot to mark would end up with the command, and could hold a pipe open.
fn close_what_was_inherited() -> Result<(), ()> {
    // SAFETY: nothing here owns a descriptor above 2 yet.
    let done = unsafe { libc::syscall(libc::SYS_close_range, 3u32, u32::MAX, 0u32) };
    if done == 0 { Ok(()) } else { Err(()) }
}
