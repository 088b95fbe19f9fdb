//! One dump at a time, shared by all who ask for it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use heapglass_profile::pprof::{PprofOptions, write_pprof};
use heapglass_profile::profile::{Measure, Profile};
#[cfg(feature = "flamegraph")]
use heapglass_profile::question::Question;
use heapglass_profile::{OpenOptions, Session, on_this_thread};
#[cfg(feature = "flamegraph")]
use heapglass_profiler::flamegraph::write_svg;
use heapglass_recorder::{PassedOver, Recording};

use crate::Error;

/// The time for which a profile that was read is returned again.
const FRESH: Duration = Duration::from_secs(1);

/// The names of more frames than this are not kept between dumps. A frame takes about 200 bytes
/// with its name and place.
const KEPT_FRAMES: usize = 100_000;

/// The documents that are made of a profile.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Pprof,
    #[cfg(feature = "flamegraph")]
    Flamegraph,
}

/// The documents that were made last.
struct Dump {
    began: Instant,
    /// A forked child may have a recording of its own.
    process: u32,
    made: Vec<(Kind, Arc<[u8]>)>,
}

struct State {
    session: Option<Session>,
    dump: Option<Dump>,
}

static STATE: Mutex<State> = Mutex::new(State {
    session: None,
    dump: None,
});

/// Returns a document of this process's recording.
///
/// NOTE: everything that is allocated in a dump must be freed in one, so that neither counts. The
/// caller gets copies, which count as its own.
pub(crate) fn bytes(kind: Kind) -> Result<Vec<u8>, Error> {
    let recording = Recording::current().ok_or(Error::NotRecording)?;
    let made = passed_over(|| {
        let path = recording.path().ok_or_else(|| {
            "the recording is in memory; record to a file to have profiles of it".to_owned()
        })?;
        on_this_thread(|| document(&path, kind))
    });
    let copied = match &made {
        Ok(shared) => Ok(shared.to_vec()),
        Err(why) => Err(Error::Unreadable(why.as_str().to_owned())),
    };
    passed_over(|| drop(made));
    copied
}

fn passed_over<R>(work: impl FnOnce() -> R) -> R {
    let _passed_over = PassedOver::begin();
    work()
}

fn document(path: &Path, kind: Kind) -> Result<Arc<[u8]>, String> {
    let asked = Instant::now();
    let mut state = STATE.lock().unwrap_or_else(PoisonError::into_inner);
    let made = catch_unwind(AssertUnwindSafe(|| state.document(path, kind, asked)));
    made.unwrap_or_else(|_| {
        Err("the recording could not be read because of an error in heapglass".to_owned())
    })
}

impl Dump {
    /// Returns `true` if it is the answer to a request of that moment. A request may have waited
    /// for this dump, which takes longer than [`FRESH`] in a large program.
    fn is_fresh(&self, asked: Instant) -> bool {
        asked.saturating_duration_since(self.began) < FRESH
    }
}

impl State {
    fn document(&mut self, path: &Path, kind: Kind, asked: Instant) -> Result<Arc<[u8]>, String> {
        let process = std::process::id();
        let is_right = |dump: &Dump| dump.process == process && dump.is_fresh(asked);
        let mut dump = self.dump.take().filter(is_right).unwrap_or_else(|| Dump {
            began: Instant::now(),
            process,
            made: Vec::new(),
        });
        let known = dump.made.iter().find(|(of, _)| *of == kind);
        let made = match known {
            Some((_, made)) => Arc::clone(made),
            None => {
                let made: Arc<[u8]> = make(&self.read(path)?, kind)?.into();
                dump.made.push((kind, Arc::clone(&made)));
                made
            }
        };
        self.dump = Some(dump);
        Ok(made)
    }

    fn read(&mut self, path: &Path) -> Result<Profile, String> {
        // Without a cache of symbols in files: a program must not write what nobody asked for.
        let mut session = self
            .session
            .take()
            .unwrap_or_else(|| Session::new(OpenOptions::default()));
        let profile = session
            .load(path, &|_| (), None)
            .map_err(|error| error.to_string())?;
        if profile.frames().len() <= KEPT_FRAMES {
            self.session = Some(session);
        }
        Ok(profile)
    }
}

fn make(profile: &Profile, kind: Kind) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    match kind {
        Kind::Pprof => {
            let options = PprofOptions {
                measure: Measure::Live,
                is_for_services: true,
                ..PprofOptions::default()
            };
            write_pprof(profile, &options, &mut bytes).map(drop)
        }
        #[cfg(feature = "flamegraph")]
        Kind::Flamegraph => {
            let question = Question {
                measure: Measure::Live,
                ..Question::default()
            };
            write_svg(profile, &question, &mut bytes).map(drop)
        }
    }
    .map_err(|error| error.to_string())?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_waits_for_a_slow_dump_gets_it() {
        let began = Instant::now();
        let dump = Dump {
            began,
            process: std::process::id(),
            made: Vec::new(),
        };
        assert!(dump.is_fresh(began));
        assert!(dump.is_fresh(began + FRESH / 2));
        assert!(!dump.is_fresh(began + FRESH));
        // A request that waited for another dump before.
        if let Some(asked) = began.checked_sub(FRESH * 10) {
            assert!(dump.is_fresh(asked));
        }
    }
}
