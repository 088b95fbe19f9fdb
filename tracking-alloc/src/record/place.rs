//! Where a recording goes: the pattern of `HEAPGLASS_OUT`, taken paths, file systems that cannot carry it live.
//!
//! Never truncates a file, never shares one: a new inode is made under a temporary name and then linked or renamed.

use super::PathBytes;
use crate::sys::{self, File};
use tracking_alloc_recording::{HEADER_BYTES, Header, MAGIC, Record, state};

/// A new file for a live recording. It has a temporary name until it is a recording: nobody ever sees half a beginning.
pub(crate) struct Live {
    /// Where it is now.
    pub(crate) path: PathBytes,
    pub(crate) status: libc::stat,
    /// Where it goes.
    target: PathBytes,
    /// Where it was wanted, when that is elsewhere (its file system cannot carry a live mapping).
    wanted: Option<PathBytes>,
}

impl Live {
    /// Gives the file its name: that name, and where a pointer to it was left, when it is not where it was wanted.
    pub(crate) fn name(&self) -> Result<(PathBytes, Option<PathBytes>), Refused> {
        let path = publish(&self.path, &self.target)?;
        let Some(wanted) = &self.wanted else {
            return Ok((path, None));
        };
        match leave_pointer(wanted, &path) {
            Ok(wanted) => Ok((path, Some(wanted))),
            Err(refused) => {
                remove(&path);
                Err(refused)
            }
        }
    }

    /// Removes the file that got no name.
    pub(crate) fn discard(&self) {
        remove(&self.path);
    }
}

/// Why no file could be made: what was tried, and the errno (0 = none applies).
pub(crate) struct Refused {
    pub(crate) what: &'static str,
    pub(crate) errno: i32,
}

fn refused(what: &'static str) -> impl FnOnce(i32) -> Refused {
    move |errno| Refused { what, errno }
}

/// Replaces `%p` (process id), `%e` (program), `%t` (start, seconds since the epoch) and `%%`; other pairs stay.
pub(crate) fn expand_pattern(pattern: &[u8], program: &[u8]) -> Option<PathBytes> {
    let mut path = PathBytes::empty();
    let mut rest = pattern;
    while let Some((&first, tail)) = rest.split_first() {
        let fits = match (first, tail.first()) {
            (b'%', Some(b'p')) => path.push_number(std::process::id().into()),
            (b'%', Some(b'e')) => path.push(program),
            (b'%', Some(b't')) => path.push_number(sys::unix_ns() / 1_000_000_000),
            (b'%', Some(b'%')) => path.push(b"%"),
            _ => {
                if !path.push(&[first]) {
                    return None;
                }
                rest = tail;
                continue;
            }
        };
        if !fits {
            return None;
        }
        rest = &tail[1..];
    }
    (!path.as_bytes().is_empty()).then_some(path)
}

/// Makes the file for a live recording: at the wanted path, or elsewhere with a pointer left at the wanted path.
///
/// `reserve` bytes are reserved as a trial: whether the file system can carry a mapping is only known by trying.
pub(crate) fn open_live(wanted: &[u8], reserve: u64) -> Result<Live, Refused> {
    let path = absolute(wanted)?;
    match create(&path, reserve)? {
        Some((file, temporary)) => {
            let status = file
                .status()
                .map_err(refused("cannot examine the new file"))?;
            Ok(Live {
                path: temporary,
                status,
                target: path,
                wanted: None,
            })
        }
        None => elsewhere(&path, reserve),
    }
}

/// The recording on a file system that can carry it, with a pointer at the wanted path.
fn elsewhere(wanted: &PathBytes, reserve: u64) -> Result<Live, Refused> {
    let folders = [
        sys::environment(b"XDG_RUNTIME_DIR"),
        Some(b"/dev/shm".as_slice()),
    ];
    for folder in folders
        .into_iter()
        .flatten()
        .filter(|folder| folder.first() == Some(&b'/'))
    {
        let mut path = PathBytes::empty();
        let named = path.push(folder)
            && path.push(b"/heapglass-")
            && path.push_number(std::process::id().into());
        if !(named && path.push(b"-") && path.push(wanted.file_name())) {
            continue;
        }
        let Ok(Some((file, temporary))) = create(&path, reserve) else {
            continue;
        };
        let status = file
            .status()
            .map_err(refused("cannot examine the new file"))?;
        return Ok(Live {
            path: temporary,
            status,
            target: path,
            wanted: Some(*wanted),
        });
    }
    Err(Refused {
        what: "its file system cannot carry a live recording, and neither $XDG_RUNTIME_DIR nor /dev/shm can",
        errno: 0,
    })
}

/// Writes a header that only says where the recording is.
fn leave_pointer(wanted: &PathBytes, live: &PathBytes) -> Result<PathBytes, Refused> {
    let (file, temporary) = create_temporary(wanted)?;
    let written = super::pointer::write(&file, live.as_bytes());
    drop(file);
    if let Err(errno) = written {
        remove(&temporary);
        return Err(Refused {
            what: "cannot write there",
            errno,
        });
    }
    publish(&temporary, wanted)
}

fn absolute(path: &[u8]) -> Result<PathBytes, Refused> {
    let too_long = || Refused {
        what: "the path is too long",
        errno: libc::ENAMETOOLONG,
    };
    let mut whole = PathBytes::empty();
    if path.first() != Some(&b'/') {
        let mut folder = [0u8; 4096];
        // SAFETY: the buffer is valid for its length; getcwd is a plain system call.
        let length = unsafe { libc::syscall(libc::SYS_getcwd, folder.as_mut_ptr(), folder.len()) };
        if length <= 1 {
            return Err(Refused {
                what: "the working directory is gone",
                errno: sys::Errno::current(),
            });
        }
        if !whole.push(&folder[..length as usize - 1]) || !whole.push(b"/") {
            return Err(too_long());
        }
    }
    if whole.push(path) && !whole.file_name().is_empty() {
        Ok(whole)
    } else {
        Err(too_long())
    }
}

/// File systems whose reserved blocks stay reserved and whose shared mappings can be relied on. An overlay passes
/// both through to its upper file system: it counts when reserving succeeds.
const CARRYING: [i64; 4] = [0xEF53, 0x5846_5342, 0x0102_1994, 0x794C_7630];

/// Creates the temporary file beside `path` and tries to reserve blocks: the file and its name, or `None` where the
/// file system cannot carry a live recording.
fn create(path: &PathBytes, reserve: u64) -> Result<Option<(File, PathBytes)>, Refused> {
    let (file, temporary) = create_temporary(path)?;
    if !CARRYING.contains(&file.file_system()) {
        remove(&temporary);
        return Ok(None);
    }
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: `limit` is valid to write into.
    if unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &mut limit) } == 0 && reserve > limit.rlim_cur {
        remove(&temporary);
        return Err(Refused {
            what: "the file size limit (ulimit -f) is below the smallest recording",
            errno: libc::EFBIG,
        });
    }
    match file.reserve(0, reserve) {
        Ok(()) => Ok(Some((file, temporary))),
        Err(libc::EOPNOTSUPP | libc::ENOSYS) => {
            remove(&temporary);
            Ok(None)
        }
        Err(errno) => {
            remove(&temporary);
            Err(Refused {
                what: "cannot reserve disk space there",
                errno,
            })
        }
    }
}

/// A new file beside `path`. A name left behind by a killed process of the same number is passed over.
fn create_temporary(path: &PathBytes) -> Result<(File, PathBytes), Refused> {
    let flags = libc::O_RDWR | libc::O_CREAT | libc::O_EXCL | libc::O_NOFOLLOW;
    let mut errno = libc::EEXIST;
    for attempt in 0..32 {
        let name = temporary_name(path, attempt).ok_or(Refused {
            what: "the path is too long",
            errno: libc::ENAMETOOLONG,
        })?;
        match File::open(name.as_c(), flags, 0o600) {
            Ok(file) => return Ok((file, name)),
            Err(libc::EEXIST) => {}
            Err(other) => {
                errno = other;
                break;
            }
        }
    }
    Err(Refused {
        what: "cannot create a file there",
        errno,
    })
}

fn temporary_name(path: &PathBytes, attempt: u64) -> Option<PathBytes> {
    let mut name = PathBytes::empty();
    let whole = name.push(path.folder())
        && name.push(b".")
        && name.push(path.file_name())
        && name.push(b".")
        && name.push_number(std::process::id().into())
        && (attempt == 0 || name.push(b".") && name.push_number(attempt));
    (whole && name.push(b".tmp")).then_some(name)
}

fn remove(path: &PathBytes) {
    // SAFETY: the path is NUL-terminated.
    unsafe { libc::syscall(libc::SYS_unlinkat, libc::AT_FDCWD, path.as_c().as_ptr(), 0) };
}

/// Gives the temporary file its name. A path that is taken gets the process id, then further numbers, as a suffix:
/// only a recording of ours whose writer is gone is replaced.
fn publish(temporary: &PathBytes, path: &PathBytes) -> Result<PathBytes, Refused> {
    for attempt in 0u64..100 {
        let mut name = *path;
        if attempt > 0 && !(name.push(b".") && name.push_number(std::process::id().into())) {
            break;
        }
        if attempt > 1 && !(name.push(b".") && name.push_number(attempt)) {
            break;
        }
        match link(temporary, &name) {
            Ok(()) => {
                remove(temporary);
                return Ok(name);
            }
            Err(libc::EEXIST) => match occupant(&name) {
                Occupant::OldRecording if rename(temporary, &name).is_ok() => return Ok(name),
                Occupant::OldRecording | Occupant::LiveRecording => {}
                Occupant::Foreign => {
                    remove(temporary);
                    return Err(Refused {
                        what: "a file that is not a recording of yours is in the way",
                        errno: libc::EEXIST,
                    });
                }
            },
            // File systems without hard links: rename, after making sure that nothing is there.
            Err(_) if matches!(occupant(&name), Occupant::OldRecording) || !exists(&name) => {
                let renamed = rename(temporary, &name);
                if let Err(errno) = renamed {
                    remove(temporary);
                    return Err(Refused {
                        what: "cannot name the new file",
                        errno,
                    });
                }
                return Ok(name);
            }
            Err(errno) => {
                remove(temporary);
                return Err(Refused {
                    what: "cannot name the new file",
                    errno,
                });
            }
        }
    }
    remove(temporary);
    Err(Refused {
        what: "the path and its suffixes are all taken",
        errno: libc::EEXIST,
    })
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

fn rename(from: &PathBytes, to: &PathBytes) -> Result<(), i32> {
    let (from, to) = (from.as_c(), to.as_c());
    // SAFETY: both paths are NUL-terminated.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_renameat2,
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

fn exists(path: &PathBytes) -> bool {
    // SAFETY: the path is NUL-terminated.
    unsafe {
        libc::syscall(
            libc::SYS_faccessat,
            libc::AT_FDCWD,
            path.as_c().as_ptr(),
            libc::F_OK,
        ) == 0
    }
}

enum Occupant {
    OldRecording,
    LiveRecording,
    Foreign,
}

/// Who holds a path.
fn occupant(path: &PathBytes) -> Occupant {
    let flags = libc::O_RDONLY | libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let Ok(file) = File::open(path.as_c(), flags, 0) else {
        return Occupant::Foreign;
    };
    let Ok(status) = file.status() else {
        return Occupant::Foreign;
    };
    // SAFETY: no preconditions.
    let ours = status.st_uid == unsafe { libc::geteuid() }
        && status.st_mode & libc::S_IFMT == libc::S_IFREG;
    let mut bytes = [0u8; size_of::<Header>()];
    const { assert!(size_of::<Header>() <= HEADER_BYTES as usize) };
    if !ours || file.read_at(&mut bytes, 0) != Ok(bytes.len()) {
        return Occupant::Foreign;
    }
    let header = tracking_alloc_recording::HeaderValue::parse(&bytes);
    if header.magic != MAGIC {
        return Occupant::Foreign;
    }
    if header.state == state::RUNNING && sys::is_running(header.pid, header.start_ticks) {
        return Occupant::LiveRecording;
    }
    Occupant::OldRecording
}
