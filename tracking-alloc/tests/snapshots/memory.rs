//! The memory of a copy, read by the words of the recording.

use crate::program::{IS_WAITING, MAY_GO_ON, Programs, Run, WAITS_AT, pause, say};
use crate::reader::{Block, Reader, end, has_ended};
use heapglass_recorder::snapshot;
use std::sync::atomic::{AtomicBool, Ordering::*};
use tracking_alloc_recording::{Recording, snapshot_status};

pub(crate) const PROGRAMS: Programs = &[("lists", lists), ("flight", flight), ("load", load)];

/// Returns blocks of many sizes, each filled with its number.
fn make(count: usize) -> Vec<Box<[u8]>> {
    let sizes = [1, 8, 16, 17, 32, 33, 48, 100, 4_096, 70_000];
    let blocks = (0..count).map(|number| {
        let bytes = sizes[number % sizes.len()] + number % 3;
        vec![number as u8; bytes].into_boxed_slice()
    });
    blocks.collect()
}

fn print(blocks: &[Box<[u8]>]) {
    for block in blocks {
        say(&format!("{:x} {}", block.as_ptr().addr(), block.len()));
    }
}

/// Parses what [`print`] printed.
fn printed(lines: &[String]) -> Vec<(u64, u64)> {
    let parse = |line: &String| {
        let (address, bytes) = line.split_once(' ').expect("two words");
        let address = u64::from_str_radix(address, 16).expect("an address");
        (address, bytes.parse().expect("a size"))
    };
    lines.iter().map(parse).collect()
}

/// Holds blocks, takes a snapshot, and then frees and overwrites them.
fn lists() {
    let mut blocks = make(3_000);
    print(&blocks);
    let gone = make(500);
    print(&gone[..1]);
    drop(gone);
    snapshot("lists").expect("a copy");
    blocks.iter_mut().for_each(|block| block.fill(0xff));
    drop(blocks);
    drop(make(4_000));
    pause();
}

#[test]
fn a_copy_has_exactly_the_blocks_of_its_moment() {
    let mut run = Run::start("lists", Some(std::process::id()));
    let mut said = printed(&run.until_paused());
    let gone = said.pop().expect("a block that was freed");
    let reader = Reader::attach(&run.path);
    let answer = reader.exchange();
    assert_eq!(answer.status, snapshot_status::TAKEN);
    assert!(answer.pause_ns > 0 && answer.time_ns > 0);
    let memory = reader.memory(answer.copy);
    let found = memory.blocks();
    let find = |(address, _): (u64, u64)| {
        let place = found.binary_search_by_key(&address, |block: &Block| block.address);
        place.ok().map(|place| found[place])
    };
    for (number, (address, bytes)) in said.iter().copied().enumerate() {
        let block = find((address, bytes)).expect("known");
        assert_eq!(block.bytes, bytes);
        assert_eq!(memory.block_at(address), Some(block));
        let contents = memory.bytes(address, bytes as usize);
        assert!(contents.iter().all(|byte| *byte == number as u8));
    }
    assert!(find(gone).is_none_or(|block| block.bytes != gone.1));
    // One thread, nothing lost: the map is the program's heap.
    let sum: u64 = found.iter().map(|block| block.bytes).sum();
    assert_eq!(
        (sum as i64, found.len() as i64),
        (answer.live_bytes, answer.live_blocks)
    );
    assert!(
        found
            .windows(2)
            .all(|two| two[0].address + two[0].bytes <= two[1].address)
    );

    let recording = Recording::open(&run.path).expect("readable while it is written");
    assert_eq!(recording.string(answer.label).as_deref(), Some("lists"));
    let sites = recording.sites.len() as u32;
    assert!(found.iter().all(|block| block.site < sites));
    let main = recording.lanes[0].lane;
    let maps = std::fs::read_to_string(format!("/proc/{}/maps", answer.copy)).expect("its maps");
    let is_mapped = |address: u64| {
        maps.lines().any(|line| {
            let range = line
                .split(' ')
                .next()
                .and_then(|range| range.split_once('-'));
            let [low, high] = range
                .map(<[&str; 2]>::from)
                .expect("a range")
                .map(|end| u64::from_str_radix(end, 16).expect("a number"));
            (low..high).contains(&address)
        })
    };
    assert!(is_mapped(main.stack_high - 1) && is_mapped(main.thread_pointer));
    assert_eq!(memory.in_flight(main.in_flight).address, 0);
    end(answer.copy);
    // The next one is by request.
    run.go_on();
    run.succeeds();
    assert_eq!(reader.exchange().answers, 1);
    Recording::open(&run.path).expect("finished");
    reader.set_reader(0, false);
}

/// Takes a snapshot while another thread is in a realloc.
fn flight() {
    let thread = std::thread::spawn(|| {
        let mut list = vec![7_u8; 100_000];
        say(&format!("{:x} {}", list.as_ptr().addr(), list.len()));
        list.reserve_exact(WAITS_AT - list.len());
        list.len()
    });
    while !IS_WAITING.load(Acquire) {
        std::thread::yield_now();
    }
    snapshot("flight").expect("a copy");
    MAY_GO_ON.store(true, Release);
    assert_eq!(thread.join().expect("a length"), 100_000);
    snapshot("landed").expect("another copy");
    pause();
}

#[test]
fn a_block_in_a_realloc_is_known_by_its_old_address() {
    let mut run = Run::start("flight", Some(std::process::id()));
    let mut reader = loop {
        // The file may not exist yet.
        if Recording::open(&run.path).is_ok() {
            break Reader::attach(&run.path);
        }
        std::thread::yield_now();
    };
    let first = if reader.exchange().answers == 0 {
        reader.answer()
    } else {
        reader.exchange()
    };
    let memory = reader.memory(first.copy);
    let recording = Recording::open(&run.path).expect("readable");
    let lane = recording.lanes[1].lane;
    let in_flight = memory.in_flight(lane.in_flight);
    let is_in_map = memory.block_at(in_flight.address).is_some();
    let contents = memory.bytes(in_flight.address, 100_000);
    end(first.copy);
    let second = reader.answer();
    assert_eq!(second.status, snapshot_status::TAKEN);
    let landed = reader.memory(second.copy).in_flight(lane.in_flight);
    end(second.copy);
    let said = printed(&run.until_paused());
    assert_eq!((in_flight.address, in_flight.bytes), said[0]);
    assert!(!is_in_map && contents.iter().all(|byte| *byte == 7));
    let site = in_flight.first >> 12;
    assert!((3..recording.sites.len() as u32).contains(&site), "{site}");
    assert_eq!(landed.address, 0);
    run.go_on();
    run.succeeds();
}

/// Allocates, reallocates and frees in 8 threads, beside blocks that stay.
fn load() {
    static ENDS: AtomicBool = AtomicBool::new(false);
    let kept = make(1_000);
    print(&kept);
    let worker = |seed: usize| {
        let mut random = seed;
        let mut own = Vec::new();
        while !ENDS.load(Relaxed) {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let bytes = random >> 33 & 0xfff;
            own.push(vec![bytes as u8; bytes]);
            if own.len() > 200 {
                let mut list = own.swap_remove(random >> 20 & 127);
                list.extend_from_slice(&[1; 500]);
                assert!(
                    list.iter()
                        .rev()
                        .skip(500)
                        .all(|byte| usize::from(*byte) == (list.len() - 500) & 0xff)
                );
            }
        }
    };
    let threads: Vec<_> = (1..=8)
        .map(|seed| std::thread::spawn(move || worker(seed)))
        .collect();
    pause();
    ENDS.store(true, Relaxed);
    threads
        .into_iter()
        .for_each(|thread| thread.join().expect("unharmed"));
    assert!(
        (0..)
            .zip(&kept)
            .all(|(number, block)| block.iter().all(|byte| *byte == number as u8))
    );
}

#[test]
fn a_hundred_snapshots_under_load_harm_nobody() {
    let mut run = Run::start("load", Some(std::process::id()));
    let kept = printed(&run.until_paused());
    let mut reader = Reader::attach(&run.path);
    let mut last = None;
    for round in 0..100 {
        let answer = reader.request();
        assert_eq!(answer.status, snapshot_status::TAKEN, "round {round}");
        let memory = reader.memory(answer.copy);
        for (number, (address, bytes)) in kept
            .iter()
            .copied()
            .enumerate()
            .skip(round % 10)
            .step_by(10)
        {
            let block = memory.block_at(address).expect("known");
            assert_eq!(block.bytes, bytes);
            let contents = memory.bytes(address, bytes as usize);
            assert!(contents.iter().all(|byte| *byte == number as u8));
        }
        if round % 25 == 0 {
            let blocks = memory.blocks();
            let overlap = blocks
                .windows(2)
                .find(|two| two[0].address + two[0].bytes > two[1].address);
            assert_eq!(overlap, None);
            let torn = blocks.iter().filter(|block| block.bytes == 0).count();
            assert!(torn <= 8, "{torn} blocks are being freed");
        }
        end(answer.copy);
        last = Some(answer.copy);
    }
    let last = last.expect("a copy");
    run.go_on();
    run.succeeds();
    assert!(has_ended(last));
    let recording = Recording::open(&run.path).expect("finished");
    assert_ne!(recording.header.checksum, 0);
    let live: i64 = recording
        .lanes
        .iter()
        .map(|lane| lane.all.total_bytes.wrapping_sub(lane.all.freed_bytes) as i64)
        .sum();
    assert!((0..100 << 20).contains(&live), "{live}");
}
