//! Threads that come, go, hand over blocks, panic, and end late.

use super::{Block, Tally};
use crate::data::Random;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Barrier, Mutex};
use tracking_alloc::phase;

static TALLY: Tally = Tally::new();

fn churn(random: &mut Random, rounds: usize) {
    let mut kept: Vec<Option<Block>> = {
        // The table itself is not one of the counted blocks.
        let _outside = phase("table");
        (0..16).map(|_| None).collect()
    };
    let _work = phase("work");
    for _ in 0..rounds {
        let place = random.below(kept.len());
        match &mut kept[place] {
            Some(block) if random.below(3) == 0 => block.resize(1 + random.below(600)),
            entry => {
                *entry = Some(Block::new(
                    &TALLY,
                    1 + random.below(400),
                    1 << random.below(5),
                ))
            }
        }
    }
    kept.iter_mut().for_each(|entry| drop(entry.take()));
}

/// At `times` random moments, a second thread starts and ends again.
pub(super) fn switch(times: usize) {
    let random = &mut Random::new(11);
    for moment in 0..times {
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        let second = std::thread::spawn(move || {
            let random = &mut Random::new(1_000 + moment as u64);
            while !told.load(Relaxed) {
                churn(random, 20);
            }
        });
        let rounds = random.below(120);
        churn(random, rounds);
        stop.store(true, Relaxed);
        second.join().expect("it ends");
        let rounds = random.below(60);
        churn(random, rounds);
    }
    TALLY.print();
}

/// Two threads allocate, and each frees what the other allocated.
pub(super) fn swap(rounds: usize) {
    static SLOTS: [Mutex<Option<Block>>; 32] = [const { Mutex::new(None) }; 32];
    std::thread::scope(|scope| {
        for seed in 0..2 {
            scope.spawn(move || {
                let _work = phase("work");
                let random = &mut Random::new(seed);
                for _ in 0..rounds {
                    let block = Block::new(&TALLY, 1 + random.below(500), 8);
                    let other = SLOTS[random.below(SLOTS.len())]
                        .lock()
                        .expect("unpoisoned")
                        .replace(block);
                    drop(other);
                }
            });
        }
    });
    SLOTS
        .iter()
        .for_each(|slot| drop(slot.lock().expect("unpoisoned").take()));
    TALLY.print();
}

/// Thousands of threads, a few at a time. Each leaves a block to the next one.
pub(super) fn short(threads: usize) {
    static LEFT: Mutex<Option<Block>> = Mutex::new(None);
    let mut running = std::collections::VecDeque::new();
    for number in 0..threads {
        running.push_back(std::thread::spawn(move || {
            let _work = phase("work");
            let mut block = Block::new(&TALLY, 1 + number % 300, 8);
            drop(Block::new(&TALLY, 50, 8));
            block.resize(400);
            let before = LEFT.lock().expect("unpoisoned").replace(block);
            drop(before);
        }));
        if running.len() == 4
            && let Some(first) = running.pop_front()
        {
            first.join().expect("it ends");
        }
    }
    running
        .into_iter()
        .for_each(|thread| thread.join().expect("it ends"));
    drop(LEFT.lock().expect("unpoisoned").take());
    TALLY.print();
}

/// Runs `threads` threads at once, possibly more than there are lanes. All of them work.
pub(super) fn live(threads: usize) {
    let all_here = Arc::new(Barrier::new(threads));
    let running: Vec<_> = (0..threads)
        .map(|seed| {
            let all_here = Arc::clone(&all_here);
            std::thread::Builder::new()
                .stack_size(256 << 10)
                .spawn(move || {
                    let random = &mut Random::new(seed as u64);
                    churn(random, 20);
                    all_here.wait();
                    churn(random, 300);
                    all_here.wait();
                    churn(random, 20);
                })
                .expect("a thread")
        })
        .collect();
    running
        .into_iter()
        .for_each(|thread| thread.join().expect("it ends"));
    TALLY.print();
}

/// Threads that free in destructors of thread-locals and after them, and threads that panic.
pub(super) fn ends() {
    struct Late(Option<Block>);
    impl Drop for Late {
        fn drop(&mut self) {
            let _work = phase("work");
            drop(self.0.take());
            drop(Block::new(&TALLY, 77, 8));
        }
    }
    thread_local! {
        static LATE: std::cell::RefCell<Late> = const { std::cell::RefCell::new(Late(None)) };
    }
    extern "C" fn very_late(block: *mut libc::c_void) {
        let _work = phase("work");
        // SAFETY: the key's value is a leaked box of a block, and its destructor runs once.
        drop(unsafe { Box::from_raw(block.cast::<[Block; 1]>()) });
        drop(Block::new(&TALLY, 33, 8));
    }
    std::panic::set_hook(Box::new(|_| ()));
    let mut key = 0;
    // SAFETY: `key` is valid to write into.
    let made = unsafe { libc::pthread_key_create(&mut key, Some(very_late)) };
    assert_eq!(made, 0);
    for number in 0..500usize {
        let ended = std::thread::spawn(move || {
            {
                let _work = phase("work");
                LATE.with_borrow_mut(|late| late.0 = Some(Block::new(&TALLY, 10 + number, 8)));
            }
            let boxed = {
                let _outside = phase("table");
                Box::new([{
                    let _work = phase("work");
                    Block::new(&TALLY, 200, 8)
                }])
            };
            // SAFETY: the key was created above, and its destructor takes the box.
            unsafe { libc::pthread_setspecific(key, Box::into_raw(boxed).cast()) };
            let held = {
                let _work = phase("work");
                Block::new(&TALLY, 1_000, 8)
            };
            if number % 2 == 0 {
                panic!("on purpose");
            }
            drop(held);
        })
        .join();
        assert_eq!(ended.is_err(), number % 2 == 0);
    }
    TALLY.print();
}

/// Threads that all reach their maximum at the same moment.
pub(super) fn peak(threads: usize) {
    const BLOCKS: usize = 2_000;
    const BYTES: usize = 100;
    let barrier = Arc::new(Barrier::new(threads));
    let running: Vec<_> = (0..threads)
        .map(|_| {
            let barrier = Arc::clone(&barrier);
            std::thread::spawn(move || {
                let mut blocks = {
                    let _outside = phase("table");
                    Vec::with_capacity(BLOCKS)
                };
                for _ in 0..3 {
                    {
                        let _work = phase("work");
                        (0..BLOCKS).for_each(|_| blocks.push(Block::new(&TALLY, BYTES, 8)));
                    }
                    barrier.wait();
                    // Falls and rises again by a little, which is no new maximum.
                    blocks.truncate(BLOCKS - 10);
                    barrier.wait();
                    blocks.clear();
                    barrier.wait();
                }
            })
        })
        .collect();
    running
        .into_iter()
        .for_each(|thread| thread.join().expect("it ends"));
    println!("work_peak_bytes={}", threads * BLOCKS * BYTES);
    TALLY.print();
}
