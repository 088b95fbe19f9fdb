//! The source of profiles. The command implements it for a recording, tests and examples for a
//! value.

use heapglass_profiler::Early;
use heapglass_profiler::profile::Profile;

/// A recording that can be loaded repeatedly while its program runs.
///
/// It moves to its own thread, so that loading never delays a key.
pub trait Source: Send + 'static {
    /// Returns the title for the header, usually the file name. Called at the start and after each
    /// load.
    fn title(&self) -> String;

    /// Reads and symbolizes the current state of the recording. `progress` takes one line about the
    /// current step, any number of times. If names take long, `early` may receive the profile
    /// without names, from any thread; it is shown until the one with names is ready.
    ///
    /// # Errors
    ///
    /// Returns a sentence that says what failed, on which file, and what to do. An error of the
    /// first load ends the UI. After a later one, the last profile stays, with the error.
    fn load(
        &mut self,
        progress: &dyn Fn(&str),
        early: Option<Early<'_>>,
    ) -> Result<Profile, String>;

    /// Returns `true` while loading again may give something new, because the program still runs.
    /// Called after each load.
    fn is_live(&self) -> bool;

    /// Takes a snapshot of the heap of the running program. Returns a sentence that says where it
    /// is. Profiles that are loaded afterwards should have it.
    ///
    /// # Errors
    ///
    /// Returns a sentence that says why there is none, and what to do.
    fn snapshot(&mut self) -> Result<String, String> {
        Err("no snapshot: this recording does not belong to a running program".to_owned())
    }
}
