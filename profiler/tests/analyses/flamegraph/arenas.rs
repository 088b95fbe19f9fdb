//! Pictures by arena: the widths, the refused combinations, and chunks in pictures by stack.

use super::*;
use heapglass_profiler::profile::arenas::{Breakdown, Part, Whose};

fn by_arena(measure: Measure) -> CallTreeOptions {
    CallTreeOptions {
        levels: Levels::Arena,
        measure,
        ..CallTreeOptions::default()
    }
}

#[test]
fn what_is_live_comes_to_the_chunk_bytes() {
    let profile = fixture::city_arenas();
    let chunks: u64 = profile
        .arenas()
        .iter()
        .map(|arena| arena.figures.allocated_bytes)
        .sum();
    let (svg, drawn) = draw(&profile, &by_arena(Measure::Live));
    assert_well_formed(&svg);
    assert_eq!(drawn.total, chunks);
    let tooltips = tooltips(&svg);
    for frame in [
        "cities (",
        ".citizens (",
        ".citizens[] (",
        "&str (",
        "(padding) (",
        "(unused tail) (",
    ] {
        assert!(
            tooltips.iter().any(|text| text.starts_with(frame)),
            "{frame} in {tooltips:#?}"
        );
    }
}

#[test]
fn one_arena_holds_its_parts() {
    let profile = fixture::city_arenas();
    let options = CallTreeOptions {
        arena: Some(0),
        ..by_arena(Measure::Live)
    };
    let (svg, drawn) = draw(&profile, &options);
    let parts = Breakdown::of(&profile.arenas()[0], Whose::Live).expect("it is live");
    assert_eq!(drawn.total, parts.allocated_bytes);
    let tooltips = tooltips(&svg);
    assert!(!tooltips.iter().any(|text| text.starts_with("index (")));
    for (part, frame) in [
        (Part::Abandoned, "(abandoned) ("),
        (Part::Bypassed, "(bypassed) ("),
        (Part::UnusedTail, "(unused tail) ("),
    ] {
        let text = tooltips.iter().find(|text| text.starts_with(frame));
        let bytes = heapglass_profiler::units::Count(part.of(&parts)).to_string();
        assert!(
            text.is_some_and(|text| text.contains(&bytes)),
            "{frame} {bytes}"
        );
    }
}

#[test]
fn what_was_used_comes_to_that_and_what_bypassed_the_handle() {
    let profile = fixture::city_arenas();
    let used: u64 = profile
        .arenas()
        .iter()
        .map(|a| a.figures.total_used_bytes)
        .sum();
    let rows = profile.arenas().iter().flat_map(|arena| &arena.rows);
    let bypassed: u64 = rows.map(|row| row.inside.bypassed_bytes).sum();
    let (svg, drawn) = draw(&profile, &by_arena(Measure::Total));
    assert_eq!(drawn.total, used + bypassed);
    assert!(svg.contains("bytes used inside arenas"));
}

#[test]
fn other_measures_are_refused_and_say_which_there_are() {
    let profile = fixture::city_arenas();
    for measure in Measure::COUNTED.into_iter().filter(|m| !is_of_arenas(*m)) {
        let error =
            write_svg(&profile, &by_arena(measure).into(), Vec::new()).expect_err("refused");
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        assert!(error.to_string().contains("--measure total"), "{error}");
    }
}

#[test]
fn a_recording_without_arenas_says_how_to_name_one() {
    let (svg, drawn) = draw(&fixture::profile(), &by_arena(Measure::Live));
    assert_well_formed(&svg);
    assert_eq!(drawn.frames, 0);
    assert!(
        svg.contains("Tracked::new(&quot;cities&quot;, &amp;bump)"),
        "{svg}"
    );
}

#[test]
fn a_chunk_names_its_arena_in_pictures_by_stack() {
    let profile = fixture::city_arenas();
    for inverted in [false, true] {
        let options = CallTreeOptions {
            measure: Measure::Total,
            inverted,
            ..CallTreeOptions::default()
        };
        let (svg, drawn) = draw(&profile, &options);
        assert_eq!(drawn.total, profile.totals().total_bytes);
        let tooltips = tooltips(&svg);
        for arena in ["cities", "request"] {
            let frame = format!("[chunk of arena {arena}] (");
            assert!(
                tooltips.iter().any(|text| text.starts_with(&frame)),
                "{tooltips:#?}"
            );
        }
    }
}

#[test]
fn hostile_names_and_figures_of_arenas_stay_text() {
    let mut profile = fixture::city_arenas();
    for arena in profile.parts().arenas {
        arena.name = "<script>\u{1b}]0;x\u{7}\u{202e}\"'&".into();
        for row in &mut arena.rows {
            row.scope.0 *= 9;
        }
        for moment in &mut arena.history {
            moment.site = moment.site.map(|site| site * 2);
        }
    }
    for options in [
        by_arena(Measure::Live),
        by_arena(Measure::Total),
        CallTreeOptions::default(),
    ] {
        let (svg, _) = draw(&profile, &options);
        assert_well_formed(&svg);
        assert!(!svg.contains("<script>\\u"), "{svg}");
        assert!(!svg.chars().any(|c| c == '\u{1b}' || c == '\u{202e}'));
    }
    profile.parts().arenas[0].rows[0].inside.live_bytes = u64::MAX;
    profile.parts().arenas[0].rows[1].inside.live_bytes = u64::MAX;
    // A number of more than 64 bits gives an error or a picture, never a panic.
    let _ = write_svg(&profile, &by_arena(Measure::Live).into(), Vec::new());
}
