//! Snapshots: paused copies of the process for an attached reader.
//!
//! # The protocol
//!
//! A reader is attached while [`Exchange::reader`] holds its process ID: `HEAPGLASS_SNAPSHOT` in
//! the environment sets it at the start, or the reader writes it into the file of the recording.
//! There is no thread that waits for requests.
//!
//! 1. The reader writes `forced` and `reader`, then increments `request`.
//! 2. The next thread that checks the peak or [looks](super::looks) notices the request and makes
//!    the copy. (A program that allocates nothing notices none.)
//!    Without a request, a copy is made for other [triggers](snapshot_trigger): a peak above
//!    `peak_above`, a mark with a hash in `marks`, the end of the recording, a signal.
//! 3. The recorder writes its words, then increments `answers`. If `status` is
//!    [`TAKEN`](snapshot_status::TAKEN), `copy` is the process ID of the copy.
//! 4. The reader reads `/proc/COPY/mem` and then ends the copy with SIGKILL, by a pidfd. The copy
//!    also ends when the reader does, and after [`LONGEST`].
//! 5. The recorder reaps the copy at a later check.
//!
//! While there is a copy, a request waits. At a peak, at the end of the recording, and when the
//! program itself takes a snapshot with [`snapshot`](crate::snapshot), there may be more, once the
//! reader has seen the last: a peak does not come again, and the program does not wait long at a
//! mark. What a mark or the end has no copy of is counted (`Header::missed_snapshots`). A
//! snapshot that the program takes also replaces the copy of a peak that the reader has not seen
//! for [some time](LONGEST_WAIT_NS); the recorder then makes another copy of a peak. These triggers
//! add an answer that leaves `answered` unchanged. After the copy of a peak,
//! the next one is that of a peak larger by a quarter; a copy of a peak that the reader has not
//! seen by then is ended, and its answer is lost. A peak at which no thread made a copy, because
//! others were the first to free, has one at the next check if little was freed by then.
//!
//! A copy that still exists when the recording ends is not reaped: there are no checks any more.
//! When it has ended, it stays in the list of processes until the program ends, and no wait of the
//! program finds it.
//!
//! # What the copy contains
//!
//! Private memory is that of one moment: the shadow map, stacks, blocks, and [`InFlight`] of each
//! lane. The recording is a shared mapping, so in the copy it is live. The copy has one thread, the
//! one that made it; the registers of the others are lost.
//!
//! A thread makes no copy while it holds a lock of the recorder, or while it reallocates: the new
//! block would be in no map. In `count` mode a copy is made too, but its blocks have no stacks.
//!
//! [`InFlight`]: tracking_alloc_recording::InFlight

mod environment;

pub(crate) use environment::attach;

use super::lane::{self, Lane};
use super::signal::SNAPSHOT;
use super::writers::{self, Inside};
use crate::NoSnapshot;
use crate::session;
use crate::session::net_bytes;
use crate::state;
use crate::sys::{self, Errno, Lock};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};
use std::time::Duration;
use tracking_alloc_recording::{Exchange, mark_hash, snapshot_status, snapshot_trigger};

/// The copy ends after this time at the latest.
const LONGEST: Duration = Duration::from_secs(600);
/// The longest wait at a mark for the reader of the last copy, in nanoseconds.
const LONGEST_WAIT_NS: u64 = 3_000_000_000;
/// The same for a snapshot that the program takes itself, and for that of the end: they never come
/// again.
const LONGEST_LAST_WAIT_NS: u64 = 60_000_000_000;
/// The time between two attempts to reap a copy, in nanoseconds.
const REAP_NS: u64 = 1_000_000;

/// The last copy, if it was not reaped yet; 0 = none.
static COPY: AtomicU32 = AtomicU32::new(0);
/// Earlier copies that were not reaped yet; 0 = none. The reader reads one at most; another was
/// ended because a larger peak came.
static EARLIER: [AtomicU32; 2] = [const { AtomicU32::new(0) }; 2];
/// The time of the next attempt to reap copies.
static REAP_AT_NS: AtomicU64 = AtomicU64::new(0);
/// The value of [`Exchange::peak_above`] that was answered last.
static PEAK_ANSWERED: AtomicU64 = AtomicU64::new(0);
/// The live bytes above which the next peak is larger by a quarter than that of the last answer.
static NEXT_PEAK: AtomicU64 = AtomicU64::new(0);
/// Lets one thread at a time make or reap a copy. The buffer is for files of /proc: events have
/// little stack.
static MAKING: Lock<[u8; 4096]> = Lock::new([0; 4096]);

/// Returns the value of [`Exchange::status`] for a refusal.
fn status(reason: NoSnapshot) -> u32 {
    match reason {
        NoSnapshot::NotRecording
        | NoSnapshot::NoReader
        | NoSnapshot::Busy
        | NoSnapshot::Unsupported => snapshot_status::NO_READER,
        NoSnapshot::Sandbox => snapshot_status::SANDBOX,
        NoSnapshot::NotDumpable => snapshot_status::NOT_DUMPABLE,
        NoSnapshot::OldKernel => snapshot_status::OLD_KERNEL,
        NoSnapshot::CloneFailed(_) => snapshot_status::CLONE_FAILED,
        NoSnapshot::Preallocated => snapshot_status::QUIET,
        NoSnapshot::Samples => snapshot_status::SAMPLES,
    }
}

/// Forgets the parent's copy, for a forked child that starts its own recording.
///
/// # Safety
/// No other thread may reach the lock.
pub(crate) unsafe fn forget() {
    // SAFETY: guaranteed by the caller.
    unsafe { MAKING.reset([0; 4096]) };
    copies().for_each(|copy| copy.store(0, Relaxed));
    PEAK_ANSWERED.store(0, Relaxed);
    NEXT_PEAK.store(0, Relaxed);
}

/// Makes the copy that a reader asked for, and reaps the last one. Call without any lock other than
/// a lane's.
#[inline]
pub(super) fn look(lane: &'static Lane) {
    let Some(exchange) = session::exchange() else {
        return;
    };
    if is_requested(exchange) || has_copies() || SNAPSHOT.came() {
        serve(exchange, lane);
    }
}

/// The last copy behind the earlier ones.
fn copies() -> impl Iterator<Item = &'static AtomicU32> {
    EARLIER.iter().chain([&COPY])
}

fn has_copies() -> bool {
    copies().any(|copy| copy.load(Relaxed) != 0)
}

/// Returns `true` if a reader waits for the next peak.
pub(super) fn waits_for_peak() -> bool {
    session::exchange().is_some_and(|exchange| peak_above(exchange).is_some())
}

fn peak_above(exchange: &Exchange) -> Option<u64> {
    let wanted = exchange.peak_above.load(Acquire);
    let is_answered = wanted == PEAK_ANSWERED.load(Relaxed);
    let next = if is_answered {
        NEXT_PEAK.load(Relaxed)
    } else {
        0
    };
    (wanted != 0).then_some(wanted.max(next))
}

/// The time at which a thread looks whether to copy a peak.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Moment {
    /// After a check, before the fall from a maximum.
    Peak,
    /// After any check. If no thread made a copy at the peak itself, and little was freed since,
    /// it is made now.
    AfterPeak,
}

/// Makes the copy that a reader wants at a peak. Call like [`look`].
pub(super) fn look_at_peak(lane: &'static Lane, moment: Moment) {
    if let Some(exchange) = session::exchange()
        && let Some(above) = peak_above(exchange)
    {
        serve_peak(exchange, lane, above, moment);
    }
}

#[cold]
#[inline(never)]
fn serve_peak(exchange: &Exchange, lane: &'static Lane, above: u64, moment: Moment) {
    let peak = session::header().map_or(0, |header| header.peak_bytes.load(Relaxed));
    let is_above = u64::try_from(peak).is_ok_and(|peak| peak > above);
    if !is_above || lane.is_shared() || lane.is_reallocating() {
        return;
    }
    // At the check, the lane's limit is what it would have at the maximum.
    let below = lane
        .limit
        .load(Relaxed)
        .saturating_sub(net_bytes(lane.all()));
    let is_peak = match moment {
        Moment::Peak => below <= 0,
        // While they rise, the peak is still to come.
        Moment::AfterPeak => 0 < below && below < peak / 16,
    };
    if !is_peak {
        return;
    }
    let Some(mut making) = MAKING.try_lock(1) else {
        return;
    };
    let _errno = Errno::keep();
    let mut replaced = 0;
    if !reap(false) {
        let Some(copy) = set_peak_aside(exchange) else {
            return;
        };
        replaced = copy;
    }
    let taken = take(exchange, &mut *making);
    if moment == Moment::AfterPeak && taken.is_ok() && !is_just_below(peak) {
        // Other threads freed more until the copy was made, or live bytes rise again. The copy that
        // it would replace is the better one.
        sys::copy::end(COPY.load(Relaxed));
        take_back(replaced);
        return;
    }
    let wanted = exchange.peak_above.load(Relaxed);
    PEAK_ANSWERED.store(wanted, Relaxed);
    NEXT_PEAK.store(above_by_a_quarter(peak), Relaxed);
    let request = exchange.answered.load(Relaxed);
    answer(exchange, taken, snapshot_trigger::PEAK, 0, request);
    // After the answer: a reader that has seen the earlier copy meanwhile, and then cannot read it,
    // finds the reason.
    sys::copy::end(replaced);
}

/// Returns `true` if live bytes are below a maximum by less than a sixteenth of it.
fn is_just_below(peak: i64) -> bool {
    let (live, _) = session::sums_of_lanes().net();
    live < peak && live > peak - peak / 16
}

fn above_by_a_quarter(peak: i64) -> u64 {
    let peak = u64::try_from(peak).unwrap_or(0);
    peak.saturating_add(peak / 4)
}

/// Makes room for the copy of a peak: beside a copy that the reader has seen, or in place of that
/// of an earlier peak that it has not seen yet, which would show less. Returns the copy to end, 0 =
/// none; `None` if there is no room. Call under the lock.
fn set_peak_aside(exchange: &Exchange) -> Option<u32> {
    let is_seen = is_seen(exchange);
    let is_peak = exchange.trigger.load(Relaxed) == snapshot_trigger::PEAK;
    let copy = COPY.load(Relaxed);
    let has_room = (is_seen || is_peak) && set_aside();
    has_room.then_some(if is_seen { 0 } else { copy })
}

/// Makes an earlier copy the last one again. Call under the lock.
fn take_back(copy: u32) {
    let place = EARLIER.iter().find(|place| place.load(Relaxed) == copy);
    if let Some(place) = place.filter(|_| copy != 0) {
        place.store(COPY.swap(copy, Relaxed), Relaxed);
    }
}

/// Makes room for a second copy if the reader has seen the last one, which it is reading now.
/// Returns `false` if it has not. Call under the lock.
fn set_seen_aside(exchange: &Exchange) -> bool {
    is_seen(exchange) && set_aside()
}

/// Makes the last copy an earlier one. Returns `false` if there are too many.
fn set_aside() -> bool {
    let place = EARLIER.iter().find(|place| place.load(Relaxed) == 0);
    if let Some(place) = place {
        place.store(COPY.swap(0, Relaxed), Relaxed);
    }
    place.is_some()
}

fn is_seen(exchange: &Exchange) -> bool {
    exchange.seen.load(Acquire) == exchange.answers.load(Relaxed)
}

/// Returns `true` if a reader or a signal asks for a copy that could be made now.
pub(super) fn is_asked() -> bool {
    let is_asked = session::exchange().is_some_and(is_requested) || SNAPSHOT.came();
    // Until then, `reap` does not look whether the last copy has ended.
    is_asked && (COPY.load(Relaxed) == 0 || sys::now_ns() >= REAP_AT_NS.load(Relaxed))
}

fn is_requested(exchange: &Exchange) -> bool {
    exchange.request.load(Acquire) != exchange.answered.load(Relaxed)
}

#[cold]
#[inline(never)]
fn serve(exchange: &Exchange, lane: &'static Lane) {
    if lane.is_shared() {
        // A lane of its own would say whether this thread is reallocating.
        return;
    }
    if lane.is_reallocating() {
        lane.look_after(0);
        return;
    }
    let Some(mut making) = MAKING.try_lock(1) else {
        return;
    };
    let _errno = Errno::keep();
    if !reap(false) {
        return;
    }
    if is_requested(exchange) {
        let request = exchange.request.load(Acquire);
        let taken = take(exchange, &mut *making);
        answer(exchange, taken, snapshot_trigger::REQUEST, 0, request);
    } else if SNAPSHOT.take() != 0 {
        let taken = take(exchange, &mut *making);
        let request = exchange.answered.load(Relaxed);
        answer(exchange, taken, snapshot_trigger::SIGNAL, 0, request);
    }
}

/// Reaps copies that have ended. Returns `false` if the last one has not. Call under the lock.
fn reap(now: bool) -> bool {
    if !has_copies() {
        return true;
    }
    let at = sys::now_ns();
    if !now && at < REAP_AT_NS.load(Relaxed) {
        return COPY.load(Relaxed) == 0;
    }
    REAP_AT_NS.store(at + REAP_NS, Relaxed);
    for place in copies() {
        let copy = place.load(Relaxed);
        if copy != 0 && sys::copy::reap(copy) {
            place.store(0, Relaxed);
        }
    }
    COPY.load(Relaxed) == 0
}

/// A copy that was just made.
struct Taken {
    copy: u32,
    time_ns: u64,
    pause_ns: u64,
    live: (i64, i64),
}

/// Makes a copy, if that harms nobody. Call under the lock, while the last copy is reaped or
/// [set aside](set_aside).
fn take(exchange: &Exchange, buffer: &mut [u8]) -> Result<Taken, NoSnapshot> {
    let reader = exchange.reader.load(Acquire);
    let is_forced = exchange.forced.load(Relaxed) != 0;
    if sys::is_quiet() {
        return Err(NoSnapshot::Preallocated);
    }
    if state::samples() {
        return Err(NoSnapshot::Samples);
    }
    if reader == 0 || reader == sys::process_id() || !sys::copy::exists(reader) {
        return Err(NoSnapshot::NoReader);
    }
    if !is_forced && sys::copy::is_sandboxed(buffer) {
        return Err(NoSnapshot::Sandbox);
    }
    if !sys::copy::is_dumpable() {
        return Err(NoSnapshot::NotDumpable);
    }
    if !sys::copy::can_copy() {
        return Err(NoSnapshot::OldKernel);
    }
    // The calling thread has just made a check, or a mark.
    let time_ns = session::header().map_or(0, |header| header.elapsed_ns.load(Relaxed));
    let live = session::sums_of_lanes().net();
    let before = sys::now_ns();
    let copy = sys::copy::make(reader, LONGEST).map_err(NoSnapshot::CloneFailed)?;
    let pause_ns = sys::now_ns().saturating_sub(before);
    COPY.store(copy, Relaxed);
    REAP_AT_NS.store(0, Relaxed);
    Ok(Taken {
        copy,
        time_ns,
        pause_ns,
        live,
    })
}

/// Tells the reader about a copy, or why there is none. `request` is the request that is answered,
/// or the last one that was.
fn answer(
    exchange: &Exchange,
    taken: Result<Taken, NoSnapshot>,
    trigger: u32,
    label: u32,
    request: u32,
) {
    let (status, errno) = match &taken {
        Ok(_) => (snapshot_status::TAKEN, 0),
        Err(NoSnapshot::CloneFailed(errno)) => (snapshot_status::CLONE_FAILED, *errno),
        Err(reason) => (status(*reason), 0),
    };
    exchange.status.store(status, Relaxed);
    exchange.errno.store(errno as u32, Relaxed);
    exchange.label.store(label, Relaxed);
    exchange.trigger.store(trigger, Relaxed);
    let taken = taken.unwrap_or(Taken {
        copy: 0,
        time_ns: 0,
        pause_ns: 0,
        live: (0, 0),
    });
    exchange.copy.store(taken.copy, Relaxed);
    exchange.time_ns.store(taken.time_ns, Relaxed);
    exchange.pause_ns.store(taken.pause_ns, Relaxed);
    exchange.live_bytes.store(taken.live.0, Relaxed);
    exchange.live_blocks.store(taken.live.1, Relaxed);
    exchange.answered.store(request, Relaxed);
    exchange.answers.fetch_add(1, Release);
}

/// Takes the snapshot of a label that was set as a mark, and waits while the reader reads the last
/// one.
pub(crate) fn take_now(label: &str) -> Result<(), NoSnapshot> {
    take_labelled(snapshot_trigger::PROGRAM, label)
}

/// Takes a snapshot at a mark that was just set, if the reader waits for it.
pub(crate) fn take_at_mark(name: &str) {
    let Some(exchange) = session::exchange() else {
        return;
    };
    if exchange.reader.load(Acquire) == 0 {
        return;
    }
    let hash = mark_hash(name.as_bytes());
    if exchange.marks.iter().any(|mark| mark.load(Relaxed) == hash) {
        // The reader is told if there is none.
        let _ = take_labelled(snapshot_trigger::MARK, name);
    }
}

/// Returns `true` if a reader wants a snapshot at the end of the recording.
pub(crate) fn wants_end() -> bool {
    session::exchange().is_some_and(|exchange| {
        exchange.reader.load(Acquire) != 0 && exchange.at_exit.load(Relaxed) != 0
    })
}

/// Takes the snapshot that the reader wants at the end of the recording, and reaps the last copy if
/// it has ended.
pub(crate) fn take_at_end() {
    if wants_end() {
        // The reader is told if there is none.
        let _ = take_labelled(snapshot_trigger::EXIT, "");
    } else if let Some(_making) = MAKING.try_lock(1) {
        let _errno = Errno::keep();
        reap(true);
    }
}

fn take_labelled(trigger: u32, label: &str) -> Result<(), NoSnapshot> {
    // A signal handler may have interrupted the recorder, or a realloc.
    if writers::is_here() || lane::own().is_some_and(Lane::is_reallocating) {
        return Err(NoSnapshot::NotRecording);
    }
    let exchange = session::exchange().ok_or(NoSnapshot::NotRecording)?;
    if exchange.reader.load(Acquire) == 0 {
        return Err(NoSnapshot::NoReader);
    }
    let begun = sys::now_ns();
    wait_for_room(exchange, trigger, begun);
    let (Some(_inside), Some(session)) = (Inside::enter(), session::current()) else {
        return Err(NoSnapshot::NotRecording);
    };
    let _errno = Errno::keep();
    let label = if label.is_empty() {
        0
    } else {
        session.write.lock().string(label.as_bytes())
    };
    let mut making = MAKING.lock();
    if !has_room(exchange, trigger, begun) {
        if trigger != snapshot_trigger::PROGRAM {
            // Nobody else is told.
            session.header().missed_snapshots.fetch_add(1, Relaxed);
        }
        return Err(NoSnapshot::Busy);
    }
    let taken = take(exchange, &mut *making);
    let result = taken.as_ref().map(drop).map_err(|reason| *reason);
    let request = exchange.answered.load(Relaxed);
    answer(exchange, taken, trigger, label, request);
    result
}

/// Waits until another copy can be made, or for the longest time.
fn wait_for_room(exchange: &Exchange, trigger: u32, begun: u64) {
    let longest = match trigger {
        snapshot_trigger::PROGRAM | snapshot_trigger::EXIT => LONGEST_LAST_WAIT_NS,
        _ => LONGEST_WAIT_NS,
    };
    // More than the time above, in sleeps of 100 us.
    const SLEEPS: u32 = 1_000_000;
    sys::Patience::new(SLEEPS).wait_until(|| {
        let making = MAKING.try_lock(1);
        making.is_some() && has_room(exchange, trigger, begun)
            || sys::now_ns() > begun + longest
            || !sys::copy::exists(exchange.reader.load(Relaxed))
    });
}

/// Returns `true` if there is room for another copy, for which the caller waits since `begun`.
/// Makes room if it can. Call under the lock.
fn has_room(exchange: &Exchange, trigger: u32, begun: u64) -> bool {
    let is_urgent = matches!(trigger, snapshot_trigger::EXIT | snapshot_trigger::PROGRAM);
    let is_late = || sys::now_ns() > begun + LONGEST_WAIT_NS;
    reap(true)
        || is_urgent && set_seen_aside(exchange)
        || trigger == snapshot_trigger::PROGRAM && is_late() && replace_peak(exchange)
}

/// Ends the copy of a peak that the reader has not seen, so that another one can be made. The next
/// peak has a copy, however large it is. Returns `false` if there is no such copy. Call under the
/// lock.
fn replace_peak(exchange: &Exchange) -> bool {
    let is_peak = exchange.trigger.load(Relaxed) == snapshot_trigger::PEAK;
    let copy = COPY.load(Relaxed);
    let is_replaced = is_peak && copy != 0 && !is_seen(exchange) && set_aside();
    if is_replaced {
        sys::copy::end(copy);
        NEXT_PEAK.store(0, Relaxed);
    }
    is_replaced
}
