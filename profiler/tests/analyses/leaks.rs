//! Live blocks: their sum, their groups, their order and their growth.

use heapglass_fixture as fixture;
use heapglass_profiler::growth::Moment;
use heapglass_profiler::leaks::{Kind, leaks};
use heapglass_profiler::profile::State;

#[test]
fn rows_of_all_kinds_add_up_to_what_is_live() {
    for (name, _) in fixture::REAL {
        let profile = fixture::real(name);
        let leaks = leaks(&profile);
        let totals = profile.totals();
        let live = Kind::ALL.map(|kind| leaks.live(kind));
        let bytes: u64 = live.iter().map(|(bytes, _)| bytes).sum();
        let blocks: u64 = live.iter().map(|(_, blocks)| blocks).sum();
        assert_eq!(
            (bytes, blocks),
            (totals.live_bytes, totals.live_blocks),
            "{name}"
        );
    }
}

#[test]
fn what_std_needs_to_start_is_apart() {
    let leaks = leaks(&fixture::real("shop-profiled"));
    assert_eq!(leaks.of(Kind::Program).count(), 0);
    assert_eq!(leaks.of(Kind::Start).count(), 1);
}

#[test]
fn growth_is_since_the_middle_and_orders_the_rows_of_a_running_program() {
    let mut profile = fixture::moving();
    let finished = leaks(&profile);
    let live: Vec<u64> = finished
        .rows
        .iter()
        .map(|row| row.figures.live_bytes)
        .collect();
    assert!(live.is_sorted_by(|one, next| one >= next), "{live:?}");

    profile.parts().process.state = State::Running;
    let running = leaks(&profile);
    let grown: Vec<i64> = running
        .rows
        .iter()
        .map(|row| row.grown.difference().0)
        .collect();
    assert!(grown.is_sorted_by(|one, next| one >= next), "{grown:?}");
    assert_eq!(
        running.since,
        Some(Moment::Checkpoint(2)),
        "0.8 s of 1.84 s"
    );
    let first = &running.rows[0];
    assert_eq!(first.grown.to.0, first.figures.live_bytes);
    assert!(first.grown.from.0 > 0 && first.age.at_least_ns.is_some());
}
