//! The same figures while a program runs, after it was killed, and after it ended normally.

use crate::child::{Block, Programs, Run, be_read};
use crate::read::{Counts, all, phase};
use tracking_alloc::{Recorder, phase as enter};
use tracking_alloc_recording::{Recording, state};

pub(crate) const PROGRAMS: Programs = &[("waits", waits), ("in-memory", in_memory)];

fn waits() {
    let mut block = Block::new(600);
    {
        let _phase = enter("a");
        block.resize(900);
        Block::new(50).free();
    }
    block.resize(100);
    let _phase = enter("open");
    let _ = Block::new(1);
    be_read();
}

fn waits_of(recording: &Recording) {
    let a = Counts {
        total: (900 + 50, 2),
        freed: (900 + 50, 2),
        grows: 1,
        copied_bytes: 600,
        temporary: (50, 1),
        lifetime_blocks: 1,
        peak: (900 + 50, 2),
        ..Counts::default()
    };
    assert_eq!(phase(recording, "a"), a);
    assert_eq!(phase(recording, "open").live(), (1, 1));
    let root = phase(recording, "");
    assert_eq!((root.total, root.freed), ((700, 2), (600, 1)));
    assert_eq!((root.shrinks, root.copied_bytes), (1, 100));
    assert_eq!(all(recording).live(), (101, 2));
    assert_eq!(recording.lanes.len(), 1);
}

#[test]
fn a_program_alive_killed_or_finished_has_the_same_figures() {
    for then_kill in [true, false] {
        let (alive, left) = Run::by_environment("waits", "move").alive(then_kill);
        waits_of(&alive);
        waits_of(&left);
        assert_eq!(alive.header.state, state::RUNNING);
        assert_eq!(left.header.state == state::FINISHED, !then_kill);
        assert_eq!(left.header.checksum != 0, !then_kill);
    }
}

#[test]
fn what_is_reserved_at_once_stays_below_a_cap_between_two_segments() {
    let recording = Run::by_environment("waits", "move")
        .with("HEAPGLASS_PREALLOC", "1")
        .with("HEAPGLASS_MAX_BYTES", "1200000")
        .finished();
    waits_of(&recording);
    assert_eq!(recording.header.file_bytes, 1200000 / 65536 * 65536);
}

/// Recorded twice: to memory, and the bytes from there to a file.
fn in_memory() {
    let recorder = Recorder::start_in_memory().expect("it records");
    Block::new(70).free();
    let _ = Block::new(30);
    let bytes = recorder.finish_to_bytes().expect("its bytes");
    let path = std::env::var_os("FIGURES_OUT").expect("a path");
    std::fs::write(path, bytes).expect("written");
}

#[test]
fn a_recording_in_memory_is_the_same() {
    let recording = Run::unrecorded("in-memory", "move").finished();
    let expected = Counts {
        total: (100, 2),
        freed: (70, 1),
        temporary: (70, 1),
        lifetime_blocks: 1,
        peak: (70, 1),
        ..Counts::default()
    };
    assert_eq!(all(&recording), expected);
    assert_eq!(recording.header.state, state::FINISHED);
}
