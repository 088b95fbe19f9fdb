//! Reports of programs written by others: a stranger must know after one screen what to change.

use super::*;
use heapglass_fixture::{REAL, real};

#[test]
fn the_first_screen_of_real_programs() {
    for (name, _) in REAL {
        let options = ReportOptions {
            width: 100,
            ..ReportOptions::default()
        };
        golden(&format!("real_{name}"), &text(&real(name), &options));
    }
}

#[test]
fn the_first_rows_differ_and_have_a_type_and_an_owner_with_its_line() {
    for (name, _) in REAL {
        let profile = real(name);
        let rows = rows(&profile, By::Site, Measure::Peak, Frames::Folded);
        let labels: Vec<SiteLabel> = rows
            .iter()
            .take(5)
            .map(|row| match &row.detail {
                Detail::Site(detail) => detail.label.clone(),
                other => panic!("{name}: {other:?}"),
            })
            .collect();
        for (at, label) in labels.iter().enumerate() {
            assert!(!labels[..at].contains(label), "{name}: {label:?} twice");
            assert_ne!(label.what, "(unknown type)", "{name}: row {at}");
            assert!(!label.owner.is_empty(), "{name}: row {at}");
            let of_std = label.owner.starts_with("(std:");
            assert!(of_std || label.source.is_some(), "{name}: {label:?}");
        }
    }
}

#[test]
fn of_real_programs_little_is_without_type_or_owner() {
    for (name, _) in REAL {
        let profile = real(name);
        for measure in [Measure::Peak, Measure::Total] {
            let rows = rows(&profile, By::Site, measure, Frames::Folded);
            let unknown = |row: &&Row| match &row.detail {
                Detail::Site(detail) => {
                    let (what, owner) = (&detail.label.what, &detail.label.owner);
                    // The start-up and the threads of std are labelled as such.
                    let is_std = owner.starts_with("(std:");
                    !is_std && (what == "(unknown type)" || owner.starts_with('('))
                }
                _ => true,
            };
            let of = |row: &Row| measure.of(&row.figures);
            let all: u64 = rows.iter().map(of).sum();
            let unknown: u64 = rows.iter().filter(unknown).map(of).sum();
            let share = unknown as f64 / all as f64;
            assert!(share < 0.05, "{name} by {measure:?}: {share:.3}");
        }
    }
}

#[test]
fn the_flamegraph_branches_within_six_rows() {
    for name in ["demo", "jaq"] {
        let profile = real(name);
        let mut tree = CallTree::build(&profile, &Default::default());
        tree.sort(Measure::Peak);
        let value = |id: NodeId| Measure::Peak.of(tree.total(id));
        let all = value(NodeId::ROOT);
        // A branch: two frames below a visible frame, each with a hundredth of the total.
        let mut at = NodeId::ROOT;
        let mut row = 0;
        loop {
            let children = tree.children(at).iter().copied();
            let wide: Vec<NodeId> = children.filter(|id| value(*id) * 100 >= all).collect();
            match wide[..] {
                [only] => at = only,
                [] => panic!("{name}: no branch"),
                _ => break,
            }
            row += 1;
        }
        assert!(row <= 6, "{name}: the first branch is below row {row}");
    }
}

#[test]
fn the_summary_cuts_neither_place_nor_owner_at_any_width() {
    for (name, _) in REAL {
        let profile = real(name);
        let rows = rows(&profile, By::Site, Measure::Peak, Frames::Folded);
        for width in [80, 100, 120] {
            let options = ReportOptions {
                width,
                ..ReportOptions::default()
            };
            let mut summary = Vec::new();
            write_summary(&profile, &options, &mut summary).expect("writing to memory");
            let summary = String::from_utf8(summary).expect("text");
            let words = |text: &str| text.split_whitespace().collect::<String>();
            let summary_words = words(&summary);
            for row in rows.iter().take(5) {
                let Detail::Site(detail) = &row.detail else {
                    panic!("{row:?}");
                };
                let SiteLabel { owner, source, .. } = &detail.label;
                // The phase is left out where there is no room for it.
                let place = detail.label.place();
                for part in [place, owner].into_iter().chain(source.as_deref()) {
                    assert!(
                        summary_words.contains(&words(part)),
                        "{part} at {width} in\n{summary}"
                    );
                }
            }
        }
    }
}
