//! Shows a recording that a program writes, and reads it again after each pause. For measuring what
//! reading costs; `heapglass FILE` reads every 700 ms.
//!
//! `cargo run --release -p heapglass-tui --example live FILE [MILLISECONDS]`

use std::path::PathBuf;
use std::time::Duration;

use heapglass_profiler::profile::{Profile, State};
use heapglass_profiler::{Early, OpenOptions, Progress, Session};
use heapglass_tui::{Options, Source};

struct Live {
    path: PathBuf,
    session: Session,
    is_live: bool,
}

impl Source for Live {
    fn title(&self) -> String {
        self.path.display().to_string()
    }

    fn load(
        &mut self,
        progress: &dyn Fn(&str),
        early: Option<Early<'_>>,
    ) -> Result<Profile, String> {
        let step = |_: Progress<'_>| progress("reading symbols");
        let loaded = self.session.load(&self.path, &step, early);
        let profile = loaded.map_err(|error| error.to_string())?;
        self.is_live = profile.process().state == State::Running;
        Ok(profile)
    }

    fn is_live(&self) -> bool {
        self.is_live
    }
}

fn main() -> Result<(), heapglass_tui::Error> {
    let mut words = std::env::args().skip(1);
    let path = words.next().expect("the path of a recording").into();
    let pause = words
        .next()
        .map_or(100, |word| word.parse().expect("milliseconds"));
    let source = Live {
        path,
        session: Session::new(OpenOptions::default()),
        is_live: true,
    };
    let options = Options {
        refresh: Duration::from_millis(pause),
        ..Options::from_env()
    };
    heapglass_tui::run(source, options)
}
