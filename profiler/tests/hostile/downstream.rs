//! Runs everything that is computed from a profile: for any loaded recording, each must end soon.

use heapglass_profiler::advice;
use heapglass_profiler::arenas;
use heapglass_profiler::calltree::{self, CallTree, CallTreeOptions, Levels};
use heapglass_profiler::check;
use heapglass_profiler::diff::{self, Diff, DiffOptions, Per, Recording};
use heapglass_profiler::export::{self, Format};
use heapglass_profiler::flamegraph;
use heapglass_profiler::profile::{Frames, Measure, Profile, ScopeId};
use heapglass_profiler::question::{Form, Kind, Of, Question, check};
use heapglass_profiler::report::{self, ReportOptions};
use heapglass_profiler::table::{By, all_snapshots};
use std::io::sink;

/// `pick` chooses among measures and options, so that all of them are used without trying all for
/// each input.
pub(crate) fn use_all(profile: &Profile, pick: usize) {
    let measure = Measure::COUNTED[pick % Measure::COUNTED.len()];
    let frames = Frames::ALL[pick % Frames::ALL.len()];
    for by in By::COUNTED {
        let options = ReportOptions {
            by,
            measure,
            frames,
            top: pick.is_multiple_of(3).then_some(3),
            explain: pick.is_multiple_of(2),
            width: 40 + pick % 120,
            ..ReportOptions::default()
        };
        // A sink cannot fail; the report says what is damaged.
        report::write_text(profile, &options, sink()).expect("a report");
        report::write_json(profile, &options, sink()).expect("JSON");
    }
    report::write_summary(profile, &ReportOptions::default(), sink()).expect("a summary");
    for at in all_snapshots(profile) {
        let measure = Measure::OF_SNAPSHOTS[pick % Measure::OF_SNAPSHOTS.len()];
        for by in By::ALL {
            let options = ReportOptions {
                by,
                snapshot: Some(at),
                measure: if pick.is_multiple_of(3) {
                    measure
                } else {
                    Measure::Peak
                },
                width: 40 + pick % 120,
                ..ReportOptions::default()
            };
            let kind = Kind::of(by, options.measure);
            if check(kind, Form::Rows, by, options.measure).is_ok() {
                report::write_text(profile, &options, sink()).expect("a report");
                report::write_json(profile, &options, sink()).expect("JSON");
            }
            let question = Question {
                of: Of::Snapshot(at),
                by,
                measure,
                ..Question::default()
            };
            // Figures beyond 64 bits are reported as an error.
            let _drawn = flamegraph::write_svg(profile, &question, sink());
        }
    }
    let within = pick.is_multiple_of(4).then_some(ScopeId(pick as u32 % 9));
    let options = CallTreeOptions {
        inverted: pick % 2 == 1,
        frames,
        scopes: pick % 3 == 1,
        within,
        ..CallTreeOptions::default()
    };
    let mut tree = CallTree::build(profile, &options);
    tree.sort(measure);
    calltree::write_folded(&tree, profile, measure, sink()).expect("folded stacks");
    for levels in Levels::ALL {
        let options = CallTreeOptions {
            levels,
            measure: if levels == Levels::Arena {
                [Measure::Live, Measure::Total][pick % 2]
            } else {
                measure
            },
            inverted: pick % 2 == 1,
            frames,
            scopes: pick % 3 == 1,
            within,
            arena: pick.is_multiple_of(5).then_some(pick % 3),
        };
        // Figures beyond 64 bits are reported as an error.
        let _drawn = flamegraph::write_svg(profile, &options.into(), sink());
    }
    let options = ReportOptions {
        measure,
        frames,
        by: By::COUNTED[pick % By::COUNTED.len()],
        ..ReportOptions::default()
    };
    let format = Format::ALL[pick % Format::ALL.len()];
    export::write(profile, format, &options, sink()).expect("an export");
    compare(profile, pick, measure);
    let found = advice::advice(profile, pick.is_multiple_of(2));
    advice::write_text(profile, &found, false, &options, sink()).expect("text");
    advice::write_summary(profile, &found, &options, sink()).expect("a summary");
    advice::write_json(&found, sink()).expect("JSON");
    let fields = profile.fields();
    let phases = profile.phases();
    for scope in 0..profile.scopes().len().min(50) as u32 {
        let _ =
            phases.path(profile, ScopeId(scope)).len() + fields.field_of(ScopeId(scope)) as usize;
    }
    for leak in profile.leaks() {
        let _ = arenas::leak_text(profile, leak).len();
    }
    for arena in profile.arenas() {
        let _ = arenas::advice(arena, fields, profile.process().state).len();
        for whose in arenas::Whose::ALL {
            let parts = arenas::Breakdown::of(arena, whose).unwrap_or_default();
            let _ = arenas::bar(&parts, pick % 100).len();
        }
        let _ = arenas::points(arena).len() + arenas::each_instance(arena).len();
    }
}

/// A comparison with itself has no differences, and every budget has a result.
fn compare(profile: &Profile, pick: usize, measure: Measure) {
    let recording = Recording {
        name: "x.hg",
        profile,
    };
    let side = [recording];
    let options = DiffOptions {
        by: By::COUNTED[pick % By::COUNTED.len()],
        measure,
        per: [None, Some(Per::Record), Some(Per::InputByte)][pick % 3],
    };
    let compared = Diff::new(&side, &side, options);
    assert!(compared.is_equal());
    let compared = compared.into();
    diff::write_text(&compared, &ReportOptions::default(), sink()).expect("text");
    diff::write_json(&compared, None, sink()).expect("JSON");
    // Figures beyond 64 bits are reported as an error, and so is a measure that arenas do not have.
    let _drawn = diff::write_svg(&compared, sink());
    let empty = Profile::default();
    let none = [Recording {
        name: "empty.hg",
        profile: &empty,
    }];
    let compared = Diff::new(&none, &side, options).into();
    diff::write_text(&compared, &ReportOptions::default(), sink()).expect("text");
    let budget =
        "[total]\npeak = 0\n[phase.\"**\"]\nblocks = 0\n[type.\"**\".per_record]\ntotal = 0";
    let budget = check::parse(budget, false).expect("a budget");
    let mut checked = check::Check::default();
    for limit in &budget.limits {
        checked
            .outcomes
            .extend(check::check_limit(&recording, limit));
    }
    let tolerances = check::Tolerances::default();
    if let Ok((outcomes, warnings)) = check::check_against(&none, &recording, &tolerances, None) {
        checked.outcomes.extend(outcomes);
        checked.warnings = warnings;
    }
    check::write_text(&checked, &ReportOptions::default(), sink()).expect("text");
    check::write_markdown(&checked, sink()).expect("Markdown");
    check::write_json(&checked, sink()).expect("JSON");
}
