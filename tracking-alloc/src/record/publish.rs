//! Giving a new recording its name. A path that is taken gets a suffix; only at the wanted path itself, and only a
//! recording of ours whose writer is proved dead, is replaced.
//!
//! Looking and renaming are two steps, and others do the same at the same time. So nothing is deleted that was not
//! looked at after it had lost its name: what comes out of an exchange and is not what went in gets its name back. Those
//! who want to replace the same recording take turns.

use super::occupant::{Occupant, Old, Scratch, Turn, is_old, occupant, remove_old, turn};
use super::{PathBytes, Refused};
use crate::sys;
use std::fmt::Write;

/// Suffixes tried before giving up: the third has the start of the process in it, so hardly any is ever tried after it.
const SUFFIXES: u64 = 100_000;
/// How often somebody else may be faster before a suffix is taken.
const TRIES: u32 = 16;

/// Names that are made on the way. All-zero bytes are empty ones.
pub(super) struct Names {
    /// The name that the file got.
    pub(super) name: PathBytes,
    /// Where what was at the path waits to be looked at.
    aside: PathBytes,
    scratch: Scratch,
}

/// Gives the file at `hidden` the name `wanted`, with a suffix when that is taken: `names.name` is what it got.
/// With `replace` an old recording at `wanted` makes room.
pub(super) fn publish(
    hidden: &PathBytes,
    wanted: &PathBytes,
    names: &mut Names,
    replace: bool,
) -> Result<(), Refused> {
    for attempt in 0..SUFFIXES {
        if !suffixed(wanted, attempt, std::process::id(), &mut names.name) {
            return Err(unnamed(libc::ENAMETOOLONG));
        }
        match move_to(hidden, &names.name) {
            Ok(()) => return Ok(()),
            Err(libc::EEXIST) if attempt == 0 && replace => {
                if replace_old(hidden, names)? {
                    return Ok(());
                }
            }
            Err(libc::EEXIST) => {}
            Err(errno) => return Err(unnamed(errno)),
        }
    }
    Err(Refused::new(
        "the path and its suffixes are all taken",
        libc::EEXIST,
    ))
}

fn unnamed(errno: i32) -> Refused {
    Refused::new("cannot name the new file", errno)
}

/// `NAME.hg`, `NAME-PID.hg`, `NAME-PID-START.hg`, then further numbers. False when that is too long.
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

/// Takes the path `names.name` from an old recording. False: it is somebody's who may live.
fn replace_old(hidden: &PathBytes, names: &mut Names) -> Result<bool, Refused> {
    for _ in 0..TRIES {
        let old = match occupant(&names.name, &mut names.scratch) {
            Occupant::Foreign => {
                return Err(Refused::new(
                    "a file that is not a recording of yours is in the way",
                    libc::EEXIST,
                ));
            }
            Occupant::Live => return Ok(false),
            Occupant::Nothing => match move_to(hidden, &names.name) {
                Ok(()) => return Ok(true),
                Err(libc::EEXIST) => continue,
                Err(errno) => return Err(unnamed(errno)),
            },
            Occupant::Old(old) => old,
        };
        let _turn = match turn(&names.name, &old) {
            Turn::Ours(turn) => turn,
            Turn::Gone => continue,
            Turn::Others => {
                sys::yield_now();
                continue;
            }
        };
        let is_done = match rename(hidden, &names.name, libc::RENAME_EXCHANGE) {
            Ok(()) => check_exchanged(hidden, names, &old)?,
            // It went away meanwhile.
            Err(libc::ENOENT) => false,
            Err(errno) if is_unsupported(errno) => move_aside(hidden, names, &old)?,
            Err(errno) => return Err(unnamed(errno)),
        };
        if is_done {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The new file has the name, and what had it is at `hidden`: deletes that when it is the old recording looked at
/// before. False: it was not, and has its name back.
fn check_exchanged(hidden: &PathBytes, names: &mut Names, old: &Old) -> Result<bool, Refused> {
    if is_old(hidden, old, &mut names.scratch) {
        remove_old(hidden, old, &mut names.scratch);
        return Ok(true);
    }
    rename(hidden, &names.name, libc::RENAME_EXCHANGE).map_err(|errno| {
        // Somebody removed the new file: nothing is left to be named.
        give_back(hidden, names);
        unnamed(errno)
    })?;
    Ok(false)
}

/// The same where names cannot be exchanged: the path has no file for a moment.
fn move_aside(hidden: &PathBytes, names: &mut Names, old: &Old) -> Result<bool, Refused> {
    names.aside.clear();
    if !(names.aside.push(hidden.as_bytes()) && names.aside.push(b".old")) {
        return Err(unnamed(libc::ENAMETOOLONG));
    }
    match move_to(&names.name, &names.aside) {
        Ok(()) => {}
        Err(libc::ENOENT) => return Ok(false),
        Err(errno) => return Err(unnamed(errno)),
    }
    let aside = names.aside;
    let placed = match is_old(&aside, old, &mut names.scratch) {
        true => move_to(hidden, &names.name),
        false => Err(libc::EEXIST),
    };
    if placed.is_ok() {
        remove_old(&aside, old, &mut names.scratch);
    } else {
        // What waits aside gets its name back.
        give_back(&aside, names);
    }
    match placed {
        Ok(()) => Ok(true),
        Err(libc::EEXIST) => Ok(false),
        Err(errno) => Err(unnamed(errno)),
    }
}

/// The file at `from` gets the name `names.name` back, or that with a suffix: it must not be lost.
#[cold]
fn give_back(from: &PathBytes, names: &mut Names) {
    let wanted = names.name;
    for attempt in 0..SUFFIXES {
        if !suffixed(&wanted, attempt, std::process::id(), &mut names.name)
            || move_to(from, &names.name) != Err(libc::EEXIST)
        {
            break;
        }
    }
    names.name = wanted;
}

/// Gives a file a name that nobody has: `EEXIST` when somebody does.
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
        // Neither way is known here: whoever comes between these two calls is replaced.
        Err(_) if to.id().is_some() => Err(libc::EEXIST),
        Err(_) => rename(from, to, 0),
    }
}

/// Whether a kernel, a file system or a sandbox does not know a way of renaming.
fn is_unsupported(errno: i32) -> bool {
    matches!(
        errno,
        libc::EINVAL | libc::ENOSYS | libc::EOPNOTSUPP | libc::EPERM
    )
}

fn rename(from: &PathBytes, to: &PathBytes, flags: libc::c_uint) -> Result<(), i32> {
    call(libc::SYS_renameat2, from, to, flags)
}

/// A system call about two names.
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
    use tracking_alloc_recording::state;

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

    /// A file that says `state` and is `writer`'s: this process's, or that of one that is gone.
    fn recording(path: &PathBytes, state: u32, alive: bool) {
        use tracking_alloc_recording::{HeaderValue, MAGIC, Record};
        let own = super::super::own_header(state);
        let header = HeaderValue {
            magic: MAGIC,
            start_ticks: own.start_ticks + u64::from(!alive),
            ..own
        };
        let mut bytes = header.to_bytes();
        bytes.resize(4096, 0);
        std::fs::write(text(path), bytes).expect("written");
    }

    fn text(path: &PathBytes) -> &str {
        std::str::from_utf8(path.as_bytes()).expect("text")
    }

    fn inode(path: &PathBytes) -> u64 {
        path.id().expect("it is there").1
    }

    /// A folder with the names `out.hg` and `.out.hg.tmp`.
    fn folder() -> (tempfile::TempDir, PathBytes, Box<Names>) {
        let folder = tempfile::tempdir().expect("a folder");
        let place = folder.path().to_str().expect("text");
        let hidden = path(&format!("{place}/.out.hg.tmp"));
        // SAFETY: all-zero bytes are empty names.
        let mut names: Box<Names> = unsafe { Box::new(std::mem::zeroed()) };
        names.name = path(&format!("{place}/out.hg"));
        recording(&hidden, state::RUNNING, true);
        (folder, hidden, names)
    }

    type Replace = fn(&PathBytes, &mut Names, &Old) -> Result<bool, Refused>;

    /// As [`replace_old`] does where the file system can exchange names.
    fn by_exchange(hidden: &PathBytes, names: &mut Names, old: &Old) -> Result<bool, Refused> {
        rename(hidden, &names.name, libc::RENAME_EXCHANGE).expect("exchanged");
        check_exchanged(hidden, names, old)
    }

    const WAYS: [Replace; 2] = [by_exchange, move_aside];

    #[test]
    fn a_dead_recording_makes_room() {
        for replace in WAYS {
            for state in [state::FINISHED, state::RUNNING] {
                let (folder, hidden, mut names) = folder();
                recording(&names.name, state, false);
                let new = inode(&hidden);
                let Occupant::Old(old) = occupant(&names.name, &mut names.scratch) else {
                    panic!("nobody writes to it");
                };
                let replaced = replace(&hidden, &mut names, &old);
                assert_eq!(replaced, Ok(true));
                assert_eq!(inode(&names.name), new);
                assert_eq!(std::fs::read_dir(folder.path()).expect("read").count(), 1);
            }
        }
    }

    #[test]
    fn a_recording_that_came_between_looking_and_renaming_gets_its_name_back() {
        for replace in WAYS {
            // One that lives, and one that has just finished: neither is the one that was looked at.
            for state in [state::RUNNING, state::FINISHED] {
                let (folder, hidden, mut names) = folder();
                recording(&names.name, state::FINISHED, false);
                let Occupant::Old(old) = occupant(&names.name, &mut names.scratch) else {
                    panic!("nobody writes to it");
                };
                let others = path(&format!("{}/others", folder.path().display()));
                recording(&others, state, state == state::RUNNING);
                let (new, other) = (inode(&hidden), inode(&others));
                rename(&others, &names.name, 0).expect("renamed");
                assert_eq!(replace(&hidden, &mut names, &old), Ok(false));
                assert_eq!((inode(&hidden), inode(&names.name)), (new, other));
                assert_eq!(std::fs::read_dir(folder.path()).expect("read").count(), 2);
            }
        }
    }

    #[test]
    fn while_somebody_else_replaces_a_recording_nobody_does() {
        let (folder, hidden, mut names) = folder();
        recording(&names.name, state::FINISHED, false);
        let before = (inode(&hidden), inode(&names.name));
        let other = sys::File::open(names.name.as_c(), libc::O_RDONLY, 0).expect("opened");
        other.try_lock().expect("locked");
        assert_eq!(replace_old(&hidden, &mut names), Ok(false));
        assert_eq!((inode(&hidden), inode(&names.name)), before);
        drop(other);
        assert_eq!(replace_old(&hidden, &mut names), Ok(true));
        assert_eq!(inode(&names.name), before.0);
        assert_eq!(std::fs::read_dir(folder.path()).expect("read").count(), 1);
    }

    #[test]
    fn what_is_no_recording_or_lives_is_not_replaced() {
        let (_folder, hidden, mut names) = folder();
        std::fs::write(text(&names.name), "a letter").expect("written");
        let foreign = Refused::new(
            "a file that is not a recording of yours is in the way",
            libc::EEXIST,
        );
        assert_eq!(replace_old(&hidden, &mut names), Err(foreign));
        recording(&names.name, state::RUNNING, true);
        assert_eq!(replace_old(&hidden, &mut names), Ok(false));
        recording(&names.name, state::FINISHED, true);
        let replaced = replace_old(&hidden, &mut names);
        assert_eq!(replaced, Ok(false), "this process's own");
        recording(&names.name, state::ELSEWHERE, true);
        assert_eq!(replace_old(&hidden, &mut names), Ok(false));
        std::fs::remove_file(text(&names.name)).expect("removed");
        std::os::unix::fs::symlink("/dev/null", text(&names.name)).expect("a link");
        assert_eq!(replace_old(&hidden, &mut names), Err(foreign));
    }
}
