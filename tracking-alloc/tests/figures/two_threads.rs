//! Two threads: the lane and row in which an event counts while threads are alive and after they
//! ended, and the figures of ended threads.

use crate::child::{Block, OUT, Programs, Run, be_read, in_thread, join, spawn, until};
use crate::read::{Counts, all, name_of, of_lane, phase};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering::*};
use tracking_alloc::phase as enter;
use tracking_alloc_recording::{
    LaneColumns, MAX_LANES, Recording, Sums, lane_kind, site_flags, state,
};

pub(crate) const PROGRAMS: Programs = &[
    ("passed", passed),
    ("both-alive", both_alive),
    ("in-turn", in_turn),
    ("heirs", heirs),
    ("renamed", renamed),
    ("room-again", room_again),
    ("crowd", crowd),
];

/// Blocks that one thread passes to the other.
static PASSED: Mutex<[Option<Block>; 4]> = Mutex::new([None; 4]);

fn give(block: Block) {
    let mut places = PASSED.lock().expect("a lock");
    let free = places.iter_mut().find(|place| place.is_none());
    *free.expect("a place") = Some(block);
}

fn take() -> Block {
    let mut places = PASSED.lock().expect("a lock");
    let block = places.iter_mut().find_map(Option::take);
    block.expect("a block")
}

/// The first thread allocates three blocks. The second frees one, reallocates one, and allocates
/// one.
fn first() {
    let _phase = enter("first");
    give(Block::new(1000));
    give(Block::new(300));
    give(Block::new(50));
    Block::new(8).free();
}

fn second() {
    let _phase = enter("second");
    take().free();
    let mut block = take();
    block.resize(400);
    let own = Block::new(70);
    block.free();
    own.free();
}

fn passed() {
    in_thread(c"first", first);
    in_thread(c"second", second);
}

/// Checks the figures of both threads, whichever of them are alive.
fn both(recording: &Recording) {
    let first = Counts {
        total: (1000 + 300 + 50 + 8, 4),
        freed: (1000 + 300 + 8, 3),
        temporary: (8, 1),
        // The block of 1,000 bytes. A realloc in another thread is no end of a block.
        freed_elsewhere: 1,
        peak: (1358, 4),
        ..Counts::default()
    };
    assert_eq!(phase(recording, "first"), first);
    let second = Counts {
        total: (400 + 70, 2),
        freed: (400 + 70, 2),
        grows: 1,
        copied_bytes: 300,
        // Not the reallocated block, which another thread allocated. The other block is the last
        // one.
        temporary: (70, 1),
        lifetime_blocks: 1,
        freed_elsewhere: 1,
        ..Counts::default()
    };
    assert_eq!(phase(recording, "second"), second);
    let sum = all(recording);
    assert_eq!((sum.live(), sum.peak), ((50, 1), (1358, 4)));
    assert_eq!(recording.header.peak_bytes, 1358);
}

#[test]
fn a_block_counts_where_it_was_allocated_and_its_end_in_the_lane_that_freed_it() {
    let recording = Run::new("passed", "move").finished();
    both(&recording);
    // The second thread took the lane of the first, which had ended.
    assert_eq!(recording.lanes.len(), 1);
    assert_eq!(recording.lanes[0].lane.tenancies, 2);
    assert_eq!(name_of(recording.lanes[0].lane.name), "second");
    let [ended] = &recording.threads[..] else {
        panic!("one thread ended before another took its lane");
    };
    assert_eq!((name_of(ended.name).as_str(), ended.count), ("first", 1));
    assert_eq!(ended.sums, [1358, 4, 8, 1, 0, 0, 0, 1, 8].into());
    assert_eq!((ended.peak_bytes, ended.peak_blocks), (1358, 4));
    // The lane's counts when the second thread came.
    assert_eq!(recording.lanes[0].lane.since, ended.sums);
}

static STEP: AtomicU32 = AtomicU32::new(0);

fn wait_for(step: u32) {
    until(|| STEP.load(Acquire) >= step);
}

/// Both threads are alive until they were read, and until the end.
fn both_alive() {
    spawn(c"first", || {
        first();
        STEP.store(1, Release);
        wait_for(u32::MAX);
    });
    spawn(c"second", || {
        wait_for(1);
        second();
        STEP.store(2, Release);
        wait_for(u32::MAX);
    });
    wait_for(2);
    be_read();
}

fn both_alive_of(recording: &Recording) {
    both(recording);
    assert_eq!(recording.lanes.len(), 2);
    assert!(recording.threads.is_empty());
    let first = of_lane(recording, "first");
    assert_eq!((first.total, first.freed), ((1358, 4), (8, 1)));
    assert_eq!(first.peak, (1358, 4));
    let second = of_lane(recording, "second");
    assert_eq!(second.total, (470, 2));
    assert_eq!(second.freed, (1000 + 300 + 400 + 70, 4));
    assert_eq!((second.live(), second.peak), ((470 - 1770, -2), (0, 0)));
    assert_eq!((second.grows, second.copied_bytes), (1, 300));
    for lane in &recording.lanes {
        assert_eq!((lane.lane.tenancies, lane.lane.since), (1, Sums::default()));
    }
}

#[test]
fn two_threads_alive_have_the_same_figures_while_they_run_when_killed_and_in_the_end() {
    for then_kill in [true, false] {
        let (alive, left) = Run::new("both-alive", "move").alive(then_kill);
        both_alive_of(&alive);
        both_alive_of(&left);
        assert_eq!(alive.header.state, state::RUNNING);
        let end = [state::FINISHED, state::RUNNING][usize::from(then_kill)];
        assert_eq!(left.header.state, end);
    }
}

/// Two threads take turns. The peak is a moment of both.
fn in_turn() {
    let one = spawn(c"one", || {
        let _phase = enter("one");
        let block = Block::new(200_000);
        STEP.store(1, Release);
        wait_for(2);
        let more = Block::new(50_000); // The peak: 200,000 + 100,000 + 50,000.
        more.free();
        block.free();
        STEP.store(3, Release);
    });
    let other = spawn(c"other", || {
        let _phase = enter("other");
        wait_for(1);
        let block = Block::new(100_000);
        STEP.store(2, Release);
        wait_for(3);
        block.free();
        Block::new(340_000).free(); // Nearly as much.
    });
    join(one);
    join(other);
}

#[test]
fn a_peak_of_large_blocks_of_two_threads_is_exact() {
    let recording = Run::new("in-turn", "move").finished();
    assert_eq!(phase(&recording, "one").peak, (250_000, 2));
    assert_eq!(phase(&recording, "other").peak, (100_000, 1));
    assert_eq!(all(&recording).live(), (0, 0));
    assert_eq!(recording.header.peak_bytes, 350_000);
    let total = |path: &str| phase(&recording, path).total;
    assert_eq!((total("one"), total("other")), ((250_000, 2), (440_000, 2)));
}

/// Threads that come and go one after another, two of them with the same name: before, at and after
/// the peak.
fn heirs() {
    in_thread(c"worker", || give(Block::new(100)));
    in_thread(c"worker", || {
        take().free();
        give(Block::new(5000));
    });
    in_thread(c"late", || {
        take().free();
        give(Block::new(40));
    });
    in_thread(c"last", || {
        let mut block = take();
        block.resize(60);
        block.resize(20);
        Block::new(3).free();
    });
    in_thread(c"worker", || Block::new(11).free());
    in_thread(c"end", || Block::new(2).free());
}

#[test]
fn threads_of_one_name_that_ended_are_one_record() {
    let recording = Run::new("heirs", "move").finished();
    assert_eq!(recording.lanes.len(), 1);
    assert_eq!(recording.lanes[0].lane.tenancies, 6);
    let ended: Vec<_> = recording
        .threads
        .iter()
        .map(|thread| {
            let peak = (thread.peak_bytes, thread.peak_blocks);
            (name_of(thread.name), thread.count, thread.sums, peak)
        })
        .collect();
    let expected = [
        // 100 and 5,000 bytes, a free of 100, and 11 bytes for a moment.
        ("worker", 3, [5111, 3, 111, 2, 0, 0, 0, 1, 11], (5000, 1)),
        ("late", 1, [40, 1, 5000, 1, 0, 0, 0, 0, 0], (0, 0)),
        // 40 -> 60 -> 20, moved each time.
        ("last", 1, [83, 3, 103, 3, 1, 1, 60, 1, 3], (0, 0)),
    ]
    .map(|(name, count, sums, peak)| (name.to_owned(), count, sums.into(), peak));
    assert_eq!(ended, expected);
    // A block that an earlier thread of the same lane allocated counts as freed elsewhere.
    assert_eq!(all(&recording).freed_elsewhere, 2);
}

/// A thread that changes its name after a while.
fn renamed() {
    in_thread(c"first", || {
        let look_often = || {
            for _ in 0..6 {
                Block::new(40_000).free();
            }
        };
        look_often();
        // SAFETY: a string that lives forever.
        unsafe { libc::prctl(libc::PR_SET_NAME, c"second".as_ptr()) };
        look_often();
    });
}

#[test]
fn a_threads_name_is_the_one_it_has_soon_after_its_beginning() {
    let recording = Run::new("renamed", "move").finished();
    assert_eq!(of_lane(&recording, "first").total, (12 * 40_000, 12));
}

/// Number of phases. The first thread's rows and scopes need more room than a recording has at
/// first, and the second thread's rows need more than the next growth provides.
const PHASES: usize = 6_000;

/// Returns the name of a phase: three letters.
fn nth(number: usize) -> [u8; 3] {
    [number % 20, number / 20 % 20, number / 400].map(|part| b'a' + part as u8)
}

/// Allocates a block in each of many phases.
fn in_phases() {
    for number in 0..PHASES {
        let name = nth(number);
        let _phase = enter(std::str::from_utf8(&name).expect("letters"));
        Block::new(8).free();
    }
}

/// Limits the size of files, in bytes.
fn limit_files(bytes: libc::rlim_t) {
    // SAFETY: a limit to read and to write.
    unsafe {
        let mut limit: libc::rlimit = std::mem::zeroed();
        assert_eq!(libc::getrlimit(libc::RLIMIT_FSIZE, &mut limit), 0);
        limit.rlim_cur = bytes.min(limit.rlim_max);
        assert_eq!(libc::setrlimit(libc::RLIMIT_FSIZE, &limit), 0);
    }
}

/// Returns the size of the recording in bytes.
fn file_bytes() -> libc::off_t {
    // SAFETY: the variable is set, and its value is a path that nobody changes.
    unsafe {
        let mut stat: libc::stat = std::mem::zeroed();
        assert_eq!(libc::stat(libc::getenv(OUT.as_ptr()), &mut stat), 0);
        stat.st_size
    }
}

/// While the recording cannot grow, a thread gets no rows for sites that another thread has rows
/// for. Afterwards it gets them. Both threads call everything from the same places.
fn room_again() {
    fn in_last(bytes: usize) -> Block {
        let name = nth(PHASES - 1);
        let _phase = enter(std::str::from_utf8(&name).expect("letters"));
        Block::new(bytes)
    }
    fn work() {
        let is_first = STEP.load(Acquire) == 0;
        if !is_first {
            Block::new(16).free();
            limit_files(1);
        }
        in_phases();
        let mut kept = None;
        for bytes in [100, 10, 10, 10] {
            let block = in_last(bytes);
            if kept.is_some() {
                block.free();
                continue;
            }
            kept = Some(block);
            if !is_first {
                limit_files(libc::RLIM_INFINITY);
                // Growth is tried again at checks, after a while.
                let before = file_bytes();
                until(|| {
                    Block::new(40_000).free();
                    file_bytes() > before
                });
            }
        }
        kept.expect("the first one").free();
        STEP.fetch_add(1, Release);
        until(|| STEP.load(Acquire) == 2);
    }
    let first = spawn(c"first", work);
    until(|| STEP.load(Acquire) == 1);
    join(spawn(c"second", work));
    join(first);
}

#[test]
fn sites_without_a_row_get_one_when_the_recording_grows_again() {
    let recording = Run::new("room-again", "move").finished();
    let full = |name| {
        let mut lanes = recording.lanes.iter();
        let lane = lanes.find(|lane| name_of(lane.lane.name) == name);
        let row = lane.expect("its lane").table_full;
        (
            (row.total_bytes, row.total_blocks),
            (row.freed_bytes, row.freed_blocks),
        )
    };
    assert_eq!(full("first"), ((0, 0), (0, 0)));
    // Blocks that were counted there are freed there.
    let (total, freed) = full("second");
    assert!(total.1 > 1, "{total:?}");
    assert_eq!(total, freed);
    // The first thread's five blocks, and the three that were allocated after growth resumed.
    let last = nth(PHASES - 1);
    let last = phase(&recording, std::str::from_utf8(&last).expect("letters"));
    assert_eq!(last.total, (8 + 100 + 2 * 3 * 10, 5 + 3));
    assert_eq!(last.freed, last.total);
}

/// The number of threads that are alive at the same time, and the number of blocks of each thread
/// that shares a lane.
const CROWD: usize = 2_060;
const SHARED_BLOCKS: usize = 2_000;

/// Runs more threads than there are lanes.
fn crowd() {
    static GATE: Mutex<()> = Mutex::new(());
    let closed = GATE.lock();
    let mut threads = [0; CROWD];
    for thread in &mut threads {
        *thread = spawn(c"one", || {
            let block = Block::new(16);
            let place = STEP.fetch_add(1, Release) as usize;
            drop(GATE.lock());
            // Threads that share a lane use it at the same time.
            if place >= MAX_LANES - 1 {
                (0..SHARED_BLOCKS).for_each(|_| Block::new(16).free());
            }
            block.free();
        });
    }
    until(|| STEP.load(Acquire) == CROWD as u32);
    drop(closed);
    threads.into_iter().for_each(join);
}

#[test]
fn threads_without_a_lane_of_their_own_share_the_last_one() {
    let recording = Run::new("crowd", "move").finished();
    assert_eq!(recording.lanes.len(), MAX_LANES);
    let shared = |lane: &&LaneColumns| lane.lane.kind == lane_kind::SHARED;
    let lanes: Vec<_> = recording.lanes.iter().filter(shared).collect();
    let [lane] = lanes[..] else {
        panic!("{} shared lanes", lanes.len());
    };
    let sharing = CROWD - (MAX_LANES - 1);
    let blocks = (CROWD + sharing * SHARED_BLOCKS) as u64;
    // A thread may get a lane out of order. Then its further blocks count in a lane of its own.
    let of_lane = lane.all.total_blocks;
    assert_eq!(of_lane, lane.all.freed_blocks);
    let further = of_lane
        .checked_sub(sharing as u64)
        .expect("a block for each thread");
    assert_eq!(further % SHARED_BLOCKS as u64, 0, "{further}");
    assert!(
        further > 0 && further <= (sharing * SHARED_BLOCKS) as u64,
        "{further}"
    );
    // Each thread walked its own stack.
    let foreign = recording
        .sites
        .iter()
        .filter(|site| site.flags & site_flags::FOREIGN != 0);
    assert_eq!(foreign.count(), 0);
    assert_eq!(lane.unattributed.total_blocks, 0);
    let of_all = all(&recording);
    assert_eq!(of_all.total, (16 * blocks, blocks));
    assert_eq!(of_all.freed, of_all.total);
    assert_eq!(recording.header.most_lanes, MAX_LANES as u32);
}
