//! Rust programs that contain an allocator under names of their own.
#![cfg(target_arch = "x86_64")]

use super::{Run, command, example, folder, record, text};
use heapglass_limits::Command;
use heapglass_profiler::profile::Profile;
use heapglass_profiler::profile::{Frames, Measure};
use heapglass_profiler::table::{By, rows};
use std::path::Path;

/// Returns blocks and bytes that a program counted itself, and its live bytes.
fn counted(run: &Run) -> [u64; 3] {
    let printed = run.printed();
    let mut numbers = printed.split_whitespace().map(|number| number.parse());
    [(); 3].map(|()| numbers.next().and_then(Result::ok).expect("a number"))
}

fn recorded(profile: &Profile) -> [u64; 3] {
    let totals = profile.totals();
    [totals.total_blocks, totals.total_bytes, totals.live_bytes]
}

fn run(program: &Path, rounds: &str) -> Run {
    record(&mut command(program, &[rounds]))
}

#[test]
fn blocks_of_an_allocator_in_the_program_are_recorded_to_the_byte() {
    for (name, allocator) in [
        ("linked_mimalloc", "mimalloc and libc malloc"),
        ("linked_jemalloc", "jemalloc and libc malloc"),
    ] {
        let program = example(name);
        let [few, many] = ["10", "2000"].map(|rounds| run(&program, rounds));
        let [less, more] = [few.profile(), many.profile()];
        assert_eq!(more.capture().allocator, allocator);
        // What libc itself allocates is the same in both runs.
        let [of_few, of_many] = [&few, &many].map(counted);
        let [in_few, in_many] = [&less, &more].map(recorded);
        for at in 0..3 {
            assert_eq!(in_many[at] - in_few[at], of_many[at] - of_few[at], "{name}");
            assert!(
                in_many[at] >= of_many[at],
                "{name}: {in_many:?} {of_many:?}"
            );
        }
        assert_eq!(more.lost().unknown_frees, 0, "{name}");
        // Owners are the program's functions, not the allocator's.
        let owners = rows(&more, By::Owner, Measure::Total, Frames::Folded);
        assert!(owners[0].key.contains("linked::work"), "{}", owners[0].key);
        let types = rows(&more, By::Type, Measure::Total, Frames::Folded);
        let keys: Vec<&str> = types.iter().map(|row| row.key.as_str()).collect();
        assert!(
            keys.contains(&"Vec<u8>") && keys.contains(&"Vec<String>"),
            "{keys:?}"
        );
    }
}

#[test]
fn nothing_changes_for_a_program_without_symbols() {
    let stripped = folder().join("stripped_mimalloc");
    let strip = Command::new("strip")
        .arg("-o")
        .args([&stripped, &example("linked_mimalloc")])
        .output()
        .expect("strip of the C compiler's tools");
    assert!(strip.status.success(), "{}", text(&strip.stderr));
    let run = run(&stripped, "1000");
    let profile = run.profile();
    assert_eq!(profile.capture().allocator, "libc malloc");
    // Only what libc allocates: no false leaks.
    assert!(profile.totals().total_bytes < counted(&run)[1] / 100);
}
