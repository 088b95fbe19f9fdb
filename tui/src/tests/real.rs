//! Whole screens of real programs.

use super::{Screen, snapshots};
use crate::Options;
use heapglass_fixture as fixture;

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

snapshots! { jaq:
    jaq_overview: "";
    jaq_flamegraph: "2 j j";
    jaq_sites: "5";
    jaq_sites_by_function: "5 b b";
}

snapshots! { ripgrep:
    ripgrep_overview: "";
    ripgrep_flamegraph: "2 j j";
    ripgrep_sites: "5";
}

snapshots! { server:
    server_overview: "";
    server_flamegraph: "2 j j";
    server_sites: "5";
}

snapshots! { shop:
    shop_overview: "";
    shop_flamegraph: "2 j j";
    shop_types: "3";
    shop_fields: "4";
    shop_sites: "5";
}
