//! Creates the file of a recording: the pattern of `HEAPGLASS_OUT`, paths that are taken, and file
//! systems that cannot hold a live recording.
//!
//! Never truncates or shares a file: a new inode is created under a temporary name and renamed
//! later.

use super::publish::{link_to, publish};
use super::signature::{own_header, sign};
use super::{PathBytes, Refused, place};
use crate::sys::{self, File, FileId};
use std::fmt::Write;
use tracking_alloc_recording::{HeaderValue, PathPiece, path_pieces, state};

/// A new file for a live recording. It has a temporary name until it is a valid recording, so that
/// readers never see an incomplete one.
pub(crate) struct NewFile {
    paths: &'static mut Paths,
    pub(crate) id: FileId,
    /// `true` if the recording is not at the wanted path, because that file system cannot hold a
    /// live mapping.
    is_elsewhere: bool,
}

/// The paths used to create a new file, too large for the program's stack. All-zero bytes are empty
/// paths.
struct Paths {
    wanted: PathBytes,
    /// The path for the recording: the wanted path, or one in another place.
    target: PathBytes,
    /// The temporary path.
    hidden: PathBytes,
    /// The final path of the recording.
    name: PathBytes,
    /// The path of the link in the wanted folder, if the recording is in another place.
    link: PathBytes,
}

impl NewFile {
    /// Returns the current path of the file.
    pub(crate) fn path(&self) -> &PathBytes {
        &self.paths.hidden
    }

    /// Gives the file its final path and returns it. If the recording is in another place, a link
    /// is created at the wanted path.
    pub(crate) fn name(&mut self) -> Result<&PathBytes, Refused> {
        let paths = &mut *self.paths;
        publish(&paths.hidden, &paths.target, &mut paths.name)?;
        if self.is_elsewhere && link_to(&paths.name, &paths.wanted, &mut paths.link).is_err() {
            // This file system has no links either, so only this line tells where the recording is.
            sys::write_stderr(&[
                b"heapglass: recording to ",
                paths.name.as_bytes(),
                b", because a live recording cannot be written to ",
                paths.wanted.as_bytes(),
                b"\n",
            ]);
        }
        Ok(&paths.name)
    }

    /// Removes a file that did not get its final path.
    pub(crate) fn discard(&self) {
        if self.paths.hidden.id() == Some(self.id) {
            self.paths.hidden.remove();
        }
    }
}

/// Returns the path that a pattern stands for in this process.
pub(crate) fn expand_pattern(pattern: &[u8], program: &[u8]) -> Result<PathBytes, Refused> {
    let mut path = PathBytes::empty();
    for piece in path_pieces(pattern) {
        let fits = match piece {
            PathPiece::Bytes(bytes) => path.push(bytes),
            PathPiece::Process => write!(path, "{}", std::process::id()).is_ok(),
            PathPiece::Program => path.push(program),
            PathPiece::Started => write!(path, "{}", sys::unix_ns() / 1_000_000_000).is_ok(),
            PathPiece::Unknown => {
                return Err(
                    Refused::new("unknown % in HEAPGLASS_OUT", 0).advise("use %p, %e, %t or %%")
                );
            }
        };
        if !fits {
            return Err(Refused::new("HEAPGLASS_OUT is too long", 0).advise("use a shorter path"));
        }
    }
    if path.file_name().is_empty() {
        return Err(
            Refused::new("HEAPGLASS_OUT names a folder", 0).advise("name a file in that folder")
        );
    }
    Ok(path)
}

/// Creates the file for a live recording: at the wanted path, or in the [`place`] for live
/// recordings.
///
/// Reserves `reserve` bytes as a trial, the only way to find out if the file system can hold a
/// mapping.
pub(crate) fn create_file(wanted: &[u8], reserve: u64) -> Result<NewFile, Refused> {
    let Some(mut place) = sys::Bump::new().take::<Paths>(1) else {
        return Err(Refused::new(
            "not enough memory to build the path",
            libc::ENOMEM,
        ));
    };
    // SAFETY: zeroed memory for one value, which nobody else has before the next recording begins.
    // Zeros are empty paths.
    let paths: &'static mut Paths = unsafe { place.as_mut() };
    absolute(wanted, &mut paths.wanted)?;
    if paths.wanted.is_no_file() {
        // For a path such as /dev/null, a file with a suffix next to it is not wanted.
        return Err(
            Refused::new("the path is not a regular file", libc::EEXIST).advise("use another path")
        );
    }
    paths.target.set(&paths.wanted);
    let id = create(&paths.target, &mut paths.hidden, reserve)?;
    let is_elsewhere = id.is_none();
    let Some(id) = id.or_else(|| paths.create_elsewhere(reserve)) else {
        return Err(Refused::new(
            "a live recording cannot be written to its file system, to $XDG_RUNTIME_DIR or to /dev/shm",
            0,
        )
        .advise("record to ext4, XFS or tmpfs"));
    };
    Ok(NewFile {
        paths,
        id,
        is_elsewhere,
    })
}

impl Paths {
    fn create_elsewhere(&mut self, reserve: u64) -> Option<FileId> {
        place::folders().find_map(|base| {
            let is_named = place::open(base, &mut self.target)
                && self.target.push(b"/")
                && self.target.push(self.wanted.file_name());
            let created = is_named.then(|| create(&self.target, &mut self.hidden, reserve));
            created?.ok()?
        })
    }
}

/// Makes a path absolute. The only request to the file system is for the working directory.
fn absolute(path: &[u8], whole: &mut PathBytes) -> Result<(), Refused> {
    if path.first() != Some(&b'/') {
        // SAFETY: the buffer is valid for its length, and getcwd is a plain system call.
        let length = unsafe {
            libc::syscall(
                libc::SYS_getcwd,
                whole.bytes.as_mut_ptr(),
                PathBytes::MAX - 1,
            )
        };
        if length <= 1 {
            let errno = sys::Errno::current();
            return Err(
                Refused::new("the working directory does not exist any more", errno)
                    .advise("use an absolute path"),
            );
        }
        whole.len = length as usize - 1;
        if !whole.push(b"/") {
            return Err(Refused::TOO_LONG);
        }
    }
    let is_whole = whole.push(path) && !whole.file_name().is_empty();
    is_whole.then_some(()).ok_or(Refused::TOO_LONG)
}

/// File systems that keep reserved blocks and have reliable shared mappings. An overlay passes both
/// through to its upper file system, and is accepted if reserving succeeds.
const CARRYING: [i64; 4] = [0xEF53, 0x5846_5342, 0x0102_1994, 0x794C_7630];

/// Creates the temporary file next to `path`, with its path in `hidden`, and tries to reserve
/// blocks. Returns the file's identity, or `None` if the file system cannot hold a live recording.
fn create(
    path: &PathBytes,
    hidden: &mut PathBytes,
    reserve: u64,
) -> Result<Option<FileId>, Refused> {
    // NOTE: made before the file, so that the file is without its signature only for a very short
    // time.
    let signature = own_header(state::RUNNING);
    let file = create_temporary(path, hidden)?;
    let reserved = reserve_in(&file, &signature, reserve);
    if !matches!(reserved, Ok(Some(_))) {
        hidden.remove();
    }
    reserved
}

fn reserve_in(
    file: &File,
    signature: &HeaderValue,
    reserve: u64,
) -> Result<Option<FileId>, Refused> {
    if !CARRYING.contains(&file.file_system()) {
        return Ok(None);
    }
    if sys::limit(libc::RLIMIT_FSIZE).is_some_and(|limit| reserve > limit) {
        return Err(Refused::new(
            "the file size limit is below the smallest recording",
            libc::EFBIG,
        )
        .advise("raise it (ulimit -f)"));
    }
    let status = sign(file, signature)
        .and_then(|()| file.reserve(0, reserve))
        .and_then(|()| file.status());
    match status {
        Ok(status) => Ok(Some(sys::file_id(&status))),
        Err(libc::EOPNOTSUPP | libc::ENOSYS) => Ok(None),
        Err(errno) => Err(Refused::new(
            "cannot reserve disk space for the recording",
            errno,
        )),
    }
}

/// Creates a new file next to `path`. Skips names left behind by a killed process with the same ID.
fn create_temporary(path: &PathBytes, hidden: &mut PathBytes) -> Result<File, Refused> {
    const TRIES: u64 = 100_000;
    let flags = libc::O_RDWR | libc::O_CREAT | libc::O_EXCL | libc::O_NOFOLLOW;
    let mut errno = libc::EEXIST;
    for attempt in 0..TRIES {
        if !name_temporary(path, attempt, hidden) {
            return Err(Refused::TOO_LONG);
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
    Err(Refused::new(
        "cannot create the recording in that folder",
        errno,
    ))
}

fn name_temporary(path: &PathBytes, attempt: u64, hidden: &mut PathBytes) -> bool {
    hidden.clear();
    if !(hidden.push(path.folder()) && hidden.push(b".") && hidden.push(path.file_name())) {
        return false;
    }
    let pid = std::process::id();
    let suffix = match attempt {
        0 => write!(hidden, ".{pid}.tmp"),
        _ => write!(hidden, ".{pid}.{attempt}.tmp"),
    };
    suffix.is_ok()
}
