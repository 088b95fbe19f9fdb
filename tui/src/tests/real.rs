//! Whole screens of real programs.

use super::{Screen, selected_rows, snapshots};
use crate::Options;
use heapglass_fixture as fixture;
use heapglass_profiler::profile::{Frames, Measure};
use heapglass_profiler::table::{By, Detail, rows, stack_numbers};

fn of(name: &str, width: u16, height: u16) -> Screen {
    let options = Options {
        source_roots: Vec::new(),
        ..Options::default()
    };
    let mut screen = Screen::empty(width, height, options);
    screen.app.title = format!("{name}.hg");
    let mut profile = fixture::real(name);
    profile.parts().process.started_unix_ns = 0;
    screen.load(profile, false);
    screen
}

fn jaq(width: u16, height: u16) -> Screen {
    of("jaq", width, height)
}

fn ripgrep(width: u16, height: u16) -> Screen {
    of("rg", width, height)
}

fn server(width: u16, height: u16) -> Screen {
    of("server", width, height)
}

fn shop(width: u16, height: u16) -> Screen {
    of("shop-profiled", width, height)
}

#[test]
fn every_view_of_every_recording_can_be_drawn() {
    for (name, _) in fixture::REAL {
        for (width, height) in [(80, 24), (120, 40), (50, 12)] {
            let mut screen = of(name, width, height);
            for view in ["1", "2", "3", "4", "5", "6", "7"] {
                assert!(!screen.press(view).text().is_empty(), "{name}: {view}");
            }
        }
    }
}

#[test]
fn rows_have_as_many_different_stacks_as_in_the_report() {
    for (name, _) in fixture::REAL {
        let profile = fixture::real(name);
        for row in rows(&profile, By::Site, Measure::Peak, Frames::Folded) {
            let Detail::Site(detail) = &row.detail else {
                panic!("{row:?}");
            };
            let sites = detail.sites.iter().copied();
            let numbers = stack_numbers(&profile, sites, Frames::Folded);
            let count = numbers.iter().max().map_or(0, |last| last + 1);
            assert_eq!(count as u64, detail.stacks, "{name}: {}", row.key);
        }
    }
}

#[test]
fn brackets_go_through_stacks_that_look_different() {
    let mut rows_with_several = 0;
    for ((name, _), frames) in fixture::REAL.into_iter().zip(["", "f", "a"].iter().cycle()) {
        let mut screen = of(name, 400, 160);
        screen.press("5").press(frames);
        for row in 0..6 {
            let mut seen = Vec::new();
            loop {
                let text = screen.text();
                let Some((before, rest)) = text.split_once("\n\"stack ") else {
                    break;
                };
                let (number, rest) = rest.split_once(" of ").expect("a count");
                let (count, _) = rest.split_once(" ").expect("a number");
                // The stack takes the left half of the screen, below its title.
                let first = before.lines().count();
                let lines = text.lines().skip(first + 1);
                let stack: Vec<String> =
                    lines.map(|line| line.chars().take(201).collect()).collect();
                if number == "1" && !seen.is_empty() {
                    assert_eq!(seen.len().to_string(), count, "{name}, row {row}");
                    rows_with_several += 1;
                    break;
                }
                assert_eq!(number, (seen.len() + 1).to_string(), "{name}, row {row}");
                assert!(!seen.contains(&stack), "{name}, row {row}: {stack:#?}");
                seen.push(stack);
                screen.press("]");
            }
            screen.press("j");
        }
    }
    assert!(rows_with_several > 3, "{rows_with_several}");
}

snapshots! { jaq:
    jaq_sites: "5";
}

selected_rows! { rows_of_jaq, jaq:
    jaq_overview: "";
    jaq_flamegraph: "2 j j";
    jaq_sites_by_function: "5 b b";
}

snapshots! { ripgrep:
    ripgrep_sites: "5";
}

selected_rows! { rows_of_ripgrep, ripgrep:
    ripgrep_overview: "";
    ripgrep_flamegraph: "2 j j";
}

snapshots! { server:
    server_overview: "";
}

selected_rows! { rows_of_server, server:
    server_flamegraph: "2 j j";
    server_sites: "5";
}

selected_rows! { rows_of_shop, shop:
    shop_overview: "";
    shop_flamegraph: "2 j j";
    shop_types: "3";
    shop_fields: "4";
    shop_sites: "5";
}
