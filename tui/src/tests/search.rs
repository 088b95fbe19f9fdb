//! The search of every view: what it lists or marks, its count and share, `n` and `N`, and Esc.

use std::collections::BTreeSet;

use heapglass_fixture as fixture;
use heapglass_profiler::advice::advise;
use heapglass_profiler::leaks::{Kind, leaks};
use heapglass_profiler::profile::{Measure, Profile};
use heapglass_profiler::table::{By, Detail, rows};
use heapglass_profiler::units::Share;

use super::{Screen, with_workers};
use crate::Options;

/// Returns the screen of a profile that has something in the view.
fn of(profile: Profile) -> Screen {
    let mut screen = Screen::empty(120, 40, Options::default());
    screen.load(profile, false);
    screen
}

/// Returns the views that the profile of each fills, with a regex that finds something and not
/// everything.
fn searches() -> Vec<(&'static str, &'static str, Profile)> {
    vec![
        ("1", "visit", fixture::profile()),
        ("2", "visit", fixture::profile()),
        ("3", "vec", fixture::fleet()),
        ("4", "crew", fixture::fleet()),
        ("5", "visit", fixture::profile()),
        ("5 b", "visit", fixture::profile()),
        ("6", "main", fixture::profile()),
        ("7", "city", fixture::city_arenas()),
        ("8", "visit", fixture::moving()),
        ("8 h v l", "visit", fixture::moving()),
        ("9", "visit", fixture::moving()),
        ("0", "attributes", fixture::with_made_up_snapshots()),
        ("A", "small_strings", fixture::real("shop-profiled")),
        ("P", "parse", fixture::moving()),
    ]
}

#[test]
fn each_view_finds_says_how_much_and_shows_everything_again() {
    for (view, regex, profile) in searches() {
        let mut screen = of(profile);
        let before = screen.press(view).text();
        let none = screen.press("n").text();
        assert!(none.contains("no search is active"), "{view}:\n{none}");
        let typed = screen.press(&format!("/ {regex}")).text();
        let last = typed.lines().last().unwrap_or_default();
        assert!(
            last.contains(" of ") || last.contains("(n N)"),
            "{view}: {last}"
        );
        let found = screen.press("Enter").text();
        assert!(found.contains(&format!("/{regex}/: ")), "{view}:\n{found}");
        let next = screen.press("n").text();
        assert!(!next.contains("no search is active"), "{view}:\n{next}");
        screen.press("N");
        // A tree stays open around the match, and the flamegraph at it.
        let mut after = screen.press("Esc").text();
        assert!(!after.contains(&format!("/{regex}/")), "{view}:\n{after}");
        if !["0", "4", "2", "P"].contains(&view) {
            after = screen.press("g").text();
            assert_eq!(after, before, "{view}");
        }
    }
}

#[test]
fn a_regex_without_matches_says_so_in_every_view() {
    for (view, _, profile) in searches() {
        let mut screen = of(profile);
        screen.press(view).press("/ xyzzy Enter");
        let text = screen.press("n").text();
        let is_list = text.contains("nothing matches /xyzzy/; press Esc to show all");
        assert!(is_list || text.contains("/xyzzy/: 0 "), "{view}:\n{text}");
    }
}

/// Returns the line of the screen that describes what was found.
fn found(screen: &mut Screen) -> String {
    let text = screen.text();
    let line = text.lines().find(|line| line.contains("/: "));
    line.unwrap_or_else(|| panic!("nothing was found:\n{text}"))
        .to_owned()
}

/// Returns the first words of the rows below the heading that ends with `heading`.
fn listed(screen: &mut Screen, heading: &str) -> usize {
    let text = screen.text();
    let rows = text
        .lines()
        .skip_while(|line| !line.trim_end_matches([' ', '"']).ends_with(heading));
    let is_row = |line: &&str| line.trim_matches([' ', '"']).contains(' ');
    rows.skip(1).take_while(is_row).count()
}

#[test]
fn threads_are_found_by_the_names_of_a_rows_threads() {
    let profile = with_workers();
    let measure = By::Thread.measure(Measure::Peak);
    let all = rows(&profile, By::Thread, measure, Default::default());
    let group = all
        .iter()
        .find_map(|row| match &row.detail {
            Detail::Thread(detail) if detail.members.len() > 1 => Some(detail),
            _ => None,
        })
        .expect("numbered threads");
    let one = &group.members[0];
    let share = Share::of(measure.of(&one.figures), measure.of(profile.totals()));
    let mut screen = of(profile.clone());
    screen.press(&format!("6 / {}$ Enter", one.key()));
    let line = found(&mut screen);
    assert!(line.contains(": 1 of 3 rows"), "{line}");
    assert!(line.contains(&format!(", {share} of all")), "{line}");
    // The threads of the row are filtered too; Esc lists all of them, then the rows.
    screen.press("Enter");
    let line = found(&mut screen);
    let threads = group.members.len();
    assert!(
        line.contains(&format!(": 1 of {threads} threads, {share}")),
        "{line}"
    );
    assert_eq!(listed(&mut screen, "thread"), 1);
    screen.press("Esc");
    assert_eq!(listed(&mut screen, "thread"), threads);
    screen.press("Esc");
    assert_eq!(listed(&mut screen, "thread"), all.len());
}

#[test]
fn leaks_in_closed_groups_are_found_and_the_groups_close_again() {
    let profile = fixture::real("shop-profiled");
    let leaks = leaks(&profile);
    assert_eq!(leaks.of(Kind::Start).count(), leaks.rows.len());
    let mut screen = of(profile);
    let closed = screen.press("9").text();
    assert!(closed.contains("▸ start-up"), "{closed}");
    let open = screen.press("/ std Enter").text();
    assert!(open.contains("▾ start-up"), "{open}");
    let line = found(&mut screen);
    assert!(
        line.contains(": 1 of 1 row, 100.0 % of all live bytes"),
        "{line}"
    );
    // The group is no match.
    screen.press("n");
    assert!(screen.text().contains("row 2 of 2"), "{}", screen.text());
    let text = screen.press("k Enter").text();
    assert!(text.contains("a filter opens all groups"), "{text}");
    assert_eq!(screen.press("Esc").text(), closed);
}

#[test]
fn phases_around_a_match_stay_and_its_bytes_count_once() {
    let profile = fixture::moving();
    let phases = rows(&profile, By::Phase, Measure::Peak, Default::default());
    let value = |key: &str| {
        let row = phases.iter().find(|row| row.key == key);
        match &row.expect("a phase").detail {
            Detail::Phase(detail) => Measure::Peak.of(&detail.with_inner),
            other => panic!("{other:?}"),
        }
    };
    let whole = profile.totals().peak_bytes;
    // `parse` is inside `load`.
    let (load, parse) = (
        Share::of(value("load"), whole),
        Share::of(value("load > parse"), whole),
    );
    let mut screen = of(profile);
    screen.press("P / (load|parse)$ Enter");
    let line = found(&mut screen);
    assert!(line.contains(": 2 phases (n N)"), "{line}");
    assert!(line.contains(&format!(", {load} of all")), "{line}");
    screen.press("Esc / parse Enter n");
    let line = found(&mut screen);
    assert!(
        line.contains(&format!("/parse/: 1 of 1 phase (n N), {parse} of all")),
        "{line}"
    );
    let text = screen.text();
    for name in [" load ", "parse ◆", "index"] {
        assert!(text.contains(name), "no {name}:\n{text}");
    }
    assert!(
        text.contains("load > parse"),
        "the match is selected:\n{text}"
    );
}

#[test]
fn the_composition_is_filtered_at_every_moment() {
    let mut screen = of(fixture::moving());
    let shares: BTreeSet<String> = ["8 / visit Enter", "h", "h"]
        .into_iter()
        .map(|keys| {
            screen.press(keys);
            let line = found(&mut screen);
            let (_, share) = line.split_once("/: ").expect("a regex");
            let (share, _) = share.split_once(" · ").expect("the figures of the moment");
            share.to_owned()
        })
        .collect();
    assert!(shares.len() > 1, "{shares:?}");
    assert!(
        shares.iter().all(|share| share.ends_with("% of all")),
        "{shares:?}"
    );
    screen.press("v l");
    let line = found(&mut screen);
    assert!(line.contains("owners, growth "), "{line}");
}

#[test]
fn findings_are_found_by_what_to_do() {
    let profile = fixture::real("shop-profiled");
    let all = advise(&profile, false).len();
    let mut screen = of(profile);
    screen.press("A / compact_str Enter");
    let line = found(&mut screen);
    assert!(
        line.contains(&format!(" of {all} findings, whose savings may overlap")),
        "{line}"
    );
}

#[test]
fn a_list_without_a_search_says_so() {
    let text = of(fixture::fleet()).press("3 Enter /").text();
    assert!(text.contains("there is nothing to search here"), "{text}");
}
