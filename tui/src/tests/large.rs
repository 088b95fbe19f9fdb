//! A profile that is so large that other threads compute for the views: the screens are the same in
//! the end, and keys act on what is shown until then.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

use heapglass_fixture as fixture;
use heapglass_profiler::profile::Profile;

use super::Screen;
use crate::Options;
use crate::app::update;
use crate::model::{Data, Message};

/// A screen of 120x40 whose views are computed on other threads.
struct Large {
    screen: Screen,
    finished: Receiver<()>,
}

impl Large {
    fn new(profile: Profile) -> Large {
        let screen = Screen::empty(120, 40, Options::default());
        let finished = channel().1;
        let mut large = Large { screen, finished };
        large.load(profile);
        large
    }

    fn load(&mut self, profile: Profile) {
        let (done, finished) = channel();
        let data = Arc::new(Data::new(profile, None));
        data.compute_elsewhere(move |result| {
            result.expect("no panic");
            // The last jobs end after the test.
            let _ = done.send(());
        });
        assert!(data.computes_elsewhere());
        let app = &mut self.screen.app;
        let (live, title) = (false, app.title.clone());
        update(app, Message::Loaded { data, live, title });
        self.finished = finished;
    }

    fn is_computing(&self) -> bool {
        let data = self.screen.app.data.as_ref();
        data.is_some_and(|data| data.is_computing())
    }

    /// Does what the main loop does until nothing is computed any more.
    fn wait(&mut self) {
        loop {
            let was_computing = self.is_computing();
            update(&mut self.screen.app, Message::Computed);
            if self.is_computing() {
                let patience = heapglass_limits::limit();
                self.finished.recv_timeout(patience).expect("a job ends");
            } else if !was_computing {
                return;
            }
        }
    }
}

fn profile() -> Profile {
    fixture::sized(50_000, 4)
}

/// Returns a screen on which everything is computed when it is asked for.
fn plain(profile: Profile) -> Screen {
    let mut screen = Screen::empty(120, 40, Options::default());
    screen.load(profile, false);
    screen
}

/// Returns the line below the list, which names the selected row.
fn selected(screen: &mut Screen) -> String {
    let text = screen.text();
    let line = text.lines().find(|line| line.contains("row "));
    line.unwrap_or_else(|| panic!("no row:\n{text}")).to_owned()
}

#[test]
fn views_are_the_same_wherever_they_are_computed() {
    let (mut large, mut plain) = (Large::new(profile()), plain(profile()));
    for keys in [
        "5",
        "j j j",
        "s",
        "S",
        "m j Enter",
        "/ function_1 Enter",
        "n",
        "o",
        "#",
        "n",
        "o",
        "Esc",
        "5",
        "Esc",
        "b",
        "j",
        "Enter",
        "Esc",
        "b",
        "b",
        "Enter",
        "f",
        "2",
        "i",
        "Enter",
        "a",
        "/ function_2 Enter",
        "n",
        "Esc",
        "5",
        "Enter",
        "#",
    ] {
        large.screen.press(keys);
        large.wait();
        let expected = plain.press(keys).text();
        assert_eq!(large.screen.text(), expected, "after {keys}");
    }
}

#[test]
fn holders_are_the_same_wherever_they_are_computed() {
    let with_many_sites = || {
        let mut profile = fixture::with_made_up_snapshots();
        let sites = profile.parts().sites;
        sites.extend(sites.first().cloned().into_iter().cycle().take(50_000));
        profile
    };
    let mut large = Large::new(with_many_sites());
    let mut plain = plain(with_many_sites());
    let text = large.screen.press("0").text();
    assert!(text.contains("computing who holds the heap"), "{text}");
    for keys in [
        "0", "e", "j j j", "]", "s", "S", "v", "[", "j", "Esc", "5", "w",
    ] {
        large.screen.press(keys);
        large.wait();
        let expected = plain.press(keys).text();
        assert_eq!(large.screen.text(), expected, "after {keys}");
    }
}

#[test]
fn keys_act_on_the_list_that_is_shown_and_an_outdated_list_is_dropped() {
    let mut large = Large::new(profile());
    let text = large.screen.press("5").text();
    assert!(text.contains("listing the sites"), "{text}");
    assert!(text.contains("computing"), "{text}");
    large.wait();
    let before = selected(large.screen.press("j j j"));
    assert!(before.contains("row 4 of"), "{before}");
    // The list of the first regex is outdated before it is there.
    large
        .screen
        .press("/ function_1 Enter / ^U function_64$ Enter s");
    assert_eq!(selected(&mut large.screen), before);
    let moved = selected(large.screen.press("k"));
    assert!(moved.contains("row 3 of"), "{moved}");
    large.wait();
    let filtered = large.screen.text();
    assert!(filtered.contains("/function_64$/: "), "{filtered}");
    assert!(!filtered.contains("/function_1/"), "{filtered}");
    large.screen.press("Esc");
    large.wait();
    // The selected site is at another place in another order.
    let name = |line: &str| {
        let name = line.rsplit(" · ").next().unwrap_or_default();
        name.trim_end_matches(['"', ' ', '─']).to_owned()
    };
    large.screen.press("g j j");
    let before = selected(&mut large.screen);
    large.screen.press("S");
    large.wait();
    let after = selected(&mut large.screen);
    assert_eq!(name(&before), name(&after));
    assert_ne!(before, after, "another number");
}

#[test]
fn a_jump_to_a_flamegraph_that_is_not_built_yet_is_applied_when_it_is() {
    let (mut large, mut plain) = (Large::new(profile()), plain(profile()));
    large.screen.press("5");
    large.wait();
    let early = large.screen.press("j j o").text();
    assert!(early.contains("building the flamegraph"), "{early}");
    large.wait();
    let expected = plain.press("5 j j o").text();
    assert_eq!(large.screen.text(), expected);
}

#[test]
fn random_keys_and_reloads_before_results_are_there_never_panic() {
    const KEYS: [&str; 32] = [
        "j",
        "j",
        "k",
        "l",
        "h",
        "G",
        "g",
        "PgDn",
        "Enter",
        "Enter",
        "Esc",
        "1",
        "2",
        "2",
        "3",
        "5",
        "5",
        "8",
        "9",
        "b",
        "f",
        "i",
        "n",
        "o",
        "o",
        "s",
        "S",
        "#",
        "]",
        "/ function_1 Enter",
        "m j Enter",
        "M",
    ];
    let mut dice = fixture::Dice(1);
    let mut large = Large::new(profile());
    for pressed in 1..=600 {
        large.screen.press(KEYS[dice.roll(KEYS.len())]);
        large.screen.draw();
        if pressed % 100 == 0 {
            // Fewer sites, so that sites and functions of the profile before are not there.
            let sites = if pressed % 200 == 0 { 60_000 } else { 50_000 };
            large.load(fixture::sized(sites, 3));
        } else if dice.roll(4) == 0 {
            // Some results come in between, and some later.
            update(&mut large.screen.app, Message::Computed);
        } else if dice.roll(20) == 0 {
            large.wait();
        }
        large.screen.app.requests.clear();
    }
    large.wait();
    assert!(!large.screen.text().contains("computing"));
}
