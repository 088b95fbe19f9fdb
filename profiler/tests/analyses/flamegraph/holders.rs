//! Tests the picture of a snapshot.

use super::*;
use heapglass_profiler::profile::Measure;
use heapglass_profiler::question::Of;
use heapglass_profiler::table::{By, holders, snapshot_at};

fn draw_holders(profile: &Profile, at: Option<&str>, measure: Measure) -> (String, PictureTotals) {
    let at = snapshot_at(profile, at).expect("a snapshot");
    let mut out = Vec::new();
    let question = Question {
        of: Of::Snapshot(at),
        by: By::Holder,
        measure,
        ..Question::default()
    };
    let drawn = write_svg(profile, &question, &mut out).expect("drawing into memory");
    (String::from_utf8(out).expect("an SVG is text"), drawn)
}

#[test]
fn a_picture_of_holders_is_as_wide_as_the_snapshot() {
    let profile = fixture::with_made_up_snapshots();
    for at in ["loaded", "peak", "exit"] {
        let found = snapshot_at(&profile, Some(at)).expect("a snapshot");
        for measure in Measure::OF_SNAPSHOTS {
            let (svg, drawn) = draw_holders(&profile, Some(at), measure);
            assert_well_formed(&svg);
            assert_eq!(drawn.total, found.whole(measure));
            let moment = found.moment(&profile).replace('<', "&lt;");
            assert!(svg.contains(&moment), "{at}");
            assert!(!svg.contains("live at the peak"));
            let rows = holders(&profile, found.snapshot);
            let some = rows
                .iter()
                .filter(|row| row.held.of(measure).unwrap_or(0) > 0);
            assert_eq!(drawn.frames + drawn.elided, some.count());
        }
    }
}

#[test]
fn frames_of_holders_say_their_size_and_the_rest_in_one_bracket() {
    let profile = fixture::with_made_up_snapshots();
    let (svg, _) = draw_holders(&profile, None, Measure::Retained);
    let tooltips = titles(&svg);
    let map = tooltips
        .iter()
        .find(|title| title.starts_with(".attributes{}"));
    assert_eq!(
        map.expect("a frame"),
        ".attributes{} 2.4 MiB (2,500,000 bytes = 2.4 MiB, 44.0 %; itself 1.4 MiB in 9,000 blocks; \
         unused at least 933.6 KiB; HashMap<String, String>; Catalog.products[].attributes{})"
    );
    for title in tooltips {
        assert_eq!(title.matches('(').count(), 1, "{title}");
        assert!(title.ends_with(')'), "{title}");
    }
}
