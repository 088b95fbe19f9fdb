//! The rules of the keys: each key has one meaning everywhere.

use crossterm::event::{MouseButton, MouseEventKind};
use heapglass_fixture as fixture;
use heapglass_profiler::profile::Profile;

use super::{Screen, fleet};
use crate::Options;
use crate::app::Request;
use crate::export::Export;

#[test]
fn q_closes_what_is_open_before_it_quits() {
    let mut screen = Screen::sample(80, 24);
    for open in ["?", "!", "m"] {
        let before = screen.text();
        assert_ne!(screen.press(open).text(), before, "{open}");
        assert_eq!(screen.press("q").text(), before, "{open}");
        assert!(screen.app.exit.is_none(), "{open}");
    }
    screen.press("q");
    assert!(screen.app.exit.is_some());
}

#[test]
fn measures_are_chosen_from_a_list_and_one_key_goes_back() {
    let mut screen = Screen::sample(80, 24);
    let list = screen.press("m").text();
    for title in ["peak", "live", "total", "temporary"] {
        assert!(list.contains(title), "{list}");
    }
    assert!(
        screen
            .press("j j Enter")
            .text()
            .contains("m total 31.5 MiB")
    );
    assert!(screen.press("M").text().contains("m peak 7.5 MiB"));
    assert!(screen.press("M").text().contains("m total 31.5 MiB"));
    // Esc chooses nothing.
    let text = screen.press("m j Esc").text();
    assert!(text.contains("m total 31.5 MiB"), "{text}");
}

#[test]
fn a_click_in_a_list_runs_the_row_under_the_mouse() {
    for height in [24, 10] {
        let mut screen = Screen::sample(80, height);
        screen.press("m j j j j j j j j");
        let text = screen.click("temporary bytes").text();
        assert!(text.contains("m temporary"), "{text}");
    }
}

#[test]
fn a_click_on_the_note_of_threads_selects_no_hidden_row() {
    let mut screen = Screen::sample(80, 5);
    let before = screen.press("6").text();
    let press = MouseEventKind::Down(MouseButton::Left);
    assert_eq!(screen.mouse(press, 10, 3).text(), before);
    assert_ne!(screen.press("G").text(), before, "a row is hidden");
}

#[test]
fn a_click_on_a_heading_sorts_and_a_second_one_reverses() {
    for (view, heading) in [("5", "owner"), ("5 b b", "inclusive"), ("6", "freed")] {
        let mut screen = Screen::sample(120, 40);
        screen.press(view);
        let text = screen.click(heading).text();
        assert!(text.contains(&format!("{heading}▼")), "{view}:\n{text}");
        assert!(text.contains("sorted by"), "{view}:\n{text}");
        let text = screen.click(heading).text();
        assert!(text.contains(&format!("{heading}▲")), "{view}:\n{text}");
    }
    // Threads are sorted by their total from the start, so a first click reverses them.
    let text = Screen::sample(120, 40).press("6").click("total").text();
    assert!(text.contains("total▲"), "{text}");
    for (view, heading) in [("3", "values"), ("4", "self")] {
        let mut screen = Screen::fleet(120, 40);
        let text = screen.press(view).click(heading).text();
        assert!(text.contains(&format!("{heading}▼")), "{view}:\n{text}");
    }
}

#[test]
fn an_inverted_flamegraph_lists_what_asked_for_the_blocks_and_not_the_entry_point() {
    let mut screen = Screen::sample(120, 40);
    let text = screen.press("2 i").text();
    let lines = text
        .lines()
        .skip_while(|line| !line.contains("largest frames"));
    let rows = lines.skip(1).take_while(|line| line.contains(" % "));
    let names: Vec<String> = rows
        .filter_map(|line| line.split_whitespace().rev().nth(1).map(str::to_owned))
        .collect();
    assert!(names.len() > 3, "{text}");
    let distinct: std::collections::HashSet<&String> = names.iter().collect();
    assert_eq!(distinct.len(), names.len(), "{names:?}\n{text}");
    assert_eq!(names[0], "String::clone", "{text}");
}

#[test]
fn a_command_is_found_by_what_it_does() {
    let mut screen = Screen::sample(100, 30);
    let all = screen.press("2 :").text();
    assert!(all.contains("zoom into the frame"), "{all}");
    let found = screen.press("allocations").text();
    assert!(found.contains("put allocations on top"), "{found}");
    assert!(!found.contains("zoom into the frame"), "{found}");
    assert!(screen.press("Enter").text().contains("inverted"));
    let none = screen.press(": xyzzy").text();
    assert!(none.contains("no such command"), "{none}");
    screen.press("Enter");
    let measure = screen.press(": temporary Enter").text();
    assert!(measure.contains("m temporary"), "{measure}");
}

#[test]
fn a_pane_takes_the_whole_screen_and_gives_it_back() {
    let mut screen = Screen::sample(80, 24);
    for keys in ["1", "2", "3", "4", "5", "5 Enter", "Esc 6", "7"] {
        let before = screen.press(keys).text();
        let zoomed = screen.press("z").text();
        assert!(!zoomed.contains("1 Home"), "{keys}:\n{zoomed}");
        assert_eq!(screen.press("Esc").text(), before, "{keys}");
        assert_eq!(screen.press("z z").text(), before, "{keys}");
    }
    let stack = screen.press("5 Enter z").text();
    assert!(stack.contains("innermost first"), "{stack}");
    assert!(!stack.contains("allocated as"), "{stack}");
}

#[test]
fn enter_goes_from_the_list_to_the_stack_to_the_source_and_escape_back() {
    let mut screen = Screen::sample(80, 24);
    let list = screen.press("5").text();
    let stack = screen.press("Enter j").text();
    let source = screen.press("Enter").text();
    let scrolled = screen.press("j j j").text();
    assert_ne!(source, scrolled, "the source scrolls");
    assert_eq!(screen.press("k k k").text(), source);
    assert_eq!(screen.press("j j Esc").text(), stack);
    assert_eq!(screen.press("k Esc").text(), list);
}

#[test]
fn a_search_shows_its_count_and_its_share_while_it_is_typed() {
    for (keys, found) in [
        ("1 / visit", "of 11 owners, "),
        ("2 / visit", "frames (n N), "),
        ("5 / visit", "rows, "),
        ("5 b / visit", "of 11 owners, "),
    ] {
        let mut screen = Screen::sample(120, 40);
        let text = screen.press(keys).text();
        let last = text.lines().last().unwrap_or_default();
        assert!(
            last.contains(found) && last.contains("% of all"),
            "{keys}: {last}"
        );
    }
}

#[test]
fn n_goes_through_the_matches_and_brackets_through_the_stacks_of_a_row() {
    for view in ["1", "2", "3", "5", "5 b"] {
        let mut screen = Screen::sample(120, 40);
        let none = screen.press(view).press("n").text();
        assert!(none.contains("no search is active"), "{view}:\n{none}");
    }
    let mut screen = Screen::sample(120, 40);
    let first = screen.press("5 / visit Enter").text();
    let second = screen.press("n").text();
    assert_ne!(first, second);
    assert_eq!(screen.press("N").text(), first);
    let text = screen.press("Esc 5 ]").text();
    assert!(
        text.contains("stack 2 of") || text.contains("only one stack"),
        "{text}"
    );
}

#[test]
fn a_click_selects_and_a_click_on_the_selection_enters() {
    let mut keys = Screen::sample(80, 24);
    let mut mouse = Screen::sample(80, 24);
    let (tab, row) = ("5 Site", "City::visit_admin");
    assert_eq!(mouse.click(tab).text(), keys.press("5").text());
    assert_eq!(mouse.click(row).text(), keys.press("j j").text());
    assert_eq!(mouse.click(row).text(), keys.press("Enter").text());
    // A frame of the flamegraph.
    mouse.click("2 Flame").click("City::deserialize");
    let zoomed = mouse.click("City::deserialize").text();
    assert!(
        zoomed
            .lines()
            .nth(3)
            .unwrap_or_default()
            .contains("› City::deserialize"),
        "{zoomed}"
    );
    // The measure, then a row of its list.
    let chosen = mouse.click("m peak").click("bytes allocated").text();
    assert!(chosen.contains("m total"), "{chosen}");
}

#[test]
fn the_wheel_moves_and_dragging_on_the_chart_reads_it() {
    let mut screen = Screen::sample(80, 24);
    let moved = screen.press("j j j").draw().clone();
    screen.press("k k k");
    let wheel = screen
        .mouse(MouseEventKind::ScrollDown, 5, 20)
        .draw()
        .clone();
    assert_eq!(wheel, moved);
    screen.mouse(MouseEventKind::ScrollUp, 5, 20);
    let before = screen.text();
    screen.mouse(MouseEventKind::Down(MouseButton::Left), 40, 12);
    let pressed = screen.text();
    assert!(
        pressed.contains(" live, ") && pressed.contains("Esc ends"),
        "{pressed}"
    );
    screen.mouse(MouseEventKind::Drag(MouseButton::Left), 60, 12);
    assert_ne!(screen.text(), pressed);
    assert_eq!(screen.press("Esc").text(), before);
}

/// Returns the request that a key made, and the screen after it.
fn request(screen: &mut Screen, keys: &str) -> Option<Request> {
    screen.press(keys);
    screen.app.requests.pop()
}

#[test]
fn the_source_line_is_opened_only_below_the_folder_and_copied_as_recorded() {
    let mut screen = Screen::sample(80, 24);
    let Some(Request::Edit(path, Some(line))) = request(&mut screen, "5 j E") else {
        panic!("no file: {}", screen.text());
    };
    assert!(path.is_absolute() && path.ends_with("src/model.rs") && line > 1);
    let Some(Request::Copy(text)) = request(&mut screen, "y") else {
        panic!("nothing to copy");
    };
    assert_eq!(text, format!("src/model.rs:{line}"));
    screen.app.options.source_roots = vec!["/proc/self".into()];
    assert!(request(&mut screen, "E").is_none());
    assert!(
        screen.text().contains("was not found below"),
        "{}",
        screen.text()
    );
    for keys in ["3 E", "3 y", "6 y"] {
        assert!(request(&mut screen, keys).is_none());
        assert!(
            screen.text().contains("no source line is known"),
            "{}",
            screen.text()
        );
    }
}

/// Returns what is written after `keys`, with the sentences about it.
fn written(keys: &str, profile: Profile, name: &str) -> (String, Vec<String>) {
    let mut screen = Screen::fleet(100, 30);
    screen.app.title = format!("{name}.hg");
    screen.load(profile, false);
    written_of(&mut screen, keys)
}

/// Returns what a screen writes after `keys`, with the sentences about it.
pub(super) fn written_of(screen: &mut Screen, keys: &str) -> (String, Vec<String>) {
    let Some(Request::Write(export)) = request(screen, keys) else {
        panic!("nothing to write: {}", screen.text());
    };
    let export: Export = *export;
    let folder = std::env::temp_dir();
    let texts = export.write_into(&folder).expect("written");
    let path = texts[0]
        .trim_start_matches("Wrote ")
        .trim_end_matches('.')
        .to_owned();
    let text = std::fs::read_to_string(&path).expect("the file");
    std::fs::remove_file(path).expect("removed");
    (text, texts)
}

#[test]
fn each_view_is_written_in_three_formats_with_the_command_that_does_it_again() {
    let name = format!("heapglass-written-{}", std::process::id());
    for (keys, start, command) in [
        (
            "2 i x Enter",
            "<?xml",
            "flamegraph NAME.hg --inverted -o NAME.flame.svg",
        ),
        (
            "3 x Enter",
            "<?xml",
            "flamegraph NAME.hg --by type -o NAME.type.svg",
        ),
        (
            "4 m j Enter x Enter",
            "<?xml",
            "flamegraph NAME.hg --by field --measure live -o NAME.field.svg",
        ),
        (
            "1 x j Enter",
            "<!doctype html",
            "export NAME.hg --to html -o NAME.home.html",
        ),
        (
            "1 x j j Enter",
            "",
            "export NAME.hg --to csv --by owner -o NAME.home.csv",
        ),
        (
            "5 b b f x j j Enter",
            "",
            "export NAME.hg --to csv --by function --frames own -o NAME.site.csv",
        ),
    ] {
        let (text, texts) = written(keys, fleet(), &name);
        assert!(text.to_lowercase().starts_with(start), "{keys}: {text}");
        assert_eq!(
            texts[2],
            format!("heapglass {}", command.replace("NAME", &name))
        );
    }
}

#[test]
fn a_file_that_exists_is_not_written_over() {
    let folder = std::env::temp_dir().join(format!("heapglass-again-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let mut screen = Screen::fleet(100, 30);
    screen.app.title = "../-x y.hg".into();
    for _ in 0..2 {
        let Some(Request::Write(export)) = request(&mut screen, "x Enter") else {
            panic!("nothing to write");
        };
        export.write_into(&folder).expect("written");
    }
    let mut names: Vec<_> = std::fs::read_dir(&folder)
        .expect("the folder")
        .map(|entry| {
            entry
                .expect("a file")
                .file_name()
                .into_string()
                .expect("a name")
        })
        .collect();
    names.sort();
    assert_eq!(
        names,
        ["heapglass-x_y.home-2.svg", "heapglass-x_y.home.svg"]
    );
    std::fs::remove_dir_all(folder).expect("removed");
}

#[test]
fn the_colours_change_for_a_light_background() {
    let mut screen = Screen::sample(80, 24);
    let dark = screen.draw().clone();
    let text = screen.press("t").text();
    assert!(text.contains("colours for a light background"), "{text}");
    let light = screen.press("k").draw().clone();
    assert_ne!(dark, light);
    assert!(dark.content[0].symbol() == light.content[0].symbol());
    screen.press("t t");
    let again = screen.press("t k").draw().clone();
    assert_eq!(again, dark);
}

#[test]
fn rows_are_only_sorted_by_columns_that_are_shown() {
    for (width, height) in [(60, 24), (80, 24), (120, 40)] {
        for (name, _) in fixture::REAL {
            let mut screen = Screen::empty(width, height, Options::default());
            screen.load(fixture::real(name), false);
            // `b` groups the sites by owner, and then by function.
            for view in ["3", "4", "5", "b", "b", "6", "7", "9", "0", "P"] {
                screen.press(view);
                for _ in 0..10 {
                    let text = screen.press("s").text();
                    if !text.contains("sorted by ") {
                        continue;
                    }
                    let is_marked = text.lines().skip(1).any(|line| line.contains('▼'));
                    assert!(is_marked, "{name}, {view}:\n{text}");
                }
            }
        }
    }
}
