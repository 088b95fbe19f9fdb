//! Who has a path: nothing, somebody's file, a recording that is perhaps still written, or one that nobody writes to.

use super::PathBytes;
use super::pointer;
use crate::sys::{self, File};
use tracking_alloc_recording::{
    HEADER_BYTES, Header, HeaderValue, Here, MAGIC, ProcessEntry, ProcessStat, Record, Writer,
    is_own_proc, state,
};

/// What is found at a path.
#[derive(Clone, Copy)]
pub(super) enum Occupant {
    /// Nothing, any more.
    Nothing,
    /// Not a recording of ours.
    Foreign,
    /// A recording whose writer is not proved dead.
    Live,
    /// A recording, or a pointer to one, that nobody writes to any more.
    Old(Old),
}

/// A file nobody writes to any more.
#[derive(Clone, Copy)]
pub(super) struct Old {
    /// Device and inode.
    id: (u64, u64),
    /// It only points to the recording.
    is_pointer: bool,
}

impl Old {
    pub(super) fn is_same(&self, other: &Old) -> bool {
        self.id == other.id
    }
}

/// Reads who has `path`. Nothing is followed and nothing waited for; what is asked of a file is asked of one descriptor.
pub(super) fn occupant(path: &PathBytes, scratch: &mut Scratch) -> Occupant {
    match look_at(path) {
        Ok(Some((file, header, id))) => judge(&file, &header, id, scratch),
        Ok(None) => Occupant::Foreign,
        Err(libc::ENOENT) => Occupant::Nothing,
        // No descriptor to look through: whoever it is, may live.
        Err(libc::EMFILE | libc::ENFILE | libc::ENOMEM | libc::EINTR) => Occupant::Live,
        Err(_) => Occupant::Foreign,
    }
}

/// Who may replace an old file.
pub(super) enum Turn {
    /// Whoever keeps this, until it is dropped: `None` where files cannot be locked.
    Mine(Option<File>),
    /// Somebody else, at the moment.
    Others,
    /// Nobody: the path has another file.
    Gone,
}

/// Asks for the turn to replace the old file at a path: a lock on that file. Of three who exchanged names at once, two
/// could end with each other's files.
pub(super) fn turn(path: &PathBytes, old: &Old) -> Turn {
    let flags = libc::O_RDONLY | libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let Ok(file) = File::open(path.as_c(), flags, 0) else {
        return Turn::Gone;
    };
    let locked = file.try_lock();
    if locked == Err(libc::EWOULDBLOCK) {
        return Turn::Others;
    }
    // Only now: whoever had the turn before may have given the path to a file of its own.
    let is_old = |status: Option<libc::stat>| {
        status.is_some_and(|status| (status.st_dev, status.st_ino) == old.id)
    };
    if is_old(file.status().ok()) && is_old(path.status()) {
        Turn::Mine(locked.is_ok().then_some(file))
    } else {
        Turn::Gone
    }
}

/// Buffers that are too large for the program's stack. All-zero bytes are empty ones.
pub(super) struct Scratch {
    path: PathBytes,
    text: [u8; 4096],
}

/// A recording: the file, its header, its device and inode.
type OpenRecording = (File, HeaderValue, (u64, u64));

/// The header of a regular file of ours that is a recording; `None` for anything else.
fn look_at(path: &PathBytes) -> Result<Option<OpenRecording>, i32> {
    let flags = libc::O_RDONLY | libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let file = File::open(path.as_c(), flags, 0)?;
    let status = file.status()?;
    // SAFETY: no preconditions.
    let ours = status.st_uid == unsafe { libc::geteuid() }
        && status.st_mode & libc::S_IFMT == libc::S_IFREG;
    let mut bytes = [0u8; size_of::<Header>()];
    const { assert!(size_of::<Header>() <= HEADER_BYTES as usize) };
    if !ours || file.read_at(&mut bytes, 0) != Ok(bytes.len()) {
        return Ok(None);
    }
    let header = HeaderValue::parse(&bytes);
    let id = (status.st_dev, status.st_ino);
    Ok((header.magic == MAGIC).then_some((file, header, id)))
}

fn judge(file: &File, header: &HeaderValue, id: (u64, u64), scratch: &mut Scratch) -> Occupant {
    let is_pointer = header.state == state::ELSEWHERE;
    let gone = writer_is_gone(header, &mut scratch.text)
        || is_pointer && target_is_old(file, header, scratch);
    if gone && !is_of_this_process(header) {
        Occupant::Old(Old { id, is_pointer })
    } else {
        Occupant::Live
    }
}

/// Whether the recording that a pointer leads to is the one it was made for, and one nobody writes to.
fn target_is_old(file: &File, pointer: &HeaderValue, scratch: &mut Scratch) -> bool {
    pointer::read_target(file, &mut scratch.path)
        && look_at(&scratch.path).is_ok_and(|found| {
            found.is_some_and(|(_, header, _)| {
                is_of_one_writer(&header, pointer) && writer_is_gone(&header, &mut scratch.text)
            })
        })
}

fn is_of_one_writer(one: &HeaderValue, other: &HeaderValue) -> bool {
    let identity = |header: &HeaderValue| {
        (
            header.pid,
            header.start_ticks,
            header.boot_id,
            header.pid_namespace,
        )
    };
    one.pid != 0 && identity(one) == identity(other)
}

/// Whether this very process wrote a recording: finished perhaps, but not yet looked at. Another copy of this crate did,
/// or a program that became this one.
fn is_of_this_process(header: &HeaderValue) -> bool {
    header.pid == std::process::id()
        && header.start_ticks == sys::start_ticks()
        && header.boot_id == sys::boot_id()
        && header.pid_namespace == sys::pid_namespace()
}

/// Removes a recording that was replaced, and what it pointed to.
pub(super) fn remove_old(path: &PathBytes, old: &Old, scratch: &mut Scratch) {
    if old.is_pointer
        && let Ok(Some((file, pointer, _))) = look_at(path)
        && target_is_old(&file, &pointer, scratch)
    {
        scratch.path.remove();
    }
    path.remove();
}

fn writer_is_gone(header: &HeaderValue, text: &mut [u8]) -> bool {
    let here = Here {
        boot_id: sys::boot_id(),
        pid_namespace: sys::pid_namespace(),
    };
    Writer::judge(header, here, |pid| process_entry(pid, text)).is_gone(header)
}

/// What the kernel says of a process number. A signal that is none is sent: that there is no such process is then
/// known even where /proc hides processes, or shows those of another namespace.
fn process_entry(pid: u32, text: &mut [u8]) -> ProcessEntry {
    // SAFETY: plain numbers; signal 0 is not delivered.
    let answer = unsafe { libc::syscall(libc::SYS_kill, pid, 0) };
    if answer != 0 && sys::Errno::current() == libc::ESRCH {
        return ProcessEntry::Gone;
    }
    if !sys::read_whole(c"/proc/self/status", text).is_ok_and(is_own_proc) {
        return ProcessEntry::Unknown;
    }
    // "/proc/" and ten digits at most.
    let mut name = [0u8; 32];
    let mut digits = [0u8; 20];
    let mut end = 0;
    for part in [b"/proc/", super::decimal(pid.into(), &mut digits), b"/stat"] {
        name[end..end + part.len()].copy_from_slice(part);
        end += part.len();
    }
    let Ok(name) = std::ffi::CStr::from_bytes_until_nul(&name) else {
        return ProcessEntry::Unknown;
    };
    match sys::read_whole(name, text) {
        Ok(stat) => ProcessStat::parse(stat).map_or(ProcessEntry::Unknown, ProcessEntry::Present),
        Err(_) => ProcessEntry::Unknown,
    }
}
