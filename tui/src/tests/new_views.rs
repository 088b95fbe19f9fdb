//! The views Time, Leaks, Heap, Advice and Phases: their screens, and what they refuse.

use heapglass_fixture as fixture;
use heapglass_profiler::profile::{Profile, State};

use super::Screen;
use crate::Options;

fn of(profile: Profile, width: u16, height: u16) -> Screen {
    let options = Options {
        source_roots: Vec::new(),
        ..Options::default()
    };
    let mut screen = Screen::empty(width, height, options);
    let mut profile = profile;
    profile.parts().process.started_unix_ns = 0;
    let is_live = profile.process().state == State::Running;
    screen.load(profile, is_live);
    screen
}

fn shop(width: u16, height: u16) -> Screen {
    of(fixture::real("shop-profiled"), width, height)
}

/// Returns the screen of a program that still runs and grows.
fn running(width: u16, height: u16) -> Screen {
    let mut profile = fixture::moving();
    profile.parts().process.state = State::Running;
    of(profile, width, height)
}

fn moving(width: u16, height: u16) -> Screen {
    of(fixture::moving(), width, height)
}

fn sampled(width: u16, height: u16) -> Screen {
    of(fixture::sampled(), width, height)
}

fn held(width: u16, height: u16) -> Screen {
    of(fixture::with_made_up_snapshots(), width, height)
}

/// Snapshots the screen after `keys` at three sizes.
macro_rules! at_each_size {
    ($sample:path: $($name:ident: $keys:expr;)*) => {$(
        #[test]
        fn $name() {
            for (width, height) in [(80, 24), (120, 40), (200, 60)] {
                let mut screen = $sample(width, height);
                let text = screen.press($keys).text();
                insta::assert_snapshot!(format!("{}_{width}x{height}", stringify!($name)), text);
            }
        }
    )*};
}

at_each_size! { shop:
    time_by_site_at_an_earlier_moment: "8 h h b j";
    time_growth_by_type: "8 h h v l l b b";
    advice_of_events: "A j";
    leaks_at_exit: "9 Enter j";
}

at_each_size! { moving:
    time_at_the_peak: "8";
    time_growth_by_owner: "8 h v l l j";
    leaks_that_are_left: "9 j";
    phases: "P j";
}

at_each_size! { running:
    leaks_of_a_running_program: "9 j";
    time_now: "8 l l";
}

at_each_size! { held:
    heap: "0 j j";
    heap_of_another_snapshot: "0 ]";
    heap_compared: "0 v ] j";
    heap_searched: "0 / attributes Enter n";
    advice_of_a_snapshot: "A";
}

at_each_size! { Screen::sample:
    heap_without_a_snapshot: "0";
}

at_each_size! { sampled:
    sampled_overview: "";
    sampled_sites: "5";
    sampled_time: "8 h v l";
    sampled_leaks: "9";
    sampled_advice: "A";
}
