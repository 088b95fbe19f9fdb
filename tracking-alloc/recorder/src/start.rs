//! Starts and finishes recordings: from the environment at the first allocation, or from code.
//!
//! ```text
//! first allocation ─▶ HEAPGLASS_OUT set? ─▶ begin ─▶ RECORD ─▶ finish (exit, Recorder) ─▶ off
//! Recorder::start ──────────────────────────▲
//! ```
//! A process records once ([`life`]). A forked child is off, but may start its own recording.

use crate::file::{
    Backing, NewFile, Refused, Store, create_file, expand_pattern, file_name, set_recording_path,
};
use crate::hook;
use crate::session::{self, Session};
use crate::{
    Attached, Settings, arenas, containers, life, samples, shadow, stack, state, sys, thread,
};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use tracking_alloc_recording::{
    self as recording, Checksum, DEFAULT_MAX_BYTES, DEFAULT_SAMPLE_BYTES, EXCHANGE_OFFSET,
    FIRST_SEGMENT_BYTES, HEADER_BYTES, Header, MAGIC, SEGMENT_BYTES, growth, mode, parse_size,
    sample_counts,
};

/// `true` if the environment was examined, or a thread is examining it.
static ENVIRONMENT_READ: AtomicBool = AtomicBool::new(false);
/// `true` if somebody attached to the running program and started the recording.
static ATTACHED: AtomicBool = AtomicBool::new(false);
/// The bytes that were in use at that moment; 0 = not known.
static IN_USE: AtomicU64 = AtomicU64::new(0);
/// The maximum size of the recording then; 0 = the default.
static MAX_BYTES: AtomicU64 = AtomicU64::new(0);
/// `true` if our handler is registered with `atexit`. A forked child inherits it.
static AT_EXIT: AtomicBool = AtomicBool::new(false);

/// Bytes that `HEAPGLASS_PREALLOC=1` reserves at once.
const PREALLOCATED_BYTES: u64 = 64 << 20;

/// Minimum limit of address space or private memory. Below it the program itself might run out of
/// memory, because recording takes about 80 MiB at the start, and a quarter of the heap's span.
const LEAST_MEMORY: u64 = 256 << 20;

/// A refusal without an errno.
const fn refused(what: &'static str) -> Refused {
    Refused::new(what, 0)
}

const NO_MEMORY: Refused = refused("not enough memory for the recorder's tables")
    .advise("free memory, or raise the memory limit (ulimit -v)");

/// The source of the first event.
#[derive(Clone, Copy, Default)]
pub(crate) struct Origin {
    /// `true` if its blocks come from libc's `malloc`.
    pub(crate) is_system: bool,
    /// The name of the allocator of its blocks, or an empty text.
    pub(crate) inner_name: &'static str,
    /// `true` if any code of the process may call it.
    pub(crate) has_any_callers: bool,
}

/// Examines the environment at the first allocation, and starts a recording if it asks for one.
/// Without an origin it never does.
#[cold]
#[inline(never)]
pub(crate) fn at_first_allocation(block: *mut u8, bytes: usize, origin: Option<Origin>) {
    let was_read = ENVIRONMENT_READ.swap(true, AcqRel);
    state::examined();
    let Some(origin) = origin.filter(|_| !was_read) else {
        return;
    };
    // The first allocation of a program comes from its global allocator.
    session::set_inner(origin.inner_name, origin.is_system);
    session::have_any_callers(origin.has_any_callers);
    let Some(pattern) = sys::environment(b"HEAPGLASS_OUT").filter(|pattern| !pattern.is_empty())
    else {
        return;
    };
    let _errno = sys::Errno::keep();
    match on_own_stack(|| to_pattern(pattern)) {
        Ok(()) if block.is_null() => {}
        Ok(()) => hook::allocated(block, bytes, |_, _| {}),
        Err(refused) => complain(pattern, refused),
    }
}

/// Examines the environment before the first allocation, unless that was done.
#[inline]
pub(crate) fn examine() {
    if state::is_unexamined() {
        at_first_allocation(std::ptr::null_mut(), 0, Some(Origin::default()));
    }
}

/// Starts a recording in the file that the pattern describes.
fn to_pattern(pattern: &[u8]) -> Result<(), Refused> {
    let mut buffer = [0u8; 4096];
    let executable = sys::read_link(c"/proc/self/exe", &mut buffer).unwrap_or(b"program");
    let path = expand_pattern(pattern, file_name(executable))?;
    begin(Some(path.as_bytes()), Settings::default())
}

/// Runs the start on a separate stack, because it needs more stack than a thread of the program may
/// have.
fn on_own_stack(begin: impl FnOnce() -> Result<(), Refused>) -> Result<(), Refused> {
    sys::on_own_stack(begin).unwrap_or(Err(NO_MEMORY))
}

/// Writes one line to standard error. The program continues without recording.
#[cold]
#[inline(never)]
fn complain(pattern: &[u8], refused: Refused) {
    let Refused {
        what,
        value,
        errno,
        advice,
    } = refused;
    let mut digits = [0; 10];
    let number = decimal(errno.unsigned_abs(), &mut digits);
    let has_number = errno != 0;
    sys::write_stderr(&[
        b"heapglass: not recording to ",
        pattern,
        b": ",
        what.as_bytes(),
        if value.is_empty() { b"" } else { b" `" },
        value,
        if value.is_empty() { b"" } else { b"`" },
        if has_number { b" (errno " } else { b"" },
        if has_number { number } else { b"" },
        if has_number { b")" } else { b"" },
        if advice.is_empty() { b"" } else { b"; " },
        advice.as_bytes(),
        b"\n",
    ]);
}

/// Returns the digits of a number.
fn decimal(mut number: u32, digits: &mut [u8; 10]) -> &[u8] {
    let mut start = digits.len();
    loop {
        start -= 1;
        digits[start] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return &digits[start..];
        }
    }
}

/// Registers the handler that finishes the recording. It runs when the program exits normally, or
/// when the library that contains this code is unloaded. `atexit` calls the library's handlers
/// before its code is unmapped.
fn finish_at_exit() {
    extern "C" fn at_exit() {
        if let Some(session) = session::current() {
            let _ = finish(session.tag());
        }
    }
    if !AT_EXIT.swap(true, AcqRel) {
        // SAFETY: a plain function. If the table is full, the recording only stays unfinished.
        unsafe { libc::atexit(at_exit) };
    }
}

/// A variable of the environment.
struct Variable {
    name: &'static [u8],
    /// The refusal of a value that has no meaning, and what to use instead.
    refusal: &'static str,
    advice: &'static str,
}

/// Returns the value of a variable, or `default` if the variable is empty or not set.
fn setting<T>(
    variable: &Variable,
    default: T,
    parse: impl FnOnce(&str) -> Option<T>,
) -> Result<T, Refused> {
    let text = sys::environment(variable.name).unwrap_or_default();
    let value = match std::str::from_utf8(text) {
        Ok("") => Some(default),
        Ok(text) => parse(text),
        Err(_) => None,
    };
    value.ok_or(Refused::setting(variable.refusal, text, variable.advice))
}

/// Returns the maximum size of the recording.
fn max_bytes_from_environment() -> Result<u64, Refused> {
    match MAX_BYTES.load(Relaxed) {
        0 => {}
        bytes if bytes < FIRST_SEGMENT_BYTES => {
            return Err(refused("too small maximum size").advise("use at least 1MiB"));
        }
        bytes => return Ok(bytes),
    }
    let variable = Variable {
        name: b"HEAPGLASS_MAX_BYTES",
        refusal: "invalid HEAPGLASS_MAX_BYTES",
        advice: "use a number of bytes, or a number with K, M or G (64MiB)",
    };
    let bytes = setting(&variable, DEFAULT_MAX_BYTES, parse_size)?;
    if bytes < FIRST_SEGMENT_BYTES {
        let text = sys::environment(variable.name).unwrap_or_default();
        let refusal = "too small HEAPGLASS_MAX_BYTES";
        return Err(Refused::setting(refusal, text, "use at least 1MiB"));
    }
    Ok(bytes)
}

/// Returns `true` if the whole space of the recording is reserved at the start.
fn is_preallocated() -> Result<bool, Refused> {
    is_set(b"HEAPGLASS_PREALLOC", "invalid HEAPGLASS_PREALLOC")
}

/// Returns `true` if the recording begins with a pause.
fn begins_paused() -> Result<bool, Refused> {
    is_set(b"HEAPGLASS_PAUSED", "invalid HEAPGLASS_PAUSED")
}

/// Returns `true` if a variable of the environment is 1.
fn is_set(name: &'static [u8], refusal: &'static str) -> Result<bool, Refused> {
    let variable = Variable {
        name,
        refusal,
        advice: "use `0` or `1`",
    };
    setting(&variable, false, |text| match text {
        "0" => Some(false),
        "1" => Some(true),
        _ => None,
    })
}

/// Returns the [`mode`] from the environment.
fn mode_from_environment() -> Result<u32, Refused> {
    let variable = Variable {
        name: b"HEAPGLASS_MODE",
        refusal: "unknown HEAPGLASS_MODE",
        advice: "use `exact`, `sample` or `count`",
    };
    setting(&variable, mode::EXACT, mode::from_name)
}

/// The settings of a recording: from the program, else from the environment.
#[derive(Clone, Copy)]
struct Wanted {
    mode: u32,
    sample_bytes: u64,
    sample_counts: bool,
    begins_paused: bool,
}

impl Wanted {
    fn of(settings: Settings) -> Result<Wanted, Refused> {
        samples::set_seed(seed_from_environment()?);
        let mode = match settings.samples {
            Some(true) => mode::SAMPLE,
            Some(false) => mode::EXACT,
            None => mode_from_environment()?,
        };
        let sample_bytes = match settings.sample_bytes {
            Some(bytes) if !samples::is_valid(bytes) => {
                return Err(refused("invalid mean number of bytes between samples")
                    .advise("use a number from 1 to 1 TiB"));
            }
            Some(bytes) => bytes,
            None => sample_bytes_from_environment()?,
        };
        let sample_counts = match settings.sample_counts {
            Some(counts) => counts,
            None => is_set(
                b"HEAPGLASS_SAMPLE_COUNTS",
                "invalid HEAPGLASS_SAMPLE_COUNTS",
            )?,
        };
        let begins_paused = match settings.paused {
            Some(paused) => paused,
            None => begins_paused()?,
        };
        Ok(Wanted {
            mode,
            sample_bytes,
            sample_counts,
            begins_paused,
        })
    }

    /// Notes the settings of samples, which may also begin later.
    fn describe(self, header: &Header) {
        samples::set_mean(self.sample_bytes);
        let counts = match (self.sample_counts, session::any_callers()) {
            (false, _) => sample_counts::NOTHING,
            (true, false) => sample_counts::BLOCKS_AND_BYTES,
            (true, true) => sample_counts::BLOCKS,
        };
        header.sample_counts.store(counts, Relaxed);
        if self.mode == mode::SAMPLE {
            header.sample_bytes.store(self.sample_bytes, Relaxed);
            header.most_sample_bytes.store(self.sample_bytes, Relaxed);
        }
    }
}

/// Returns the mean number of bytes from one sample to the next.
fn sample_bytes_from_environment() -> Result<u64, Refused> {
    let variable = Variable {
        name: b"HEAPGLASS_SAMPLE_BYTES",
        refusal: "invalid HEAPGLASS_SAMPLE_BYTES",
        advice: "use a number of bytes, or a number with K, M or G (512KiB)",
    };
    setting(&variable, DEFAULT_SAMPLE_BYTES, |text| {
        parse_size(text).filter(|bytes| samples::is_valid(*bytes))
    })
}

/// Returns the seed of random numbers, which tests set to get the same samples again.
fn seed_from_environment() -> Result<Option<u64>, Refused> {
    let variable = Variable {
        name: b"HEAPGLASS_SEED",
        refusal: "invalid HEAPGLASS_SEED",
        advice: "use a whole number",
    };
    setting(&variable, None, |text| text.parse().ok().map(Some))
}

/// Starts a recording in a file.
pub(crate) fn to_file(path: &[u8], settings: Settings) -> Result<(), Refused> {
    on_own_stack(|| begin(Some(path), settings))
}

/// Starts a recording in memory.
pub(crate) fn to_memory(settings: Settings) -> Result<(), Refused> {
    on_own_stack(|| begin(None, settings))
}

/// Starts a recording in the file at `path`, or in memory.
fn begin(path: Option<&[u8]>, settings: Settings) -> Result<(), Refused> {
    // An explicit start replaces the one from the environment.
    ENVIRONMENT_READ.store(true, Release);
    state::examined();
    // NOTE: this runs before anything is started, so that no child inherits a half-started
    // recording.
    if !state::wipe_on_fork() {
        return Err(
            refused("the kernel cannot wipe pages on fork (MADV_WIPEONFORK)")
                .advise("use Linux 4.14 or newer"),
        );
    }
    if path.is_some() && ATTACHED.load(Acquire) && life::start_again() {
        if !forget_last() {
            life::stay_ended();
            return Err(refused("a thread is still inside the last recording").advise("try again"));
        }
    } else if !life::start(forget_parent) {
        return Err(
            refused("this process is recording already, or has recorded before")
                .advise("a process can record only once"),
        );
    }
    let begun = begin_alone(path, settings);
    if let Ok(session) = begun {
        sys::register_fence();
        if !ATTACHED.load(Acquire) {
            finish_at_exit();
        }
        // NOTE: this runs before the start has ended, so that a thread that may finish the
        // recording finds it in progress.
        let is_paused = session.header().paused_since_ns.load(Relaxed) != 0;
        let paused = if is_paused { state::PAUSED } else { 0 };
        let header = session.header();
        let samples = match header.mode.load(Relaxed) {
            mode::SAMPLE if header.sample_counts.load(Relaxed) != 0 => {
                state::SAMPLE | state::COUNTS
            }
            mode::SAMPLE => state::SAMPLE,
            _ => 0,
        };
        state::begin_recording(session.tag() | paused | samples);
    }
    life::started(begun.is_ok());
    begun.map(drop)
}

fn begin_alone(path: Option<&[u8]>, settings: Settings) -> Result<&'static Session, Refused> {
    let unknown = refused(
        "memory is limited (ulimit -v or -d), and without /proc the recorder cannot read how much is left",
    );
    let left =
        sys::memory_left().ok_or(unknown.advise("mount /proc, or remove the memory limit"))?;
    if left < LEAST_MEMORY {
        return Err(refused(
            "the memory limit (ulimit -v or -d) leaves less than 256 MiB for the program and its recording",
        )
        .advise("raise the limit"));
    }
    let wanted = Wanted::of(settings)?;
    if !shadow::prepare() {
        return Err(refused("not enough address space for the shadow map")
            .advise("raise the limit (ulimit -v)"));
    }
    let Some(path) = path else {
        set_recording_path(None);
        return begin_session(Backing::Memory, 0, wanted);
    };
    let mut file = create_file(path, FIRST_SEGMENT_BYTES)?;
    let begun = begin_in(&mut file, wanted);
    begun.inspect_err(|_| file.discard())
}

/// Starts a recording in a new file. The file gets its final path once it is a valid recording.
fn begin_in(file: &mut NewFile, wanted: Wanted) -> Result<&'static Session, Refused> {
    let mut max_bytes = max_bytes_from_environment()?;
    let mut reserve = 0;
    if is_preallocated()? {
        // The reserved space must be enough: no file call happens later, because the program may
        // forbid system calls.
        reserve = PREALLOCATED_BYTES.min(max_bytes / SEGMENT_BYTES * SEGMENT_BYTES);
        max_bytes = reserve;
        sys::go_quiet();
    }
    if !set_recording_path(Some(file.path())) {
        return Err(NO_MEMORY);
    }
    let id = file.id;
    let session = begin_session(Backing::File { id, max_bytes }, reserve, wanted)?;
    let is_named = set_recording_path(Some(file.name()?));
    is_named.then_some(session).ok_or(NO_MEMORY)
}

/// Creates the tables and makes them the current recording. If this fails, nothing has changed.
fn begin_session(
    backing: Backing,
    reserve: u64,
    wanted: Wanted,
) -> Result<&'static Session, Refused> {
    let session =
        session::prepare(backing, reserve, wanted.mode).map_err(|reason| match reason {
            growth::DISK_FULL => Refused::new("the disk is full", libc::ENOSPC)
                .advise("free disk space, or record to another disk"),
            growth::FILE_SIZE_LIMIT => {
                Refused::new("the file size limit is too small", libc::EFBIG)
                    .advise("raise it (ulimit -f)")
            }
            growth::NO_MEMORY => NO_MEMORY,
            _ => refused("cannot reserve the first megabyte of the recording"),
        })?;
    shadow::describe(session.header());
    containers::describe(session.header());
    wanted.describe(session.header());
    let mut checks = hook::PEAK_CHECKS.lock();
    if !checks.begin(session.points, session.moments, reserve == 0) {
        return Err(NO_MEMORY);
    }
    session::publish(session);
    // NOTE: only now, because the check writes into the header of the current session.
    hook::check_peak_now(&mut checks, true);
    if let Some(exchange) = session::exchange() {
        hook::attach(exchange);
        hook::install_signals();
        if wanted.begins_paused {
            hook::start_paused(exchange, session.header());
        }
    }
    if ATTACHED.load(Relaxed) {
        let in_use = IN_USE.load(Relaxed).max(1);
        session.header().attached.store(in_use, Relaxed);
    }
    session.header().magic.store(MAGIC, Release);
    drop(checks);
    session::choose_unwinder(session, reserve != 0);
    Ok(session)
}

/// Starts a recording in a program that runs, for somebody who attached to it. No environment is
/// read from now on, because another thread may be changing it. The caller finishes the recording
/// at the exit of the program: a handler of `atexit` would run before those of the program.
pub(crate) fn attach(path: &[u8], settings: Settings, attached: Attached) -> Result<(), Refused> {
    sys::ignore_environment();
    state::examined();
    ATTACHED.store(true, Release);
    IN_USE.store(attached.in_use_bytes.unwrap_or_default(), Relaxed);
    MAX_BYTES.store(attached.max_bytes, Relaxed);
    session::set_inner(attached.inner_name, attached.is_system);
    session::have_any_callers(true);
    to_file(path, settings)
}

/// Forgets the recording that has ended, so that the next one uses its memory. Returns `false` if a
/// thread may still be inside it.
fn forget_last() -> bool {
    if !hook::wait_until_idle() {
        return false;
    }
    session::forget();
    forget_tables();
    stack::forget();
    sys::recycle();
    true
}

/// Resets inherited state in a forked child: locks may be held by threads that do not exist here,
/// and all tables are the parent's.
fn forget_parent() {
    hook::forget_made();
    // SAFETY: a forked child begins with one thread.
    unsafe { sys::forget_kept() };
    forget_tables();
}

/// Resets the tables of a recording that is not this process's, or not any more. No thread is
/// inside it.
fn forget_tables() {
    // SAFETY: no thread holds one of our locks or takes one before the next recording: a forked
    // child begins with one thread, and otherwise none is inside the hook.
    unsafe {
        hook::PEAK_CHECKS.reset(hook::PeakChecks::new());
        hook::forget_resident();
        hook::forget_snapshots();
        shadow::forget_all();
        samples::forget_all();
    }
    hook::forget_all();
    hook::forget_signals();
    session::forget_sites();
    session::forget_scopes();
    arenas::forget();
    thread::with(|thread| {
        thread.busy.set(false);
        // It is that of the parent's lane.
        thread.countdown.set(std::ptr::null());
    });
}

/// The error of a forked child that tries to finish its parent's recording.
pub(crate) const INHERITED: &str =
    "this recording belongs to the parent process; finish it there, not in a forked child";

/// Stops a recording and finishes the file: a last check, the state, the checksum. Returns the
/// reason if this is not possible. If another thread was finishing the recording, it is finished on
/// return.
pub(crate) fn finish(tag: u32) -> Result<(), &'static str> {
    let session = session::own(tag).ok_or(INHERITED)?;
    let header = session.header();
    let _errno = sys::Errno::keep();
    if !life::finish() {
        return Err("this recording was finished before; finish a recording only once");
    }
    if hook::wants_end()
        && let Some(mut checks) = hook::PEAK_CHECKS.try_lock(1000)
    {
        // A snapshot has the time of the last check.
        hook::check_peak_now(&mut checks, false);
    }
    hook::remove_signals();
    hook::take_at_end();
    state::end_recording();
    let is_idle = hook::wait_until_idle();
    settle(session);
    header.state.store(recording::state::FINISHED, Release);
    // A thread that is still inside may write once more. Without a checksum, that is not damage.
    if is_idle && let Some(writer) = session.write.try_lock(1000) {
        header.checksum.store(checksum_of(&writer.store), Release);
    }
    life::ended();
    Ok(())
}

/// Writes the last values into a recording before it is finished.
fn settle(session: &Session) {
    let Some(mut checks) = hook::PEAK_CHECKS.try_lock(1000) else {
        return;
    };
    hook::check_peak_now(&mut checks, true);
    hook::end_last_pause(session.header());
    hook::read_resident();
    hook::part(&checks);
    if let Some(mut writer) = session.write.try_lock(1000) {
        arenas::settle(&mut writer, session.tag());
    }
    session::store_own_bytes(session.header());
}

/// Returns the checksum of a recording to which nobody writes any more, except an attached reader
/// to the words of the exchange, which count as zero.
fn checksum_of(store: &Store) -> u64 {
    const EXCHANGE: std::ops::Range<usize> = EXCHANGE_OFFSET / 32..HEADER_BYTES as usize / 32;
    let mut checksum = Checksum::default();
    let mut left_out = EXCHANGE;
    for piece in store.pieces() {
        let (fours, _) = piece.as_chunks::<4>();
        // The exchange lies in the first piece.
        let exchange = std::mem::take(&mut left_out);
        add(&mut checksum, &fours[..exchange.start]);
        exchange.clone().for_each(|_| checksum.add([0; 4]));
        add(&mut checksum, &fours[exchange.end..]);
    }
    checksum.finish()
}

fn add(checksum: &mut Checksum, fours: &[[AtomicU64; 4]]) {
    for four in fours {
        checksum.add(four.each_ref().map(|word| word.load(Relaxed)));
    }
}
