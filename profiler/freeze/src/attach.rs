//! Attaching to a running program: its next allocations are recorded.

use crate::error::Error;
use crate::settings::{Answer, Caution, Settings};

/// Loads the library into a process and starts a recording.
///
/// # Errors
/// Returns an error if the process must be left alone, cannot be traced, or has no thread that is
/// safe to use. It goes on as before.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub fn attach(
    process: u32,
    settings: &Settings<'_>,
    caution: Caution<'_>,
) -> Result<Answer, Error> {
    let request = crate::inject::Request::Attach(settings);
    traced(|| crate::inject::inject(process, caution, request))
}

/// Finishes the recording of [`attach`].
///
/// # Errors
/// The same as for [`attach`]. Also if the library is not loaded.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub fn detach(process: u32, caution: Caution<'_>) -> Result<Answer, Error> {
    traced(|| crate::inject::inject(process, caution, crate::inject::Request::Detach))
}

/// Runs `work` in a thread that no signal interrupts. The kernel lets only the thread that traces
/// make requests, and lets the program go when that thread ends.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn traced(work: impl FnOnce() -> Result<Answer, Error> + Send) -> Result<Answer, Error> {
    let blocked = crate::ptrace::Blocked::all();
    let done = std::thread::scope(|scope| {
        std::thread::Builder::new()
            .name("tracer".to_owned())
            .spawn_scoped(scope, work)
            .map_err(|error| Error::Failed {
                what: "start a thread",
                error,
            })?
            .join()
            .unwrap_or(Err(Error::Late))
    });
    drop(blocked);
    done
}

/// Loads the library into a process and starts a recording.
///
/// # Errors
/// Returns [`Error::CannotAttach`] on this platform.
#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
pub fn attach(
    _process: u32,
    _settings: &Settings<'_>,
    _caution: Caution<'_>,
) -> Result<Answer, Error> {
    Err(Error::CannotAttach)
}

/// Finishes the recording of [`attach`].
///
/// # Errors
/// Returns [`Error::CannotAttach`] on this platform.
#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
pub fn detach(_process: u32, _caution: Caution<'_>) -> Result<Answer, Error> {
    Err(Error::CannotAttach)
}
