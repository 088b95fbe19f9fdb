//! Thousands of random keys on screens of random sizes, with good, empty and broken profiles, never
//! panic.

use std::sync::Arc;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEventKind};
use heapglass_fixture::{Dice, moving, with_made_up_snapshots};
use heapglass_profiler::profile::{Contents, FrameId, FunctionId, Profile, ScopeId, State, TypeId};

use super::{Screen, fleet, profile};
use crate::{Base, Options};

fn key(dice: &mut Dice) -> KeyEvent {
    const NAMED: [KeyCode; 15] = [
        KeyCode::Enter,
        KeyCode::Esc,
        KeyCode::Tab,
        KeyCode::BackTab,
        KeyCode::Backspace,
        KeyCode::Delete,
        KeyCode::Up,
        KeyCode::Down,
        KeyCode::Left,
        KeyCode::Right,
        KeyCode::PageUp,
        KeyCode::PageDown,
        KeyCode::Home,
        KeyCode::End,
        KeyCode::F(1),
    ];
    const CHARS: &[u8] =
        b"hjklgGnN#/?!immMsSoapr 1234567890APhjkl2334445577889900effb(.*[a\\[]:zzxyEtHqBvvwc,.<>+-=";
    match dice.roll(10) {
        0..4 => KeyEvent::new(NAMED[dice.roll(NAMED.len())], KeyModifiers::NONE),
        4 => KeyEvent::new(
            KeyCode::Char("uwhdbfael"[dice.roll(9)..].chars().next().unwrap_or('u')),
            KeyModifiers::CONTROL,
        ),
        _ => KeyEvent::new(
            KeyCode::Char(CHARS[dice.roll(CHARS.len())] as char),
            KeyModifiers::NONE,
        ),
    }
}

/// Uses the mouse anywhere on the screen, and now and then outside of it.
fn mouse(dice: &mut Dice, screen: &mut Screen) {
    const LEFT: MouseButton = MouseButton::Left;
    const KINDS: [MouseEventKind; 7] = [
        MouseEventKind::Down(LEFT),
        MouseEventKind::Down(LEFT),
        MouseEventKind::Drag(LEFT),
        MouseEventKind::Up(LEFT),
        MouseEventKind::ScrollDown,
        MouseEventKind::ScrollUp,
        MouseEventKind::Moved,
    ];
    let size = screen.app.size;
    let column = dice.roll(usize::from(size.width) + 2) as u16;
    let row = dice.roll(usize::from(size.height) + 2) as u16;
    let kind = KINDS[dice.roll(KINDS.len())];
    screen.mouse(kind, column, row);
    // Twice at the same place enters.
    if dice.roll(3) == 0 {
        screen.mouse(kind, column, row);
    }
}

fn play(seed: u64, keys: usize, profiles: &[Profile], options: Options) {
    let mut dice = Dice(seed);
    let mut screen = Screen::empty(80, 24, options);
    for pressed in 0..keys {
        match dice.roll(40) {
            0 => screen.resize(dice.roll(160) as u16, dice.roll(60) as u16),
            1 => screen.resize(20, 5),
            2 if pressed > 20 => screen.load(
                profiles[dice.roll(profiles.len())].clone(),
                dice.roll(2) == 0,
            ),
            3..=6 => mouse(&mut dice, &mut screen),
            _ => screen.key(key(&mut dice)),
        }
        // Requests to the main loop are not carried out here: no file is written, no editor runs.
        screen.app.requests.clear();
        screen.app.exit = None;
        screen.draw();
    }
}

/// Returns the number of keys and mouse events of a test: `HEAPGLASS_EVENTS` shared by all kinds of
/// recordings, or a few thousand.
fn events(of_each: usize) -> usize {
    let all = std::env::var("HEAPGLASS_EVENTS")
        .ok()
        .map(|text| text.parse::<usize>().expect("HEAPGLASS_EVENTS is a number"));
    all.map_or(of_each, |all| all.div_ceil(4))
}

#[test]
fn random_keys_and_clicks_on_finished_recordings_never_panic() {
    let profiles = [profile(), fleet(), moving(), with_made_up_snapshots()];
    play(1, events(2_000), &profiles, Options::default());
}

#[test]
fn random_keys_and_clicks_beside_a_base_never_panic() {
    let base = Some(Arc::new(Base {
        name: "before.hg".into(),
        profile: fleet(),
        is_taken_here: false,
    }));
    let options = Options {
        base,
        ..Options::default()
    };
    let profiles = [profile(), fleet(), moving(), with_made_up_snapshots()];
    play(2, events(1_500), &profiles, options);
}

#[test]
fn random_keys_and_clicks_on_a_live_recording_never_panic() {
    let later = |share: u64| {
        let mut running = moving();
        running.parts().process.state = State::Running;
        for site in running.parts().sites {
            site.figures.live_bytes = site.figures.live_bytes * share / 8;
        }
        running
    };
    let moments: Vec<Profile> = (1..=8).map(later).collect();
    play(3, events(1_500), &moments, Options::default());
}

#[test]
fn random_keys_and_clicks_on_a_sampled_recording_never_panic() {
    let options = Options {
        light: true,
        sixteen_colours: true,
        ..Options::default()
    };
    play(
        4,
        events(1_500),
        &[heapglass_fixture::sampled(), fleet()],
        options,
    );
}

#[test]
fn profiles_that_come_and_go_under_random_keys_never_panic() {
    let small = {
        let mut small = profile();
        small.parts().sites.truncate(3);
        small.parts().threads.clear();
        small.parts().timeline.clear();
        small
    };
    let profiles = [
        profile(),
        fleet(),
        small,
        Profile::default(),
        broken(),
        broken_fleet(),
        moving(),
        with_made_up_snapshots(),
    ];
    for seed in 10..=11 {
        let options = Options {
            unicode: seed % 2 == 0,
            colour: false,
            ..Options::default()
        };
        play(seed, 2_000, &profiles, options);
    }
}

/// Invalid ids, invalid ranges, and names of zero or enormous width.
fn broken() -> Profile {
    let mut broken = profile();
    broken.parts().frames[0].function = FunctionId(u32::MAX);
    broken.parts().frames[1].module = u32::MAX;
    broken.parts().frames[2].line = Some(u32::MAX);
    broken.parts().functions[3].name = String::new();
    broken.parts().functions[4].name = "長い".repeat(5_000);
    broken.parts().functions[4].short = "長い".repeat(5_000);
    broken.parts().functions[5].short = "\u{200d}\u{301}".repeat(50);
    let stack = broken.add_stack(&[FrameId(u32::MAX)]);
    broken.parts().sites[0].stack = stack;
    broken.parts().sites[0].shown = 0..1;
    broken.parts().sites[1].owner = Some(FrameId(u32::MAX));
    broken.parts().sites[2].scope = ScopeId(u32::MAX);
    let stack = broken.add_stack(&[]);
    broken.parts().sites[3].stack = stack;
    broken.parts().sites[3].shown = 0..0;
    broken.parts().sites[5].figures.peak_bytes = u64::MAX;
    broken.parts().sites[6].figures.peak_bytes = u64::MAX;
    broken.parts().sites[7].figures.grows = u64::MAX;
    broken.parts().totals.peak_bytes = u64::MAX;
    broken.parts().timeline[0].time_ns = u64::MAX;
    broken.parts().timeline[1].live_bytes = u64::MAX;
    broken.parts().capture.peak_time_ns = u64::MAX;
    broken
}

/// Cyclic scopes, missing types, and impossible figures.
fn broken_fleet() -> Profile {
    let mut broken = fleet();
    let nowhere = TypeId(u32::MAX);
    let scopes = broken.scopes().len() as u32;
    for (at, scope) in broken.parts().scopes.iter_mut().enumerate() {
        match at % 5 {
            1 => scope.parent = scopes - 1,
            2 => scope.value_type = Some(nowhere),
            3 => scope.entered = u64::MAX,
            4 => scope.stayed_bytes = Some(i64::MIN),
            _ => scope.name = "長い\u{1b}".repeat(3_000),
        }
    }
    for site in broken.parts().sites.iter_mut().step_by(3) {
        site.contents = Some(heapglass_fixture::made!(Contents {
            container: nowhere,
            element: Some(nowhere),
            owner: Some(nowhere),
        }));
    }
    for name in broken.parts().types.iter_mut().step_by(4) {
        name.full.clear();
        name.short = "\u{200d}\u{301}".repeat(50);
    }
    for footprint in broken.parts().footprints {
        footprint.value_type = Some(nowhere);
        footprint.time_ns = u64::MAX;
        for node in footprint.nodes.iter_mut().skip(1).step_by(2) {
            node.parent = u32::MAX;
            node.figures.block_bytes = u64::MAX;
            node.figures.count = u64::MAX;
        }
    }
    if let Some(footprint) = broken.parts().footprints.first_mut() {
        footprint.nodes.clear();
    }
    broken
}
