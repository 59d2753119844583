//! System calls that could lead out of the sandbox, made inside of it by a copy of this very program.

use std::{env, fs, io, mem::zeroed, os::fd::AsRawFd, ptr};

use crate::support::{NO_LIMIT, confined, start};
use downcity_agent::shell::{
    process::{End, Phase},
    protocol::Plan,
};

/// The program is told so which of its tests is the one that makes the calls.
const INSIDE: &str = "ATTEMPTS_INSIDE";

type Attempt = (&'static str, fn() -> i64, &'static [i32]);

fn call(number: libc::c_long, arguments: [i64; 4]) -> i64 {
    let [first, second, third, fourth] = arguments;
    // SAFETY: the calls are refused, or are given nothing that could be harmed.
    unsafe { libc::syscall(number, first, second, third, fourth) }
}

fn socket(family: libc::c_int) -> i64 {
    call(libc::SYS_socket, [family.into(), libc::SOCK_STREAM.into(), 0, 0])
}

fn clone(flags: libc::c_int) -> i64 {
    let pid = call(libc::SYS_clone, [(flags | libc::SIGCHLD).into(), 0, 0, 0]);
    if pid == 0 {
        std::process::exit(0);
    }
    pid
}

/// What is tried, how, and what it has to end with.
const ATTEMPTS: [Attempt; 29] = [
    ("ptrace", || call(libc::SYS_ptrace, [libc::PTRACE_SEIZE.into(), 1, 0, 0]), &[libc::EPERM]),
    ("process_vm_readv", || call(libc::SYS_process_vm_readv, [1, 0, 0, 0]), &[libc::EPERM]),
    ("process_vm_writev", || call(libc::SYS_process_vm_writev, [1, 0, 0, 0]), &[libc::EPERM]),
    ("pidfd_getfd", || call(libc::SYS_pidfd_getfd, [0, 0, 0, 0]), &[libc::EPERM]),
    ("memory of the first process", || open("/proc/1/mem", libc::O_RDWR), &[libc::EACCES, libc::EROFS]),
    ("a unix socket", || socket(libc::AF_UNIX), &[libc::EAFNOSUPPORT]),
    ("a vsock socket", || socket(libc::AF_VSOCK), &[libc::EAFNOSUPPORT]),
    ("a packet socket", || socket(libc::AF_PACKET), &[libc::EAFNOSUPPORT]),
    ("a crypto socket", || socket(libc::AF_ALG), &[libc::EAFNOSUPPORT]),
    (
        "a unix socket by the x32 number",
        || call(libc::SYS_socket | 0x4000_0000, [1, 1, 0, 0]),
        &[libc::EAFNOSUPPORT, libc::ENOSYS],
    ),
    ("a pair of datagram sockets", datagram_pair, &[libc::EAFNOSUPPORT]),
    ("a route to anywhere", connect_outside, &[libc::ENETUNREACH]),
    (
        "namespaces by unshare",
        || call(libc::SYS_unshare, [libc::CLONE_NEWUSER.into(), 0, 0, 0]),
        &[libc::EPERM],
    ),
    ("namespaces by clone", || clone(libc::CLONE_NEWUSER), &[libc::EPERM]),
    ("mounts by clone", || clone(libc::CLONE_NEWNS), &[libc::EPERM]),
    ("clone3", || call(libc::SYS_clone3, [0, 0, 0, 0]), &[libc::ENOSYS]),
    ("setns", || call(libc::SYS_setns, [0, 0, 0, 0]), &[libc::EPERM]),
    ("mount", || call(libc::SYS_mount, [0, 0, 0, 0]), &[libc::EPERM]),
    ("umount", || call(libc::SYS_umount2, [0, 0, 0, 0]), &[libc::EPERM]),
    ("open_tree", || call(libc::SYS_open_tree, [0, 0, 0, 0]), &[libc::EPERM]),
    ("chroot", || call(libc::SYS_chroot, [c"/".as_ptr() as i64, 0, 0, 0]), &[libc::EPERM]),
    ("open_by_handle_at", || call(libc::SYS_open_by_handle_at, [0, 0, 0, 0]), &[libc::EPERM]),
    ("io_uring", || call(libc::SYS_io_uring_setup, [1, 0, 0, 0]), &[libc::ENOSYS]),
    ("keys of the host's session", || call(libc::SYS_keyctl, [0, -3, 0, 0]), &[libc::EPERM]),
    ("bpf", || call(libc::SYS_bpf, [0, 0, 0, 0]), &[libc::EPERM]),
    ("perf events", || call(libc::SYS_perf_event_open, [0, 0, 0, 0]), &[libc::EPERM]),
    ("the kernel's log", || call(libc::SYS_syslog, [3, 0, 0, 0]), &[libc::EPERM]),
    ("a device", make_device, &[libc::EPERM, libc::EACCES]),
    ("another user", || call(libc::SYS_setuid, [12345, 0, 0, 0]), &[libc::EPERM, libc::EINVAL]),
];

fn open(path: &str, flags: libc::c_int) -> i64 {
    let path = std::ffi::CString::new(path).expect("no path holds a zero");
    call(libc::SYS_openat, [libc::AT_FDCWD.into(), path.as_ptr() as i64, flags.into(), 0])
}

fn datagram_pair() -> i64 {
    let mut pair = [0i32; 2];
    let kind = i64::from(libc::SOCK_DGRAM | libc::SOCK_CLOEXEC);
    call(libc::SYS_socketpair, [libc::AF_UNIX.into(), kind, 0, ptr::from_mut(&mut pair) as i64])
}

fn connect_outside() -> i64 {
    match std::net::TcpStream::connect(("192.0.2.1", 80)) {
        Ok(stream) => stream.as_raw_fd().into(),
        Err(error) => -i64::from(error.raw_os_error().unwrap_or(0)),
    }
}

fn make_device() -> i64 {
    let device = libc::makedev(1, 1);
    let mode = i64::from(libc::S_IFBLK | 0o600);
    call(libc::SYS_mknodat, [libc::AT_FDCWD.into(), c"memory".as_ptr() as i64, mode, device as i64])
}

/// Makes the calls where the program was told to; in a run of the suite it has nothing to do.
#[test]
fn attempts_inside() {
    if env::var_os(INSIDE).is_none() {
        return;
    }
    for (name, attempt, _) in ATTEMPTS {
        let result = attempt();
        let errno = match result {
            -1 => io::Error::last_os_error().raw_os_error().unwrap_or(0),
            code if code < 0 => i32::try_from(-code).expect("it is an errno"),
            _ => 0,
        };
        println!("attempt:{name}:{errno}");
    }
    println!("privileges:{}:{}", privileges("CapEff"), privileges("CapBnd"));
    println!("nnp:{}:seccomp:{}", privileges("NoNewPrivs"), privileges("Seccomp"));
    // SAFETY: it is a plain structure of numbers.
    let mut limit: libc::rlimit = unsafe { zeroed() };
    // SAFETY: the structure outlives the call.
    unsafe { libc::getrlimit(libc::RLIMIT_CORE, &mut limit) };
    println!("core:{}", limit.rlim_max);
}

fn privileges(field: &str) -> String {
    let status = fs::read_to_string("/proc/self/status").expect("it is there");
    let line = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    line.expect("this kernel has it").trim().to_owned()
}

#[test]
fn no_system_call_leads_out() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    // Copied to where the command sees it, wherever the project is.
    let program = folder.path().join("attempts");
    fs::copy(env::current_exe().expect("it runs"), &program).expect("it can be copied");
    let command = format!("{} --exact escapes::attempts_inside --nocapture", program.display());
    let mut plan: Plan = confined(folder.path(), &command);
    plan.env.push((INSIDE.to_owned(), "yes".to_owned()));
    let end = start(&plan, NO_LIMIT).end();
    assert_eq!(end.phase, Phase::Ended(End { exit_code: Some(0), ..End::default() }), "{end:?}");
    for (name, _, expected) in ATTEMPTS {
        let prefix = format!("attempt:{name}:");
        let line = end.stdout.lines().find_map(|line| line.split_once(&*prefix).map(|(_, errno)| errno));
        let errno: i32 =
            line.and_then(|errno| errno.parse().ok()).unwrap_or_else(|| panic!("{name}: {end:?}"));
        assert!(expected.contains(&errno), "{name} ended with {errno} instead of {expected:?}");
    }
    let nothing = "0000000000000000";
    assert!(end.stdout.contains(&format!("privileges:{nothing}:{nothing}\n")), "{}", end.stdout);
    assert!(end.stdout.contains("nnp:1:seccomp:2\n"), "{}", end.stdout);
    assert!(end.stdout.contains("core:0\n"), "{}", end.stdout);
}
