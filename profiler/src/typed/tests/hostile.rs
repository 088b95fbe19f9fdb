//! Debug information that is broken or built to hurt, and memory that is not what it says.

use super::*;

const ZOO: &str = include_str!("programs/zoo.rs");

/// Deterministic and good enough to choose what to break.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }
}

/// The places of the sections of an object file that describe types.
fn sections(bytes: &[u8]) -> Vec<Range<usize>> {
    use object::{Object, ObjectSection};
    let object = object::File::parse(bytes).expect("an object file");
    let of = |name: &str| {
        let range = object.section_by_name(name)?.file_range()?;
        Some(range.0 as usize..(range.0 + range.1) as usize)
    };
    [".debug_info", ".debug_info", ".debug_abbrev"]
        .into_iter()
        .filter_map(of)
        .collect()
}

#[test]
fn broken_debug_information_is_no_panic() {
    let run = Run::new(ZOO, 3, &["-Copt-level=0"]);
    let whole = std::fs::read(&run.program).expect("a program");
    let sections = sections(&whole);
    let mut random = Random(88_172_645_463_325_252);
    let broken = run.folder.path().join("broken");
    let rounds = if cfg!(debug_assertions) { 6 } else { 200 };
    for round in 0..rounds {
        let mut bytes = whole.clone();
        for _ in 0..1 + round * 40 {
            let section = &sections[random.below(sections.len())];
            // The types of the program come first, before those of the standard library.
            let length = (section.end - section.start) / [32, 1][random.below(8) / 7];
            let at = section.start + random.below(length);
            bytes[at] = match random.below(3) {
                0 => 0xff,
                1 => bytes[at] ^ 1 << random.below(8),
                _ => random.below(256) as u8,
            };
        }
        std::fs::write(&broken, &bytes).expect("a file");
        let heap = run.dump.heap();
        let layouts = layouts_of(&broken, &run.dump, &heap, &[], &[]);
        let analysis = analyse(heap, &run.dump, &layouts, &|_| ());
        for block in 0..analysis.heap().len() {
            let label = layouts.label_text(layouts.label(block));
            assert!(label.len() < 1 << 20);
        }
        let _lists = (layouts.variants(), layouts.futures());
    }
}

#[test]
fn memory_that_is_not_what_the_types_say_is_no_panic() {
    let mut run = Run::new(ZOO, 20, &["-Copt-level=0"]);
    let mut random = Random(1_234_567);
    let words: Vec<[u8; 8]> = (run.dump.blocks.iter())
        .map(|block| block.start.to_le_bytes())
        .collect();
    let rounds = if cfg!(debug_assertions) { 3 } else { 100 };
    for _ in 0..rounds {
        for _ in 0..2000 {
            let (_, length, place) = run.dump.ranges[random.below(run.dump.ranges.len())];
            if length >= 8 {
                let at = place + random.below(length / 8) * 8;
                let word = match random.below(4) {
                    0 => [0xff; 8],
                    1 => (random.below(1 << 20) as u64).to_le_bytes(),
                    _ => words[random.below(words.len())],
                };
                run.dump.bytes[at..at + 8].copy_from_slice(&word);
            }
        }
        let (analysis, layouts) = run.analysed(run.dump.heap(), &[]);
        assert_eq!(analysis.heap().len(), run.dump.blocks.len());
        let _lists = (layouts.variants(), layouts.futures());
    }
}

#[test]
fn a_file_without_types_says_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("none");
    std::fs::write(&path, "text").expect("a file");
    let heap = HeapBuilder::default().finish();
    let layouts = layouts_of(&path, &Dump::default(), &heap, &[], &[]);
    assert_eq!(layouts.notes().len(), 1);
    assert!(layouts.variants().is_empty() && layouts.futures().is_empty());
}
