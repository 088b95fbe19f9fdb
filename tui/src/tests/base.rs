//! Screens of a recording that is compared with another one.

use std::sync::Arc;

use heapglass_profiler::profile::{Figures, Profile};
use ratatui::style::Color;

use super::habits::written_of;
use super::{Screen, fleet, profile};
use crate::model::Data;
use crate::{Base, Options};

/// Returns the profile before a change: its largest site allocated half as much, and its last site
/// was a different one.
fn before(mut profile: Profile) -> Profile {
    let sites = profile.parts().sites;
    if let Some(first) = sites.first_mut() {
        let half = |value: &mut u64| *value /= 2;
        let f = &mut first.figures;
        half(&mut f.peak_bytes);
        half(&mut f.total_bytes);
        half(&mut f.total_blocks);
    }
    sites.pop();
    let mut totals = Figures::default();
    sites.iter().for_each(|site| totals.add(&site.figures));
    *profile.parts().totals = totals;
    for thread in profile.parts().threads {
        thread.figures.peak_bytes /= 3;
    }
    for arena in profile.parts().arenas {
        arena.figures.most_allocated_bytes /= 2;
    }
    profile
}

fn beside(profile: Profile, base: Profile, width: u16, height: u16) -> Screen {
    let base = Some(Arc::new(Base {
        name: "before.hg".into(),
        profile: base,
        is_taken_here: false,
    }));
    let options = Options {
        source_roots: Vec::new(),
        base,
        ..Options::default()
    };
    let mut screen = Screen::empty(width, height, options);
    screen.load(profile, false);
    screen
}

fn sample(width: u16, height: u16) -> Screen {
    beside(profile(), before(profile()), width, height)
}

fn of_fleet(width: u16, height: u16) -> Screen {
    beside(fleet(), before(fleet()), width, height)
}

fn of_arenas(width: u16, height: u16) -> Screen {
    let arenas = heapglass_fixture::city_arenas;
    beside(arenas(), before(arenas()), width, height)
}

/// Returns the screen of a profile beside itself before the change, without the start, so that the
/// clock of this machine decides nothing.
fn changed(mut profile: Profile, width: u16, height: u16) -> Screen {
    profile.parts().process.started_unix_ns = 0;
    beside(profile.clone(), before(profile), width, height)
}

fn of_moving(width: u16, height: u16) -> Screen {
    changed(heapglass_fixture::moving(), width, height)
}

fn of_shop(width: u16, height: u16) -> Screen {
    changed(heapglass_fixture::real("shop-profiled"), width, height)
}

fn of_snapshots(width: u16, height: u16) -> Screen {
    changed(heapglass_fixture::with_made_up_snapshots(), width, height)
}

super::snapshots! { sample:
    base_sites: "5 s";
}

super::selected_rows! { rows_beside_a_base_of_cities, sample:
    base_overview: "";
    base_flamegraph: "2 j j j";
    base_sites_by_owner: "5 b";
    base_threads: "6";
    base_about: "!";
}

super::selected_rows! { rows_beside_a_base_of_fleet, of_fleet:
    base_types: "3";
    base_fields: "4";
}

super::selected_rows! { rows_beside_a_base_of_arenas, of_arenas:
    base_arenas: "7";
}

super::selected_rows! { rows_beside_a_base_of_moving, of_moving:
    base_time: "8";
    base_time_growth: "8 h v l l";
    base_leaks: "9 j";
    base_phases: "P j";
}

super::selected_rows! { rows_beside_a_base_of_shop, of_shop:
    base_advice: "A j";
}

super::selected_rows! { rows_beside_a_base_of_snapshots, of_snapshots:
    base_heap: "0 j j";
}

/// Returns the last column of figures of the row that has `name`.
fn line(screen: &mut Screen, name: &str) -> String {
    let text = screen.text();
    let line = text.lines().find(|line| line.contains(name));
    line.unwrap_or_else(|| panic!("no {name}:\n{text}")).into()
}

#[test]
fn a_recording_beside_itself_differs_nowhere() {
    let mut screen = beside(profile(), profile(), 120, 40);
    for view in ["1", "5", "5 b", "Esc 6"] {
        let text = screen.press(view).text();
        let changes = text.lines().filter(|line| line.contains(" % "));
        for line in changes {
            let has_change = line.contains("+") || line.contains("new");
            assert!(!has_change, "{view}: {line}");
        }
        assert!(text.contains("no change here"), "{text}");
    }
    let text = screen.press("2").text();
    assert!(text.contains("same as in the base"), "{text}");
}

#[test]
fn what_only_the_base_has_is_counted() {
    let (new, base) = (before(profile()), profile());
    let removed = base.sites().last().map(|site| site.figures.total_bytes);
    let total = heapglass_profiler::units::Bytes(removed.unwrap_or(0)).to_string();
    let mut screen = beside(new, base, 120, 40);
    screen.press("5 m m m Enter");
    let said = line(&mut screen, "base before.hg");
    assert!(
        said.contains(&format!("1 row only in the base: {total}")),
        "{said}"
    );
}

#[test]
fn each_warning_is_said_once_and_of_its_side() {
    let (new, mut base) = (profile(), before(profile()));
    let of_new = new.losses().to_vec();
    base.parts().lost.table_full_blocks += 1;
    let of_base = base.losses().to_vec();
    assert_ne!(of_base, of_new);
    let mut screen = beside(new, base, 200, 60);
    let text = screen.press("!").text();
    let (compared, lost) = text.split_once("Lost ").expect("a section");
    let count = |text: &str, part: &str| text.matches(part).count();
    assert_eq!(count(compared, "▲           before.hg: "), of_base.len());
    assert_eq!(count(compared, "this recording"), 0, "{compared}");
    assert_eq!(count(lost, "▲           "), of_new.len(), "{lost}");
    assert!(
        compared.contains(&format!("▲ {} (!)", of_base.len())),
        "{compared}"
    );
}

#[test]
fn the_comparison_is_written_or_the_page_says_that_it_is_not() {
    let name = format!("heapglass-compared-{}", std::process::id());
    let mut screen = of_fleet(100, 30);
    screen.app.title = format!("{name}.hg");
    screen.load(fleet(), false);
    for (keys, command, reason) in [
        ("2 x Enter", "diff before.hg NAME.hg -o NAME.flame.svg", ""),
        (
            "3 m j Enter x Enter",
            "diff before.hg NAME.hg --by type --measure live -o NAME.type.svg",
            "",
        ),
        (
            "3 x j Enter",
            "export NAME.hg --base before.hg --to html --measure live -o NAME.type.html",
            "",
        ),
        (
            "3 x j j Enter",
            "export NAME.hg --to csv --by type --measure live -o NAME.type.csv",
            "rows of two recordings",
        ),
        (
            "2 i x Enter",
            "flamegraph NAME.hg --inverted --measure live -o NAME.flame.svg",
            "a picture of two recordings",
        ),
    ] {
        let (text, texts) = written_of(&mut screen, keys);
        let command = format!("heapglass {}", command.replace("NAME", &name));
        assert_eq!(texts[2], command, "{keys}");
        let said = texts.get(3).map_or("", String::as_str);
        assert_eq!(
            said.contains("The base is not in it"),
            !reason.is_empty(),
            "{said}"
        );
        assert!(said.contains(reason), "{said}");
        assert_eq!(text.contains("before.hg"), reason.is_empty(), "{keys}");
        screen.press("q");
    }
}

#[test]
fn a_base_that_is_in_no_file_is_not_written() {
    let base = Base {
        name: "this program at 1.00 s".into(),
        profile: before(fleet()),
        is_taken_here: true,
    };
    let options = Options {
        base: Some(Arc::new(base)),
        ..Options::default()
    };
    let mut screen = Screen::empty(100, 30, options);
    screen.app.title = format!("heapglass-now-{}.hg", std::process::id());
    screen.load(fleet(), false);
    let (_, texts) = written_of(&mut screen, "2 x Enter");
    assert!(texts[2].starts_with("heapglass flamegraph"), "{texts:?}");
    assert!(texts[3].contains("is in no file"), "{texts:?}");
}

#[test]
fn an_earlier_moment_has_no_warnings_of_its_own_but_another_program_has() {
    let warnings = |pid: u32| {
        let mut base = profile();
        base.parts().process.pid = pid;
        let base = Base {
            name: "this program at 1.00 s".into(),
            profile: base,
            is_taken_here: true,
        };
        Data::new(profile(), Some(Arc::new(base))).warnings
    };
    let pid = profile().process().pid;
    assert_eq!(warnings(pid), [""; 0]);
    let of_base: Vec<String> = profile()
        .losses()
        .iter()
        .map(|loss| format!("this program at 1.00 s: {loss}"))
        .collect();
    assert_eq!(warnings(pid + 1), of_base);
}

#[test]
fn frames_with_more_are_red_and_frames_with_less_blue() {
    let mut colours = Vec::new();
    for (new, base) in [
        (profile(), before(profile())),
        (before(profile()), profile()),
    ] {
        let mut screen = beside(new, base, 120, 40);
        screen.press("2 j");
        let buffer = screen.draw().clone();
        let width = buffer.area.width as usize;
        // The root is the first row with a background below header, base and breadcrumb.
        let has_background = |row: &&[ratatui::buffer::Cell]| row[0].bg != Color::Reset;
        let root = buffer.content.chunks(width).find(has_background);
        colours.push(root.expect("a row of frames")[0].bg);
    }
    assert_eq!(colours, [Color::Indexed(203), Color::Indexed(69)]);
}
