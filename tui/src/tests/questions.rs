//! The questions of a newcomer: each is answered by at most five keys from the first screen.

use heapglass_fixture as fixture;
use heapglass_profiler::profile::{Frames, Measure, Profile};
use heapglass_profiler::table::{By, rows};
use heapglass_profiler::units::Bytes;

use super::Screen;
use crate::Options;

/// Returns the screen after `keys`, at 80x24.
fn after(profile: Profile, keys: &str) -> String {
    let words = keys.split_whitespace();
    let pressed: usize = words
        .map(|word| if word.len() > 2 { 1 } else { word.len() })
        .sum();
    assert!(pressed <= 5, "{keys}: {pressed} keys");
    let options = Options {
        source_roots: vec!["src/tests/cities".into()],
        ..Options::default()
    };
    let mut screen = Screen::empty(80, 24, options);
    let mut profile = profile;
    profile.parts().process.started_unix_ns = 0;
    screen.load(profile, false);
    screen.press(keys).text()
}

fn assert_shows(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "no {part}:\n{text}");
    }
}

#[test]
fn the_five_biggest_owners_at_the_peak() {
    let profile = fixture::moving();
    let owners = rows(&profile, By::Owner, Measure::Peak, Frames::Folded);
    let text = after(profile, "8");
    assert_shows(&text, &["the peak at"]);
    for owner in owners.iter().take(5) {
        // The end of a name is never cut.
        let end: String = owner.key.chars().rev().take(12).collect();
        let end: String = end.chars().rev().collect();
        assert_shows(&text, &[&end]);
    }
}

#[test]
fn what_grew_between_two_moments() {
    let text = after(fixture::moving(), "8 h v l l");
    assert_shows(&text, &["from ", " to ", "growth", "/s", "+"]);
}

#[test]
fn what_is_left_at_exit() {
    let profile = fixture::real("shop-profiled");
    let live = profile.totals().live_bytes;
    let text = after(profile, "9");
    let live = format!("{} live at the end", Bytes(live));
    assert_shows(&text, &[&live, "start-up"]);
}

#[test]
fn which_blocks_are_temporary() {
    let profile = fixture::real("shop-profiled");
    let owners = rows(&profile, By::Owner, Measure::Temporary, Frames::Folded);
    let text = after(profile, "m G k k Enter");
    assert_shows(&text, &["m temporary", &owners[0].key]);
}

#[test]
fn the_footprint_of_a_type() {
    let profile = fixture::fleet();
    let last = profile.footprints().last().expect("a footprint").clone();
    let bytes = last.nodes.first().expect("its root").figures.block_bytes;
    let text = after(profile, "3 f");
    assert_shows(&text, &["exact", "estimate", "blocks found from the value"]);
    assert_shows(&text, &[&last.label, &Bytes(bytes).to_string()]);
}

#[test]
fn the_allocated_bytes_of_an_arena() {
    let profile = fixture::city_arenas();
    let arenas = profile.arenas().iter();
    let arena = arenas.max_by_key(|arena| arena.figures.most_allocated_bytes);
    let arena = arena.expect("an arena").clone();
    let text = after(profile, "7");
    let figure = format!(
        "allocated_bytes {} in ",
        Bytes(arena.figures.allocated_bytes)
    );
    assert_shows(&text, &[&arena.name, &figure]);
}

#[test]
fn the_source_line_of_a_site() {
    let text = after(fixture::profile(), "5 Enter");
    assert_shows(&text, &["src/model.rs:25", "fn visit_region"]);
}

#[test]
fn who_holds_it() {
    let text = after(fixture::with_made_up_snapshots(), "5 j w");
    assert_shows(&text, &["stack of main > Catalog", "retains"]);
}
