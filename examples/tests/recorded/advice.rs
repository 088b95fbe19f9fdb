//! Advice from events, held to reality: for each kind a program with the problem and the same
//! program with the remedy. What was predicted from the first is what the second saves.

use crate::common::Target;
use heapglass_profiler::advice::{Confidence, Finding, Kind, advise};
use heapglass_profiler::profile::{Measure, Profile};
use heapglass_profiler::{OpenOptions, open};

/// The program with the problem, with its largest finding of a kind, and the one with the remedy.
struct Pair {
    before: Profile,
    finding: Finding,
    after: Profile,
}

impl Pair {
    fn of(kind: Kind) -> Pair {
        let [before, after] = ["before", "remedy"].map(|side| {
            let mut target = Target::case(&["advice", kind.name(), side]);
            target.succeed();
            open(&target.recording(), &OpenOptions::default(), &|_| ()).expect("a recording")
        });
        // Listed without `--all`: the problem is large enough.
        let found = advise(&before, false);
        let finding = found.iter().find(|finding| finding.kind == kind);
        let finding = finding.unwrap_or_else(|| panic!("{found:#?}")).clone();
        let left: Vec<Finding> = advise(&after, true)
            .into_iter()
            .filter(|finding| finding.kind == kind)
            .collect();
        assert_eq!(left, [], "the remedy was applied");
        let file = finding.place.file.as_deref().unwrap_or_default();
        assert!(file.ends_with("cases/advice.rs"), "{finding:#?}");
        assert!(finding.place.line.is_some(), "{finding:#?}");
        Pair {
            before,
            finding,
            after,
        }
    }

    /// The bytes and blocks that the remedy saved.
    fn saved(&self) -> (u64, u64) {
        let of = |profile: &Profile| {
            let totals = profile.totals();
            let measure = self.finding.measure;
            (measure.of(totals), measure.blocks(totals).0.value)
        };
        let (before, after) = (of(&self.before), of(&self.after));
        (before.0.saturating_sub(after.0), before.1 - after.1)
    }

    fn predicted(&self) -> (u64, u64) {
        (self.finding.saves_bytes, self.finding.saves_blocks)
    }
}

#[test]
fn the_blocks_of_growth_are_saved_by_a_capacity() {
    let pair = Pair::of(Kind::MissingCapacity);
    let (saved, predicted) = (pair.saved(), pair.predicted());
    assert_eq!(pair.finding.confidence, Confidence::AtLeast);
    assert_eq!(predicted.1, saved.1);
    assert!(
        predicted.0 <= saved.0 && predicted.0 > saved.0 / 5 * 4,
        "{predicted:?} {saved:?}"
    );
    assert_eq!(pair.finding.place.type_name.as_deref(), Some("Vec<u64>"));
}

#[test]
fn one_buffer_saves_all_temporary_blocks_but_one() {
    let pair = Pair::of(Kind::Temporary);
    assert_eq!(pair.finding.confidence, Confidence::Exact);
    assert_eq!(pair.predicted(), pair.saved());
    assert_eq!(pair.predicted(), (3999 * 32, 3999));
}

#[test]
fn a_limit_saves_at_least_the_growth() {
    let pair = Pair::of(Kind::Growing);
    let (saved, predicted) = (pair.saved(), pair.predicted());
    assert_eq!(pair.finding.confidence, Confidence::AtLeast);
    assert!(
        predicted.0 <= saved.0 && predicted.0 > saved.0 / 3,
        "{predicted:?} {saved:?}"
    );
}

#[test]
fn fields_that_are_written_out_need_no_buffer() {
    let pair = Pair::of(Kind::Buffered);
    let (saved, predicted) = (pair.saved(), pair.predicted());
    assert_eq!(pair.finding.confidence, Confidence::AtLeast);
    assert!(
        predicted.0 <= saved.0 && predicted.0 > saved.0 / 2,
        "{predicted:?} {saved:?}"
    );
}

#[test]
fn a_struct_saves_about_what_is_said_of_a_tree_of_values() {
    let pair = Pair::of(Kind::ValueTree);
    let (saved, predicted) = (pair.saved(), pair.predicted());
    assert_eq!(pair.finding.confidence, Confidence::Estimate);
    assert!(
        predicted.0.abs_diff(saved.0) < saved.0 / 10,
        "{predicted:?} {saved:?}"
    );
    assert_eq!(predicted.1, saved.1, "nodes and keys");
}

#[test]
fn inline_strings_save_their_blocks() {
    let pair = Pair::of(Kind::SmallStrings);
    assert_eq!(pair.finding.confidence, Confidence::Exact);
    assert_eq!(pair.predicted(), pair.saved());
    assert_eq!(pair.finding.measure, Measure::Peak);
}

#[test]
fn a_refused_request_has_its_size_and_line() {
    let pair = Pair::of(Kind::FailedRequest);
    assert_eq!(pair.finding.of_bytes, 1 << 50);
    assert_eq!(pair.predicted(), (0, 0));
}

#[test]
fn a_phase_that_takes_many_times_its_input_names_what_takes_most() {
    let pair = Pair::of(Kind::Amplification);
    let finding = &pair.finding;
    let evidence = |name| {
        let found = finding.evidence.iter().find(|(key, _)| *key == name);
        found.map(|(_, figure)| *figure)
    };
    let input = evidence("input_bytes").expect("the input");
    assert!(finding.of_bytes > 5 * input, "{finding:#?}");
    let text = format!(
        "phase load held {:.1} bytes",
        finding.of_bytes as f64 / input as f64
    );
    assert!(finding.why.contains(&text), "{finding:#?}");
    let most = finding.place.type_name.as_deref();
    assert_eq!(most, Some("BTreeMap<String, Value>"));
    assert_eq!(pair.predicted(), (0, 0));
}

#[test]
fn an_arena_saves_all_blocks_but_one() {
    let pair = Pair::of(Kind::FreedTogether);
    assert_eq!(pair.finding.confidence, Confidence::Exact);
    assert_eq!(pair.predicted(), (0, pair.saved().1));
    // No bytes are saved or wasted, besides the footer of the arena's chunk.
    let (before, after) = (&pair.before.totals(), pair.after.totals());
    let more = after.total_bytes.abs_diff(before.total_bytes);
    assert!(more < 4096, "{more}");
}

#[test]
fn blocks_that_are_freed_while_others_are_made_need_no_arena() {
    let mut target = Target::case(&["advice", "freed_one_by_one", "before"]);
    target.succeed();
    let profile = open(&target.recording(), &OpenOptions::default(), &|_| ()).expect("a recording");
    let found = advise(&profile, true);
    let kinds: Vec<Kind> = found.iter().map(|finding| finding.kind).collect();
    assert!(!kinds.contains(&Kind::FreedTogether), "{found:#?}");
}

#[test]
fn a_field_that_is_filled_in_place_saves_what_was_made_anew() {
    let pair = Pair::of(Kind::InPlaceFellBack);
    let finding = &pair.finding;
    assert_eq!(finding.confidence, Confidence::Estimate);
    assert_eq!(finding.place.field.as_deref(), Some("MaybeNamed.name"));
    let (saved, predicted) = (pair.saved(), pair.predicted());
    // The new value is there before the old one is dropped.
    assert!(
        saved.1.abs_diff(predicted.1) <= 1,
        "{predicted:?} {saved:?}"
    );
    assert!(
        saved.0.abs_diff(predicted.0) <= 64,
        "{predicted:?} {saved:?}"
    );
    // The row of the field says the same.
    let fields = pair.before.fields().nodes();
    let of = |path: &str| {
        let mut found = fields.iter();
        let field = found.find(|field| field.path == path).expect("the field");
        (field.in_place_values, field.in_place.total_blocks)
    };
    assert_eq!(of("MaybeNamed.name"), (4000, 4000));
    assert_eq!(of("MaybeNamed.place"), (4000, 1));
}

fn findings(case: &str) -> Vec<Finding> {
    let mut target = Target::case(&["advice", case, "before"]);
    target.succeed();
    let profile = open(&target.recording(), &OpenOptions::default(), &|_| ()).expect("a recording");
    advise(&profile, true)
}

#[test]
fn steps_of_growth_are_no_small_strings() {
    let found = findings("long_strings");
    let wrong = found
        .iter()
        .find(|finding| finding.kind == Kind::SmallStrings);
    assert_eq!(wrong, None);
}

#[test]
fn an_arena_is_what_a_phase_holds() {
    let found = findings("amplification_of_an_arena");
    let finding = found
        .iter()
        .find(|finding| finding.kind == Kind::Amplification);
    let finding = finding.unwrap_or_else(|| panic!("{found:#?}"));
    let most = finding
        .evidence
        .iter()
        .find(|(key, _)| *key == "most_bytes");
    let (_, most) = most.expect("a part");
    assert!(*most > finding.of_bytes / 10 * 9, "{finding:#?}");
    assert!(finding.place.location.contains("decode"), "{finding:#?}");
    assert!(finding.why.contains("people"), "{finding:#?}");
}
