//! Where profiles come from. The command implements it over a recording; tests and examples over a value.

use heapglass_profiler::Early;
use heapglass_profiler::profile::Profile;

/// A recording that can be loaded, again and again while its program still runs.
///
/// It is moved to a thread of its own, so that loading never blocks a key.
pub trait Source: Send + 'static {
    /// What the header calls it, usually the file name. Asked at the start and after each load.
    fn title(&self) -> String;

    /// Reads and symbolizes it as it is now. `progress` takes one line saying what is being done, as often as wanted.
    /// Where names take long, `early` may be given the profile without them, from any thread: it is shown until the one
    /// with names is there.
    ///
    /// # Errors
    ///
    /// A sentence that says what was being done, to which file, and what to do next. The first load's error ends the
    /// UI; a later one is shown and the last profile stays.
    fn load(
        &mut self,
        progress: &dyn Fn(&str),
        early: Option<Early<'_>>,
    ) -> Result<Profile, String>;

    /// Whether loading again may give something new: the program still runs. Asked after each load.
    fn is_live(&self) -> bool;
}
