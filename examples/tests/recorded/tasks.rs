//! A thousand tasks on four threads. Each runs in a phase of its own, which ends and begins at
//! every await.

use crate::common::places::{Places, at, total};
use crate::common::{Target, assert_consistent};
use heapglass_examples::recorded::{self, Sums};
use heapglass_examples::tasks::{Job, ROUNDS};

const TASKS: usize = 1_000;

fn sum(total_bytes: usize, total_blocks: usize) -> (u64, u64) {
    (total_bytes as u64, total_blocks as u64)
}

fn totals(sums: Sums) -> (u64, u64) {
    (sums.total_bytes, sums.total_blocks)
}

/// Returns the bytes and blocks allocated by pushing that many texts: room for 4, 8, 16, ...
fn growth(length: usize) -> (usize, usize) {
    let (mut room, mut bytes, mut blocks) = (0, 0, 0);
    while room < length {
        room = (room * 2).max(4);
        bytes += room * size_of::<String>();
        blocks += 1;
    }
    (bytes, blocks)
}

#[test]
fn every_byte_of_a_thousand_interleaved_tasks_is_in_its_own_phase_and_field() {
    let mut target = Target::new(env!("CARGO_BIN_EXE_fields"), &["tasks", "1000"]);
    target.succeed();
    let recording = recorded::open(&target.recording());
    assert_consistent(&recording);
    assert_eq!(recording.header.lost_scopes, 0);
    let places = Places::of(&recording);
    for number in 0..TASKS {
        let phase = format!("task-{number}");
        let within = places.within(places.phase(&phase));
        let job = Job::of(number);
        let texts: usize = job.items.iter().map(String::len).sum();
        let (bytes, blocks) = growth(job.items.len());
        let own = |path: &str| totals(at(&within, path).own);
        assert_eq!(own("Job"), (0, 0), "{phase}");
        assert_eq!(
            own("Job.name"),
            sum(ROUNDS * job.name.len(), ROUNDS),
            "{phase}"
        );
        assert_eq!(
            own("Job.items"),
            sum(ROUNDS * bytes, ROUNDS * blocks),
            "{phase}"
        );
        let each = sum(ROUNDS * texts, ROUNDS * job.items.len());
        assert_eq!(own("Job.items[]"), each, "{phase}");
        assert_eq!(at(&within, "Job").values, ROUNDS as u64, "{phase}");
        assert_eq!(at(&within, "Job.items[]").values, each.1, "{phase}");
        // The task itself creates the job for the comparison, exactly as long as needed, and drops
        // it.
        let compared = job.name.len() + job.items.len() * size_of::<String>() + texts;
        let own = within[0].own;
        assert_eq!(totals(own), sum(compared, 2 + job.items.len()), "{phase}");
        assert_eq!(own.live_bytes(), 0, "{phase}");
        // The data read stays, except for the shorter blocks that its list outgrew.
        let stays = job.name.len()
            + texts
            + job.items.len().max(4).next_power_of_two() * size_of::<String>();
        assert_eq!(
            total(&within).live_bytes(),
            (ROUNDS * stays) as i64,
            "{phase}"
        );
        assert_eq!(
            at(&within, "Job").stayed_bytes,
            (ROUNDS * stays) as i64,
            "{phase}"
        );
        assert_eq!(within[0].stayed_bytes, (ROUNDS * stays) as i64, "{phase}");
        assert_eq!(within.len(), 5, "{phase}: {within:?}");
    }
    let used = recording
        .lanes
        .iter()
        .filter(|lane| lane.all.total_blocks > 0)
        .count();
    assert!(
        used >= 3,
        "{used} lanes: the tasks should have been on several threads"
    );
}
