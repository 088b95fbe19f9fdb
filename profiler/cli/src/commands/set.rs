//! `heapglass set`: changes the mode of a running program's recording.

use crate::args::Set;
use crate::error::Error;

#[cfg(not(target_os = "linux"))]
pub(super) fn run(_: &Set) -> Result<(), Error> {
    Err(Error::misuse("programs are only recorded on Linux"))
}

#[cfg(target_os = "linux")]
pub(super) fn run(args: &Set) -> Result<(), Error> {
    use heapglass_profiler::attach::{Followed, set_sampling};
    use heapglass_profiler::units::Bytes;
    use tracking_alloc_recording::{change_refused, mode};

    use crate::files::live;
    use crate::terminal;

    match mode::from_name(&args.mode) {
        Some(mode::SAMPLE) => {}
        Some(mode::EXACT) => {
            return Err(Error::misuse(format_args!(
                "a recording cannot become exact: {}",
                change_refused::reason(change_refused::EXACT_AFTER_SAMPLES)
            )));
        }
        _ => {
            return Err(Error::misuse(format_args!(
                "a recording cannot change to mode `{}`; use `--mode sample`",
                args.mode
            )));
        }
    }
    let live = live::find(&args.target)?;
    let path = live.path.display();
    let followed =
        set_sampling(&live.path, args.sample_bytes, args.wait.patience()).map_err(Error::misuse)?;
    terminal::eprint_line(match followed {
        Followed::Yes(mean) => format!(
            "{path}: takes one sample for each {} allocated on average",
            Bytes(mean)
        ),
        Followed::NotYet { quiet_since_ns } => {
            let does = "begins to sample";
            format!("{path}: {}", live::not_yet(quiet_since_ns, does))
        }
    });
    Ok(())
}
