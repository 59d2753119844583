//! What the command sees of the file system: all of it to read, the Workspace and a private `/tmp` to write, and
//! nothing of the Session stores.

use std::{
    ffi::CString,
    fs::{self, Permissions},
    io,
    os::{
        fd::{AsRawFd, OwnedFd},
        unix::fs::{PermissionsExt, symlink},
    },
    path::Path,
};

use downcity_agent::shell::protocol::Sandbox;
use rustix::{
    fs::{CWD, Mode, OFlags, ResolveFlags, openat2},
    mount::{MountFlags, MountPropagationFlags, mount, mount_bind_recursive, mount_change},
};

const DEVICES: [&str; 5] = ["null", "zero", "full", "random", "urandom"];
const READ_ONLY: u64 = libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV;
/// Folders the sandbox has its own of: a Workspace in or above one could not be told from it.
const OWN: [&str; 4] = ["/tmp", "/dev", "/proc", "/sys"];

pub fn arrange(sandbox: &Sandbox) -> Result<(), String> {
    check_place(&sandbox.workspace)?;
    make_hidden_folders(sandbox)?;
    let workspace = handle(&sandbox.workspace)?;
    let devices = DEVICES
        .map(|name| handle(&format!("/dev/{name}")).map(|device| (name, device)))
        .into_iter()
        .collect::<Result<Vec<_>, _>>()?;
    // Nothing done here is seen outside, and nothing that is mounted outside later is seen here.
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
        .map_err(|error| format!("the file system could not be made private ({error})"))?;
    set_attributes("/", READ_ONLY, 0, true)
        .map_err(|error| format!("the file system could not be made read-only ({error})"))?;
    private_tmp("/tmp", "mode=1777,size=2g")?;
    make_devices(&devices)?;
    open_workspace(&sandbox.workspace, &workspace)?;
    hide(sandbox)?;
    set_attributes("/dev", libc::MOUNT_ATTR_RDONLY, 0, false)
        .map_err(|error| format!("/dev could not be made read-only ({error})"))?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC | MountFlags::RDONLY;
    mount("proc", "/proc", "proc", flags, None::<&std::ffi::CStr>)
        .map_err(|error| format!("/proc could not be mounted ({error})"))
}

fn check_place(workspace: &str) -> Result<(), String> {
    let path = Path::new(workspace);
    let above = |own: &&str| Path::new(own).starts_with(path);
    let inside = |own: &&str| **own != *"/tmp" && path.starts_with(own);
    match OWN.iter().find(|own| above(own) || inside(own)) {
        Some(own) => Err(format!("a Workspace at {workspace:?} leaves no room for a {own} of the sandbox")),
        None => Ok(()),
    }
}

/// In the Workspace, a store that is not there yet could be put there by the command.
fn make_hidden_folders(sandbox: &Sandbox) -> Result<(), String> {
    for folder in &sandbox.hidden_folders {
        if Path::new(folder).starts_with(&sandbox.workspace) && fs::symlink_metadata(folder).is_err() {
            fs::create_dir_all(folder).map_err(|error| format!("{folder:?} could not be made ({error})"))?;
        }
    }
    Ok(())
}

fn open_workspace(path: &str, workspace: &OwnedFd) -> Result<(), String> {
    let wrong = |error: io::Error| format!("the Workspace could not be opened for writing ({error})");
    // Where it is in /tmp, the private one does not have it yet.
    fs::create_dir_all(path).map_err(wrong)?;
    mount_bind_recursive(by_handle(workspace), path).map_err(|error| wrong(error.into()))?;
    // What was mounted read-only inside of it stays so.
    set_attributes(path, 0, libc::MOUNT_ATTR_RDONLY, true)
        .or_else(|_| set_attributes(path, 0, libc::MOUNT_ATTR_RDONLY, false))
        .map_err(wrong)
}

fn make_devices(devices: &[(&str, OwnedFd)]) -> Result<(), String> {
    private_tmp("/dev", "mode=755,size=1m")?;
    for (name, device) in devices {
        let path = format!("/dev/{name}");
        let wrong = |error: io::Error| format!("{path} could not be made ({error})");
        fs::write(&path, "").map_err(wrong)?;
        rustix::mount::mount_bind(by_handle(device), &*path).map_err(|error| wrong(error.into()))?;
        set_attributes(&path, 0, libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NODEV, false).map_err(wrong)?;
    }
    let links = [("fd", "/proc/self/fd"), ("stdin", "/proc/self/fd/0"), ("stdout", "/proc/self/fd/1")];
    for (name, target) in links.into_iter().chain([("stderr", "/proc/self/fd/2")]) {
        symlink(target, format!("/dev/{name}"))
            .map_err(|error| format!("/dev/{name} could not be made ({error})"))?;
    }
    fs::create_dir("/dev/shm").map_err(|error| format!("/dev/shm could not be made ({error})"))?;
    private_tmp("/dev/shm", "mode=1777,size=512m")
}

fn private_tmp(path: &str, options: &str) -> Result<(), String> {
    let options = CString::new(options).expect("no option holds a zero");
    mount("tmpfs", path, "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, Some(&*options))
        .map_err(|error| format!("a {path} of its own could not be mounted ({error})"))
}

/// Puts something empty, which nobody may open, over each folder and file. Other names for the same place are not
/// looked for: a path with a symbolic link in it is refused.
fn hide(sandbox: &Sandbox) -> Result<(), String> {
    let empty = "/dev/.empty";
    let wrong = |path: &str, error: io::Error| format!("{path:?} could not be put out of sight ({error})");
    for folder in &sandbox.hidden_folders {
        if fs::symlink_metadata(folder).is_err() {
            continue;
        }
        handle(folder)?;
        let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC | MountFlags::RDONLY;
        mount("tmpfs", &**folder, "tmpfs", flags, Some(c"mode=000,size=4k,nr_inodes=1"))
            .map_err(|error| wrong(folder, error.into()))?;
    }
    if sandbox.hidden_files.is_empty() {
        return Ok(());
    }
    fs::write(empty, "").map_err(|error| wrong(empty, error))?;
    fs::set_permissions(empty, Permissions::from_mode(0o000)).map_err(|error| wrong(empty, error))?;
    for file in &sandbox.hidden_files {
        if fs::symlink_metadata(file).is_err() {
            continue;
        }
        handle(file)?;
        rustix::mount::mount_bind(empty, &**file).map_err(|error| wrong(file, error.into()))?;
        set_attributes(file, READ_ONLY, 0, false).map_err(|error| wrong(file, error))?;
    }
    Ok(())
}

/// Names a place for good, and refuses a path that leads there by a symbolic link.
fn handle(path: &str) -> Result<OwnedFd, String> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)
        .map_err(|error| format!("{path:?} could not be opened without symbolic links ({error})"))
}

fn by_handle(place: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", place.as_raw_fd())
}

fn set_attributes(path: &str, set: u64, clear: u64, recursive: bool) -> io::Result<()> {
    let path = CString::new(path)?;
    let attributes = libc::mount_attr { attr_set: set, attr_clr: clear, propagation: 0, userns_fd: 0 };
    let flags = if recursive { libc::AT_RECURSIVE } else { 0 };
    // SAFETY: the path and the structure outlive the call, and the size is the structure's own.
    let done = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            path.as_ptr(),
            flags,
            &raw const attributes,
            size_of::<libc::mount_attr>(),
        )
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
