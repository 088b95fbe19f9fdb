//! Prints the time that a large profile takes to open and to redraw. The bounds are far above what
//! any machine needs.

use std::time::{Duration, Instant};

use heapglass_fixture as fixture;

use super::Screen;
use crate::Options;

#[test]
#[ignore = "measures: cargo test --release -p heapglass-tui -- --ignored --nocapture speed"]
fn twenty_thousand_sites_of_sixty_frames_open_and_redraw_smoothly() {
    let profile = fixture::sized(20_000, 60);
    let mut screen = Screen::empty(120, 40, Options::default());
    let timed = |what: &str, most: u64, work: &mut dyn FnMut()| {
        let begun = Instant::now();
        work();
        let took = begun.elapsed();
        println!("{what:<40} {took:?}");
        assert!(took < Duration::from_millis(most), "{what} took {took:?}");
    };
    let mut profile = Some(profile);
    timed("take in the profile", 2_000, &mut || {
        screen.load(profile.take().unwrap_or_default(), false)
    });
    for (what, keys) in [
        ("overview", "1"),
        ("flamegraph, its tree made first", "2"),
        ("down to the deepest frame", "G"),
        ("left, right, up", "h l k"),
        ("zoom", "Enter"),
        ("search", "Esc / function_1 Enter"),
        ("next", "n n n"),
        ("inverted", "i"),
        ("other measure", "m m Enter"),
        ("types", "3"),
        ("fields", "4"),
        ("sites", "5"),
        ("sorted", "s s s"),
        ("filtered", "/ function_12 Enter"),
        ("down", "j j j"),
        ("back to the flamegraph", "2"),
    ] {
        timed(what, 4_000, &mut || {
            screen.press(keys);
        });
        timed("  redraw", 60, &mut || {
            screen.draw();
        });
    }
}
