//! Memory that the standard library allocates for the first backtrace counts for nobody else.

use crate::common::Target;
use heapglass_examples::cases::QUIET_BYTES;
use heapglass_profiler::profile::{Frames, Group, Measure, Profile};
use heapglass_profiler::report::{ReportOptions, write_summary, write_text};
use heapglass_profiler::table::{By, rows};
use heapglass_profiler::{OpenOptions, open};

fn total_of(profile: &Profile, by: By, key: &str) -> Option<u64> {
    let rows = rows(profile, by, Measure::Total, Frames::Folded).into_iter();
    let mut rows = rows.filter(|row| row.key == key);
    rows.next().map(|row| row.figures.total_bytes)
}

#[test]
fn backtraces_are_a_group_in_every_grouping_and_not_the_first_thread_that_fails() {
    let mut target = Target::case(&["fail"]).env("RUST_BACKTRACE", "1");
    target.succeed();
    let options = OpenOptions::default();
    let profile = open(&target.recording(), &options, &|_| ()).expect("a recording");
    let group = Group::Backtrace.name();
    let bytes = total_of(&profile, By::Owner, group).expect("a group");
    // The debug information of this program is larger than what the threads allocate.
    let quiet = QUIET_BYTES as u64;
    assert!(bytes > 4 * quiet, "{bytes}");
    for by in [
        By::Site,
        By::Function,
        By::Crate,
        By::Module,
        By::Type,
        By::Thread,
    ] {
        assert_eq!(total_of(&profile, by, group), Some(bytes), "{by:?}");
        let all = rows(&profile, by, Measure::Total, Frames::Folded);
        let blamed = all.iter().find(|row| row.key.contains("libgcc"));
        assert!(
            blamed.is_none_or(|row| row.figures.total_bytes < quiet),
            "{by:?}: {blamed:?}"
        );
    }
    let thread = |name| total_of(&profile, By::Thread, name).expect("a thread");
    assert!(thread("cases::fail::b") < quiet);
    assert!(thread("cases::fail::a") >= quiet);
    assert!(thread("cases::fail::c") >= 2 * quiet);
    for by in [By::Thread, By::Crate] {
        let options = ReportOptions {
            by,
            measure: Measure::Total,
            ..ReportOptions::default()
        };
        let mut text = Vec::new();
        write_text(&profile, &options, &mut text).expect("text");
        write_summary(&profile, &options, &mut text).expect("text");
        let text = String::from_utf8(text).expect("text");
        assert!(!text.contains("libgcc_s"), "{text}");
        assert!(!text.contains("Up to"), "all of it is known: {text}");
    }
}
