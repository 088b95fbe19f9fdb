//! The moments of peak checks, event by event: two threads take turns, and the recording is read
//! after each event.
//!
//! A lane's record contains its net at its last check, so every check is visible. The rules are
//! those of `hook/peak.rs`.

use crate::child::{Block, Programs, Run, be_read, join, spawn};
use crate::read::{name_of, of_lane};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};

pub(crate) const PROGRAMS: Programs = &[
    ("looks-alone", || take_turns(alone)),
    ("looks-in-turn", || take_turns(in_turn)),
    ("looks-together", || take_turns(together)),
    ("looks-far", || take_turns(far)),
    ("looks-apart", || take_turns(apart)),
    ("looks-at-random", || take_turns(at_random)),
    ("idle", || act_in_turns(idle, false)),
    ("idle-marked", || {
        act_in_turns(idle, false);
        tracking_alloc::mark("end");
    }),
    ("half-idle", || act_in_turns(half_idle, false)),
];

/// Returns the thread of a step, and the bytes of the block that it allocates, or frees if they are
/// negative. Returns `None` after the last step.
type Steps = fn(usize) -> Option<(u32, i64)>;

/// One thread, around one maximum.
fn alone(step: usize) -> Option<(u32, i64)> {
    let bytes = match step {
        0 => 1_000,
        // The first fall, then the same maximum again and again.
        1..140 => [100, -100][(step - 1) % 2],
        _ => return None,
    };
    Some((0, bytes))
}

/// Two threads take turns. Each allocates and frees one block.
fn in_turn(step: usize) -> Option<(u32, i64)> {
    match step {
        0 | 1 => Some((step as u32, 1_000)),
        2..90 => Some(((step / 2 % 2) as u32, [100, -100][step % 2])),
        _ => None,
    }
}

/// Both threads have a block at the same time.
fn together(step: usize) -> Option<(u32, i64)> {
    match step {
        0 | 1 => Some((step as u32, 1_000)),
        2..40 => Some(((step % 2) as u32, [100, 100, -100, -100][(step - 2) % 4])),
        _ => None,
    }
}

/// Large and small blocks.
fn far(step: usize) -> Option<(u32, i64)> {
    const STEPS: [(u32, i64); 4] = [(0, 40_000), (1, 10_000), (1, -10_000), (0, -40_000)];
    STEPS.get(step).copied()
}

/// One thread changes alone around a maximum, and then the other one.
fn apart(step: usize) -> Option<(u32, i64)> {
    const STEPS: [(u32, i64); 14] = [
        (1, 1_000),
        (0, 10),
        (0, -10),
        (0, 50_000),
        (0, 10_000),
        (0, -10_000),
        (0, 4_000),
        (0, -4_000),
        (0, -50_000),
        (1, 40_000),
        (0, 20_000),
        (0, -20_000),
        (1, 33_000),
        (1, 33_000),
    ];
    STEPS.get(step).copied()
}

/// Three threads with up to eight blocks each. Their sizes often reach the maximum again.
fn at_random(step: usize) -> Option<(u32, i64)> {
    const STEPS: usize = 400;
    const MADE: [(u32, i64); STEPS] = {
        let mut steps = [(0, 0); STEPS];
        let mut blocks = [[0i64; 8]; 3];
        let mut state = 1u64;
        let mut step = 0;
        while step < STEPS {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let (thread, place) = ((state >> 33) as usize % 3, (state >> 41) as usize % 8);
            let block = &mut blocks[thread][place];
            steps[step] = (thread as u32, -*block);
            if *block == 0 {
                *block = [700, 1_400, 1_400, 14_000][(state >> 49) as usize % 4];
                steps[step].1 = *block;
            } else {
                *block = 0;
            }
            step += 1;
        }
        steps
    };
    MADE.get(step).copied()
}

/// Two threads hold blocks and do nothing, while a third one checks so often that they count as
/// idle. The comments give the live bytes after each event.
fn idle(step: usize) -> Option<(u32, i64)> {
    const FLASHES: usize = 2_400;
    Some(match step {
        0 => (0, 1_000),
        1 => (1, 2_000),
        2 => (1, 500),
        3 => (1, -500),                                                // 3,000
        4.. if step < 4 + FLASHES => (2, [40_000, -40_000][step % 2]), // 43,000, 3,000
        _ => match step - 4 - FLASHES {
            0 => (0, 5_000),
            1 => (0, -1_000), // 7,000
            2.. if step < 6 + 2 * FLASHES => (2, [40_000, -40_000][step % 2]), // 47,000, 7,000
            _ => match step - 6 - 2 * FLASHES {
                0 => (1, -2_000), // 5,000
                1 => (2, 50_000), // 55,000
                2 => (2, -50_000),
                _ => return None,
            },
        },
    })
}

/// One thread does nothing, one changes now and then, and the third one checks. At the end, the
/// second one rises. The comments give the live bytes after each event.
fn half_idle(step: usize) -> Option<(u32, i64)> {
    const FLASHES: usize = 1_300;
    Some(match step {
        0 => (0, 1_000),
        1 => (1, 2_000), // 3,000
        // Every 101st event belongs to another thread than the third.
        2.. if step < 2 + 2 * FLASHES => match (step % 202, step % 2) {
            (100 | 101, even) => (1, [300, -300][even]),
            (_, even) => (2, [40_000, -40_000][even]), // 43,000, 3,000
        },
        _ => match step - 2 - 2 * FLASHES {
            0 => (1, 7_000),  // 10,000
            1 => (2, 40_000), // 50,000
            2 => (2, -40_000),
            3 => (0, -1_000),
            _ => return None,
        },
    })
}

static STEPS: Mutex<Steps> = Mutex::new(alone);
static TURN: AtomicUsize = AtomicUsize::new(0);

static IS_READ: AtomicBool = AtomicBool::new(false);

fn take_turns(steps: Steps) {
    act_in_turns(steps, true);
}

fn act_in_turns(steps: Steps, is_read: bool) {
    IS_READ.store(is_read, Relaxed);
    *STEPS.lock().expect("a lock") = steps;
    let threads = [
        spawn(c"a", || act(0)),
        spawn(c"b", || act(1)),
        spawn(c"c", || act(2)),
    ];
    threads.into_iter().for_each(join);
}

fn act(thread: u32) {
    let steps = *STEPS.lock().expect("a lock");
    let mut blocks: [Option<Block>; 8] = [None; 8];
    let all = (0..).map_while(|step| Some((step, steps(step)?)));
    for (step, (_, bytes)) in all.filter(|(_, (whose, _))| *whose == thread) {
        while TURN.load(Acquire) != step {
            // SAFETY: no preconditions. This does not spin, because the other threads wait too.
            unsafe { libc::usleep(50) };
        }
        let wanted = (bytes < 0).then_some(-bytes as usize);
        let mut places = blocks.iter_mut();
        let place = places.find(|place| place.map(Block::bytes) == wanted);
        let place = place.expect("a place");
        match place.take() {
            Some(block) => block.free(),
            None => *place = Some(Block::new(bytes as usize)),
        }
        if IS_READ.load(Relaxed) {
            be_read();
        }
        TURN.store(step + 1, Release);
    }
}

/// The checks of lanes, `(step, thread)`, and each change of the maximum or of its error bound,
/// `(step, maximum, bytes by which live bytes may have exceeded it)`.
type PeakChecks = (Vec<(usize, String)>, Vec<(usize, i64, i64)>);

fn looks(program: &str, steps: Steps) -> PeakChecks {
    let count = (0..).take_while(|step| steps(*step).is_some()).count();
    let (mut looks, mut bounds) = (Vec::new(), Vec::new());
    let mut before = BTreeMap::new();
    let (mut live, mut most) = (0, 0);
    let ended = Run::new(program, "move").watched(count, |step, recording| {
        for lane in &recording.lanes {
            let (thread, lane) = (name_of(lane.lane.name), &lane.lane);
            let looked = (
                lane.checked_bytes,
                lane.checked_blocks,
                lane.checked_total_bytes,
            );
            if before.insert(thread.clone(), looked).unwrap_or_default() != looked {
                looks.push((step, thread));
            }
        }
        let header = &recording.header;
        let bound = (
            header.peak_bytes,
            (header.peak_bound_bytes - header.peak_bytes).max(0),
        );
        if bounds
            .last()
            .is_none_or(|(_, peak, beyond)| (*peak, *beyond) != bound)
        {
            bounds.push((step, bound.0, bound.1));
        }
        live += steps(step).unwrap_or_default().1;
        most = live.max(most);
    });
    let header = ended.header;
    assert!(header.peak_bytes <= most && most <= header.peak_bytes.max(header.peak_bound_bytes));
    (looks, bounds)
}

/// Formats the checks with threads as letters: `"b3 a5"`.
fn told((looks, bounds): PeakChecks) -> (String, Vec<(usize, i64, i64)>) {
    let looks: Vec<_> = looks
        .iter()
        .map(|(step, thread)| format!("{thread}{step}"))
        .collect();
    (looks.join(" "), bounds)
}

#[test]
fn a_lane_alone_passes_over_63_equal_maxima() {
    let (looks, bounds) = told(looks("looks-alone", alone));
    // The first fall, and the 64th after it.
    assert_eq!(looks, "a2 a130");
    assert_eq!(bounds, [(0, 0, 0), (2, 1_100, 0)]);
}

#[test]
fn lanes_that_take_turns_look_ever_more_rarely() {
    let (looks, bounds) = told(looks("looks-in-turn", in_turn));
    // Each lane falls every fourth step. After its first check it skips one fall, then three, then
    // seven. It skips one more if no other lane changed in between and its own row shows that the
    // maximum is the same.
    assert_eq!(looks, "b3 a5 b11 a17 b31 a45 b75");
    // The bound of the first check is what both allocated before. At step 75, the other lane has
    // allocated 1,600 bytes since its last check, and this one 1,100.
    assert_eq!(bounds, [(0, 0, 0), (3, 2_100, 2_100), (75, 2_100, 2_300)]);
}

#[test]
fn a_lane_that_falls_below_the_maximum_does_not_look() {
    let (looks, bounds) = told(looks("looks-together", together));
    // From step 6 on, only the first lane falls from the maximum, and it finds its row unchanged.
    assert_eq!(looks, "a4 b5");
    assert_eq!(bounds, [(0, 0, 0), (4, 2_200, 2_200)]);
}

#[test]
fn a_lane_looks_before_it_moves_by_32_kib() {
    let (looks, bounds) = told(looks("looks-far", far));
    assert_eq!(looks, "a0 b2 a3");
    assert_eq!(bounds, [(0, 40_000, 0), (2, 50_000, 10_000)]);
}

#[test]
fn a_lane_that_moved_alone_was_never_above_what_the_others_left_of_the_maximum() {
    let (looks, bounds) = told(looks("looks-apart", apart));
    assert_eq!(looks, "a2 a3 a5 a8 b9 b12 b13");
    // Between steps 5 and 8, the first lane allocated 4,000 bytes more than the 60,000 that it had.
    // But it changed alone and its falls were checked, so it had at most 60,000. At step 9 the
    // other lane has 41,000, possibly at the same time.
    let beyond = 60_000 + 41_000 - 61_000;
    let expected = [
        (0, 0, 0),
        (2, 1_010, 1_010),
        (3, 51_000, 0),
        (5, 61_000, 0),
        (9, 61_000, beyond),
        (12, 74_000, 60_000 + 41_000 - 74_000),
        // The 20,000 bytes of steps 10 and 11 may still be live at the beginning of this step.
        (13, 107_000, 20_000),
    ];
    assert_eq!(bounds, expected);
}

/// The results of the rules at the time of writing. A change of the rules shows here.
#[test]
fn looks_of_three_threads_come_when_they_came() {
    let (looks, bounds) = told(looks("looks-at-random", at_random));
    assert_eq!(looks, "a4 b15 a19 c25 a35 a68 b185 a206 a221 b263");
    let expected = [
        (0, 0, 0),
        (4, 17_500, 17_500),
        (15, 65_100, 46_900),
        (35, 81_200, 30_800),
        (68, 81_200, 47_600),
        (185, 81_200, 94_368),
        (206, 105_000, 70_568),
    ];
    assert_eq!(bounds, expected);
}

#[test]
fn lanes_that_were_idle_for_long_are_in_the_peak_and_come_back() {
    let recording = Run::new("idle", "move").finished();
    let peak = |thread| of_lane(&recording, thread).peak;
    assert_eq!(
        [peak("a"), peak("b"), peak("c")],
        [(5_000, 1), (0, 0), (50_000, 1)]
    );
    let header = &recording.header;
    // Only once did two lanes change between two checks, at steps 3 and 4. Live bytes were at most
    // 43,500 there, and 40,000 bytes of the later check may be included in the rows saved for the
    // earlier one.
    assert_eq!(
        (header.peak_bytes, header.peak_bound_bytes),
        (55_000, 83_500)
    );
    assert_eq!(header.most_lanes, 3);
    let marked = Run::new("idle-marked", "move").finished();
    let mark = &marked.marks[0];
    assert_eq!((mark.peak_bytes, mark.peak_blocks), (55_000, 2));
}

#[test]
fn a_lane_that_moves_now_and_then_is_not_taken_for_idle() {
    let recording = Run::new("half-idle", "move").finished();
    let peak = |thread| of_lane(&recording, thread).peak;
    assert_eq!(
        [peak("a"), peak("b"), peak("c")],
        [(1_000, 1), (9_000, 2), (40_000, 1)]
    );
    assert_eq!(recording.header.peak_bytes, 50_000);
}
