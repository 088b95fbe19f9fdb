//! Locals that make futures large: what is predicted without one is what a program without it has.

use super::*;
use crate::snapshot::LargeLocal;

const FUTURES: &str = include_str!("programs/futures.rs");
/// Tasks of each kind.
const TASKS: u64 = 50;

/// Returns the large locals, and the bytes of all blocks.
fn found(flags: &[&str]) -> (Vec<LargeLocal>, u64) {
    let run = Run::new(FUTURES, TASKS as usize, flags);
    let (analysis, layouts) = run.analysed(run.dump.heap(), &[]);
    let heap = analysis.heap();
    let bytes = (0..heap.len()).map(|block| heap.size(block)).sum();
    (layouts.large_locals(heap), bytes)
}

fn line_of(text: &str) -> u32 {
    let at = FUTURES.lines().position(|line| line.contains(text));
    at.expect("a line") as u32 + 1
}

fn assert_true(level: &str) {
    let (locals, before) = found(&[level]);
    let (left, after) = found(&[level, "--cfg", "remedy"]);
    let of = |function: &str, local: &str| {
        let mut all = locals.iter();
        let found = all.find(|large| large.function == function && large.local == local);
        found.unwrap_or_else(|| panic!("{function} {local}: {locals:#?}"))
    };
    let scratch = of("upload", "scratch");
    assert_eq!(
        (scratch.local_bytes, scratch.krate.as_str()),
        (5000, "program")
    );
    assert_eq!(
        (scratch.file.as_str(), scratch.line),
        ("program.rs", line_of("// upload"))
    );
    assert_eq!((scratch.futures, scratch.blocks), (TASKS / 10, TASKS));
    let all = of("twice", "all");
    assert_eq!((all.local_bytes, all.line), (3000, line_of("// twice")));
    assert_eq!((all.futures, all.blocks), (TASKS, TASKS));
    // The program without them keeps a sum of eight bytes in the place of each.
    let (predicted, saved) = (scratch.saves_bytes + all.saves_bytes, before - after);
    assert!(
        (saved..=saved + 2 * 8 * TASKS).contains(&predicted),
        "{predicted} {saved}"
    );
    // The smaller one behind it stays.
    assert_eq!(of("twice", "small").saves_bytes, 400 * TASKS);
    // Without the larger one, the other state is the largest.
    // The size of a future is a multiple of its alignment.
    let less = of("hidden", "less").saves_bytes / TASKS;
    assert!((100..108).contains(&less), "{less}");
    assert_eq!(locals.len(), 4, "{locals:#?}");
    let left: Vec<&str> = left.iter().map(|large| large.local.as_str()).collect();
    assert_eq!(left, ["small", "less"]);
}

#[test]
fn of_an_optimized_program() {
    assert_true("-Copt-level=2");
}

#[test]
fn of_a_program_that_is_not_optimized() {
    assert_true("-Copt-level=0");
}
