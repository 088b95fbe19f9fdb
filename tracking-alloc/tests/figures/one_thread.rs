//! One thread: every figure of every row, whether reallocs move their blocks or not.

use crate::child::{Block, Programs, Run};
use crate::inner::{self, Reallocs};
use crate::read::{Counts, all, by_phase, phase, sizes};
use std::collections::BTreeMap;
use tracking_alloc::{Recorder, phase as enter};
use tracking_alloc_recording::{MAX_SCOPE_DEPTH, Recording, state};

pub(crate) const PROGRAMS: Programs = &[
    ("one", one),
    ("temporary", temporary),
    ("lifetimes", lifetimes),
    ("refused", refused),
    ("older", older),
    ("paused", paused),
    ("sizes", of_many_sizes),
    ("sizes-of-one-place", of_sizes_that_share_a_place),
    ("input", input),
    ("deep-phases", deep_phases),
    ("named-alike", named_alike),
];

/// Events of every kind in two phases. The comments give the live bytes after each event.
fn one() {
    let mut kept = Block::new(100); // 100
    {
        let _phase = enter("a");
        let mut block = Block::new(40); // 140
        block.resize(90); // 190, the maximum in this phase
        block.resize(90); // 190
        block.resize(60); // 160
        block.free(); // 100
        Block::new(24).free(); // 124, 100
    }
    {
        let _phase = enter("b");
        kept.resize(50); // 50
        kept.resize(200); // 200
        let _inner = enter("c");
        let other = Block::new(7); // 207: the peak
        kept.free(); // 7
        let _ = other;
    }
}

fn one_of(recording: &Recording, moved: bool) {
    let copied = |bytes: u64| if moved { bytes } else { 0 };
    let expected = [
        (
            "",
            Counts {
                total: (100, 1),
                freed: (100, 1),
                ..Counts::default()
            },
        ),
        (
            "a",
            Counts {
                total: (40 + 90 + 90 + 60 + 24, 5),
                freed: (40 + 90 + 90 + 60 + 24, 5),
                // A realloc to the same size is a grow by nothing.
                grows: 2,
                shrinks: 1,
                copied_bytes: copied(40 + 90 + 60),
                // The block that was reallocated last is not the one allocated last.
                temporary: (24, 1),
                // Allocated as the second block, freed when there were five.
                lifetime: 3,
                // The temporary block has a lifetime of 0.
                lifetime_blocks: 2,
                ..Counts::default()
            },
        ),
        (
            "b",
            Counts {
                total: (50 + 200, 2),
                freed: (50 + 200, 2),
                grows: 1,
                shrinks: 1,
                copied_bytes: copied(50 + 50),
                // Allocated as the first block, freed when there were nine.
                lifetime: 8,
                lifetime_blocks: 1,
                peak: (200, 1),
                ..Counts::default()
            },
        ),
        (
            "b > c",
            Counts {
                total: (7, 1),
                peak: (7, 1),
                ..Counts::default()
            },
        ),
    ];
    let expected: BTreeMap<String, Counts> = expected
        .into_iter()
        .map(|(path, counts)| (path.to_owned(), counts))
        .collect();
    assert_eq!(by_phase(recording), expected);
    let sum = all(recording);
    assert_eq!((sum.peak, sum.live()), ((207, 2), (7, 1)));
    assert_eq!(recording.lanes.len(), 1);
    assert_eq!(recording.lanes[0].lane.unknown_frees, 0);
    let header = &recording.header;
    assert_eq!((header.state, header.peak_bytes), (state::FINISHED, 207));
    assert_eq!(
        (header.untracked_blocks, header.lost_scopes, header.lanes),
        (0, 0, 1)
    );
    let last = recording.timeline.last().expect("a point");
    assert_eq!(
        (last.live_bytes, last.live_blocks, last.total_bytes),
        (7, 1, sum.total.0)
    );
}

#[test]
fn rows_of_one_thread_whose_reallocs_move() {
    one_of(&Run::new("one", "move").finished(), true);
}

#[test]
fn rows_of_one_thread_recorded_by_the_environment_from_its_first_allocation() {
    one_of(&Run::by_environment("one", "move").finished(), true);
}

#[test]
fn rows_of_one_thread_whose_reallocs_stay_in_place_copy_nothing() {
    one_of(&Run::new("one", "stay").finished(), false);
}

#[test]
fn rows_of_one_thread_whose_blocks_lie_back_to_back() {
    let recording = Run::new("one", "pack").finished();
    // The last block has 7 bytes. Nothing else in the rows differs.
    one_of(&recording, true);
}

#[test]
fn scopes_say_how_often_they_were_entered_and_what_stayed() {
    let recording = Run::new("one", "move").finished();
    let scopes: Vec<_> = recording.scopes[1..]
        .iter()
        .map(|scope| {
            let name = recording.string(scope.name).expect("a name");
            (name, scope.parent, scope.entered, scope.stayed_bytes)
        })
        .collect();
    let expected = [("a", 0, 0), ("b", 0, 7 - 100), ("c", 2, 7 - 200)]
        .map(|(name, parent, stayed)| (name.to_owned(), parent, 1, stayed));
    assert_eq!(scopes, expected);
}

/// The frees that make a block temporary.
fn temporary() {
    Block::new(1000).free();
    let (first, second) = (Block::new(300), Block::new(200));
    first.free(); // It was not allocated last.
    second.free(); // It was allocated last, although the other one was freed first.
    let mut grown = Block::new(30);
    grown.resize(40);
    grown.free(); // The realloc counts as a later allocation.
    let mut block = Block::new(50);
    let last = Block::new(60);
    block.resize(70);
    last.free(); // The realloc of another block came later.
    block.free();
    let paused = Block::new(80);
    Recorder::current().expect("it records").pause();
    paused.free(); // Still counted during the pause.
}

#[test]
fn a_block_is_temporary_that_its_thread_frees_before_it_allocates_or_reallocates() {
    for word in ["move", "stay"] {
        let recording = Run::new("temporary", word).finished();
        assert_eq!(all(&recording).temporary, (1000 + 200 + 80, 3), "{word}");
    }
}

/// The lifetimes of blocks, in allocations.
fn lifetimes() {
    let blocks: [Block; 5] = std::array::from_fn(|index| {
        let _phase = enter(["16 bytes", "17 bytes", "32 bytes", "33 bytes", "more"][index]);
        Block::new([16, 17, 32, 33, 70_000][index])
    });
    for _ in 0..1000 {
        Block::new(8).free();
    }
    for mut block in blocks {
        block.free();
        let _phase = enter("then");
        block = Block::new(20);
        block.resize(400);
        block.resize(12); // Too small to keep its birth number,
        block.resize(90); // which stays unknown.
        block.free();
        let mut block = Block::new(20);
        block.resize(100);
        block.free();
    }
}

#[test]
fn lifetimes_count_the_allocations_a_block_lived_for() {
    let recording = Run::new("lifetimes", "move").finished();
    let lifetime = |path: &str| {
        let counts = phase(&recording, path);
        (counts.lifetime, counts.lifetime_blocks)
    };
    // Each of the five is freed six allocations and reallocs after the previous one.
    assert_eq!(lifetime("16 bytes"), (0, 0), "not known of small blocks");
    assert_eq!(lifetime("17 bytes"), (1000 + 3 + 6, 1));
    assert_eq!(lifetime("32 bytes"), (1000 + 2 + 12, 1));
    assert_eq!(lifetime("33 bytes"), (1000 + 1 + 18, 1));
    assert_eq!(lifetime("more"), (1000 + 24, 1));
    assert_eq!(lifetime("then"), (5, 5));
    assert_eq!(all(&recording).freed_elsewhere, 0);
}

/// A failed realloc changes nothing.
fn refused() {
    let mut block = Block::new(77);
    inner::choose(Reallocs::Fail);
    assert!(!block.try_resize(99));
    inner::choose(Reallocs::Move);
    block.resize(88);
    inner::choose(Reallocs::Fail);
    assert!(!block.try_resize(10));
    block.free();
}

#[test]
fn a_realloc_that_fails_is_not_an_event() {
    let recording = Run::new("refused", "move").finished();
    let expected = Counts {
        total: (77 + 88, 2),
        freed: (77 + 88, 2),
        grows: 1,
        copied_bytes: 77,
        lifetime: 1,
        lifetime_blocks: 1,
        peak: (0, 0),
        ..Counts::default()
    };
    let found = all(&recording);
    assert_eq!(found.peak, (88, 1));
    assert_eq!(
        Counts {
            peak: (0, 0),
            ..found
        },
        expected
    );
    assert_eq!(recording.lanes[0].lane.unknown_frees, 0);
}

/// Blocks older than the recording.
fn older() {
    let blocks: [Block; 4] = std::array::from_fn(|index| Block::new(100 + index));
    let path = std::env::var_os("FIGURES_OUT").expect("a path");
    let recorder = Recorder::start(&path).expect("it records");
    drop(path);
    let [first, second, mut third, _never] = blocks;
    first.free();
    second.free();
    third.resize(500);
    third.free();
    Block::new(9).free();
    recorder.finish().expect("it was recording");
    // Not counted anywhere any more.
    Block::new(1 << 20).free();
}

#[test]
fn blocks_older_than_the_recording_are_unknown_frees_and_their_reallocs_fresh_blocks() {
    let recording = Run::unrecorded("older", "move").finished();
    // Two blocks, and the path's string, which is also freed while it records.
    assert_eq!(recording.lanes[0].lane.unknown_frees, 3);
    let expected = Counts {
        total: (500 + 9, 2),
        freed: (500 + 9, 2),
        // Not the reallocated block, although it is new to the recording.
        temporary: (9, 1),
        // The block of 500 bytes, freed before any other allocation.
        lifetime_blocks: 1,
        peak: (500, 1),
        ..Counts::default()
    };
    assert_eq!(all(&recording), expected);
}

/// New blocks while the recorder is paused.
fn paused() {
    let (first, mut second, mut third) = (Block::new(10), Block::new(20), Block::new(40));
    let recorder = Recorder::current().expect("it records");
    recorder.pause();
    let mut unseen = Block::new(1000);
    first.free();
    second.resize(50);
    unseen.resize(2000);
    recorder.resume();
    unseen.resize(300); // An unknown block counts as a new one.
    Block::new(80).free();
    recorder.pause();
    Block::new(5000).free();
    third.free();
    third = Block::new(1);
    recorder.resume();
    third.free();
}

#[test]
fn while_it_pauses_new_blocks_are_not_counted_and_known_ones_are_followed() {
    let recording = Run::new("paused", "move").finished();
    let expected = Counts {
        total: (10 + 20 + 40 + 50 + 300 + 80, 6),
        freed: (10 + 20 + 80 + 40, 4),
        grows: 1,
        copied_bytes: 20,
        temporary: (80, 1),
        // The block of 40 bytes: allocated as the third, freed when there were six.
        lifetime: 3,
        // The block of 80 bytes is included.
        lifetime_blocks: 2,
        peak: (50 + 40 + 300 + 80, 4),
        ..Counts::default()
    };
    assert_eq!(all(&recording), expected);
    // The blocks of 5,000 bytes and of 1 byte.
    assert_eq!(recording.lanes[0].lane.unknown_frees, 2);
}

/// Sites with one, few and many sizes, so that each kind of size record is used.
fn of_many_sizes() {
    #[inline(never)]
    fn at_one_place(sizes: &[usize]) {
        for bytes in sizes {
            Block::new(*bytes).free();
        }
    }
    /// 1 to 32 three times, and three others.
    static MANY: [usize; 99] = {
        let mut sizes = [1 << 20; 99];
        let mut at = 0;
        while at < 96 {
            sizes[at] = at % 32 + 1;
            at += 1;
        }
        sizes[97] = 4;
        sizes
    };
    {
        let _phase = enter("one");
        at_one_place(&[64; 5]);
    }
    {
        let _phase = enter("few");
        at_one_place(&[5, 5, 5, 20, 31, 20, 5, 1000]);
    }
    {
        let _phase = enter("many");
        at_one_place(&MANY);
    }
    {
        let _phase = enter("grown");
        let mut block = Block::new(3);
        for bytes in 4..=12 {
            block.resize(bytes);
        }
        block.resize(3);
    }
}

#[test]
fn sizes_are_counted_for_each_class_of_a_site_that_has_several() {
    let recording = Run::new("sizes", "move").finished();
    let of = |pairs: &[(u64, u64)]| pairs.iter().copied().collect::<BTreeMap<u64, u64>>();
    assert_eq!(sizes(&recording, "one"), of(&[]), "its row tells");
    assert_eq!(
        sizes(&recording, "few"),
        of(&[(5, 4), (20, 2), (31, 1), (1024, 1)])
    );
    let mut many: BTreeMap<u64, u64> = (1..=32).map(|bytes| (bytes, 3)).collect();
    many.insert(4, 4);
    many.insert(1 << 20, 2);
    assert_eq!(sizes(&recording, "many"), many);
    let grown = sizes(&recording, "grown");
    assert_eq!(
        grown.get(&3),
        None,
        "allocated, and shrunk, at places of one size"
    );
    let expected: BTreeMap<u64, u64> = (4..=12).map(|bytes| (bytes, 1)).collect();
    assert_eq!(grown, expected);
}

/// Sizes whose search in a record starts at the same place.
fn of_sizes_that_share_a_place() {
    let _phase = enter("shared");
    for bytes in [5, 5, 12, 12, 12, 19, 5, 19, 19, 12, 19, 19] {
        Block::new(bytes).free();
    }
}

#[test]
fn sizes_that_share_a_place_are_counted_apart_in_one_record() {
    let recording = Run::new("sizes-of-one-place", "move").finished();
    let expected = BTreeMap::from([(5, 3), (12, 4), (19, 5)]);
    assert_eq!(sizes(&recording, "shared"), expected);
    assert_eq!(recording.lanes[0].sizes.len(), 1);
}

/// The input that a program reports for a phase.
fn input() {
    let older = Block::new(1000);
    let phase = enter("load");
    let (kept, _) = (Block::new(40), Block::new(7));
    {
        let inner = enter("inner").input_bytes(5).records(1);
        Block::new(16).free();
        drop(inner);
    }
    drop(phase.input_bytes(1000).records(10));
    let again = enter("load").input_bytes(500);
    kept.free();
    older.free();
    drop(again);
}

#[test]
fn phases_say_their_input_records_entries_and_what_stayed() {
    let recording = Run::new("input", "move").finished();
    let scopes: Vec<_> = recording.scopes[1..]
        .iter()
        .map(|scope| {
            let name = recording.string(scope.name).expect("a name");
            let (entered, depth) = (scope.entered, scope.depth);
            let said = (scope.input_bytes, scope.records);
            (name, depth, entered, said, scope.stayed_bytes)
        })
        .collect();
    let expected = [
        ("load".to_owned(), 1, 2, (1500, 10), 47 - 40 - 1000),
        ("inner".to_owned(), 2, 1, (5, 1), 0),
    ];
    assert_eq!(scopes, expected);
}

/// Two more nested phases than allowed.
fn deep_phases() {
    fn nest(more: u32) {
        let _phase = enter("in");
        match more {
            0 => Block::new(5).free(),
            _ => nest(more - 1),
        }
    }
    nest(MAX_SCOPE_DEPTH + 1);
}

#[test]
fn phases_beyond_the_deepest_are_counted_in_it() {
    let recording = Run::new("deep-phases", "move").finished();
    assert_eq!(recording.scopes.len() as u32, 1 + MAX_SCOPE_DEPTH);
    assert_eq!(recording.header.lost_scopes, 2);
    let path = vec!["in"; MAX_SCOPE_DEPTH as usize].join(" > ");
    assert_eq!(phase(&recording, &path).total, (5, 1));
}

/// Names that fill whole words.
fn named_alike() {
    for name in ["12345678", "abcdefgh", "12345678", "1234567", "12345678"] {
        let _phase = enter(name);
        Block::new(name.len()).free();
    }
}

#[test]
fn a_phase_is_known_by_its_whole_name() {
    let recording = Run::new("named-alike", "move").finished();
    assert_eq!(recording.scopes.len(), 1 + 3);
    let blocks = |name| phase(&recording, name).total.1;
    let found = ["12345678", "abcdefgh", "1234567"].map(blocks);
    assert_eq!(found, [3, 1, 1]);
}
