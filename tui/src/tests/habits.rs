//! The rules of the keys: each key has one meaning everywhere.

use super::Screen;

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
