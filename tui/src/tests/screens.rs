//! Whole screens at common sizes. `cargo bless` accepts intended changes.

use heapglass_profiler::profile::{Profile, State, TypeId};

use super::{Screen, fleet, profile, selected_rows, snapshots, with_workers};
use crate::Options;
use crate::app::update;
use crate::model::Message;

snapshots! { Screen::sample:
    overview: "";
    flamegraph: "2";
    sites: "5 j";
    sites_by_function: "5 b b j";
    threads: "6 j";
    help_of_the_flamegraph: "2 ?";
    about_the_recording: "!";
}

selected_rows! { rows_of_cities, Screen::sample:
    overview_by_temporary_bytes: "m m m m m Enter j";
    flamegraph_with_a_frame_selected: "2 j j l h j j";
    flamegraph_zoomed: "2 j j j j j Enter j";
    flamegraph_searched: "2 / clone Enter n";
    flamegraph_same_symbol: "2 G #";
    flamegraph_inverted_with_phases: "2 i p";
    flamegraph_while_typing_a_bad_regex: "2 / (clone";
    sites_in_the_stack_with_source: "5 Enter j k";
    sites_sorted_by_function: "5 s s s s";
    sites_filtered: "5 / shard Enter G";
    sites_of_one_owner: "1 j Enter";
    sites_by_owner: "5 b j";
    sites_by_function_with_callees: "5 b b s / main Enter";
    sites_of_a_crate: "5 b b b Enter";
    sites_by_module: "5 b b b b";
    sites_none: "5 / nothing-is-called-so Enter";
}

snapshots! { Screen::fleet:
    types: "3 j";
    fields: "4 j";
}

selected_rows! { rows_of_fleet, Screen::fleet:
    types_of_blocks_sorted: "3 m m m m Enter s s s s j";
    types_filtered: "3 / sailor Enter";
    types_none: "3 / nothing-is-called-so Enter";
    types_inside_one: "3 / string$ Enter Enter j";
    types_inside_the_unknown: "3 / unknown Enter Enter";
    types_sites_in_a_field: "3 / string$ Enter Enter Enter";
    types_footprints: "3 f G";
    types_inside_a_footprint: "3 f j Enter j j";
    flamegraph_by_field: "2 b j j";
    flamegraph_by_type: "2 b b j j j";
    flamegraph_of_a_field: "4 / cargo Enter n o";
    flamegraph_of_a_type: "3 / string$ Enter o";
    fields_that_are_recursive: "4 / boss Enter n";
    fields_buffered: "4 / buffered Enter n";
    fields_closed: "4 e l l";
    fields_by_type: "4 / cargo Enter n Enter";
    fields_sites_of_a_type: "4 / cargo Enter n Enter Enter Enter";
    help_of_the_fields: "4 ?";
}

#[test]
fn without_colour_types_and_fields_say_the_same() {
    for keys in ["3 j", "4 / cargo Enter n"] {
        let plain = Options {
            colour: false,
            ..Options::default()
        };
        let mut screen = Screen::empty(120, 40, plain);
        screen.load(fleet(), false);
        let text = screen.press(keys).text();
        assert_eq!(text, Screen::fleet(120, 40).press(keys).text());
        assert!(text.contains("sequence") || text.contains("◆"), "{text}");
    }
}

#[test]
fn escape_leads_back_the_way_one_came() {
    let mut screen = Screen::fleet(80, 24);
    let types = screen.press("3 / string$ Enter j").text();
    let fields = screen.press("Enter j").text();
    assert_ne!(types, fields);
    let sites = screen.press("Enter").text();
    assert!(sites.contains("String in Fleet"), "{sites}");
    let stack = screen.press("Enter").text();
    assert!(stack.contains("innermost first"), "{stack}");
    assert_eq!(screen.press("Esc").text(), sites);
    assert_eq!(screen.press("Esc").text(), fields);
    assert_eq!(screen.press("Esc").text(), types);
    assert!(
        !screen.press("Esc").text().contains("/string$/"),
        "the filter ends last"
    );
    // Esc does not go back from a view that was selected by name.
    screen.press("Enter Enter 5");
    assert!(screen.press("Esc Esc").text().contains("owner"));
}

#[test]
fn the_sites_of_a_type_in_a_field_add_up_to_what_was_entered() {
    let mut screen = Screen::fleet(120, 40);
    let parts = screen.press("4 / cargo Enter n Enter").text();
    let entered = parts.lines().nth(5).unwrap_or_default();
    let share = entered.split('%').nth(1).unwrap_or_default().trim();
    let sites = screen.press("Enter").text();
    assert!(
        share == "13.3" && sites.contains(&format!("{share} % of all")),
        "{share}: {sites}"
    );
}

#[test]
fn a_recording_without_fields_says_how_to_get_them() {
    let mut screen = Screen::sample(80, 24);
    let text = screen.press("4").text();
    assert!(text.contains("Profiled<T>"), "{text}");
    assert!(
        screen
            .press("Enter j l h e n")
            .text()
            .contains("Profiled<T>")
    );
    insta::assert_snapshot!(screen.press("Esc 3").text());
}

#[test]
fn a_view_of_nothing_offers_no_keys_that_would_do_nothing() {
    let mut screen = Screen::sample(120, 40);
    for view in ["4", "7"] {
        let text = screen.press(view).text();
        let hints = text.lines().last().unwrap_or_default();
        assert!(
            !hints.contains("sort") && !hints.contains("Enter"),
            "{hints}"
        );
        assert!(hints.contains("view") && hints.contains("quit"), "{hints}");
    }
}

#[test]
fn phases_as_frames_are_refused_aloud_where_none_were_recorded() {
    let mut screen = Screen::empty(80, 24, Options::default());
    screen.load(Profile::default(), false);
    let text = screen.press("2 p").text();
    assert!(text.contains("no phases were recorded"), "{text}");
}

#[test]
fn the_word_of_a_sort_is_the_title_of_the_column() {
    let mut screen = Screen::sample(160, 40);
    for view in ["3", "5"] {
        screen.press(view);
        for _ in 0..6 {
            let text = screen.press("s").text();
            let word = text
                .split("sorted by ")
                .nth(1)
                .expect(&text)
                .split('"')
                .next()
                .unwrap_or_default()
                .trim();
            // On a screen too narrow for the column, its title is absent too.
            if let Some(titles) = text.lines().find(|line| line.contains('▼')) {
                assert!(titles.contains(word), "{word}: {titles}");
            }
        }
    }
}

#[test]
fn loading_says_what_is_being_done() {
    let mut screen = Screen::empty(60, 10, Options::default());
    update(
        &mut screen.app,
        Message::Progress("symbolizing 1,234 of 20,000 frames".into()),
    );
    insta::assert_snapshot!(screen.text());
}

#[test]
fn a_live_recording_says_so_and_can_be_paused() {
    let mut screen = Screen::empty(80, 24, Options::default());
    let mut running = profile();
    running.parts().process.state = State::Running;
    screen.load(running, true);
    let text = screen.text();
    assert!(
        text.contains("running") && text.contains("LIVE") && text.contains("live now"),
        "{text}"
    );
    assert!(screen.press("Space").text().contains("PAUSED"));
    assert!(screen.press("Space").text().contains("LIVE"));
}

#[test]
fn a_failed_reload_keeps_the_profile_and_says_why() {
    let mut screen = Screen::sample(80, 24);
    update(
        &mut screen.app,
        Message::LoadFailed("out.hg was truncated".into()),
    );
    let text = screen.text();
    assert!(
        text.contains("not refreshed: out.hg was truncated") && text.contains("111,579"),
        "{text}"
    );
}

#[test]
fn a_killed_program_is_not_called_finished() {
    let mut screen = Screen::empty(120, 24, Options::default());
    let mut killed = profile();
    killed.parts().process.state = State::Ended;
    screen.load(killed, false);
    assert!(
        screen
            .text()
            .contains("ended unfinished (killed, aborted, _exit or exec)")
    );
}

#[test]
fn an_exact_peak_is_called_exact() {
    let mut screen = Screen::empty(80, 24, Options::default());
    let mut exact = profile();
    exact.parts().capture.peak_error_bytes = 0;
    screen.load(exact, false);
    let text = screen.text();
    assert!(
        text.contains("peak 7.5 MiB (exact)") && text.contains("exact to the byte"),
        "{text}"
    );
    assert!(!text.contains("within"), "{text}");
}

#[test]
fn an_ascii_terminal_gets_ascii_in_every_view() {
    for keys in [
        "1",
        "2 j j j",
        "2 b",
        "3",
        "3 Enter",
        "3 f Enter",
        "4 / boss Enter n",
        "4 Enter",
        "5 Enter",
        "6",
        "6 Enter",
        "6 j Enter",
        "?",
        "!",
        "2 / clone",
    ] {
        let mut screen = Screen::empty(
            100,
            30,
            Options {
                unicode: false,
                ..Options::default()
            },
        );
        screen.load(fleet(), false);
        let text = screen.press(keys).text();
        assert!(text.is_ascii(), "after {keys}:\n{text}");
    }
}

#[test]
fn an_ascii_flamegraph_is_still_a_flamegraph() {
    let mut screen = Screen::empty(
        80,
        24,
        Options {
            unicode: false,
            colour: false,
            ..Options::default()
        },
    );
    screen.load(profile(), false);
    insta::assert_snapshot!(screen.press("2").text());
}

#[test]
fn an_empty_profile_is_explained_in_every_view() {
    for keys in [
        "1",
        "2",
        "5",
        "6",
        "!",
        "2 b",
        "3",
        "3 Enter s o f",
        "4",
        "4 Enter l h e n o",
        "2 j l Enter n # o",
        "5 Enter s # o",
    ] {
        let mut screen = Screen::empty(80, 24, Options::default());
        screen.load(Profile::default(), false);
        let text = screen.press(keys).text();
        assert!(
            text.contains("recorded") || text.contains("selected") || text.contains("nothing"),
            "after {keys}:\n{text}"
        );
    }
}

#[test]
fn values_that_could_not_be_looked_into_are_said() {
    let mut partly = fleet();
    for footprint in partly.parts().footprints {
        footprint.hidden_values = 2;
    }
    let mut screen = Screen::fleet(120, 40);
    screen.load(partly, false);
    for keys in ["3 f", "j Enter"] {
        let text = screen.press(keys).text();
        assert!(text.contains("2 values could not be inspected"), "{text}");
    }
}

#[test]
fn control_characters_of_a_recording_never_reach_the_terminal() {
    let mut hostile = fleet();
    for name in hostile.parts().types {
        name.full = format!("\u{1b}[2J\u{202e}{}", name.full);
        name.short = format!("\u{9b}\r\n{}", name.short);
    }
    for scope in hostile.parts().scopes {
        scope.name = format!("\u{1b}]0;pwned\u{7}{}", scope.name);
    }
    for footprint in hostile.parts().footprints {
        footprint.label = "\u{1b}c".into();
        footprint
            .nodes
            .iter_mut()
            .for_each(|node| node.name.push('\u{7}'));
    }
    for function in hostile.parts().functions {
        function.name = format!("evil\u{1b}[2J\r\n\u{202e}{}", function.name);
        function.short.clone_from(&function.name);
        function.krate = "\u{7}".into();
    }
    for frame in hostile.parts().frames {
        frame.file = Some("src/\u{1b}]0;pwned\u{7}.rs".into());
    }
    hostile.parts().process.program = "\u{9b}31m".into();
    hostile.parts().process.command = vec!["\n".into()];
    hostile.parts().threads[0].name = "\u{1b}c".into();
    for number in 1..3 {
        let mut numbered = hostile.threads()[0].clone();
        numbered.name = format!("\u{1b}c{number}");
        hostile.parts().threads.push(numbered);
    }
    hostile.parts().scopes[1].name = "\t\u{8}".into();
    hostile.parts().marks[0].name = "\u{0}".into();
    for keys in [
        "1",
        "2 G p",
        "2 / evil Enter n",
        "2 b G",
        "2 b b G",
        "3 j j",
        "3 Enter",
        "3 Enter Enter",
        "3 f",
        "3 f Enter j j",
        "4 j j",
        "4 G",
        "4 Enter Enter",
        "5",
        "5 Enter",
        "6",
        "!",
    ] {
        let mut screen = Screen::empty(120, 40, Options::default());
        screen.load(hostile.clone(), false);
        screen.press(keys);
        for cell in &screen.draw().content {
            let bad = cell
                .symbol()
                .chars()
                .any(|c| c.is_control() || ('\u{202a}'..='\u{202e}').contains(&c));
            assert!(!bad, "{:?} after {keys}", cell.symbol());
        }
    }
}

#[test]
fn a_reload_keeps_zoom_selection_and_filter() {
    let mut screen = Screen::sample(80, 24);
    screen.press("2 j j j j j Enter j 5 / shard Enter j j");
    let (sites, _) = (screen.text(), screen.press("2"));
    let flame = screen.text();
    // The same program a moment later, with functions in another order.
    let mut later = profile();
    later.parts().functions.reverse();
    let last = later.functions().len() as u32 - 1;
    for frame in later.parts().frames {
        frame.function.0 = last - frame.function.0;
    }
    screen.load(later, true);
    let lives = |text: &str| text.replace("LIVE", "    ");
    assert_eq!(lives(&screen.text()), flame);
    assert_eq!(lives(&screen.press("5").text()), sites);
}

#[test]
fn a_reload_keeps_what_is_open_in_types_and_fields() {
    let mut screen = Screen::fleet(120, 40);
    let fields = screen.press("4 / cargo Enter n h h l j").text();
    let types = screen.press("3 / string$ Enter Enter j").text();
    // The same program a moment later, with types in another order.
    let mut later = fleet();
    let last = later.types().len() as u32 - 1;
    later.parts().types.reverse();
    let turn = |id: &mut TypeId| id.0 = last - id.0;
    later
        .parts()
        .scopes
        .iter_mut()
        .filter_map(|s| s.value_type.as_mut())
        .for_each(turn);
    for contents in later
        .parts()
        .sites
        .iter_mut()
        .filter_map(|site| site.contents.as_mut())
    {
        turn(&mut contents.container);
        contents.element.iter_mut().for_each(turn);
        contents.owner.iter_mut().for_each(turn);
    }
    for footprint in later.parts().footprints {
        footprint.value_type.iter_mut().for_each(turn);
        footprint
            .nodes
            .iter_mut()
            .filter_map(|n| n.value_type.as_mut())
            .for_each(turn);
    }
    screen.load(later, false);
    assert_eq!(screen.text(), types);
    assert_eq!(screen.press("4").text(), fields);
}

#[test]
fn what_leads_to_the_flamegraph_of_fields_leads_on_to_sites_and_back() {
    let mut screen = Screen::fleet(120, 40);
    let fields = screen.press("4 / cargo Enter n").text();
    let flame = screen.press("o").text();
    assert!(
        flame.contains("by field") && flame.contains("Fleet.vessels[].cargo"),
        "{flame}"
    );
    let sites = screen.press("o").text();
    assert!(
        sites.contains("in Fleet.vessels[].cargo and inner fields"),
        "{sites}"
    );
    assert_eq!(screen.press("Esc").text(), flame);
    assert_eq!(screen.press("Esc").text(), fields);
    // From a site, the flamegraph always shows stacks.
    let stack = screen.press("5 o").text();
    assert!(
        !stack.contains("by field") && stack.contains("fleet::main"),
        "{stack}"
    );
}

#[test]
fn the_hint_bar_shows_as_many_hints_as_fit_and_always_how_to_get_help() {
    for width in [20, 30, 50, 80, 200] {
        let mut screen = Screen::sample(width, 24);
        let text = screen.press("2").text();
        let bar = text.lines().last().unwrap_or_default();
        assert!(
            bar.contains("? help") && bar.contains("q quit"),
            "{width}: {bar}"
        );
        assert_eq!(bar.contains("p phases"), width == 200, "{width}: {bar}");
    }
}

#[test]
fn enter_shows_numbered_threads_one_by_one_and_escape_the_row_again() {
    for (width, height) in [(80, 24), (120, 40)] {
        let mut screen = Screen::empty(width, height, Options::default());
        screen.load(with_workers(), false);
        screen.press("6 G");
        let text = screen.text();
        assert!(text.contains("2 worker-*"), "{text}");
        assert!(!text.contains("worker-12"), "{text}");

        screen.press("Enter");
        let text = screen.text();
        let at = |name: &str| {
            text.find(name)
                .unwrap_or_else(|| panic!("no {name}:\n{text}"))
        };
        // Sorted by bytes; each row is one thread.
        assert!(at("3.0 MiB") < at("1 worker-12"), "{text}");
        assert!(at("1 worker-12") < at("1 worker-1 "), "{text}");
        assert!(!text.contains(" main "), "{text}");
        assert!(
            text.contains("Threads named worker-*. Esc: all threads."),
            "{text}"
        );

        // An open row stays open after a reload, but closes if it has no such threads.
        screen.load(with_workers(), false);
        assert!(screen.text().contains("worker-12"), "{}", screen.text());
        screen.press("Esc");
        assert!(screen.text().contains("2 worker-*"), "{}", screen.text());
        screen.press("Enter");
        assert!(
            screen.text().contains("worker-12"),
            "the row stayed selected"
        );
        screen.load(profile(), false);
        assert!(screen.text().contains(" main "), "{}", screen.text());

        screen.press("g Enter");
        let text = screen.text();
        assert!(text.contains("this row has no numbered threads"), "{text}");
    }
}
