//! Namespaces of the command's own: users, mounts, processes, network, IPC, host name, cgroups.

use std::{fs, process::exit};

use rustix::{
    process::{Pid, Signal, WaitOptions, getegid, geteuid, set_parent_process_death_signal, waitpid},
    thread::{UnshareFlags, unshare_unsafe},
};

/// Comes back in a new process, the first one of the new namespaces: when it ends, the kernel ends all others in them.
/// The process that called stays outside, waits for it, and exits.
///
/// # Errors
/// In words, where this system or user may not have them.
pub fn enter() -> Result<(), String> {
    let (user, group) = (geteuid(), getegid());
    let flags = UnshareFlags::NEWUSER
        | UnshareFlags::NEWNS
        | UnshareFlags::NEWPID
        | UnshareFlags::NEWNET
        | UnshareFlags::NEWIPC
        | UnshareFlags::NEWUTS
        | UnshareFlags::NEWCGROUP;
    // SAFETY: the table of descriptors is not among what is unshared.
    unsafe { unshare_unsafe(flags) }
        .map_err(|error| format!("this system does not let this user have namespaces ({error})"))?;
    // The command keeps the user it would have had; nobody else exists for it.
    let maps = [
        ("/proc/self/setgroups", "deny".to_owned()),
        ("/proc/self/uid_map", format!("{0} {0} 1", user.as_raw())),
        ("/proc/self/gid_map", format!("{0} {0} 1", group.as_raw())),
    ];
    for (path, text) in maps {
        fs::write(path, text).map_err(|error| format!("{path} could not be written ({error})"))?;
    }
    // SAFETY: this program has one thread, so the child may do anything.
    match unsafe { libc::fork() } {
        -1 => Err(format!("no process could be made ({})", std::io::Error::last_os_error())),
        0 => {
            // Should the outer process be killed, the whole namespace goes with it.
            set_parent_process_death_signal(Some(Signal::KILL))
                .map_err(|error| format!("the sandbox could not be tied to its outer process ({error})"))?;
            bring_loopback_up();
            Ok(())
        }
        child => wait_outside(child),
    }
}

fn wait_outside(child: i32) -> ! {
    let child = Pid::from_raw(child);
    while let Err(rustix::io::Errno::INTR) = waitpid(child, WaitOptions::empty()) {}
    exit(0)
}

/// A loopback of its own, so that a test can start a server; it leads nowhere else. Without it there is no network at
/// all, which is no reason to run nothing.
fn bring_loopback_up() {
    // SAFETY: plain system calls on a socket that is closed again, with a structure that outlives them.
    unsafe {
        let socket = libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
        if socket < 0 {
            return;
        }
        let mut request: libc::ifreq = std::mem::zeroed();
        request.ifr_name[0] = b'l' as libc::c_char;
        request.ifr_name[1] = b'o' as libc::c_char;
        request.ifr_ifru.ifru_flags = libc::IFF_UP as libc::c_short;
        libc::ioctl(socket, libc::SIOCSIFFLAGS, &request);
        libc::close(socket);
    }
}
