//! The place for live recordings that cannot be written to the wanted file system:
//! `$XDG_RUNTIME_DIR/heapglass`, or `/dev/shm/heapglass-UID`. The command lists its contents.

use super::PathBytes;
use crate::sys::{self, File};
use std::fmt::Write;

/// A folder in memory that can contain the place.
#[derive(Clone, Copy)]
pub(super) enum Base {
    /// `$XDG_RUNTIME_DIR`, which belongs to this user only.
    Runtime(&'static [u8]),
    /// `/dev/shm`, which all users share.
    Shared,
}

/// Returns the possible locations, the preferred one first.
pub(super) fn folders() -> impl Iterator<Item = Base> {
    let runtime = sys::environment(b"XDG_RUNTIME_DIR").filter(|path| path.starts_with(b"/"));
    runtime.map(Base::Runtime).into_iter().chain([Base::Shared])
}

/// Creates the folder of the place and writes its path. Returns `true` if it is a folder that only
/// this user can use.
pub(super) fn open(base: Base, path: &mut PathBytes) -> bool {
    // SAFETY: no preconditions.
    let user = unsafe { libc::geteuid() };
    path.clear();
    let is_named = match base {
        Base::Runtime(folder) => path.push(folder) && path.push(b"/heapglass"),
        Base::Shared => write!(path, "/dev/shm/heapglass-{user}").is_ok(),
    };
    if !is_named {
        return false;
    }
    // SAFETY: the path is NUL-terminated. The folder may exist already.
    unsafe {
        libc::syscall(
            libc::SYS_mkdirat,
            libc::AT_FDCWD,
            path.as_c().as_ptr(),
            0o700,
        )
    };
    let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_NOFOLLOW;
    let status = File::open(path.as_c(), flags, 0).and_then(|folder| folder.status());
    status.is_ok_and(|status| status.st_uid == user && status.st_mode & 0o077 == 0)
}
