//! Counts other than those of plain events: futures in phases, signal handlers during an event,
//! `stats()` around a recording, and forked children.

use crate::child::{Block, OUT, Programs, Run, environment, in_thread};
use crate::counted::words;
use crate::inner;
use crate::read::{Counts, by_phase, phase, rows};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::pin::pin;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering::*};
use std::task::{Context, Poll, Waker};
use tracking_alloc::{Recorder, phase as enter, phase_async, stats};
use tracking_alloc_recording::lane_kind;

pub(crate) const PROGRAMS: Programs = &[
    ("futures", futures),
    ("interrupted", interrupted),
    ("stats-around", stats_around),
    ("forked", forked),
    ("first-event", first_event),
    ("finished-inside", finished_inside),
];

fn out() -> &'static Path {
    Path::new(OsStr::from_bytes(environment(OUT).expect("a path")))
}

/// Is pending once.
async fn pause() {
    let mut was_polled = false;
    std::future::poll_fn(|_| match std::mem::replace(&mut was_polled, true) {
        true => Poll::Ready(()),
        false => Poll::Pending,
    })
    .await;
}

/// A future is in its phase only while it is polled, on whatever thread.
fn futures() {
    let context = &mut Context::from_waker(Waker::noop());
    let outer = enter("outer");
    let mut task = pin!(
        phase_async("task", async {
            let block = Block::new(100);
            pause().await;
            Block::new(20).free();
            block
        })
        .input_bytes(7)
        .records(2)
    );
    Block::new(1).free();
    assert!(task.as_mut().poll(context).is_pending());
    Block::new(2).free();
    drop(outer);
    let other = enter("other");
    let Poll::Ready(block) = task.poll(context) else {
        panic!("it paused once");
    };
    Block::new(4).free();
    drop(other);
    Block::new(8).free();
    block.free();
    // A future that panics leaves its phase too.
    let thrown = std::panic::catch_unwind(|| {
        let mut task = pin!(phase_async("thrown", async {
            std::panic::resume_unwind(Box::new(()))
        }));
        let _: Poll<()> = task.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    });
    std::mem::forget(thrown);
    Block::new(16).free();
}

#[test]
fn a_future_counts_in_its_phase_while_it_is_polled() {
    let recording = Run::new("futures", "move").finished();
    let phases = by_phase(&recording);
    let temporary = |bytes: u64, blocks: u64| Counts {
        total: (bytes, blocks),
        freed: (bytes, blocks),
        temporary: (bytes, blocks),
        ..Counts::default()
    };
    assert_eq!(phases["outer"], temporary(1 + 2, 2));
    assert_eq!(phases["other"], temporary(4, 1));
    let task = Counts {
        total: (100 + 20, 2),
        freed: (100 + 20, 2),
        temporary: (20, 1),
        // Allocated as the second block, freed when there were six.
        lifetime: 4,
        lifetime_blocks: 2,
        ..temporary(0, 0)
    };
    let found = Counts {
        peak: (0, 0),
        ..phases["outer > task"]
    };
    assert_eq!(found, task);
    // Exceptions are allocated outside of the phase that they end.
    assert!(phases[""].total.0 >= 8 + 16);
    assert_eq!(phases[""].temporary, (8 + 16, 2));
    let scope = |name: &str| {
        let mut scopes = recording.scopes.iter();
        scopes
            .find(|scope| recording.string(scope.name).as_deref() == Some(name))
            .expect("a scope of that name")
    };
    let task = scope("task");
    assert_eq!((task.entered, task.depth), (1, 2));
    assert_eq!((task.input_bytes, task.records), (7, 2));
    assert_eq!((task.stayed_bytes, task.flags), (100, 0));
    assert_eq!(scope("other").stayed_bytes, 0);
    assert_eq!(scope("thrown").entered, 1);
}

const SIGNALS: u64 = 500;
/// The size of the blocks that signals interrupt, and of those that the handler leaves. All sizes
/// are multiples of 8: blocks at other addresses are in a table with locks, where a handler that
/// interrupted its holder may miss one. That is told, as a free of an unknown block.
const BYTES: usize = 8;
const LEFT_BYTES: usize = 104;
const KEPT: usize = 64;

static HANDLED: AtomicU64 = AtomicU64::new(0);
static LEFT: AtomicU64 = AtomicU64::new(0);
static PASSED: [AtomicPtr<u8>; KEPT] = [const { AtomicPtr::new(std::ptr::null_mut()) }; KEPT];

/// A signal handler that allocates. This is allowed with the inner allocator that places blocks
/// back to back. It allocates three blocks (one of them by a realloc) and frees two, or one while
/// there is room for the other.
extern "C" fn handler(_: libc::c_int) {
    let mut block = Block::new(24);
    block.resize(48);
    let handled = HANDLED.fetch_add(1, Relaxed) as usize;
    let kept = Block::new(LEFT_BYTES);
    let place = &PASSED[handled % KEPT];
    if place.load(Acquire).is_null() {
        LEFT.fetch_add(1, Relaxed);
        place.store(kept.as_ptr(), Release);
    } else {
        kept.free();
    }
    block.free();
}

/// Signals also come during events. Blocks left by the handler are freed and reallocated outside of
/// it.
fn interrupted() {
    let phase = enter("handled");
    inner::align_packed();
    // The thread has its lane before the first signal.
    Block::new(BYTES).free();
    let mut events = 1_usize;
    // SAFETY: the handler takes the signal's number, and the timer is stopped again.
    unsafe {
        libc::signal(libc::SIGALRM, handler as *const () as usize);
        // Each alarm rings once, and the loop sets the next one: the program leaves the handler
        // however long its events take.
        let alarm = |tv_usec| {
            let micros = |tv_usec| libc::timeval { tv_sec: 0, tv_usec };
            let once = libc::itimerval {
                it_interval: micros(0),
                it_value: micros(tv_usec),
            };
            libc::setitimer(libc::ITIMER_REAL, &once, std::ptr::null_mut());
        };
        let mut handled = 0;
        alarm(200);
        while handled < SIGNALS {
            Block::new(BYTES).free();
            let place = PASSED[events % KEPT].swap(std::ptr::null_mut(), AcqRel);
            if let Some(mut block) = Block::of(place, LEFT_BYTES) {
                if events.is_multiple_of(2) {
                    block.resize(LEFT_BYTES);
                }
                block.free();
            }
            events += 1;
            let now = HANDLED.load(Relaxed);
            if now != handled {
                handled = now;
                alarm(1 + (events % 200) as libc::suseconds_t);
            }
        }
        // The last alarm may still ring.
        libc::signal(libc::SIGALRM, libc::SIG_IGN);
    }
    drop(
        phase
            .records(HANDLED.load(Relaxed))
            .input_bytes(LEFT.load(Relaxed)),
    );
    drop(enter("events").records(events as u64));
}

#[test]
fn events_of_signal_handlers_in_the_middle_of_an_event_are_in_the_totals() {
    let recording = Run::new("interrupted", "pack").finished();
    let (handled, left) = (recording.scopes[1].records, recording.scopes[1].input_bytes);
    let events = recording.scopes[2].records;
    let mut sum = Counts::default();
    for row in recording.lanes.iter().flat_map(rows) {
        sum.add(&Counts {
            total: (row.total_bytes, row.total_blocks),
            freed: (row.freed_bytes, row.freed_blocks),
            ..Counts::default()
        });
    }
    let unattributed: u64 = recording
        .lanes
        .iter()
        .map(|lane| lane.unattributed.total_blocks)
        .sum();
    assert!(unattributed > 0, "none of {handled} came during an event");
    assert_eq!(
        recording.lanes.len(),
        1,
        "they are of the thread's own lane"
    );
    assert!(unattributed <= 3 * handled);
    // Half of the remaining blocks are reallocated to their own size. The number of blocks is not
    // known here, but the number of events is.
    let again = sum.total.1 - events - 3 * handled;
    assert!(again <= left);
    assert_eq!(
        sum.total.0,
        BYTES as u64 * events + (24 + 48 + LEFT_BYTES as u64) * handled + LEFT_BYTES as u64 * again
    );
    let live = sum.live();
    let left = LEFT_BYTES as i64 * live.1;
    assert_eq!(live.0, left, "only what the handler left");
    assert!((0..=KEPT as i64).contains(&live.1), "{live:?}");
    assert_eq!(recording.header.untracked_blocks, 0);
    let unknown: u64 = recording
        .lanes
        .iter()
        .map(|lane| lane.lane.unknown_frees)
        .sum();
    assert_eq!(unknown, 0);
}

/// `stats()` counts before, during and after a recording as if there were none.
fn stats_around() {
    assert_eq!(words(stats()), [0; 13], "it begins here");
    let early = Block::new(500); // 500
    let mut older = Block::new(40); // 540
    let last = Block::new(3); // 543
    let recorder = Recorder::start(out()).expect("it records");
    last.free(); // 540: temporary, though the recording does not know it
    let kept = Block::new(200); // 740: the peak, with three blocks
    let mut expected = [743, 4, 3, 1, 740, 3, 740, 3, 0, 0, 0, 1, 3];
    assert_eq!(words(stats()), expected);
    early.free(); // 240
    older.resize(60); // 260
    older.resize(60); // 260: known now
    Block::new(7).free();
    expected = [
        743 + 120 + 7,
        7,
        3 + 500 + 100 + 7,
        5,
        260,
        2,
        740,
        3,
        2,
        0,
        100,
        2,
        10,
    ];
    assert_eq!(words(stats()), expected);
    recorder.finish().expect("it was recording");
    assert_eq!(words(stats()), expected, "its rows were kept");
    let more = Block::new(1000); // 1,260
    more.free();
    kept.free();
    let figures = words(stats());
    expected = [1870, 8, 1810, 7, 60, 1, 1260, 3, 2, 0, 100, 3, 1010];
    assert_eq!(figures, expected);
    in_child(|| {
        assert_eq!(words(stats()), [0; 13], "a child begins anew");
        Block::new(30).free();
        assert_eq!(words(stats()), [30, 1, 30, 1, 0, 0, 30, 1, 0, 0, 0, 1, 30]);
    });
}

#[test]
fn stats_go_on_through_a_recording() {
    Run::unrecorded("stats-around", "move").succeeds();
}

/// Runs `f` in a forked child, and waits until the child ended well.
fn in_child(f: impl FnOnce()) {
    // SAFETY: there is one thread, and the child ends here.
    unsafe {
        let child = libc::fork();
        if child == 0 {
            f();
            libc::_exit(0);
        }
        let mut status = 0;
        assert_eq!(libc::waitpid(child, &mut status, 0), child);
        assert_eq!(status, 0, "the child failed");
    }
}

/// A forked child's own recording has phases of its own, even with the same name.
fn forked() {
    let _outer = enter("outer");
    let phase = enter("a");
    let block = Block::new(100);
    in_child(|| {
        // The child's recording knows neither phases nor blocks of the parent.
        let path = out().with_extension("child");
        let recorder = Recorder::start(&path).expect("it records");
        std::mem::forget(path);
        Block::new(1).free();
        drop(phase);
        let own = enter("a");
        Block::new(2).free();
        drop(own.records(3));
        block.free();
        recorder.finish().expect("it was recording");
    });
    Block::new(16).free();
}

#[test]
fn a_forked_childs_recording_has_its_own_phases() {
    let mut run = Run::new("forked", "move");
    run.succeeds();
    let child = run.read_beside("child");
    let names: Vec<_> = child.scopes[1..]
        .iter()
        .map(|scope| (child.string(scope.name), scope.parent, scope.records))
        .collect();
    assert_eq!(names, [(Some("a".to_owned()), 0, 3)]);
    assert_eq!(phase(&child, "a").total, (2, 1));
    assert_eq!(phase(&child, "").total, (1, 1));
    assert_eq!((child.lanes.len(), child.header.lanes), (1, 1));
    assert_eq!(child.lanes[0].lane.unknown_frees, 1);
    let parent = run.read();
    // The guard was also dropped here, before the last block.
    assert_eq!(phase(&parent, "outer > a").total, (100, 1));
    assert_eq!(phase(&parent, "outer").total, (16, 1));
    assert_eq!(parent.scopes[2].records, 0);
}

/// The function called when the recorder looks up a thread's stack, which is during the thread's
/// first event, before it has a lane.
static IN_FIRST_EVENT: AtomicPtr<()> = AtomicPtr::new(std::ptr::null_mut());

/// Replaces libc's function, and calls it.
///
/// # Safety
/// The requirements of libc's function hold.
#[unsafe(no_mangle)]
unsafe extern "C" fn getauxval(kind: libc::c_ulong) -> libc::c_ulong {
    type Real = unsafe extern "C" fn(libc::c_ulong) -> libc::c_ulong;
    let first = IN_FIRST_EVENT.swap(std::ptr::null_mut(), AcqRel);
    // SAFETY: null or a function without arguments. libc's function gets its declared argument.
    unsafe {
        if !first.is_null() {
            std::mem::transmute::<*mut (), fn()>(first)();
        }
        let real = libc::dlsym(libc::RTLD_NEXT, c"getauxval".as_ptr());
        std::mem::transmute::<*mut libc::c_void, Real>(real)(kind)
    }
}

fn in_first_event(f: fn()) {
    IN_FIRST_EVENT.store(f as *mut (), Release);
    in_thread(c"first", || Block::new(8).free());
    assert!(IN_FIRST_EVENT.load(Acquire).is_null(), "it was called");
}

fn first_event() {
    static KEPT: AtomicPtr<u8> = AtomicPtr::new(std::ptr::null_mut());
    Block::new(100).free();
    in_first_event(|| {
        // No phase begins during an event, because it would wait for a lock that the event holds.
        drop(enter("not entered"));
        Block::new(50).free();
        KEPT.store(Block::new(24).as_ptr(), Release);
    });
    // SAFETY: the block that was kept.
    let kept = unsafe { Block::of(KEPT.load(Acquire), 24) };
    kept.expect("a block").free();
}

#[test]
fn what_is_allocated_in_the_middle_of_a_threads_first_event_is_in_the_totals() {
    let recording = Run::new("first-event", "move").finished();
    let unattributed = |lane: usize| {
        let row = &recording.lanes[lane].unattributed;
        (
            (row.total_bytes, row.total_blocks),
            (row.freed_bytes, row.freed_blocks),
        )
    };
    assert_eq!(recording.scopes.len(), 1);
    // The first thread frees the kept block, the second already has a lane, and nobody owns the
    // last lane.
    let lanes: Vec<_> = (0..recording.lanes.len()).map(unattributed).collect();
    assert_eq!(
        lanes,
        [((0, 0), (24, 1)), ((0, 0), (0, 0)), ((74, 2), (50, 1))]
    );
    assert_eq!(recording.lanes[2].lane.kind, lane_kind::SHARED);
    let totals = [0, 1].map(|lane| recording.lanes[lane].all.total_bytes);
    assert_eq!(totals, [100, 8]);
}

/// The recording is finished during an event, as if by a signal handler.
fn finished_inside() {
    Block::new(100).free();
    in_first_event(|| {
        let recorder = Recorder::current().expect("it records");
        // The result states that the file has no checksum.
        std::mem::forget(recorder.finish());
    });
}

#[test]
fn a_recording_that_is_finished_in_the_middle_of_an_event_has_no_checksum() {
    let recording = Run::new("finished-inside", "move").finished();
    assert_eq!(recording.header.checksum, 0);
    assert_eq!(recording.lanes[0].all.total_bytes, 100);
}
