//! Tests of the whole main loop: a source on its own thread, scripted events, a test terminal.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use heapglass_fixture as fixture;
use heapglass_profiler::Early;
use heapglass_profiler::profile::{Profile, State};
use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::events::Events;
use super::loader::Loader;
use super::main_loop;
use crate::app::App;
use crate::{Error, Options, Source};

/// The result of one load.
type Answer = fn(u64) -> Result<Profile, String>;

/// A source that counts its loads.
struct Scripted {
    answer: Answer,
    live: fn(u64) -> bool,
    loads: Arc<AtomicU64>,
}

impl Source for Scripted {
    fn title(&self) -> String {
        format!("scripted-{}.hg", self.loads.load(Ordering::SeqCst))
    }

    fn load(&mut self, progress: &dyn Fn(&str), _: Option<Early<'_>>) -> Result<Profile, String> {
        let loads = self.loads.fetch_add(1, Ordering::SeqCst) + 1;
        progress("reading scripted.hg");
        (self.answer)(loads)
    }

    fn is_live(&self) -> bool {
        (self.live)(self.loads.load(Ordering::SeqCst))
    }
}

/// Presses its keys after enough loads, then quits. Panics if that takes too long.
struct Script {
    keys: VecDeque<KeyCode>,
    after_loads: u64,
    loads: Arc<AtomicU64>,
    patience: u32,
    /// The number of loads before each key.
    seen: Vec<u64>,
    /// The number of times that the process would have been stopped.
    suspended: u32,
}

impl Events for Script {
    fn next(&mut self, patience: Duration) -> Result<Option<Event>, Error> {
        if patience.is_zero() {
            return Ok(None);
        }
        self.patience = self
            .patience
            .checked_sub(1)
            .expect("the script ends within its patience");
        std::thread::sleep(Duration::from_millis(2));
        if self.loads.load(Ordering::SeqCst) < self.after_loads {
            return Ok(None);
        }
        self.seen.push(self.loads.load(Ordering::SeqCst));
        let key = self.keys.pop_front().unwrap_or(KeyCode::Char('q'));
        let modifiers = match key {
            KeyCode::Char('z') => KeyModifiers::CONTROL,
            _ => KeyModifiers::NONE,
        };
        Ok(Some(Event::Key(KeyEvent::new(key, modifiers))))
    }

    fn suspend(&mut self) -> Result<(), Error> {
        self.suspended += 1;
        Ok(())
    }

    fn edit(&mut self, path: &Path, line: Option<u32>) -> Result<String, Error> {
        Ok(format!("edited {} at {line:?}", path.display()))
    }

    fn copy(&mut self, _: &str) -> Result<(), Error> {
        Ok(())
    }
}

/// Runs the loop. Returns its result, the app, and the number of loads before each key.
fn run(
    answer: Answer,
    live: fn(u64) -> bool,
    after_loads: u64,
    keys: &[KeyCode],
) -> (Result<(), Error>, App, Vec<u64>) {
    let loads = Arc::new(AtomicU64::new(0));
    let source = Scripted {
        answer,
        live,
        loads: Arc::clone(&loads),
    };
    let options = Options {
        refresh: Duration::from_millis(1),
        ..Options::default()
    };
    let mut app = App::new(source.title(), options);
    let mut terminal = Terminal::new(TestBackend::new(80, 24)).expect("a test terminal");
    let loader = Loader::start(source, &app.options, app.tree_options());
    let mut script = Script {
        keys: keys.iter().copied().collect(),
        after_loads,
        loads: Arc::clone(&loads),
        patience: 5_000,
        seen: Vec::new(),
        suspended: 0,
    };
    let result = main_loop(&mut terminal, &mut script, &loader, &mut app);
    let asked = keys.iter().filter(|key| **key == KeyCode::Char('z'));
    assert_eq!(asked.count() as u32, script.suspended);
    (result, app, script.seen)
}

fn good(_: u64) -> Result<Profile, String> {
    Ok(fixture::profile())
}

#[test]
fn a_finished_recording_is_loaded_once_and_q_ends_the_loop() {
    let (result, app, loads) = run(good, |_| false, 1, &[KeyCode::Null; 300]);
    result.expect("quit");
    assert!(app.data.is_some());
    assert_eq!(loads.last(), Some(&1));
    assert_eq!(
        app.title, "scripted-1.hg",
        "the title may be known only after a load"
    );
}

#[test]
fn control_z_suspends_before_and_after_the_first_load_and_the_loop_goes_on() {
    for after_loads in [0, 1] {
        let keys = [KeyCode::Char('z'), KeyCode::Null, KeyCode::Char('z')];
        let (result, app, _) = run(good, |_| false, after_loads, &keys);
        result.expect("quit");
        assert!(app.requests.is_empty());
    }
}

#[test]
fn a_key_can_quit_while_the_first_load_still_runs() {
    let slow: Answer = |_| {
        std::thread::sleep(Duration::from_millis(300));
        Err("never waited for".into())
    };
    let (result, app, _) = run(slow, |_| false, 0, &[]);
    result.expect("quit");
    assert!(app.data.is_none());
}

#[test]
fn the_first_load_that_fails_ends_the_loop_with_its_own_words() {
    let (result, ..) = run(
        |_| Err("out.hg is no recording".into()),
        |_| false,
        u64::MAX,
        &[],
    );
    let error = result.expect_err("the load failed");
    assert!(error.is_load());
    assert_eq!(error.to_string(), "out.hg is no recording");
}

#[test]
fn a_load_that_panics_ends_the_loop_with_an_error() {
    let (result, ..) = run(|_| panic!("a bug"), |_| false, u64::MAX, &[]);
    let error = result.expect_err("the load panicked");
    assert!(
        !error.is_load() && error.to_string().contains("a bug"),
        "{error}"
    );
}

#[test]
fn a_live_recording_is_loaded_until_it_ends_and_then_once_more() {
    let running: Answer = |loads| {
        let mut profile = fixture::profile();
        // The fifth load sees a running program, and right after it has ended. The last events are
        // still to be read.
        profile.parts().process.state = if loads <= 5 {
            State::Running
        } else {
            State::Finished
        };
        Ok(profile)
    };
    let (result, app, loads) = run(running, |loads| loads < 5, 6, &[KeyCode::Null; 300]);
    result.expect("quit");
    assert_eq!(loads.last(), Some(&6));
    assert!(!app.live);
    assert_eq!(
        app.data.expect("loaded").profile.process().state,
        State::Finished
    );
}

#[test]
fn a_paused_live_recording_is_not_loaded() {
    // Press space after the third load, then wait long enough for many more. The first key gives
    // the loop a turn to see the loaded profile.
    let mut keys = vec![KeyCode::Null, KeyCode::Char(' ')];
    keys.extend([KeyCode::Null; 200]);
    let (result, app, loads) = run(good, |_| true, 3, &keys);
    result.expect("quit");
    assert!(app.paused);
    // One load may have been in progress.
    assert!(loads[200] - loads[100] <= 1, "{loads:?}");
}

#[test]
fn a_reload_that_fails_keeps_what_was_loaded_and_tries_again() {
    let flaky: Answer = |loads| {
        if loads == 2 {
            Err("half written".into())
        } else {
            Ok(fixture::profile())
        }
    };
    let (result, app, loads) = run(flaky, |_| true, 4, &[]);
    result.expect("quit");
    assert!(loads.last() >= Some(&4) && app.data.is_some());
}

/// Returns the profile of a program that allocates more with each load, every 0.1 s.
fn growing(loads: u64) -> Result<Profile, String> {
    let mut profile = fixture::profile();
    profile.parts().process.state = State::Running;
    profile.parts().process.duration_ns = 2_000_000_000 + loads * 100_000_000;
    if let Some(site) = profile.parts().sites.first_mut() {
        site.figures.total_bytes += loads * 102_400;
        site.figures.total_blocks += loads * 5;
    }
    Ok(profile)
}

#[test]
fn owners_of_a_running_program_have_rates() {
    let (result, app, _) = run(growing, |_| true, 4, &[KeyCode::Null; 20]);
    result.expect("quit");
    let data = app.data.expect("loaded");
    let rate = data
        .rate("City::visit_name")
        .expect("the first site's owner");
    assert_eq!(rate.bytes_text(), "1000.0 KiB/s");
    assert_eq!(rate.blocks_text(), "50");
    assert!(data.rate("load::open").is_none(), "nothing new");
}

#[test]
fn the_base_can_be_now_while_the_program_runs() {
    let mut keys = vec![KeyCode::Null, KeyCode::Char('B')];
    keys.extend([KeyCode::Null; 100]);
    let (result, app, _) = run(growing, |_| true, 3, &keys);
    result.expect("quit");
    let data = app.data.expect("loaded");
    let base = data.base.as_ref().expect("a base");
    assert!(base.name.starts_with("this program at 2."), "{}", base.name);
    let before = base.profile.process().duration_ns;
    assert!(before < data.profile.process().duration_ns);
    // What the program lost is said once, of the profile that is shown.
    assert!(!data.profile.losses().is_empty());
    assert_eq!(data.warnings, [""; 0]);
}

#[test]
fn a_finished_program_has_no_base_of_now() {
    let keys = [KeyCode::Null, KeyCode::Char('B')];
    let (result, app, _) = run(good, |_| false, 1, &keys);
    result.expect("quit");
    assert!(app.data.expect("loaded").base.is_none());
}
