//! `heapglass pause` and `heapglass resume`: pause and resume the recording of a running program.

use std::path::Path;

use crate::args::Wait;
use crate::error::Error;

#[cfg(not(target_os = "linux"))]
pub(super) fn run(_: &Path, _: Wait, _: bool) -> Result<(), Error> {
    Err(Error::misuse("programs are only recorded on Linux"))
}

#[cfg(target_os = "linux")]
pub(super) fn run(target: &Path, wait: Wait, is_paused: bool) -> Result<(), Error> {
    use heapglass_profiler::attach::{Followed, set_paused};
    use heapglass_profiler::units::Nanos;

    use crate::files::live;
    use crate::{summary, terminal};

    let live = live::find(target)?;
    let path = live.path.display();
    let patience = wait.patience();
    let followed = set_paused(&live.path, is_paused, patience).map_err(Error::misuse)?;
    terminal::eprint_line(match (followed, is_paused) {
        (Followed::Yes(ns), true) => format!(
            "{path}: paused since {}; to go on: heapglass resume {}",
            Nanos(ns),
            summary::quoted(&live.path)
        ),
        (Followed::Yes(_), false) => format!("{path}: recording again"),
        (Followed::NotYet { quiet_since_ns }, _) => {
            let does = if is_paused {
                "pauses the recording"
            } else {
                "records again"
            };
            format!("{path}: {}", live::not_yet(quiet_since_ns, does))
        }
    });
    Ok(())
}
