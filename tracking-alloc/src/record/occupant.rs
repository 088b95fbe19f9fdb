//! Who has a path: nothing, somebody's file, a recording that is perhaps still written, or one that nobody writes to.

use super::signature::{have_one_writer, own_header};
use super::{PathBytes, pointer};
use crate::sys::{self, File, FileId, file_id};
use std::ffi::CStr;
use std::io::Write;
use tracking_alloc_recording::{
    HeaderValue, MAGIC, ProcessEntry, ProcessStat, Record, Writer, is_own_proc, state,
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
    id: FileId,
    /// It only points to the recording.
    is_pointer: bool,
}

/// Reads who has `path`. Nothing is followed and nothing waited for; what is asked of a file is asked of one descriptor.
pub(super) fn occupant(path: &PathBytes, scratch: &mut Scratch) -> Occupant {
    match open_recording(path) {
        Ok(Some((file, header, id))) => judge(&file, &header, id, scratch),
        Ok(None) => Occupant::Foreign,
        Err(libc::ENOENT) => Occupant::Nothing,
        // No descriptor to find out with: whoever it is, may live.
        Err(libc::EMFILE | libc::ENFILE | libc::ENOMEM | libc::EINTR) => Occupant::Live,
        Err(_) => Occupant::Foreign,
    }
}

/// Whether what is at a path is that old file.
pub(super) fn is_old(path: &PathBytes, old: &Old, scratch: &mut Scratch) -> bool {
    matches!(occupant(path, scratch), Occupant::Old(found) if found.id == old.id)
}

/// Who may replace an old file.
pub(super) enum Turn {
    /// Whoever keeps this, until it is dropped: `None` where files cannot be locked.
    Ours(Option<File>),
    /// Somebody else, at the moment.
    Others,
    /// Nobody: the path has another file.
    Gone,
}

/// Asks for the turn to replace the old file at a path: a lock on that file. Of three who exchanged names at once, two
/// could end with each other's files.
pub(super) fn turn(path: &PathBytes, old: &Old) -> Turn {
    let Ok(file) = File::open(path.as_c(), READ_ONLY, 0) else {
        return Turn::Gone;
    };
    let locked = file.try_lock();
    if locked == Err(libc::EWOULDBLOCK) {
        return Turn::Others;
    }
    // Only now: whoever had the turn before may have given the path to a file of its own.
    let opened = file.status().map(|status| file_id(&status));
    if opened == Ok(old.id) && path.id() == Some(old.id) {
        Turn::Ours(locked.is_ok().then_some(file))
    } else {
        Turn::Gone
    }
}

/// Buffers that are too large for the program's stack. All-zero bytes are empty ones.
pub(super) struct Scratch {
    path: PathBytes,
    text: [u8; 4096],
}

const READ_ONLY: libc::c_int = libc::O_RDONLY | libc::O_NOFOLLOW | libc::O_NONBLOCK;

/// A recording: the file, its header, its device and inode.
type OpenRecording = (File, HeaderValue, FileId);

/// The header of a regular file of ours that is a recording; `None` for anything else.
fn open_recording(path: &PathBytes) -> Result<Option<OpenRecording>, i32> {
    let file = File::open(path.as_c(), READ_ONLY, 0)?;
    let status = file.status()?;
    // SAFETY: no preconditions.
    let ours = status.st_uid == unsafe { libc::geteuid() }
        && status.st_mode & libc::S_IFMT == libc::S_IFREG;
    let mut bytes = [0u8; HeaderValue::SIZE];
    if !ours || file.read_at(&mut bytes, 0) != Ok(bytes.len()) {
        return Ok(None);
    }
    let header = HeaderValue::parse(&bytes);
    Ok((header.magic == MAGIC).then(|| (file, header, file_id(&status))))
}

fn judge(file: &File, header: &HeaderValue, id: FileId, scratch: &mut Scratch) -> Occupant {
    let is_pointer = header.state == state::ELSEWHERE;
    let gone = writer_is_gone(header, &mut scratch.text)
        || is_pointer && target_is_old(file, header, scratch);
    // NOTE: not one that this very process wrote, which is finished perhaps but not yet looked at: another copy of this
    // crate did, or a program that became this one.
    let is_own = || header.pid == std::process::id() && have_one_writer(&own_header(0), header);
    if gone && !is_own() {
        Occupant::Old(Old { id, is_pointer })
    } else {
        Occupant::Live
    }
}

/// Whether the recording that a pointer leads to is the one it was made for, and one nobody writes to.
fn target_is_old(file: &File, pointer: &HeaderValue, scratch: &mut Scratch) -> bool {
    pointer::read_target(file, &mut scratch.path)
        && open_recording(&scratch.path).is_ok_and(|found| {
            found.is_some_and(|(_, header, _)| {
                have_one_writer(&header, pointer) && writer_is_gone(&header, &mut scratch.text)
            })
        })
}

/// Removes a recording that was replaced, and what it pointed to.
pub(super) fn remove_old(path: &PathBytes, old: &Old, scratch: &mut Scratch) {
    if old.is_pointer
        && let Ok(Some((file, pointer, _))) = open_recording(path)
        && target_is_old(&file, &pointer, scratch)
    {
        scratch.path.remove();
    }
    path.remove();
}

fn writer_is_gone(header: &HeaderValue, text: &mut [u8]) -> bool {
    Writer::judge(header, sys::host(), |pid| process_entry(pid, text)).is_gone(header)
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
    let mut name = [0u8; 32];
    // It fits: a number has ten digits at most.
    let _ = write!(&mut name[..], "/proc/{pid}/stat");
    let name = CStr::from_bytes_until_nul(&name).unwrap_or_default();
    let stat = sys::read_whole(name, text)
        .ok()
        .and_then(ProcessStat::parse);
    stat.map_or(ProcessEntry::Unknown, ProcessEntry::Present)
}
