//! Phases, marks, pauses, time, and the size of a recording.

use super::{Block, Tally};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Barrier, OnceLock};
use std::task::{Context, Poll, Waker};
use tracking_alloc::{PhaseHandle, mark, phase, phase_async};

static TALLY: Tally = Tally::new();

/// Phases inside phases: `load` holds 1,000 bytes of its own and 3 x 100 in `parse`. Then the same
/// names again.
pub(super) fn nested() {
    let mut kept = Vec::with_capacity(100);
    for _ in 0..2 {
        let _load = phase("load").input_bytes(5_000);
        kept.push(Block::new(&TALLY, 1_000, 8));
        for _ in 0..3 {
            let parse = phase("parse");
            kept.push(Block::new(&TALLY, 100, 8));
            drop(parse.records(2));
        }
        kept.push(Block::new(&TALLY, 24, 8));
    }
    kept.push(Block::new(&TALLY, 7, 8));
    // A panic leaves its phase.
    std::panic::set_hook(Box::new(|_| ()));
    let _ = std::panic::catch_unwind(|| {
        let _phase = phase("panics");
        panic!("on purpose");
    });
    drop(Block::new(&TALLY, 5, 8));
    TALLY.print();
    std::mem::forget(kept);
}

/// One variable for the phase: the next guard is created before the last one is dropped.
#[expect(
    unused_assignments,
    reason = "a guard is dropped when the next takes its place"
)]
pub(super) fn in_turn() {
    let mut kept = Vec::with_capacity(100);
    let mut now = phase("load");
    kept.push(Block::new(&TALLY, 1_000, 8));
    now = phase("work");
    kept.push(Block::new(&TALLY, 2_000, 8));
    now = phase("save");
    kept.push(Block::new(&TALLY, 3_000, 8));
    drop(now);
    kept.push(Block::new(&TALLY, 4_000, 8));
    TALLY.print();
    std::mem::forget(kept);
}

/// Lets `threads` threads enter the phase `load` by a handle. Thread `n` makes 10 blocks of `n + 1`
/// times 100 bytes there and frees half of them, then makes one of 7 bytes in its own phase `own`
/// and two of 3 bytes in no phase, the second after a panic. One block is made by a thread that is
/// in the phase already, and one after the phase has ended. Prints the time around the phase.
///
/// The threads begin before the phase, so it contains no blocks of the runtime.
pub(super) fn handles(threads: usize) {
    const SLEEP: std::time::Duration = std::time::Duration::from_millis(20);
    static LOAD: OnceLock<PhaseHandle> = OnceLock::new();
    let mut kept: Vec<Vec<Block>> = Vec::with_capacity(threads);
    kept.resize_with(threads, || Vec::with_capacity(12));
    let mut last = Vec::with_capacity(2);
    let barrier = &Barrier::new(threads + 1);
    std::thread::scope(|scope| {
        for (number, kept) in kept.iter_mut().enumerate() {
            scope.spawn(move || {
                barrier.wait();
                let handle = LOAD.get().expect("the phase is entered");
                {
                    let _entered = handle.enter();
                    kept.extend((0..10).map(|_| Block::new(&TALLY, (number + 1) * 100, 8)));
                    kept.truncate(5);
                    std::thread::sleep(SLEEP);
                }
                barrier.wait();
                {
                    let _own = phase("own");
                    drop(handle.enter());
                    kept.push(Block::new(&TALLY, 7, 8));
                }
                kept.push(Block::new(&TALLY, 3, 8));
                let handle = phase("panics").handle();
                let panicked = std::panic::catch_unwind(|| {
                    let _entered = handle.enter();
                    std::panic::resume_unwind(Box::new(()));
                });
                assert!(panicked.is_err());
                kept.push(Block::new(&TALLY, 3, 8));
            });
        }
        let begin = std::time::Instant::now();
        let load = phase("load").input_bytes(8_000).records(80);
        let handle = LOAD.get_or_init(|| load.handle());
        barrier.wait();
        barrier.wait();
        {
            let _entered = handle.enter();
            last.push(Block::new(&TALLY, 11, 8));
        }
        drop(load);
        let elapsed = begin.elapsed();
        let entered = handle.enter();
        last.push(Block::new(&TALLY, 13, 8));
        std::thread::sleep(elapsed);
        drop(entered);
        println!("wall_ns={}", elapsed.as_nanos());
    });
    TALLY.print();
    std::mem::forget((kept, last));
}

/// A phase that the program leaves by `exit`: its time is unknown. `ended` is left twice.
pub(super) fn running() {
    for _ in 0..2 {
        drop(phase("ended").records(1));
    }
    let _running = phase("running").records(1);
    TALLY.print();
    std::process::exit(0);
}

/// A future that allocates in three steps and is pending in between.
struct Steps {
    left: usize,
    bytes: usize,
    kept: Vec<Block>,
}

impl Future for Steps {
    type Output = Vec<Block>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Vec<Block>> {
        let bytes = self.bytes;
        self.kept.push(Block::new(&TALLY, bytes, 8));
        self.left -= 1;
        context.waker().wake_by_ref();
        if self.left == 0 {
            Poll::Ready(std::mem::take(&mut self.kept))
        } else {
            Poll::Pending
        }
    }
}

/// A future that holds the guard of a phase across an await, and is dropped before it ends.
pub(super) fn in_dropped_future() {
    let mut context = Context::from_waker(Waker::noop());
    let mut held = Vec::with_capacity(2);
    let mut task = Box::pin(phase_async("task", async {
        let _inner = phase("inner");
        held.push(Block::new(&TALLY, 1_000, 8));
        std::future::pending::<()>().await;
    }));
    assert!(task.as_mut().poll(&mut context).is_pending());
    drop(task);
    held.push(Block::new(&TALLY, 2_000, 8));
    std::mem::forget(held);
    TALLY.print();
}

/// Runs `tasks` tasks that two threads poll in turn. Each runs in a phase chosen by its parity.
pub(super) fn asynchronous(tasks: usize) {
    type Task = Pin<Box<dyn Future<Output = Vec<Block>> + Send>>;
    let poll_all = |mut tasks: Vec<Task>| {
        let mut context = Context::from_waker(Waker::noop());
        while !tasks.is_empty() {
            tasks.retain_mut(|task| match task.as_mut().poll(&mut context) {
                Poll::Ready(blocks) => {
                    drop(blocks);
                    false
                }
                Poll::Pending => true,
            });
        }
    };
    let (mut first, mut second): (Vec<Task>, Vec<Task>) = (Vec::new(), Vec::new());
    for number in 0..tasks {
        let (name, bytes) = if number % 2 == 0 {
            ("even", 100)
        } else {
            ("odd", 33)
        };
        let steps = Steps {
            left: 3,
            bytes,
            kept: Vec::with_capacity(3),
        };
        let task: Task = Box::pin(phase_async(name, steps));
        if number % 3 == 0 {
            first.push(task)
        } else {
            second.push(task)
        }
    }
    std::thread::scope(|scope| {
        scope.spawn(|| poll_all(first));
        scope.spawn(|| poll_all(second));
    });
    TALLY.print();
}

/// Blocks before, during and after a pause. Blocks of the pause are not counted, but frees of known
/// blocks are.
pub(super) fn pause() {
    let recorder = tracking_alloc::Recorder::current().expect("it records");
    let mut kept = Vec::with_capacity(100);
    let work = phase("work");
    (0..10).for_each(|_| kept.push(Block::new(&TALLY, 100, 8)));
    recorder.pause();
    static UNCOUNTED: Tally = Tally::new();
    let mut paused: Vec<Block> = (0..10).map(|_| Block::new(&UNCOUNTED, 1_000, 8)).collect();
    kept.truncate(5);
    kept[0].resize(300);
    recorder.resume();
    // Blocks of the pause that are freed now are unknown. If their addresses are used again, they
    // are known.
    paused.clear();
    (0..10).for_each(|_| kept.push(Block::new(&TALLY, 1_000, 8)));
    drop(work);
    TALLY.print();
    std::mem::forget(kept);
}

/// Three windows with peaks of their own.
pub(super) fn windows() {
    let _work = phase("work");
    for (name, bytes) in [("first", 50_000), ("second", 400_000), ("third", 100_000)] {
        let held = Block::new(&TALLY, bytes, 8);
        drop(Block::new(&TALLY, bytes / 2, 8));
        drop(held);
        mark(name);
    }
    TALLY.print();
}

/// Works for some milliseconds. Live bytes rise until the middle and then fall.
pub(super) fn time(milliseconds: usize) {
    let begin = std::time::Instant::now();
    let total = milliseconds as u128;
    let mut kept = Vec::with_capacity(10_000);
    loop {
        let passed = begin.elapsed().as_millis();
        if passed >= total {
            break;
        }
        let wanted = 5_000 * passed.min(total - passed) / (total / 2).max(1);
        let _work = phase("work");
        while kept.len() < wanted as usize {
            kept.push(Block::new(&TALLY, 1_000, 8));
        }
        kept.truncate(wanted as usize);
        (0..100).for_each(|_| drop(Block::new(&TALLY, 500, 8)));
    }
    kept.clear();
    TALLY.print();
}

/// Runs `threads` threads that each visit `sites` sites again and again, with blocks of many sizes.
pub(super) fn bounded(threads: usize, sites: usize) {
    let barrier = Arc::new(Barrier::new(threads));
    let running: Vec<_> = (0..threads)
        .map(|_| {
            let barrier = Arc::clone(&barrier);
            std::thread::spawn(move || {
                for round in 0..4 {
                    barrier.wait();
                    for site in 0..sites {
                        let _phase = phase(&format!("phase {site}"));
                        drop(Block::new(&TALLY, [29, 32, 36, 40][round], 8));
                    }
                }
                // One site with very many events of very many sizes must not make the recording
                // larger.
                let random = &mut crate::data::Random::new(3);
                let _phase = phase("sizes");
                for _ in 0..30_000 {
                    let bits = 3 + random.below(14);
                    drop(Block::new(&TALLY, (1 << bits) + random.below(1 << bits), 8));
                }
            })
        })
        .collect();
    running
        .into_iter()
        .for_each(|thread| thread.join().expect("it ends"));
    TALLY.print();
}
