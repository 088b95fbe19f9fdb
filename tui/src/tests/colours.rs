//! Colours and modifiers, apart from the characters: of selections, matches and losses, and none if
//! none are wanted.

use ratatui::style::{Color, Modifier};

use super::{Screen, fleet, profile};
use crate::Options;

/// Returns the cells of the first row that contains `text`, from the start of `text`.
fn cells(screen: &mut Screen, text: &str) -> Vec<ratatui::buffer::Cell> {
    let buffer = screen.draw().clone();
    let width = buffer.area.width as usize;
    for row in buffer.content.chunks(width) {
        let line: String = row.iter().map(|cell| cell.symbol()).collect();
        if let Some(at) = line.find(text) {
            let column = line[..at].chars().count();
            return row[column..column + text.chars().count()].to_vec();
        }
    }
    panic!("{text} is not on the screen:\n{}", screen.text());
}

#[test]
fn the_tab_of_the_view_is_reversed_and_the_others_are_not() {
    let mut screen = Screen::sample(80, 24);
    screen.press("5");
    assert!(
        cells(&mut screen, "5 Site")
            .iter()
            .all(|c| c.modifier.contains(Modifier::REVERSED))
    );
    assert!(
        cells(&mut screen, "1 Home")
            .iter()
            .all(|c| !c.modifier.contains(Modifier::REVERSED))
    );
}

#[test]
fn losses_are_in_the_colour_of_warnings() {
    let mut screen = Screen::sample(80, 24);
    assert!(
        cells(&mut screen, "▲ 5 losses")
            .iter()
            .all(|c| c.fg == Color::Indexed(220))
    );
}

#[test]
fn frames_are_coloured_by_whose_code_they_are() {
    let mut screen = Screen::sample(120, 40);
    screen.press("2");
    let user = cells(&mut screen, "load::open")[0].bg;
    let dependency = cells(&mut screen, "de::from_str")[0].bg;
    let std = cells(&mut screen, "String::clone")[0].bg;
    assert!(
        [user, dependency, std]
            .iter()
            .all(|colour| *colour != Color::Reset)
    );
    assert!(user != dependency && dependency != std && user != std);
    assert_eq!(
        cells(&mut screen, "City::deserialize")[0].bg,
        user,
        "one crate, one colour"
    );
}

#[test]
fn found_frames_stand_out_with_and_without_colour() {
    for colour in [true, false] {
        let mut screen = Screen::empty(
            120,
            40,
            Options {
                colour,
                ..Options::default()
            },
        );
        screen.load(profile(), false);
        screen.press("2 / from_str Enter");
        let found = cells(&mut screen, "de::from_str");
        assert!(
            found
                .iter()
                .all(|c| c.modifier.contains(Modifier::UNDERLINED))
        );
        assert_eq!(found[0].bg == Color::Indexed(207), colour);
        assert!(
            cells(&mut screen, "load::open")
                .iter()
                .all(|c| !c.modifier.contains(Modifier::UNDERLINED))
        );
    }
}

#[test]
fn types_are_coloured_by_the_kind_of_container() {
    let mut screen = Screen::fleet(120, 40);
    screen.press("3");
    let text = cells(&mut screen, "String")[0].fg;
    let list = cells(&mut screen, "Vec<Vessel>")[0].fg;
    let dynamic = cells(&mut screen, "Box<dyn Kind>")[0].fg;
    assert!(text != list && list != dynamic && text != dynamic);
    assert_eq!(cells(&mut screen, "Vec<Crate>")[0].fg, list);
}

#[test]
fn without_colour_no_cell_of_any_view_has_one() {
    for keys in [
        "1",
        "2 / clone Enter",
        "3",
        "3 Enter",
        "3 f Enter",
        "4 / crew Enter n",
        "4 Enter",
        "5 Enter",
        "6",
        "?",
        "!",
    ] {
        let mut screen = Screen::empty(
            120,
            40,
            Options {
                colour: false,
                ..Options::default()
            },
        );
        screen.load(fleet(), false);
        screen.press(keys);
        let buffer = screen.draw();
        assert!(
            buffer
                .content
                .iter()
                .all(|c| c.fg == Color::Reset && c.bg == Color::Reset),
            "after {keys}"
        );
    }
}

#[test]
fn the_bar_of_the_selected_owner_stays_a_bar() {
    let mut screen = Screen::sample(80, 24);
    assert!(
        cells(&mut screen, "20.3 %")
            .iter()
            .all(|c| c.modifier.contains(Modifier::REVERSED))
    );
    let bar = &cells(&mut screen, "█████████████")[0];
    assert!(!bar.modifier.contains(Modifier::REVERSED) && bar.fg == Color::Indexed(208));
}

#[test]
fn a_map_does_not_look_like_own_code_and_the_legend_names_both_colours() {
    let mut screen = Screen::sample(120, 50);
    screen.press("2");
    let own = cells(&mut screen, "load::open")[0].bg;
    assert_ne!(cells(&mut screen, " own code ")[1].bg, Color::Reset);
    screen.load(fleet(), false);
    screen.press("3");
    let map = cells(&mut screen, "HashMap<")[0].fg;
    assert_ne!(map, own);
    screen.press("2 b b");
    assert_eq!(cells(&mut screen, " map ")[1].bg, map);

    screen.press("?");
    assert_eq!(cells(&mut screen, " map ")[1].bg, map);
    for name in [
        "own code",
        "dependency",
        "std",
        "native",
        "sequence",
        "more",
        "less",
    ] {
        cells(&mut screen, &format!(" {name} "));
    }
}

#[test]
fn without_colours_there_is_no_legend() {
    let options = Options {
        colour: false,
        ..Options::default()
    };
    let mut screen = Screen::empty(120, 40, options);
    screen.load(profile(), false);
    screen.press("2");
    assert!(!screen.text().contains("own code"));
    screen.press("?");
    assert!(!screen.text().contains("Colours"));
}
