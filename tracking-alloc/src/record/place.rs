//! Where a recording goes: the pattern of `HEAPGLASS_OUT`, taken paths, file systems that cannot carry it live.
//!
//! Never truncates a file, never shares one: a new inode is made under a temporary name and then gets its own.

use super::publish::{Names, publish};
use super::signature::Signature;
use super::{PathBytes, Refused};
use crate::sys::{self, File};
use tracking_alloc_recording::{PathPiece, path_pieces, state};

/// A new file for a live recording. It has a temporary name until it is a recording: nobody ever sees half a beginning.
pub(crate) struct Live {
    paths: &'static mut Paths,
    pub(crate) status: libc::stat,
    /// The recording is not where it was wanted: that file system cannot carry a live mapping.
    is_elsewhere: bool,
}

/// Names on the way to a new file, too large for the program's stack. All-zero bytes are empty ones.
struct Paths {
    wanted: PathBytes,
    /// Where the recording goes: the wanted path, or elsewhere.
    target: PathBytes,
    /// Where it is until it has its name.
    hidden: PathBytes,
    /// The name it got, when a pointer to it gets another.
    live: PathBytes,
    names: Names,
}

impl Live {
    /// Where the file is now.
    pub(crate) fn path(&self) -> &PathBytes {
        &self.paths.hidden
    }

    /// Gives the file its name: that name, and where a pointer to it was left, when it is not where it was wanted.
    pub(crate) fn name(&mut self) -> Result<(&PathBytes, Option<&PathBytes>), Refused> {
        let paths = &mut *self.paths;
        publish(
            &paths.hidden,
            &paths.target,
            &mut paths.names,
            !self.is_elsewhere,
        )?;
        if !self.is_elsewhere {
            return Ok((&paths.names.name, None));
        }
        paths.live.set(&paths.names.name);
        if let Err(refused) = paths.leave_pointer() {
            paths.live.remove();
            return Err(refused);
        }
        Ok((&paths.live, Some(&paths.names.name)))
    }

    /// Removes the file that got no name.
    pub(crate) fn discard(&self) {
        let ours = (self.status.st_dev, self.status.st_ino);
        let hidden = &self.paths.hidden;
        if hidden
            .status()
            .is_some_and(|status| (status.st_dev, status.st_ino) == ours)
        {
            hidden.remove();
        }
    }
}

/// The path that a pattern means for this process; `None` when it is empty or too long.
pub(crate) fn expand_pattern(pattern: &[u8], program: &[u8]) -> Option<PathBytes> {
    let mut path = PathBytes::empty();
    for piece in path_pieces(pattern) {
        let fits = match piece {
            PathPiece::Bytes(bytes) => path.push(bytes),
            PathPiece::Process => path.push_number(std::process::id().into()),
            PathPiece::Program => path.push(program),
            PathPiece::Started => path.push_number(sys::unix_ns() / 1_000_000_000),
        };
        if !fits {
            return None;
        }
    }
    (!path.as_bytes().is_empty()).then_some(path)
}

/// Makes the file for a live recording: at the wanted path, or elsewhere with a pointer left at the wanted path.
///
/// `reserve` bytes are reserved as a trial: whether the file system can carry a mapping is only known by trying.
pub(crate) fn open_live(wanted: &[u8], reserve: u64) -> Result<Live, Refused> {
    let Some(mut place) = sys::Bump::new().take::<Paths>(1) else {
        return Err(Refused {
            what: "no memory for its path",
            errno: libc::ENOMEM,
        });
    };
    // SAFETY: zeroed memory for one value, nobody else's and never given back; zeros are empty paths.
    let paths: &'static mut Paths = unsafe { place.as_mut() };
    absolute(wanted, &mut paths.wanted)?;
    paths.target.set(&paths.wanted);
    if let Some(status) = create(&paths.target, &mut paths.hidden, reserve)? {
        return Ok(Live {
            paths,
            status,
            is_elsewhere: false,
        });
    }
    elsewhere(paths, reserve)
}

/// The recording on a file system that can carry it, with a pointer at the wanted path.
fn elsewhere(paths: &'static mut Paths, reserve: u64) -> Result<Live, Refused> {
    let folders = [
        sys::environment(b"XDG_RUNTIME_DIR"),
        Some(b"/dev/shm".as_slice()),
    ];
    for folder in folders
        .into_iter()
        .flatten()
        .filter(|folder| folder.first() == Some(&b'/'))
    {
        let path = &mut paths.target;
        path.clear();
        let named = path.push(folder)
            && path.push(b"/heapglass-")
            && path.push_number(std::process::id().into());
        if !(named && path.push(b"-") && path.push(paths.wanted.file_name())) {
            continue;
        }
        if let Ok(Some(status)) = create(path, &mut paths.hidden, reserve) {
            return Ok(Live {
                paths,
                status,
                is_elsewhere: true,
            });
        }
    }
    Err(Refused {
        what: "its file system cannot carry a live recording, and neither $XDG_RUNTIME_DIR nor /dev/shm can",
        errno: 0,
    })
}

impl Paths {
    /// Leaves a file at the wanted path that only says where the recording is.
    fn leave_pointer(&mut self) -> Result<(), Refused> {
        let signature = Signature::new(state::ELSEWHERE);
        let file = create_temporary(&self.wanted, &mut self.hidden)?;
        let written = super::pointer::write(&file, &signature, self.live.as_bytes());
        drop(file);
        let left = match written {
            Ok(()) => publish(&self.hidden, &self.wanted, &mut self.names, true),
            Err(errno) => Err(Refused {
                what: "cannot write there",
                errno,
            }),
        };
        if left.is_err() {
            self.hidden.remove();
        }
        left
    }
}

/// Makes a path absolute, without asking the file system more than for the working directory.
fn absolute(path: &[u8], whole: &mut PathBytes) -> Result<(), Refused> {
    if path.first() != Some(&b'/') {
        // SAFETY: the buffer is valid for its length; getcwd is a plain system call.
        let length = unsafe {
            libc::syscall(
                libc::SYS_getcwd,
                whole.bytes.as_mut_ptr(),
                PathBytes::MAX - 1,
            )
        };
        if length <= 1 {
            return Err(Refused {
                what: "the working directory is gone",
                errno: sys::Errno::current(),
            });
        }
        whole.len = length as usize - 1;
        if !whole.push(b"/") {
            return Err(Refused::too_long());
        }
    }
    if whole.push(path) && !whole.file_name().is_empty() {
        Ok(())
    } else {
        Err(Refused::too_long())
    }
}

/// File systems whose reserved blocks stay reserved and whose shared mappings can be relied on. An overlay passes
/// both through to its upper file system: it counts when reserving succeeds.
const CARRYING: [i64; 4] = [0xEF53, 0x5846_5342, 0x0102_1994, 0x794C_7630];

/// Creates the temporary file beside `path` and tries to reserve blocks: what it is, with its name in `hidden`, or
/// `None` where the file system cannot carry a live recording.
fn create(
    path: &PathBytes,
    hidden: &mut PathBytes,
    reserve: u64,
) -> Result<Option<libc::stat>, Refused> {
    let signature = Signature::new(state::RUNNING);
    let file = create_temporary(path, hidden)?;
    let reserved = reserve_in(&file, &signature, reserve);
    if !matches!(reserved, Ok(Some(_))) {
        hidden.remove();
    }
    reserved
}

fn reserve_in(
    file: &File,
    signature: &Signature,
    reserve: u64,
) -> Result<Option<libc::stat>, Refused> {
    if !CARRYING.contains(&file.file_system()) {
        return Ok(None);
    }
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: `limit` is valid to write into.
    if unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &mut limit) } == 0 && reserve > limit.rlim_cur {
        return Err(Refused {
            what: "the file size limit (ulimit -f) is below the smallest recording",
            errno: libc::EFBIG,
        });
    }
    let status = signature
        .write(file)
        .and_then(|()| file.reserve(0, reserve))
        .and_then(|()| file.status());
    match status {
        Ok(status) => Ok(Some(status)),
        Err(libc::EOPNOTSUPP | libc::ENOSYS) => Ok(None),
        Err(errno) => Err(Refused {
            what: "cannot reserve disk space there",
            errno,
        }),
    }
}

/// A new file beside `path`. A name left behind by a killed process of the same number is passed over.
fn create_temporary(path: &PathBytes, hidden: &mut PathBytes) -> Result<File, Refused> {
    const TRIES: u64 = 100_000;
    let flags = libc::O_RDWR | libc::O_CREAT | libc::O_EXCL | libc::O_NOFOLLOW;
    let mut errno = libc::EEXIST;
    for attempt in 0..TRIES {
        if !name_temporary(path, attempt, hidden) {
            return Err(Refused::too_long());
        }
        match File::open(hidden.as_c(), flags, 0o600) {
            Ok(file) => return Ok(file),
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

fn name_temporary(path: &PathBytes, attempt: u64, hidden: &mut PathBytes) -> bool {
    hidden.clear();
    hidden.push(path.folder())
        && hidden.push(b".")
        && hidden.push(path.file_name())
        && hidden.push(b".")
        && hidden.push_number(std::process::id().into())
        && (attempt == 0 || hidden.push(b".") && hidden.push_number(attempt))
        && hidden.push(b".tmp")
}
