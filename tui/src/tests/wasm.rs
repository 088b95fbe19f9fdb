//! A recorded WebAssembly module: no stacks, no clock, linear memory.

use heapglass_profiler::profile::LinearMemory;

use super::{Screen, profile};
use crate::Options;

fn module(width: u16) -> Screen {
    let mut profile = profile();
    profile.parts().process.pid = 0;
    profile.parts().process.duration_ns = 0;
    profile.parts().timeline.clear();
    profile.parts().capture.unwinder = "none".into();
    profile.parts().capture.architecture = "wasm32".into();
    profile.parts().capture.linear_memory = Some(heapglass_fixture::made!(LinearMemory {
        pages: 2_644,
        bytes: 2_644 << 16,
        first_pages: 18,
        grows: 2_241,
        own_pages: 32,
    }));
    let mut screen = Screen::empty(width, 40, Options::default());
    screen.load(profile, false);
    screen
}

#[test]
fn a_module_shows_linear_memory_and_claims_neither_stacks_nor_times() {
    let text = module(120).text();
    assert!(
        text.contains("wasm32 · exact · no stacks: sites are scopes"),
        "{text}"
    );
    assert!(
        text.contains("165.3 MiB: 2,644 pages, initially 18; plus 2.0 MiB profiler overhead"),
        "{text}"
    );
    assert!(text.contains("2,241 times"), "{text}");
    assert!(text.contains("unknown (no clock)"), "{text}");
    assert!(!text.contains("resident"), "{text}");
    let narrow = module(80).text();
    assert!(narrow.contains("165.3 MiB: 2,644 pages"), "{narrow}");
}

#[test]
fn the_page_about_a_module_says_the_same() {
    let text = module(120).press("!").text();
    assert!(text.contains("wasm32 module, finished"), "{text}");
    assert!(
        text.contains("exact, no stacks: sites are scopes"),
        "{text}"
    );
    assert!(text.contains("2.0 MiB of linear memory"), "{text}");
}

#[test]
fn every_view_of_a_recorded_module_can_be_drawn() {
    let golden = "../tracking-alloc/recording/tests/golden/wasm.hg";
    let options = heapglass_profiler::OpenOptions::default();
    let profile = heapglass_profiler::open(golden.as_ref(), &options, &|_| {})
        .expect("the recording is refreshed by examples/wasm/run --golden");
    let mut screen = Screen::empty(120, 40, Options::default());
    screen.load(profile, false);
    for (keys, expected) in [
        ("1", "1 time, each by at least a page"),
        ("2", "(in write)"),
        ("3", "Vec<Person>"),
        ("4", ".tags"),
        ("5", "(in write)"),
        ("6", "main"),
        ("7", "No arenas"),
    ] {
        let text = screen.press(keys).text();
        assert!(text.contains(expected), "{keys}: {text}");
    }
}
