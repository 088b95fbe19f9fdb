//! Holders that are easily missed, and values that only seem to be equal.

use super::*;
use crate::snapshot::{Holder, Reach};

const HOLDERS: &str = include_str!("programs/holders.rs");
const COUNT: u64 = 60;

/// Returns the blocks of a size.
fn of_size(heap: &Heap, size: u64) -> Vec<usize> {
    let blocks = (0..heap.len()).filter(|&block| heap.size(block) == size);
    blocks.collect()
}

/// Returns the number of blocks that equal an earlier one.
fn repeated_of(analysis: &Analysis, blocks: &[usize]) -> u64 {
    let values = analysis.equal_values();
    let repeated = blocks.iter().filter(|&&block| values.is_repeated(block));
    repeated.count() as u64
}

fn assert_true(level: &str) {
    let flags = [level, "--crate-name=crossbeam_queue", "-oprogram"];
    let run = Run::new(HOLDERS, COUNT as usize, &flags);
    // Nothing but its site tells the type of what only holds itself; of one kind not even that.
    let itself = run.truth("itself");
    let site = SiteType {
        container: "alloc::rc::Rc<crossbeam_queue::Itself, alloc::alloc::Global>".to_owned(),
        element: None,
    };
    let blocks = run.dump.heap_by(|size| u32::from(size == itself));
    let (analysis, layouts) = run.analysed(blocks, &[None, Some(site)]);
    let heap = analysis.heap();
    let named = |name: &str| {
        let blocks = of_size(heap, run.truth(name));
        assert_eq!(blocks.len() as u64, COUNT, "{level}: {name}");
        blocks
    };
    let label = |block: usize| layouts.label_text(layouts.label(block));

    // Fields of packed structs, at odd addresses.
    for (size, place) in [(1000, "PACKED[].boxed"), (1000, "PACKED[].list[]")] {
        let blocks = of_size(heap, size);
        let blocks = blocks.iter().filter(|&&block| label(block) == place);
        let mut found = 0;
        for &block in blocks {
            found += 1;
            assert_eq!(analysis.reach(block), Reach::Owned, "{level}: {place}");
            assert!(
                matches!(analysis.holder(block), Holder::Block(_)),
                "{level}: {place}"
            );
        }
        assert_eq!(found, COUNT, "{level}: {place}");
    }

    // An `Rc` in its own value is a cycle of one block; a `Weak` is not.
    let cycles = analysis.cycles();
    assert_eq!(
        (cycles.count, cycles.blocks),
        (2 * COUNT, 2 * COUNT),
        "{level}"
    );
    for block in named("itself").into_iter().chain(named("closure")) {
        assert_eq!(analysis.reach(block), Reach::NotReached, "{level}");
        assert_eq!(analysis.holder(block), Holder::Nothing, "{level}");
    }
    for block in named("aware") {
        assert_eq!(analysis.reach(block), Reach::NotReached, "{level}");
    }

    // Numbers with a tag own nothing, and keep their blocks reached.
    let tagged = of_size(heap, 480);
    assert_eq!(tagged.len() as u64, COUNT, "{level}");
    for block in tagged {
        assert_eq!(analysis.reach(block), Reach::Referred, "{level}");
    }

    // Boxed slices of different lengths.
    let mut lists = Vec::new();
    for number in 0..COUNT {
        let [block] = of_size(heap, 4 * (700 + 3 * number))[..] else {
            panic!("{level}: {number}");
        };
        assert_eq!(analysis.unused_bytes(block), Some(0), "{level}");
        lists.push(analysis.holder(block));
    }
    lists.dedup();
    assert!(
        matches!(lists[..], [Holder::Block(_)]),
        "{level}: {lists:?}"
    );

    // A slot holds no value that was taken out.
    let texts = of_size(heap, 3000);
    assert_eq!(texts.len() as u64, COUNT, "{level}");
    let of_place = |place: &str| texts.iter().filter(|&&block| label(block) == place).count();
    assert_eq!(of_place("TAKEN[]") as u64, COUNT / 2, "{level}");
    assert_eq!(of_place("SLOTS.0[].value") as u64, COUNT / 2, "{level}");
    for &text in &texts {
        assert!(matches!(analysis.holder(text), Holder::Block(_)), "{level}");
    }

    // Only `Weak` pointers keep the blocks of dropped values, and they hold them.
    let dropped = |name: &str| {
        let (blocks, stay): (Vec<usize>, Vec<usize>) = named(name)
            .into_iter()
            .partition(|&block| analysis.is_dropped(block));
        for &block in &blocks {
            assert_eq!(analysis.reach(block), Reach::Owned, "{level}: {name}");
            let holder = analysis.holder(block);
            assert!(matches!(holder, Holder::Block(_)), "{level}: {name}");
        }
        assert_eq!(repeated_of(&analysis, &blocks), 0, "{level}: {name}");
        (blocks.len() as u64, stay.len() as u64)
    };
    assert_eq!(dropped("viewer"), (COUNT / 3 * 2, COUNT / 3), "{level}");
    assert_eq!(dropped("dynamic"), (COUNT, 0), "{level}");
    assert_eq!(dropped("counted_list"), (COUNT, 0), "{level}");
    let all = (0..heap.len()).filter(|&block| analysis.is_dropped(block));
    assert_eq!(all.count() as u64, COUNT / 3 * 2 + 2 * COUNT, "{level}");

    // What may change is not equal to anything.
    for name in ["session", "counted", "outer"] {
        let repeated = repeated_of(&analysis, &named(name));
        assert_eq!(repeated, 0, "{level}: {name}");
    }
    let repeated = repeated_of(&analysis, &named("fixed"));
    assert_eq!(repeated, COUNT - 1, "{level}");
}

#[test]
fn holders_that_are_easily_missed() {
    assert_true("-Copt-level=0");
}

#[test]
fn holders_that_are_easily_missed_in_optimized_code() {
    assert_true("-Copt-level=2");
}
