//! `heapglass pause` and `heapglass resume`: pause and resume the recording of a running program.

use std::path::Path;

use crate::error::Error;

#[cfg(not(target_os = "linux"))]
pub(super) fn run(_: &Path, _: bool) -> Result<(), Error> {
    Err(Error::misuse("programs are only recorded on Linux"))
}

#[cfg(target_os = "linux")]
pub(super) fn run(target: &Path, is_paused: bool) -> Result<(), Error> {
    use std::time::Duration;

    use heapglass_profiler::attach::set_paused;
    use heapglass_profiler::units::Nanos;

    use crate::files::live;
    use crate::{summary, terminal};

    const PATIENCE: Duration = Duration::from_secs(1);

    let live = live::find(target)?;
    let path = live.path.display();
    let followed = set_paused(&live.path, is_paused, PATIENCE).map_err(Error::misuse)?;
    terminal::eprint_line(match (followed, is_paused) {
        (Some(ns), true) => format!(
            "{path}: paused since {}; to go on: heapglass resume {}",
            Nanos(ns),
            summary::quoted(&live.path)
        ),
        (Some(_), false) => format!("{path}: recording again"),
        (None, true) => format!(
            "{path}: the program pauses the recording soon: when its live bytes next fall from a new \
             maximum or change by 32 KiB"
        ),
        (None, false) => {
            format!("{path}: records again from the next allocation of the program on")
        }
    });
    Ok(())
}
