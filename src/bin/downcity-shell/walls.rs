//! What holds besides the mounts: no privileges, a second list of what may be written (Landlock), and no system calls
//! that lead out (seccomp).

use std::{collections::BTreeMap, error::Error};

use downcity_agent::shell::protocol::Sandbox;
use landlock::{
    ABI, Access, AccessFs, PathBeneath, PathFd, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetStatus,
    Scope,
};
use rustix::{
    process::{DumpableBehavior, Resource, Rlimit, set_dumpable_behavior, setrlimit},
    thread::{
        CapabilitiesSecureBits, CapabilitySet, CapabilitySets, remove_capability_from_bounding_set,
        set_capabilities, set_capabilities_secure_bits, set_no_new_privs,
    },
};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen as Length, SeccompCmpOp as Compare, SeccompCondition,
    SeccompFilter, SeccompRule, apply_filter,
};

/// Rights that later kernels add are used where they are known; the first version is required.
const RIGHTS: ABI = ABI::V6;
/// Processes and threads of one command; of its own users' namespace, so that nobody else's count.
const MAX_PROCESSES: u64 = 4096;

/// Nothing of this can be undone, and everything below inherits it.
pub fn raise(sandbox: &Sandbox) -> Result<(), String> {
    let named = |what: &'static str| move |error: rustix::io::Errno| format!("{what} ({error})");
    set_no_new_privs(true).map_err(named("new privileges could not be ruled out"))?;
    let processes = Rlimit { current: Some(MAX_PROCESSES), maximum: Some(MAX_PROCESSES) };
    setrlimit(Resource::Nproc, processes).map_err(named("the number of processes could not be limited"))?;
    let none = Rlimit { current: Some(0), maximum: Some(0) };
    setrlimit(Resource::Core, none).map_err(named("core files could not be ruled out"))?;
    match restrict_files(&sandbox.workspace) {
        Ok(RulesetStatus::NotEnforced) => return Err("this kernel has no Landlock".to_owned()),
        Ok(_) => {}
        Err(error) => return Err(format!("Landlock could not be set up ({error})")),
    }
    drop_capabilities().map_err(named("capabilities could not be given up"))?;
    // Nothing below may look into this process, which has the socket to the host.
    set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .map_err(named("this process could not be closed to others"))?;
    filter_calls()
}

fn restrict_files(workspace: &str) -> Result<RulesetStatus, Box<dyn Error>> {
    let all = AccessFs::from_all(RIGHTS);
    let devices = AccessFs::WriteFile | AccessFs::Truncate | AccessFs::from_read(RIGHTS);
    let places = [
        ("/", AccessFs::from_read(RIGHTS)),
        ("/dev", devices),
        ("/dev/shm", all),
        ("/tmp", all),
        (workspace, all),
    ];
    let ruleset = Ruleset::default().handle_access(all)?.scope(Scope::from_all(RIGHTS))?;
    let mut created = ruleset.create()?;
    for (path, rights) in places {
        created = created.add_rule(PathBeneath::new(PathFd::new(path)?, rights))?;
    }
    Ok(created.restrict_self()?.ruleset)
}

fn drop_capabilities() -> rustix::io::Result<()> {
    for capability in CapabilitySet::all().iter() {
        match remove_capability_from_bounding_set(capability) {
            // This kernel does not have it.
            Ok(()) | Err(rustix::io::Errno::INVAL) => {}
            Err(error) => return Err(error),
        }
    }
    // The user 0 is a user like any other from here on.
    let bits = CapabilitiesSecureBits::NO_ROOT
        | CapabilitiesSecureBits::NO_ROOT_LOCKED
        | CapabilitiesSecureBits::NO_SETUID_FIXUP
        | CapabilitiesSecureBits::NO_SETUID_FIXUP_LOCKED
        | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE
        | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE_LOCKED;
    set_capabilities_secure_bits(bits)?;
    let none = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })
}

/// Calls that act on other processes, make namespaces or mounts, or go around the filter itself. They are refused as
/// if the user were not allowed to.
const REFUSED: [libc::c_long; 42] = [
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
    libc::SYS_fanotify_init,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_syslog,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_acct,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_reboot,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
];

/// Calls a program can do without: it finds that this kernel does not have them. What they would do cannot be seen
/// in their arguments.
const MISSING: [libc::c_long; 4] =
    [libc::SYS_clone3, libc::SYS_io_uring_setup, libc::SYS_io_uring_enter, libc::SYS_io_uring_register];

const NAMESPACES: libc::c_int = libc::CLONE_NEWUSER
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWCGROUP;

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

fn filter_calls() -> Result<(), String> {
    apply(MISSING.iter().map(|call| (*call, Vec::new())).collect(), libc::ENOSYS)?;
    let sockets = socket_rules().map_err(|error| format!("the filter of calls is wrong ({error})"))?;
    apply(sockets, libc::EAFNOSUPPORT)?;
    let mut refused: Rules = REFUSED.iter().map(|call| (*call, Vec::new())).collect();
    let clones = clone_rules().map_err(|error| format!("the filter of calls is wrong ({error})"))?;
    refused.insert(libc::SYS_clone, clones);
    apply(refused, libc::EPERM)
}

/// Only the Internet's families, which lead nowhere here. A socket of the Unix family could reach whoever listens at a
/// path; a pair of them is fine, as long as no address can be given when sending.
fn socket_rules() -> Result<Rules, seccompiler::BackendError> {
    let differs = |family: libc::c_int| SeccompCondition::new(0, Length::Dword, Compare::Ne, family as u64);
    let other = SeccompRule::new(vec![
        differs(libc::AF_INET)?,
        differs(libc::AF_INET6)?,
        differs(libc::AF_NETLINK)?,
    ])?;
    let of_kind = |kind: libc::c_int| {
        SeccompRule::new(vec![SeccompCondition::new(1, Length::Dword, Compare::MaskedEq(0xf), kind as u64)?])
    };
    let pairs = vec![of_kind(libc::SOCK_DGRAM)?, of_kind(libc::SOCK_RAW)?];
    Ok(BTreeMap::from([(libc::SYS_socket, vec![other]), (libc::SYS_socketpair, pairs)]))
}

/// A process, but no namespace.
fn clone_rules() -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    let flags = (0..31).map(|bit| 1 << bit).filter(|flag| NAMESPACES & flag != 0);
    flags
        .map(|flag| {
            let wanted = flag as u64;
            SeccompRule::new(vec![SeccompCondition::new(
                0,
                Length::Qword,
                Compare::MaskedEq(wanted),
                wanted,
            )?])
        })
        .collect()
}

fn apply(rules: Rules, errno: libc::c_int) -> Result<(), String> {
    let wrong = |error: String| format!("calls could not be filtered ({error})");
    let mut all = rules.clone();
    if cfg!(target_arch = "x86_64") {
        // The same calls under the numbers of the x32 convention.
        all.extend(rules.into_iter().map(|(call, rules)| (call | 0x4000_0000, rules)));
    }
    let arch = std::env::consts::ARCH.try_into().map_err(|_| wrong("unknown machine".to_owned()))?;
    let filter = SeccompFilter::new(all, SeccompAction::Allow, SeccompAction::Errno(errno as u32), arch);
    let program: BpfProgram = filter.and_then(TryInto::try_into).map_err(|error| wrong(error.to_string()))?;
    apply_filter(&program).map_err(|error| wrong(error.to_string()))
}
