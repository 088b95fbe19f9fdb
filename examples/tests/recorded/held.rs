//! Advice from snapshots, held to reality: for each kind a program that holds its data in a
//! wasteful way, and the same program with the remedy. What was predicted from a snapshot of the
//! first is what a snapshot of the second has less.

use crate::common::Target;
use heapglass_profiler::advice::{Confidence, Finding, Kind, advise};
use heapglass_profiler::attach::Reader;
use heapglass_profiler::profile::Profile;
use heapglass_profiler::snapshot::{HolderName, RootKind, SiteFigures, Snapshot};
use heapglass_profiler::table::holders;
use heapglass_profiler::{OpenOptions, open};
use std::io::{BufRead, BufReader};
use std::process::Stdio;

/// Takes snapshots of a program that holds its data.
fn taken(case: &str, side: &str, snapshots: usize) -> Profile {
    taken_of(Target::case(&["held", case, side]), snapshots)
}

pub(crate) fn taken_of(mut target: Target, snapshots: usize) -> Profile {
    let command = target.command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut program = command.spawn().expect("the program starts");
    let mut output = BufReader::new(program.stdout.take().expect("its output"));
    let mut line = String::new();
    output.read_line(&mut line).expect("a line");
    assert_eq!(line, "ready\n");
    let path = target.recording();
    let mut reader = Reader::attach(&path, false, OpenOptions::default()).expect("attached");
    let taken: Vec<Snapshot> = (0..snapshots)
        .map(|_| {
            let taken = reader.take(heapglass_limits::limit(), &|_| true);
            taken.expect("a snapshot").snapshot
        })
        .collect();
    drop(reader);
    drop(program.stdin.take());
    assert!(program.wait().expect("an end").success());
    let recording = std::fs::read(&path).expect("the recording");
    let table = Snapshot::table(&taken);
    let bytes = tracking_alloc_recording::with_snapshots(recording, &table).expect("a recording");
    let path = path.with_extension("hgs");
    std::fs::write(&path, bytes).expect("a file");
    open(&path, &OpenOptions::default(), &|_| ()).expect("a recording")
}

fn last(profile: &Profile) -> &Snapshot {
    profile.snapshots().last().expect("a snapshot")
}

/// The program that wastes, with its largest finding of a kind, and the one with the remedy.
#[derive(Debug)]
struct Pair {
    finding: Finding,
    before: Profile,
    after: Profile,
}

impl Pair {
    fn of(case: &str, kind: Kind) -> Pair {
        Pair::of_snapshots(case, kind, 1)
    }

    fn of_snapshots(case: &str, kind: Kind, snapshots: usize) -> Pair {
        let [before, after] = ["before", "remedy"].map(|side| taken(case, side, snapshots));
        let found = advise(&before, false);
        let finding = found.iter().find(|finding| finding.kind == kind);
        let finding = finding.unwrap_or_else(|| panic!("{found:#?}")).clone();
        let left: Vec<Finding> = advise(&after, false)
            .into_iter()
            .filter(|finding| finding.kind == kind)
            .collect();
        assert_eq!(left, [], "the remedy was applied");
        let file = finding.place.file.as_deref().unwrap_or_default();
        assert!(file.ends_with("cases/held.rs"), "{finding:#?}");
        assert!(finding.place.line.is_some(), "{finding:#?}");
        let moment = finding.snapshot.as_ref().expect("a moment");
        assert_eq!(moment.time_ns, last(&before).moment().time_ns);
        Pair {
            finding,
            before,
            after,
        }
    }

    /// The live bytes and blocks that the remedy saved.
    fn saved(&self) -> (i64, i64) {
        let [before, after] = [&self.before, &self.after].map(last);
        let less = |before: u64, after: u64| before as i64 - after as i64;
        (
            less(before.bytes(), after.bytes()),
            less(before.blocks(), after.blocks()),
        )
    }

    fn predicted(&self) -> (i64, i64) {
        let finding = &self.finding;
        (finding.saves_bytes as i64, finding.saves_blocks as i64)
    }

    #[track_caller]
    fn saves_exactly(&self) {
        assert_eq!(self.finding.confidence, Confidence::Exact);
        assert_eq!(self.predicted(), self.saved(), "{:#?}", self.finding);
    }

    /// Checks that the bytes that were saved are within a share of those predicted.
    #[track_caller]
    fn saves_about(&self, share: f64) {
        let (predicted, saved) = (self.predicted().0 as f64, self.saved().0 as f64);
        assert!(
            (predicted - saved).abs() <= share * saved,
            "{predicted} {saved} {:#?}",
            self.finding
        );
    }
}

#[test]
fn shrinking_lists_saves_their_unused_capacity() {
    let pair = Pair::of("unused_capacity", Kind::UnusedCapacity);
    pair.saves_exactly();
    assert_eq!(pair.predicted(), (500 * 126 * 40, 0));
    assert!(
        pair.finding
            .why
            .starts_with("98.4 % of 2.4 MiB in 500 blocks of Vec<Op>")
    );
}

#[test]
fn shrinking_a_table_saves_the_buckets_that_its_entries_do_not_need() {
    Pair::of("unused_capacity_of_tables", Kind::UnusedCapacity).saves_exactly();
}

#[test]
fn emptied_lists_keep_their_blocks() {
    let pair = Pair::of("empty_container", Kind::EmptyContainer);
    pair.saves_exactly();
    assert_eq!(pair.predicted(), (200 * 8192, 200));
}

#[test]
fn equal_texts_are_shared() {
    let pair = Pair::of("duplicate_content", Kind::DuplicateContent);
    assert_eq!(pair.predicted().1, pair.saved().1);
    // Each place for an `Arc<str>` is 8 bytes smaller than one for a `String`, too.
    let places = 8 * 20_000;
    let saved = pair.saved().0 - places;
    assert!((pair.predicted().0 - saved).abs() <= 97 * 8, "{pair:?}");
}

#[test]
fn an_input_that_is_dropped_is_saved() {
    let pair = Pair::of("input_kept", Kind::InputKept);
    // Offsets into the text cannot be seen.
    assert_eq!(pair.finding.confidence, Confidence::Estimate);
    assert!(pair.finding.remedy.contains("Offsets"), "{pair:?}");
    assert_eq!(pair.predicted(), pair.saved());
}

/// The length of a local text is not known, but its block is.
#[test]
fn a_text_in_a_local_and_what_was_read_from_it_exclude_each_other() {
    let profile = taken("text_in_a_local", "before", 1);
    let found = advise(&profile, false);
    let of = |kind: Kind| {
        let finding = found.iter().find(|finding| finding.kind == kind);
        finding.unwrap_or_else(|| panic!("{kind:?} {found:#?}"))
    };
    let (kept, borrow) = (of(Kind::InputKept), of(Kind::CouldBorrow));
    const WORD: u64 = "word-00000-of-a-text".len() as u64;
    let text = 40_000 * (WORD + 1);
    assert!((text..2 * text).contains(&kept.saves_bytes), "{kept:#?}");
    // A stale word of the stack may contradict the header of the text that was made last.
    assert!(
        (39_999..=40_000).contains(&borrow.saves_blocks),
        "{borrow:#?}"
    );
    assert_eq!(borrow.saves_bytes, borrow.saves_blocks * WORD);
    assert_eq!(kept.alternative_to, Some(Kind::CouldBorrow));
    assert_eq!(borrow.alternative_to, Some(Kind::InputKept));
    for finding in [kept, borrow] {
        assert!(finding.why.ends_with("not both."), "{finding:#?}");
    }
}

#[test]
fn texts_that_are_written_and_buffers_that_are_used_again_are_no_inputs() {
    for case in ["buffer_used_again", "text_that_is_written"] {
        let found = advise(&taken(case, "before", 1), true);
        let wrong = found
            .iter()
            .find(|finding| matches!(finding.kind, Kind::InputKept | Kind::CouldBorrow));
        assert_eq!(wrong, None, "{case}");
    }
}

#[test]
fn bytes_that_cannot_shrink_are_not_advised_to() {
    let found = advise(&taken("growable_bytes", "before", 1), true);
    let wrong = found.iter().find(|finding| {
        let is_of_bytes = finding.place.type_name.as_deref() == Some("Vec<u8>");
        is_of_bytes && finding.remedy.contains("shrink_to_fit")
    });
    assert_eq!(wrong, None);
}

#[test]
fn texts_that_borrow_need_no_blocks() {
    let pair = Pair::of("could_borrow", Kind::CouldBorrow);
    assert_eq!(pair.finding.confidence, Confidence::AtLeast);
    assert_eq!(pair.predicted(), pair.saved());
    assert!(pair.finding.remedy.contains("#[serde(borrow)]"));
}

#[test]
fn pages_that_are_never_touched_need_not_be_asked_for() {
    let pair = Pair::of("untouched", Kind::Untouched);
    assert_eq!(pair.finding.confidence, Confidence::AtLeast);
    assert!(pair.predicted().0 <= pair.saved().0, "{pair:?}");
    pair.saves_about(0.1);
}

#[test]
fn what_two_snapshots_do_not_reach_is_saved_by_freeing_it() {
    let pair = Pair::of_snapshots("unreachable", Kind::Unreachable, 2);
    pair.saves_about(0.01);
    // One snapshot alone proves nothing.
    let one = taken("unreachable", "before", 1);
    let found = advise(&one, true);
    assert!(
        found
            .iter()
            .all(|finding| finding.kind != Kind::Unreachable)
    );
}

#[test]
fn a_weak_reference_saves_cycles() {
    let pair = Pair::of_snapshots("cycle", Kind::Cycle, 2);
    pair.saves_about(0.01);
}

#[test]
fn a_value_that_holds_itself_is_a_cycle() {
    let profile = taken("itself", "before", 2);
    let found = advise(&profile, false);
    let of_kind = |kind| found.iter().find(|finding| finding.kind == kind);
    let finding = of_kind(Kind::Cycle).unwrap_or_else(|| panic!("{found:#?}"));
    // Old words of memory may lead to a few.
    assert!(
        (1980..=2000).contains(&finding.saves_blocks),
        "{finding:#?}"
    );
    assert_eq!(of_kind(Kind::Unreachable), None);
}

#[test]
fn a_function_that_always_leaks_is_said_to_leak_or_to_hide_its_pointers() {
    let profile = taken("always", "before", 2);
    let found = advise(&profile, false);
    let mut all = found.iter();
    let finding = all.find(|finding| finding.kind == Kind::Unreachable);
    let finding = finding.unwrap_or_else(|| panic!("{found:#?}"));
    // Of each job, its name too.
    assert!(
        (3960..=4000).contains(&finding.saves_blocks),
        "{finding:#?}"
    );
    // A word of memory that is used no more may lead to the last one.
    let is_all = finding.evidence.contains(&("blocks", 2000));
    let said = "either all are leaked, or they are held in a way that cannot be seen";
    assert_eq!(finding.why.contains(said), is_all, "{finding:#?}");
    assert!(finding.remedy.contains("`mem::forget`"), "{finding:#?}");
}

#[test]
fn fields_of_packed_structs_are_reached() {
    let profile = taken("packed", "before", 2);
    let found = advise(&profile, true);
    let mut all = found.iter();
    let wrong = all.find(|finding| matches!(finding.kind, Kind::Unreachable | Kind::Cycle));
    assert_eq!(wrong, None);
    let sites = last(&profile).sites().iter();
    let not_reached = sites.map(|(_, figures)| figures.not_reached_blocks);
    assert!(not_reached.sum::<u64>() < 20);
}

#[test]
fn values_that_may_change_are_not_advised_to_be_shared() {
    let found = advise(&taken("changing", "before", 1), true);
    let mut all = found.iter();
    assert_eq!(
        all.find(|finding| finding.kind == Kind::DuplicateContent),
        None
    );
}

/// Returns the bytes that roots of a kind hold.
fn held_by(snapshot: &Snapshot, kind: RootKind, name: &str) -> u64 {
    let nodes = snapshot.holders().iter().zip(snapshot.held());
    let of = nodes.filter(
        |(node, _)| matches!(&node.name, HolderName::Outside(of, thread) if *of == kind && thread == name),
    );
    of.map(|(_, held)| held.bytes).sum()
}

#[test]
fn the_locals_of_a_worker_are_on_its_stack() {
    let profile = taken("worker", "before", 1);
    let snapshot = last(&profile);
    let [stack, locals] =
        [RootKind::Stack, RootKind::ThreadLocals].map(|kind| held_by(snapshot, kind, "worker"));
    assert!(stack >= 4000 * 100, "{stack} {locals}");
    assert!(locals < 4096, "{stack} {locals}");
}

#[test]
fn several_holders_have_names() {
    let profile = taken("several", "before", 1);
    let rows = holders(&profile, last(&profile));
    let shared = rows
        .iter()
        .find(|row| row.held.own.bytes >= 32_000 && !row.held_by.is_empty());
    let shared = shared.unwrap_or_else(|| panic!("{rows:#?}"));
    let all = shared.several(&rows, 10).expect("several");
    for thread in ["one", "two", "three", "four", "five"] {
        assert!(all.contains(&format!("stack of {thread}")), "{all}");
    }
    let three = shared.several(&rows, 3).expect("several");
    assert!(three.ends_with(" more"), "{three}");
}

#[test]
fn sorted_lists_save_the_free_buckets_of_small_maps() {
    let pair = Pair::of("small_map", Kind::SmallMap);
    assert_eq!(pair.finding.confidence, Confidence::AtLeast);
    // The value in the place of the map is smaller, too.
    assert_eq!(pair.predicted().0, pair.saved().0 - 2000 * 24);
}

#[test]
fn copies_of_the_parts_that_are_used_save_the_rest_of_the_buffers() {
    let pair = Pair::of("held_by_small_part", Kind::HeldBySmallPart);
    // The counter of each shared buffer goes too.
    pair.saves_about(0.01);
}

#[test]
fn weak_pointers_that_are_purged_save_the_blocks_of_dropped_values() {
    let pair = Pair::of("kept_by_weak", Kind::KeptByWeak);
    pair.saves_exactly();
    assert_eq!(pair.predicted(), (3600 * 256, 3600));
    let text = "3,600 of 4,000 blocks of Rc<Viewer> hold a value that was dropped";
    assert!(pair.finding.why.contains(text), "{:#?}", pair.finding);
    // What has a strong reference is left.
    let found = advise(&pair.after, true);
    assert!(found.iter().all(|found| found.kind != Kind::KeptByWeak));
}

#[test]
fn values_that_are_being_dropped_are_not_kept_by_weak_pointers() {
    let profile = taken("being_dropped", "before", 1);
    assert!(last(&profile).bytes() > 2000 * 256);
    let sites = last(&profile).sites().iter();
    let dropped: u64 = sites.map(|(_, figures)| figures.dropped_blocks).sum();
    assert_eq!(dropped, 0);
}

#[test]
fn blocks_that_lie_together_keep_fewer_pages() {
    let pair = Pair::of("pinned_pages", Kind::PinnedPages);
    let waste = |profile: &Profile| {
        let pinned = last(profile)
            .sites()
            .iter()
            .map(|(_, figures): &(_, SiteFigures)| figures.pinned);
        let bytes = pinned.map(|pinned| (pinned.page_bytes - pinned.live_bytes) as f64);
        bytes.sum::<f64>()
    };
    let saved = waste(&pair.before) - waste(&pair.after);
    let predicted = pair.predicted().0 as f64;
    assert!(
        (predicted - saved).abs() < 0.05 * saved,
        "{predicted} {saved}"
    );
}

#[test]
#[cfg(target_env = "gnu")]
fn sizes_just_above_a_class_of_the_allocator_are_found_and_those_of_a_class_are_not() {
    let [before, after] = ["before", "remedy"].map(|side| {
        let program = env!("CARGO_BIN_EXE_rounded");
        let profile = taken_of(Target::new(program, &[side]), 1);
        assert_eq!(profile.capture().allocator, "std::alloc::System");
        let found = advise(&profile, false).into_iter();
        let found = found.filter(|finding| finding.kind == Kind::AllocatorRounding);
        found.collect::<Vec<Finding>>()
    });
    let [finding] = &before[..] else {
        panic!("{before:#?}");
    };
    // glibc gives 40 bytes for 25, and 24 for 24.
    assert_eq!(finding.saves_bytes, 20_000 * 15);
    assert_eq!(finding.confidence, Confidence::AtLeast);
    assert_eq!(after, []);
}
