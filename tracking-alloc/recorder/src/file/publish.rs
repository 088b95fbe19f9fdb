//! Gives a new recording its final path. If the path is taken, it gets a suffix. Nothing is ever
//! replaced.

use super::{PathBytes, Refused};
use crate::sys;
use std::fmt::Write;

/// Number of suffixes to try. The third contains the start time of the process, so later ones are
/// rarely needed.
const SUFFIXES: u64 = 100_000;

/// Renames the file at `hidden` to `wanted`, with a suffix if that is taken. The result is in
/// `name`.
pub(super) fn publish(
    hidden: &PathBytes,
    wanted: &PathBytes,
    name: &mut PathBytes,
) -> Result<(), Refused> {
    first_free(wanted, name, |name| move_to(hidden, name))
}

/// Creates a symbolic link to `target` at `wanted`, with a suffix if that is taken. The result is
/// in `name`.
pub(super) fn link_to(
    target: &PathBytes,
    wanted: &PathBytes,
    name: &mut PathBytes,
) -> Result<(), Refused> {
    first_free(wanted, name, |name| {
        let (target, name) = (target.as_c().as_ptr(), name.as_c().as_ptr());
        // SAFETY: both paths are NUL-terminated.
        let made = unsafe { libc::syscall(libc::SYS_symlinkat, target, libc::AT_FDCWD, name) };
        sys::answer(made).map(drop)
    })
}

/// Calls `make` with `wanted`, then with suffixed paths, until one is not taken.
fn first_free(
    wanted: &PathBytes,
    name: &mut PathBytes,
    make: impl Fn(&PathBytes) -> Result<(), i32>,
) -> Result<(), Refused> {
    let unnamed = |errno| Refused::new("cannot give the new recording its name", errno);
    for attempt in 0..SUFFIXES {
        if !suffixed(wanted, attempt, std::process::id(), name) {
            return Err(unnamed(libc::ENAMETOOLONG));
        }
        match make(name) {
            Ok(()) => return Ok(()),
            Err(libc::EEXIST) => {}
            Err(errno) => return Err(unnamed(errno)),
        }
    }
    Err(Refused::new(
        "this path and every path with a suffix are taken",
        libc::EEXIST,
    )
    .advise("use another path"))
}

/// Writes `NAME.hg`, `NAME-PID.hg`, `NAME-PID-START.hg`, then further numbers. Returns `false` if
/// the path is too long.
fn suffixed(wanted: &PathBytes, attempt: u64, pid: u32, name: &mut PathBytes) -> bool {
    let (stem, extension) = wanted.split_extension();
    name.clear();
    if !name.push(stem) {
        return false;
    }
    let suffix = match attempt {
        0 => Ok(()),
        1 => write!(name, "-{pid}"),
        2 => write!(name, "-{pid}-{}", sys::start_ticks()),
        _ => write!(name, "-{pid}-{}-{}", sys::start_ticks(), attempt - 1),
    };
    suffix.is_ok() && name.push(extension)
}

/// Renames a file to an unused path. Returns `EEXIST` if the path is taken.
fn move_to(from: &PathBytes, to: &PathBytes) -> Result<(), i32> {
    match rename(from, to, libc::RENAME_NOREPLACE) {
        Err(errno) if is_unsupported(errno) => {}
        renamed => return renamed,
    }
    match call(libc::SYS_linkat, from, to, 0) {
        Ok(()) => {
            from.remove();
            Ok(())
        }
        Err(libc::EEXIST) => Err(libc::EEXIST),
        // The file system supports neither method. A file created between these two calls is
        // replaced.
        Err(_) if to.id().is_some() => Err(libc::EEXIST),
        Err(_) => rename(from, to, 0),
    }
}

/// Returns `true` if the kernel, file system or sandbox does not support a way of renaming.
fn is_unsupported(errno: i32) -> bool {
    matches!(
        errno,
        libc::EINVAL | libc::ENOSYS | libc::EOPNOTSUPP | libc::EPERM
    )
}

fn rename(from: &PathBytes, to: &PathBytes, flags: libc::c_uint) -> Result<(), i32> {
    call(libc::SYS_renameat2, from, to, flags)
}

/// Makes a system call with two paths.
fn call(
    number: libc::c_long,
    from: &PathBytes,
    to: &PathBytes,
    flags: libc::c_uint,
) -> Result<(), i32> {
    let (from, to) = (from.as_c().as_ptr(), to.as_c().as_ptr());
    // SAFETY: both paths are NUL-terminated.
    sys::answer(unsafe { libc::syscall(number, libc::AT_FDCWD, from, libc::AT_FDCWD, to, flags) })
        .map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> PathBytes {
        let mut path = PathBytes::empty();
        assert!(path.push(text.as_bytes()));
        path
    }

    #[test]
    fn the_suffix_goes_before_the_extension() {
        let start = sys::start_ticks();
        for (wanted, names) in [
            (
                "/a/b.hg",
                ["/a/b.hg", "/a/b-7.hg", "/a/b-7-S.hg", "/a/b-7-S-2.hg"],
            ),
            (
                "/a.b/c",
                ["/a.b/c", "/a.b/c-7", "/a.b/c-7-S", "/a.b/c-7-S-2"],
            ),
            ("/a/.b", ["/a/.b", "/a/.b-7", "/a/.b-7-S", "/a/.b-7-S-2"]),
            (
                "/a/b.tar.hg",
                [
                    "/a/b.tar.hg",
                    "/a/b.tar-7.hg",
                    "/a/b.tar-7-S.hg",
                    "/a/b.tar-7-S-2.hg",
                ],
            ),
        ] {
            for (attempt, expected) in (0..).zip(names) {
                let mut name = PathBytes::empty();
                assert!(suffixed(&path(wanted), attempt, 7, &mut name));
                let expected = expected.replace('S', &start.to_string());
                assert_eq!(String::from_utf8_lossy(name.as_bytes()), expected);
            }
        }
    }

    #[test]
    fn whatever_has_the_path_stays_and_the_new_file_gets_a_suffix() {
        let folder = tempfile::tempdir().expect("a folder");
        let place = folder.path().to_str().expect("text");
        let wanted = path(&format!("{place}/out.hg"));
        std::fs::write(folder.path().join("out.hg"), "a letter").expect("written");
        let mut name = PathBytes::empty();
        for suffix in ["", &format!("-{}", sys::start_ticks())] {
            let hidden = path(&format!("{place}/.hidden"));
            std::fs::write(folder.path().join(".hidden"), "new").expect("written");
            assert_eq!(publish(&hidden, &wanted, &mut name), Ok(()));
            let expected = format!("{place}/out-{}{suffix}.hg", std::process::id());
            assert_eq!(String::from_utf8_lossy(name.as_bytes()), expected);
            assert_eq!(std::fs::read(&expected).expect("read"), b"new");
        }
        assert_eq!(link_to(&wanted, &wanted, &mut name), Ok(()));
        let link = std::path::Path::new(std::str::from_utf8(name.as_bytes()).expect("text"));
        assert!(link.is_symlink());
        let kept = std::fs::read(folder.path().join("out.hg")).expect("read");
        assert_eq!(kept, b"a letter");
        assert_eq!(std::fs::read_dir(folder.path()).expect("read").count(), 4);
    }
}
