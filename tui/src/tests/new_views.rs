//! The views Time, Leaks, Heap, Advice and Phases: their screens, and what they refuse.

use std::sync::Arc;
use std::sync::mpsc::channel;

use heapglass_fixture as fixture;
use heapglass_profiler::profile::{Measure, Merged, Profile, State};

use super::{Screen, selected_rows, snapshots, with_workers};
use crate::Options;
use crate::app::update;
use crate::model::{Data, Message};

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

fn workers(width: u16, height: u16) -> Screen {
    of(with_workers(), width, height)
}

fn sampled(width: u16, height: u16) -> Screen {
    of(fixture::sampled(), width, height)
}

/// Returns the screen of a program that was read twice, 0.1 s apart.
fn read_twice(width: u16, height: u16) -> Screen {
    let mut screen = running(width, height);
    let mut profile = fixture::moving();
    profile.parts().process.state = State::Running;
    profile.parts().process.started_unix_ns = 0;
    let mut before = Data::new(profile.clone(), None);
    before.follow(None, Measure::Peak);
    profile.parts().process.duration_ns += 100_000_000;
    for site in profile.parts().sites.iter_mut().take(7) {
        site.figures.total_bytes += 200_000;
        site.figures.total_blocks += 12;
    }
    let mut data = Data::new(profile, None);
    data.follow(Some(&before), Measure::Peak);
    let loaded = Message::Loaded {
        data: Arc::new(data),
        live: true,
        title: "cities.hg".into(),
    };
    update(&mut screen.app, loaded);
    screen
}

fn held(width: u16, height: u16) -> Screen {
    of(fixture::with_made_up_snapshots(), width, height)
}

snapshots! { shop:
    leaks_at_exit: "9 Enter j";
}

selected_rows! { rows_of_shop, shop:
    time_by_site_at_an_earlier_moment: "8 h h b j";
    time_growth_by_type: "8 h h v l l b b";
    advice_of_events: "A j";
    advice_searched: "A / reviews Enter";
}

snapshots! { moving:
    time_at_the_peak: "8";
    phases: "P j";
}

selected_rows! { rows_of_moving, moving:
    time_growth_by_owner: "8 h v l l j";
    leaks_that_are_left: "9 j";
    time_searched: "8 / visit Enter";
    leaks_searched: "9 / visit Enter n";
    phases_searched: "P / parse Enter n";
}

selected_rows! { rows_of_running, running:
    leaks_of_a_running_program: "9 j";
    time_now: "8 l l";
}

selected_rows! { rows_of_read_twice, read_twice:
    rates_of_owners: "";
}

snapshots! { held:
    heap: "0 j j";
    advice_of_a_snapshot: "A";
}

selected_rows! { rows_of_held, held:
    heap_of_another_snapshot: "0 ]";
    heap_compared: "0 v ] j";
    heap_searched: "0 / attributes Enter n";
}

selected_rows! { rows_of_workers, workers:
    threads_searched: "6 / worker-1$ Enter";
    threads_of_a_row_searched: "6 / worker-1$ Enter Enter";
}

selected_rows! { rows_of_a_program_without_snapshots, Screen::sample:
    heap_without_a_snapshot: "0";
}

snapshots! { sampled:
    sampled_sites: "5";
}

selected_rows! { rows_of_sampled, sampled:
    sampled_overview: "";
    sampled_about: "!";
    sampled_time: "8 h v l";
    sampled_leaks: "9";
    sampled_heap: "0";
    sampled_advice: "A";
    sampled_phases: "P";
}

#[test]
fn a_click_on_a_tab_or_on_the_mark_of_hidden_tabs_shows_the_view() {
    for (from, tab, expected) in [
        ("P", "8 Time", "the peak at"),
        ("9", "5 Site", "innermost first"),
        ("8", "› ", "live at the end"),
    ] {
        let mut screen = moving(80, 24);
        let text = screen.press(from).click(tab).text();
        assert!(text.contains(expected), "{from} {tab}:\n{text}");
    }
}

#[test]
fn a_click_on_the_chart_moves_the_cursor_to_the_nearest_moment() {
    let mut screen = moving(120, 40);
    screen.press("8");
    assert!(screen.text().contains("the peak at"));
    let text = screen.click("loaded").text();
    assert!(text.contains("mark \"loaded\" at"), "{text}");
}

#[test]
fn a_snapshot_is_refused_with_the_reason() {
    let text = moving(80, 24).press("0 H").text();
    assert!(
        text.contains("no snapshot: the program has ended"),
        "{text}"
    );
    let text = running(80, 24).press("5 w").text();
    assert!(text.contains("press H to take one"), "{text}");
}

#[test]
fn what_is_compared_stays_compared_after_a_reload() {
    let mut screen = moving(80, 24);
    let before = screen.press("8 h v l l j").text();
    screen.load(fixture::moving(), false);
    assert_eq!(screen.text(), before);
    let text = screen.press("Esc").text();
    assert!(!text.contains("from checkpoint"), "{text}");
}

#[test]
fn what_opens_a_site_leads_back() {
    for keys in ["8 j", "9 j", "A j", "P j"] {
        let mut screen = shop(80, 24);
        let before = screen.press(keys).text();
        let after = screen.press("Enter").text();
        // A group of leaks opens in place.
        if keys != "9 j" {
            assert!(after.contains("innermost first"), "{keys}:\n{after}");
        }
        assert_eq!(screen.press("Esc").text(), before, "{keys}");
    }
}

#[test]
fn a_sum_of_recordings_has_no_moments() {
    let mut profile = fixture::moving();
    profile.parts().process.state = State::Merged;
    profile.parts().process.merged = Some(Merged::default());
    let mut screen = of(profile, 80, 24);
    let text = screen.press("8").text();
    assert!(
        text.contains("the sum of several recordings has no moments"),
        "{text}"
    );
    assert!(!text.contains("the peak at"), "{text}");
    for key in ["h", "l", "v", "b", "Enter", "j"] {
        assert_eq!(screen.press(key).text(), text, "{key}");
    }
    let text = screen.press("9").text();
    assert!(text.contains("live at the ends, summed up in"), "{text}");
    for absent in ["growth", "then", "median age"] {
        assert!(!text.contains(absent), "{absent}:\n{text}");
    }
}

#[test]
fn a_packed_recording_has_what_was_live_then() {
    let mut profile = fixture::moving();
    profile.parts().process.state = State::Copied;
    let text = of(profile, 80, 24).press("9").text();
    assert!(text.contains("live when packed in"), "{text}");
}

#[test]
fn holders_stay_closed_after_a_reload() {
    let mut screen = held(80, 24);
    let open = screen.press("0 j j j").text();
    let closed = screen.press("h").text();
    assert_ne!(closed, open);
    let mut profile = fixture::with_made_up_snapshots();
    profile.parts().process.started_unix_ns = 0;
    screen.load(profile, false);
    assert_eq!(screen.text(), closed);
}

#[test]
fn views_of_a_large_recording_are_computed_on_another_thread() {
    let (done, finished) = channel();
    let load = |screen: &mut Screen| {
        let data = Arc::new(Data::new(fixture::sized(50_000, 2), None));
        let done = done.clone();
        data.compute_elsewhere(move |result| done.send(result).expect("the test waits"));
        let loaded = Message::Loaded {
            data,
            live: false,
            title: "cities.hg".into(),
        };
        update(&mut screen.app, loaded);
    };
    let is_computing = |screen: &Screen| {
        let data = screen.app.data.as_ref();
        data.is_some_and(|data| data.is_computing())
    };
    let wait = |screen: &mut Screen| {
        loop {
            let was_computing = is_computing(screen);
            update(&mut screen.app, Message::Computed);
            if is_computing(screen) {
                let patience = heapglass_limits::limit();
                let result = finished.recv_timeout(patience).expect("a job ends");
                result.expect("no panic");
            } else if !was_computing {
                return;
            }
        }
    };
    let mut screen = Screen::empty(80, 24, Options::default());
    load(&mut screen);
    for (view, expected) in [("8", "rows"), ("9", "live at the end in"), ("A", "finding")] {
        screen.press(view);
        if view == "8" {
            screen.press("b");
        }
        assert!(screen.text().contains("computing"), "{}", screen.text());
        wait(&mut screen);
        let text = screen.text();
        assert!(text.contains(expected), "{text}");
    }
    let text = screen.press("e").text();
    assert!(text.contains("findings, small ones included"), "{text}");
    assert!(!text.contains("0 findings"), "{text}");
    wait(&mut screen);
    // Another size needs no other rows.
    screen.press("8");
    wait(&mut screen);
    screen.resize(100, 30);
    assert!(!screen.text().contains("computing"), "{}", screen.text());
    for view in ["8", "9"] {
        screen.press(view);
        wait(&mut screen);
        let before = screen.press("j j").text();
        let place = |text: &str| {
            let mut lines = text.lines();
            lines
                .find(|line| line.contains(" 3 of "))
                .map(str::to_owned)
        };
        assert!(place(&before).is_some(), "{before}");
        load(&mut screen);
        let text = screen.text();
        assert!(text.contains("computing"), "{text}");
        assert_eq!(place(&text), place(&before));
        wait(&mut screen);
        assert_eq!(place(&screen.text()), place(&before));
    }
}

#[test]
fn a_paused_recording_says_so_and_until_when_it_was_recorded() {
    let mut profile = fixture::moving();
    profile.parts().process.state = State::Running;
    let pauses = &mut profile.parts().process.pauses;
    (pauses.count, pauses.is_open) = (1, true);
    let mut screen = of(profile.clone(), 120, 40);
    let duration = profile.process().duration();
    let expected = format!("paused · {duration} until the pause");
    let text = screen.text();
    assert!(text.contains(&expected), "{expected}:\n{text}");
    profile.parts().process.pauses.is_open = false;
    let text = of(profile, 120, 40).text();
    assert!(text.contains(&format!("running · {duration} · ")), "{text}");
}
