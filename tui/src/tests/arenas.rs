//! The view Arenas: its screens, the contents of an arena, and the text if there are none.

use heapglass_fixture as fixture;
use heapglass_profiler::profile::{Profile, ScopeId, TypeId};

use super::Screen;
use super::habits::written_of;
use crate::Options;

fn arenas() -> Profile {
    let mut profile = fixture::city_arenas();
    profile.parts().process.started_unix_ns = 0;
    profile
}

fn screen(width: u16, height: u16) -> Screen {
    let mut screen = Screen::empty(width, height, Options::default());
    screen.load(arenas(), false);
    screen
}

super::snapshots! { screen:
    arenas_of_all: "7";
}

super::selected_rows! { rows_of_arenas, screen:
    arenas_that_are_gone: "7 j j";
    arenas_inside_by_type: "7 Enter j";
    arenas_fields_of_a_type: "7 Enter j Enter";
    arenas_inside_by_field: "7 Enter b j";
    arenas_searched: "7 / cit Enter";
}

#[test]
fn a_recording_without_arenas_says_how_to_name_one() {
    let text = Screen::sample(80, 24).press("7").text();
    assert!(text.contains("Tracked::new(\"cities\", &bump)"), "{text}");
    for keys in ["7", "7 Enter b j G Esc"] {
        let mut screen = Screen::empty(80, 24, Options::default());
        screen.load(Profile::default(), false);
        let text = screen.press(keys).text();
        assert!(
            text.contains("No arenas were recorded"),
            "after {keys}:\n{text}"
        );
    }
}

#[test]
fn the_picture_has_a_measure_that_arenas_have() {
    for (keys, measure) in [
        ("7 x Enter", "live"),
        ("7 m j Enter x Enter", "live"),
        ("7 m j j Enter x Enter", "total"),
        ("7 m j j j Enter x Enter", "live"),
    ] {
        let mut screen = screen(100, 30);
        screen.app.title = format!("heapglass-arenas-{}.hg", std::process::id());
        let (text, texts) = written_of(&mut screen, keys);
        assert!(
            text.contains("<svg") && text.contains("arena cities"),
            "{keys}"
        );
        let command = format!("--by arena --measure {measure} -o");
        assert!(texts[2].contains(&command), "{keys}: {texts:?}");
    }
    // Nothing is held any more.
    let mut gone = arenas();
    gone.parts().arenas.retain(|arena| arena.name == "request");
    let mut screen = Screen::empty(100, 30, Options::default());
    screen.app.title = format!("heapglass-gone-{}.hg", std::process::id());
    screen.load(gone, false);
    let (text, texts) = written_of(&mut screen, "7 x Enter");
    assert!(text.contains("arena request"));
    assert!(texts[2].contains("--measure total"), "{texts:?}");
}

#[test]
fn instances_are_listed_below_an_arena_the_largest_first() {
    let mut all = arenas();
    for (number, moment) in all.parts().arenas[1].history.iter_mut().enumerate() {
        // The third one is the largest.
        if number == 4 {
            moment.allocated_bytes = 100_000;
        }
    }
    let mut screen = Screen::empty(120, 40, Options::default());
    screen.load(all, false);
    let text = screen.press("7 j j").text();
    assert!(text.contains("largest instance"), "{text}");
    let mut lines = text
        .lines()
        .skip_while(|line| !line.contains("instance allocated_bytes"));
    lines.next().expect("the heading");
    let first: Vec<&str> = lines.next().expect("a row").split_whitespace().collect();
    assert!(
        first.contains(&"#3") && first.contains(&"97.7"),
        "{first:?}"
    );
    let last = lines
        .find(|line| line.contains(" more"))
        .expect("the others");
    assert!(last.contains("more"), "{last}");
}

#[test]
fn esc_leads_out_level_by_level_and_keeps_the_place() {
    let mut screen = screen(100, 30);
    let list = screen.press("7 j").text();
    let types = screen.press("k Enter j").text();
    let fields = screen.press("Enter").text();
    assert!(
        fields.contains("arenas › cities › &str › by field"),
        "{fields}"
    );
    assert!(
        fields.contains("City.name") && !fields.contains("City.citizens "),
        "{fields}"
    );
    assert_eq!(screen.press("Esc").text(), types);
    assert_eq!(screen.press("Esc j").text(), list);
}

#[test]
fn arenas_are_ordered_by_the_measure_and_a_reload_keeps_what_is_open() {
    let mut screen = screen(100, 30);
    let first = |text: &str| {
        let mut lines = text.lines().skip_while(|line| !line.contains("live/made"));
        lines.nth(1).unwrap_or_default().to_owned()
    };
    assert!(first(&screen.press("7").text()).contains("cities"));
    // Sort by allocated pieces, then back.
    assert!(first(&screen.press("m m m m Enter").text()).contains("177,000"));
    screen.press("M j Enter");
    let before = screen.text();
    let mut later = arenas();
    later.parts().arenas.reverse();
    screen.load(later, false);
    assert_eq!(screen.text(), before);
    let mut gone = arenas();
    gone.parts().arenas.retain(|arena| arena.name == "index");
    screen.load(gone, false);
    assert!(screen.text().contains("1 arena by"), "{}", screen.text());
}

#[test]
fn nothing_inside_an_arena_is_temporary_and_no_other_figure_stands_for_it() {
    let mut screen = screen(120, 40);
    let text = screen.press("7 m m m m m Enter").text();
    assert!(
        text.contains("by bytes used in total, because temporary is not measured inside arenas"),
        "{text}"
    );
    let text = screen.press("Enter").text();
    assert!(
        text.contains("temporary is not measured inside arenas"),
        "{text}"
    );
    let mut rows = text.lines().skip_while(|line| !line.contains("of it"));
    // "-" instead of a share, and no bar.
    for row in rows.by_ref().skip(1).take(3) {
        let share = row.trim_start_matches(['"', ' ']).chars().next();
        assert_eq!(share, Some('-'), "{row:?}");
        assert!(!row.contains(['█', '%']), "{row:?}");
    }
    // The next measure has shares again.
    let text = screen.press("m k Enter").text();
    assert!(text.contains("of the pieces in total"), "{text}");
}

#[test]
fn parts_are_told_apart_without_colour_and_without_unicode() {
    let options = Options {
        unicode: false,
        colour: false,
        ..Options::default()
    };
    let mut screen = Screen::empty(120, 40, options);
    screen.load(arenas(), false);
    for keys in ["7", "7 Enter", "7 Enter Enter"] {
        let text = screen.press(keys).text();
        assert!(text.is_ascii(), "after {keys}:\n{text}");
    }
    let text = screen.press("Esc Esc 7").text();
    for sign in [
        "# used",
        ": padding",
        "x abandoned",
        "> bypassed",
        ". unused tail",
    ] {
        assert!(text.contains(sign), "no {sign}:\n{text}");
    }
}

#[test]
fn hostile_names_and_figures_of_arenas_neither_panic_nor_reach_the_terminal() {
    let evil = "evil\u{1b}[2J\r\n\u{202e}";
    let mut hostile = arenas();
    for arena in hostile.parts().arenas {
        arena.name = format!("{evil}{}", arena.name);
        arena.krate = evil.into();
        arena.figures.most_allocated_bytes = u64::MAX;
        arena.figures.unused_tail_bytes = u64::MAX;
        arena.figures.total_used_blocks = u64::MAX;
        for row in &mut arena.rows {
            row.scope = ScopeId(row.scope.0 * 5);
            row.inside.total_bytes = u64::MAX;
        }
        for moment in &mut arena.history {
            moment.allocated_bytes = u64::MAX;
            moment.time_ns = moment.time_ns.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            moment.site = Some(usize::MAX);
        }
    }
    for name in hostile.parts().types {
        name.short = evil.into();
        name.full = evil.into();
    }
    for scope in hostile.parts().scopes {
        scope.name = evil.into();
        scope.value_type = scope.value_type.map(|id| TypeId(id.0 * 3));
    }
    for (width, height) in [(120, 40), (80, 24), (40, 12), (20, 5), (3, 2)] {
        for keys in [
            "7",
            "7 j j",
            "7 Enter",
            "7 Enter Enter",
            "7 b G",
            "7 G Enter j",
        ] {
            let mut screen = Screen::empty(width, height, Options::default());
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
}
