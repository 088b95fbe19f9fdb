//! Giving a new recording its name. A path that is taken gets a suffix; only at the wanted path itself, and only a
//! recording of ours whose writer is proved dead, is replaced.
//!
//! Looking and renaming are two steps, and others do the same at the same time. So nothing is deleted that was not
//! looked at after it had lost its name: what comes out of an exchange and is not what went in gets its name back. Those
//! who want to replace the same recording take turns.

use super::occupant::{Occupant, Old, Scratch, Turn, occupant, remove_old, turn};
use super::{PathBytes, Refused};
use crate::sys;

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

/// How replacing ended.
enum Replaced {
    Done,
    /// The path is somebody's who may live.
    Taken,
    /// The path is no recording of ours.
    Foreign,
    Failed(i32),
}

/// Gives the file at `hidden` the name `wanted`, with a suffix when that is taken: `names.name` is what it got.
/// With `replace` an old recording at `wanted` makes room.
pub(super) fn publish(
    hidden: &PathBytes,
    wanted: &PathBytes,
    names: &mut Names,
    replace: bool,
) -> Result<(), Refused> {
    let failed = |errno| Refused {
        what: "cannot name the new file",
        errno,
    };
    for attempt in 0..SUFFIXES {
        if !suffixed(wanted, attempt, std::process::id(), &mut names.name) {
            return Err(failed(libc::ENAMETOOLONG));
        }
        match place(hidden, &names.name) {
            Ok(()) => return Ok(()),
            Err(libc::EEXIST) if attempt == 0 && replace => match replace_old(hidden, names) {
                Replaced::Done => return Ok(()),
                Replaced::Taken => {}
                Replaced::Foreign => {
                    return Err(Refused {
                        what: "a file that is not a recording of yours is in the way",
                        errno: libc::EEXIST,
                    });
                }
                Replaced::Failed(errno) => return Err(failed(errno)),
            },
            Err(libc::EEXIST) => {}
            Err(errno) => return Err(failed(errno)),
        }
    }
    Err(Refused {
        what: "the path and its suffixes are all taken",
        errno: libc::EEXIST,
    })
}

/// `NAME.hg`, `NAME-PID.hg`, `NAME-PID-START.hg`, then further numbers. False when that is too long.
fn suffixed(wanted: &PathBytes, attempt: u64, pid: u32, name: &mut PathBytes) -> bool {
    let (stem, extension) = wanted.split_extension();
    name.clear();
    name.push(stem)
        && (attempt < 1 || name.push(b"-") && name.push_number(pid.into()))
        && (attempt < 2 || name.push(b"-") && name.push_number(sys::start_ticks()))
        && (attempt < 3 || name.push(b"-") && name.push_number(attempt - 1))
        && name.push(extension)
}

/// Takes the path `names.name` from an old recording.
fn replace_old(hidden: &PathBytes, names: &mut Names) -> Replaced {
    for _ in 0..TRIES {
        let old = match occupant(&names.name, &mut names.scratch) {
            Occupant::Foreign => return Replaced::Foreign,
            Occupant::Live => return Replaced::Taken,
            Occupant::Nothing => match place(hidden, &names.name) {
                Ok(()) => return Replaced::Done,
                Err(libc::EEXIST) => continue,
                Err(errno) => return Replaced::Failed(errno),
            },
            Occupant::Old(old) => old,
        };
        let _turn = match turn(&names.name, &old) {
            Turn::Mine(turn) => turn,
            Turn::Gone => continue,
            Turn::Others => {
                // SAFETY: no preconditions.
                unsafe { libc::sched_yield() };
                continue;
            }
        };
        let swapped = match rename(hidden, &names.name, libc::RENAME_EXCHANGE) {
            Ok(()) => check_exchanged(hidden, names, &old),
            // It went away meanwhile.
            Err(libc::ENOENT) => None,
            Err(errno) if is_unsupported(errno) => move_aside(hidden, names, &old),
            Err(errno) => Some(Replaced::Failed(errno)),
        };
        if let Some(replaced) = swapped {
            return replaced;
        }
    }
    Replaced::Taken
}

/// The new file has the name, and what had it is at `hidden`: deletes that when it is the old recording looked at
/// before. `None`: it was not, and has its name back.
fn check_exchanged(hidden: &PathBytes, names: &mut Names, old: &Old) -> Option<Replaced> {
    match occupant(hidden, &mut names.scratch) {
        Occupant::Old(found) if found.is_same(old) => {
            remove_old(hidden, &found, &mut names.scratch);
            Some(Replaced::Done)
        }
        _ => match rename(hidden, &names.name, libc::RENAME_EXCHANGE) {
            Ok(()) => None,
            Err(errno) => {
                // Somebody removed the new file: nothing is left to be named.
                give_back(hidden, names);
                Some(Replaced::Failed(errno))
            }
        },
    }
}

/// The same where names cannot be exchanged: the path has no file for a moment.
fn move_aside(hidden: &PathBytes, names: &mut Names, old: &Old) -> Option<Replaced> {
    names.aside.clear();
    if !(names.aside.push(hidden.as_bytes()) && names.aside.push(b".old")) {
        return Some(Replaced::Failed(libc::ENAMETOOLONG));
    }
    match place(&names.name, &names.aside) {
        Ok(()) => {}
        Err(libc::ENOENT) => return None,
        Err(errno) => return Some(Replaced::Failed(errno)),
    }
    let found = match occupant(&names.aside, &mut names.scratch) {
        Occupant::Old(found) if found.is_same(old) => found,
        _ => {
            put_back(names);
            return None;
        }
    };
    match place(hidden, &names.name) {
        Ok(()) => {
            remove_old(&names.aside, &found, &mut names.scratch);
            Some(Replaced::Done)
        }
        Err(errno) => {
            put_back(names);
            (errno != libc::EEXIST).then_some(Replaced::Failed(errno))
        }
    }
}

/// What waits aside gets its name back.
fn put_back(names: &mut Names) {
    let aside = names.aside;
    give_back(&aside, names);
}

/// The file at `from` gets the name `names.name` back, or that with a suffix: it must not be lost.
#[cold]
fn give_back(from: &PathBytes, names: &mut Names) {
    let wanted = names.name;
    for attempt in 0..SUFFIXES {
        if !suffixed(&wanted, attempt, std::process::id(), &mut names.name)
            || place(from, &names.name) != Err(libc::EEXIST)
        {
            break;
        }
    }
    names.name = wanted;
}

/// Gives a file a name that nobody has: `EEXIST` when somebody does.
fn place(from: &PathBytes, to: &PathBytes) -> Result<(), i32> {
    match rename(from, to, libc::RENAME_NOREPLACE) {
        Err(errno) if is_unsupported(errno) => {}
        renamed => return renamed,
    }
    match link(from, to) {
        Ok(()) => {
            from.remove();
            return Ok(());
        }
        Err(libc::EEXIST) => return Err(libc::EEXIST),
        Err(_) => {}
    }
    // Neither way is known here: whoever comes between these two calls is replaced.
    if to.exists() {
        Err(libc::EEXIST)
    } else {
        rename(from, to, 0)
    }
}

/// Whether a kernel, a file system or a sandbox does not know a way of renaming.
fn is_unsupported(errno: i32) -> bool {
    matches!(
        errno,
        libc::EINVAL | libc::ENOSYS | libc::EOPNOTSUPP | libc::EPERM
    )
}

fn link(from: &PathBytes, to: &PathBytes) -> Result<(), i32> {
    let (from, to) = (from.as_c(), to.as_c());
    // SAFETY: both paths are NUL-terminated.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_linkat,
            libc::AT_FDCWD,
            from.as_ptr(),
            libc::AT_FDCWD,
            to.as_ptr(),
            0,
        )
    };
    if answer == 0 {
        Ok(())
    } else {
        Err(sys::Errno::current())
    }
}

fn rename(from: &PathBytes, to: &PathBytes, flags: libc::c_uint) -> Result<(), i32> {
    let (from, to) = (from.as_c(), to.as_c());
    // SAFETY: both paths are NUL-terminated.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_renameat2,
            libc::AT_FDCWD,
            from.as_ptr(),
            libc::AT_FDCWD,
            to.as_ptr(),
            flags,
        )
    };
    if answer == 0 {
        Ok(())
    } else {
        Err(sys::Errno::current())
    }
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
        use std::mem::offset_of;
        use tracking_alloc_recording::{Header, MAGIC};
        let mut bytes = vec![0; 4096];
        let mut put = |offset: usize, word: &[u8]| {
            bytes[offset..offset + word.len()].copy_from_slice(word);
        };
        let start = sys::start_ticks() + u64::from(!alive);
        put(offset_of!(Header, magic), &MAGIC.to_le_bytes());
        put(offset_of!(Header, state), &state.to_le_bytes());
        put(offset_of!(Header, pid), &std::process::id().to_le_bytes());
        put(offset_of!(Header, start_ticks), &start.to_le_bytes());
        put(
            offset_of!(Header, boot_id),
            &sys::boot_id()[0].to_le_bytes(),
        );
        put(
            offset_of!(Header, boot_id) + 8,
            &sys::boot_id()[1].to_le_bytes(),
        );
        put(
            offset_of!(Header, pid_namespace),
            &sys::pid_namespace().to_le_bytes(),
        );
        std::fs::write(text(path), bytes).expect("written");
    }

    fn text(path: &PathBytes) -> &str {
        std::str::from_utf8(path.as_bytes()).expect("text")
    }

    fn inode(path: &PathBytes) -> u64 {
        path.status().expect("it is there").st_ino
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

    type Replace = fn(&PathBytes, &mut Names, &Old) -> Option<Replaced>;

    /// As [`replace_old`] does where the file system can exchange names.
    fn by_exchange(hidden: &PathBytes, names: &mut Names, old: &Old) -> Option<Replaced> {
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
                assert!(matches!(replaced, Some(Replaced::Done)));
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
                assert!(replace(&hidden, &mut names, &old).is_none());
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
        assert!(matches!(replace_old(&hidden, &mut names), Replaced::Taken));
        assert_eq!((inode(&hidden), inode(&names.name)), before);
        drop(other);
        assert!(matches!(replace_old(&hidden, &mut names), Replaced::Done));
        assert_eq!(inode(&names.name), before.0);
        assert_eq!(std::fs::read_dir(folder.path()).expect("read").count(), 1);
    }

    #[test]
    fn what_is_no_recording_or_lives_is_not_replaced() {
        let (_folder, hidden, mut names) = folder();
        std::fs::write(text(&names.name), "a letter").expect("written");
        assert!(matches!(
            replace_old(&hidden, &mut names),
            Replaced::Foreign
        ));
        recording(&names.name, state::RUNNING, true);
        assert!(matches!(replace_old(&hidden, &mut names), Replaced::Taken));
        recording(&names.name, state::FINISHED, true);
        let replaced = replace_old(&hidden, &mut names);
        assert!(matches!(replaced, Replaced::Taken), "this process's own");
        recording(&names.name, state::ELSEWHERE, true);
        assert!(matches!(replace_old(&hidden, &mut names), Replaced::Taken));
        std::fs::remove_file(text(&names.name)).expect("removed");
        std::os::unix::fs::symlink("/dev/null", text(&names.name)).expect("a link");
        assert!(matches!(
            replace_old(&hidden, &mut names),
            Replaced::Foreign
        ));
    }
}
