//! Beginning and ending a recording: from the environment at the first allocation, or from code.
//!
//! ```text
//! first allocation ─▶ HEAPGLASS_OUT set? ─▶ begin ─▶ RECORD ─▶ finish (exit, Recorder) ─▶ off
//! Recorder::start ──────────────────────────▲
//! ```
//! A process records once ([`life`]). A forked child is off, and may begin a recording of its own.

use crate::hook;
use crate::record::{Backing, Live, PathBytes, Refused, expand_pattern, open_live};
use crate::tables::{self, Session, SessionSettings};
use crate::{arena, life, shadow, state, sys, thread};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::*};
use tracking_alloc_recording::{
    self as recording, CHECKSUM_OFFSET, Checksum, DEFAULT_MAX_BYTES, FIRST_SEGMENT_BYTES, Header,
    MAGIC, growth, mode,
};

/// The environment was examined, or somebody is doing so.
static ENVIRONMENT_READ: AtomicBool = AtomicBool::new(false);
/// The global allocator is known to be the system's, wrapped.
static INNER_IS_SYSTEM: AtomicBool = AtomicBool::new(false);
static GENERATION: AtomicU32 = AtomicU32::new(0);
/// Our handler is registered with `atexit`, which a forked child inherits.
static AT_EXIT: AtomicBool = AtomicBool::new(false);

/// What `HEAPGLASS_PREALLOC=1` reserves at once, bytes.
const PREALLOCATED_BYTES: u64 = 64 << 20;

/// Under a tighter limit of address space or private memory the program itself might miss what recording takes: about
/// 80 MiB at the start, and a quarter of the heap's span.
const LEAST_MEMORY: u64 = 256 << 20;

/// Why a recording could not begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The process records, or did.
    Already,
    /// The file could not be made.
    File { what: &'static str, errno: i32 },
    /// The kernel refuses what recording needs.
    System(&'static str),
}

/// While nothing records: begins a recording at the very first allocation if the environment asks for one.
#[inline(always)]
pub(crate) fn at_first_allocation(block: *mut u8, bytes: usize, is_system: fn() -> bool) {
    // PERF: the second and last load of a program that never records.
    if !ENVIRONMENT_READ.load(Relaxed) {
        from_environment(block, bytes, is_system);
    }
}

#[cold]
#[inline(never)]
fn from_environment(block: *mut u8, bytes: usize, is_system: fn() -> bool) {
    if ENVIRONMENT_READ.swap(true, AcqRel) {
        return;
    }
    // The first allocation of a program is one of its global allocator.
    INNER_IS_SYSTEM.store(is_system(), Relaxed);
    let Some(pattern) = sys::environment(b"HEAPGLASS_OUT").filter(|pattern| !pattern.is_empty())
    else {
        return;
    };
    let errno = sys::Errno::keep();
    match on_own_stack(|| to_pattern(pattern)) {
        Ok(()) => {
            if !block.is_null() {
                hook::allocated(block, bytes);
            }
        }
        Err(failure) => complain(pattern, failure),
    }
    drop(errno);
}

/// Begins a recording in the file that the pattern stands for.
fn to_pattern(pattern: &[u8]) -> Result<(), Failure> {
    let mut buffer = [0u8; 4096];
    let executable = sys::read_link(c"/proc/self/exe", &mut buffer).unwrap_or(b"program");
    let program = executable
        .rsplit(|byte| *byte == b'/')
        .next()
        .unwrap_or(executable);
    match expand_pattern(pattern, program) {
        Some(path) => to_path(path.as_bytes()),
        None => Err(Failure::File {
            what: "HEAPGLASS_OUT is too long or has a NUL in it",
            errno: 0,
        }),
    }
}

/// Beginning takes more stack than a thread of the program may have.
fn on_own_stack(begin: impl FnOnce() -> Result<(), Failure>) -> Result<(), Failure> {
    sys::on_own_stack(begin).unwrap_or(Err(Failure::System("no memory for its tables")))
}

/// One line on standard error: the program runs on unrecorded.
fn complain(pattern: &[u8], failure: Failure) {
    let mut number = PathBytes::empty();
    let (what, errno) = match failure {
        Failure::Already => ("the process has recorded already", 0),
        Failure::File { what, errno } => (what, errno),
        Failure::System(what) => (what, 0),
    };
    if errno != 0 {
        number.push(b" (errno ");
        number.push_number(errno.unsigned_abs().into());
        number.push(b")");
    }
    sys::write_stderr(&[
        b"heapglass: not recording to ",
        pattern,
        b": ",
        what.as_bytes(),
        number.as_bytes(),
        b"\n",
    ]);
}

/// The recording is finished in order when the program ends in order, or when the library that this code is part of is
/// unloaded: then nothing of ours may be called any more, and `atexit` calls its handlers first.
fn finish_at_exit() {
    extern "C" fn at_exit() {
        if let Some(session) = tables::current() {
            let _ = finish(session.tag());
        }
    }
    if !AT_EXIT.swap(true, AcqRel) {
        // SAFETY: a plain function; a full table is only a recording that stays unfinished.
        unsafe { libc::atexit(at_exit) };
    }
}

fn number_from_environment(name: &[u8]) -> Option<u64> {
    std::str::from_utf8(sys::environment(name)?)
        .ok()?
        .trim()
        .parse()
        .ok()
}

/// What tells how many bytes can be used of a live block of the program's allocator; `None` = it does not tell.
#[cfg(feature = "serde")]
pub(crate) fn usable_bytes() -> Option<fn(usize) -> usize> {
    // SAFETY: asked about blocks of the system's allocator that are live.
    let ask = |block: usize| unsafe { libc::malloc_usable_size(block as *mut libc::c_void) };
    INNER_IS_SYSTEM
        .load(Relaxed)
        .then_some(ask as fn(usize) -> usize)
}

/// What is recorded of each event: a value of [`mode`].
fn mode_from_environment() -> Result<u32, Failure> {
    let word = sys::environment(b"HEAPGLASS_MODE").unwrap_or_default();
    let known = match std::str::from_utf8(word) {
        Ok("") => Some(mode::EXACT),
        Ok(word) => mode::from_name(word),
        Err(_) => None,
    };
    known.ok_or(Failure::System(
        "HEAPGLASS_MODE is none that this version knows (exact, count)",
    ))
}

/// Begins a recording in a file.
pub(crate) fn to_file(path: &[u8]) -> Result<(), Failure> {
    on_own_stack(|| to_path(path))
}

fn to_path(path: &[u8]) -> Result<(), Failure> {
    begin(|| {
        let prealloc = sys::environment(b"HEAPGLASS_PREALLOC").is_some_and(|value| value == b"1");
        let max_bytes = number_from_environment(b"HEAPGLASS_MAX_BYTES")
            .unwrap_or(DEFAULT_MAX_BYTES)
            .max(FIRST_SEGMENT_BYTES);
        let reserve = if prealloc {
            PREALLOCATED_BYTES.min(max_bytes)
        } else {
            0
        };
        let live = open_live(path, FIRST_SEGMENT_BYTES)?;
        let Some(place) = sys::Bump::new().take::<PathBytes>(1) else {
            live.discard();
            return Err(Failure::System("no memory for its tables"));
        };
        // SAFETY: memory for one path, never given back.
        let path: &'static PathBytes = unsafe {
            place.write(*live.path());
            place.as_ref()
        };
        Ok((
            Backing::file(path, &live.status, max_bytes),
            path,
            Some(live),
            reserve,
        ))
    })
}

/// Begins a recording in memory.
pub(crate) fn to_memory() -> Result<(), Failure> {
    static NOWHERE: PathBytes = PathBytes::empty();
    on_own_stack(|| begin(|| Ok((Backing::Memory { end: 0 }, &NOWHERE, None, 0))))
}

/// The backing, its path, the file that still wants its name, and how many bytes to reserve at once.
type Prepared = (Backing, &'static PathBytes, Option<Live>, u64);

impl From<Refused> for Failure {
    fn from(refused: Refused) -> Self {
        Failure::File {
            what: refused.what,
            errno: refused.errno,
        }
    }
}

fn begin(prepare: impl FnOnce() -> Result<Prepared, Failure>) -> Result<(), Failure> {
    // Whoever begins has had its say about the environment.
    ENVIRONMENT_READ.store(true, Release);
    // NOTE: before anything is begun, so that no child inherits half a start.
    if !state::wipe_on_fork() {
        return Err(Failure::System(
            "the kernel cannot wipe pages on fork (MADV_WIPEONFORK, Linux 4.14)",
        ));
    }
    let start = life::start().ok_or(Failure::Already)?;
    if start.is_child {
        forget_parent();
    }
    let begun = begin_alone(prepare);
    if begun.is_ok() {
        finish_at_exit();
        // NOTE: before the start has ended: whoever may finish it finds it recording.
        state::begin_recording(tables::current().map_or(0, Session::tag));
    }
    life::started(begun.is_ok());
    begun
}

fn begin_alone(prepare: impl FnOnce() -> Result<Prepared, Failure>) -> Result<(), Failure> {
    match sys::memory_left() {
        Some(sys::Left::Bytes(left)) if left < LEAST_MEMORY => {
            return Err(Failure::System(
                "a limit of memory (ulimit -v or -d) leaves less than 256 MiB, too little for the program and its recording",
            ));
        }
        Some(sys::Left::Unknown) => {
            return Err(Failure::System(
                "there is a limit of memory (ulimit -v or -d), and without /proc it is not known what it leaves",
            ));
        }
        _ => {}
    }
    let mode = mode_from_environment()?;
    if !shadow::prepare() {
        return Err(Failure::System(
            "no address space for the shadow map (ulimit -v)",
        ));
    }
    let (backing, path, live, reserve) = prepare()?;
    if reserve != 0 {
        // A program that reserves everything at once may be about to forbid system calls.
        sys::never_populate();
    }
    let how = SessionSettings {
        path,
        generation: GENERATION.fetch_add(1, AcqRel) + 1,
        reserve,
        mode,
    };
    let begun = begin_tables(backing, how).map_err(|reason| match reason {
        growth::DISK_FULL => Failure::File {
            what: "the disk is full",
            errno: libc::ENOSPC,
        },
        growth::FILE_SIZE_LIMIT => Failure::File {
            what: "the file size limit is too small",
            errno: libc::EFBIG,
        },
        growth::NO_MEMORY => Failure::System("no memory for its tables"),
        _ => Failure::File {
            what: "cannot reserve its first megabyte",
            errno: 0,
        },
    });
    if let (Ok(()), Some(session), Some(header)) = (begun, tables::current(), tables::header()) {
        tables::choose_unwinder(session, header, reserve != 0);
    }
    if let Some(mut live) = live {
        begun
            .and_then(|()| give_name(&mut live))
            .inspect_err(|_| live.discard())?;
    } else {
        begun?;
    }
    sys::register_fence();
    Ok(())
}

/// Lays out the tables and makes them the present recording. On refusal nothing has changed.
fn begin_tables(backing: Backing, how: SessionSettings) -> Result<(), u32> {
    let prepared = tables::prepare(backing, how)?;
    let mut checks = hook::PEAK_CHECKS.lock();
    if !checks.begin(prepared.points, how.reserve == 0) {
        return Err(growth::NO_MEMORY);
    }
    prepared.publish();
    hook::check_peak_now(&mut checks, true);
    if let Some(header) = tables::header() {
        header.magic.store(MAGIC, Release);
    }
    Ok(())
}

/// Lets the file be seen, now that it is a recording.
fn give_name(live: &mut Live) -> Result<(), Failure> {
    let (path, wanted) = live.name()?;
    let session = tables::current().ok_or(Failure::Already)?;
    if session.named(path, wanted) {
        Ok(())
    } else {
        Err(Failure::System("no memory for its path"))
    }
}

/// A forked child: locks may be held by threads that do not exist here, and all tables are the parent's.
fn forget_parent() {
    // SAFETY: a forked child begins with one thread, and none of its threads takes a lock of ours before it records.
    unsafe {
        hook::PEAK_CHECKS.reset(hook::PeakChecks::new());
        shadow::forget_all();
    }
    hook::release_all();
    tables::forget_sites();
    tables::forget_scopes();
    arena::forget();
    thread::with(|thread| thread.busy.set(false));
}

/// Why a recording was not finished.
#[derive(Clone, Copy, Debug)]
pub(crate) enum NotFinished {
    /// It was finished before, by another thread perhaps: it is finished now.
    Before,
    /// It is a parent's recording.
    Inherited,
}

/// Stops a recording and finishes the file: a last check, the state, the checksum.
pub(crate) fn finish(tag: u32) -> Result<(), NotFinished> {
    let (Some(session), Some(header)) = (tables::own(tag), tables::header()) else {
        return Err(NotFinished::Inherited);
    };
    let errno = sys::Errno::keep();
    if !life::finish() {
        drop(errno);
        return Err(NotFinished::Before);
    }
    state::end_recording();
    let idle = hook::wait_until_idle();
    settle(session, header);
    header.state.store(recording::state::FINISHED, Release);
    // Who is still inside may write once more: without a checksum that is no damage.
    if idle && let Some(writer) = session.write.try_lock(1000) {
        seal(header, writer.store.pieces());
    }
    life::ended();
    drop(errno);
    Ok(())
}

/// The last words into a recording before it is finished.
fn settle(session: &Session, header: &Header) {
    let Some(mut checks) = hook::PEAK_CHECKS.try_lock(1000) else {
        return;
    };
    hook::check_peak_now(&mut checks, true);
    hook::part(&checks);
    if let Some(mut writer) = session.write.try_lock(1000) {
        arena::settle(&mut writer, session.tag());
    }
    tables::store_own_bytes(header);
}

/// Sets the checksum of a recording nobody writes to any more.
fn seal(header: &Header, pieces: &[(usize, u64)]) {
    let mut checksum = Checksum::default();
    for (start, bytes) in pieces {
        for offset in (0..*bytes).step_by(32) {
            // SAFETY: pieces are mapped until the process ends, page-aligned and whole pages long.
            let words = unsafe { *((*start as u64 + offset) as *const [u64; 4]) };
            checksum.add(words);
        }
    }
    const { assert!(CHECKSUM_OFFSET.is_multiple_of(8)) };
    header.checksum.store(checksum.finish(), Release);
}

/// Stops counting new blocks, or begins again; known blocks are followed all the time.
pub(crate) fn pause(paused: bool) {
    let (add, remove) = match paused {
        true => (state::PAUSED, 0),
        false => (0, state::PAUSED),
    };
    state::change_while_recording(add, remove);
}

/// Whether this process is recording.
pub(crate) fn is_recording() -> bool {
    state::get() & state::RECORD != 0
}
