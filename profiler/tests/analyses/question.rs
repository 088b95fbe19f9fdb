//! Tests that every question has an answer or a sentence.

use heapglass_fixture as fixture;
use heapglass_profiler::calltree::NodeId;
use heapglass_profiler::growth::{Side, growth, moment};
use heapglass_profiler::profile::Measure;
use heapglass_profiler::question::{
    Answer, Form, Kind, Of, Question, RULES, Tree, check, rows, tree,
};
use heapglass_profiler::table::{By, HolderRow, HolderRowName, SnapshotAt, all_snapshots};
use std::collections::BTreeMap;

fn of_snapshot(at: SnapshotAt<'_>, by: By, measure: Measure) -> Question<'_> {
    Question {
        of: Of::Snapshot(at),
        by,
        measure,
        ..Question::default()
    }
}

#[test]
fn every_question_has_an_answer_or_a_sentence() {
    let profile = fixture::with_made_up_snapshots();
    let at = all_snapshots(&profile).next().expect("a snapshot");
    let mut answers = 0;
    let mut reasons = Vec::new();
    for kind in Kind::ALL {
        for form in Form::ALL {
            for by in By::ALL {
                for measure in Measure::ALL {
                    let what = format!("{kind:?} {form:?} {by:?} {measure:?}");
                    let question = Question {
                        of: match kind {
                            Kind::Snapshot => Of::Snapshot(at),
                            _ => Of::Whole,
                        },
                        by,
                        measure,
                        ..Question::default()
                    };
                    let verdict = check(kind, form, by, measure);
                    if let Err(why) = &verdict {
                        let (_, rule) = why.split_once(": ").expect("a reason");
                        reasons.push(rule.to_owned());
                        let says_what_to_do = rule.contains("; ") || rule.contains("--measure");
                        assert!(says_what_to_do, "{what}: {why}");
                    }
                    let is_answered = match (kind, form) {
                        (Kind::Growth, Form::Tree) => false,
                        (Kind::Growth, Form::Rows) => {
                            let find = |name, side| moment(&profile, name, side).expect("a moment");
                            let (from, to) = (find("start", Side::From), find("end", Side::To));
                            // Growth is always that of live bytes.
                            !measure.is_of_snapshots() && growth(&profile, from, to, by).is_ok()
                        }
                        (_, Form::Rows) => rows(&profile, &question).is_ok(),
                        (_, Form::Tree) => tree(&profile, &question).is_ok(),
                        // Rows that are compared are those of the two sides.
                        (Kind::Growth, _) => false,
                        (Kind::Counters, _) => rows(&profile, &question).is_ok(),
                        (Kind::Snapshot, Form::ComparisonPage) => {
                            by == By::Holder && rows(&profile, &question).is_ok()
                        }
                        (Kind::Snapshot, _) => false,
                    };
                    assert_eq!(is_answered, verdict.is_ok(), "{what}");
                    answers += usize::from(is_answered);
                }
            }
        }
    }
    assert!(answers > 100, "{answers}");
    for rule in RULES {
        assert!(reasons.iter().any(|why| why == rule.why), "{}", rule.why);
    }
}

#[test]
fn answers_of_counters_have_the_whole_of_the_measure() {
    let profile = fixture::with_made_up_snapshots();
    for by in By::COUNTED {
        for measure in Measure::COUNTED {
            let question = Question {
                by,
                measure,
                ..Question::default()
            };
            let whole = measure.of(profile.totals());
            let adds_up = !matches!(by, By::Arena | By::Thread);
            if let Ok(Answer::Counted(rows)) = rows(&profile, &question)
                && adds_up
            {
                let sum: u64 = rows.iter().map(|row| measure.of(&row.figures)).sum();
                assert_eq!(sum, whole, "{by:?} {measure:?}");
            }
            if let Ok(Tree::Counted(tree, _)) = tree(&profile, &question)
                && adds_up
            {
                let root = measure.of(tree.total(NodeId::ROOT));
                assert_eq!(root, whole, "{by:?} {measure:?}");
            }
        }
    }
}

/// The figures of rows by name.
fn by_name(holders: &[HolderRow]) -> BTreeMap<&str, u64> {
    let mut sums = BTreeMap::new();
    for row in holders {
        if let HolderRowName::Row(name) = &row.name {
            *sums.entry(name.as_str()).or_default() += row.held.retained_bytes;
        }
    }
    sums
}

#[test]
fn frames_of_one_row_add_up_to_what_the_row_retains() {
    let profile = fixture::with_made_up_snapshots();
    for at in all_snapshots(&profile) {
        for by in [By::Type, By::Field] {
            let question = of_snapshot(at, by, Measure::Retained);
            let (Ok(Tree::Holders(_, frames)), Ok(Answer::Held(_, rows))) =
                (tree(&profile, &question), rows(&profile, &question))
            else {
                panic!("{by:?}");
            };
            let outermost = frames.iter().filter(|row| row.parent.is_none());
            let whole: u64 = outermost.map(|row| row.held.retained_bytes).sum();
            assert_eq!(whole, at.snapshot.bytes(), "{by:?}");
            let own: u64 = frames.iter().map(|row| row.held.own.bytes).sum();
            assert_eq!(own, whole, "{by:?}");
            let frames = by_name(&frames);
            assert_eq!(frames.len(), rows.len(), "{by:?}");
            for row in &rows {
                let found = frames[row.row.key.as_str()];
                assert_eq!(found, row.held.retained_bytes, "{}", row.row.key);
            }
        }
    }
}
