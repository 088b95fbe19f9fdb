//! The reason why a command recorded nothing, judged by its executables, and the lines to add.

use std::path::{Path, PathBuf};

use heapglass_profiler::units::printable;
use tracking_alloc_recording::mode;

use crate::executable::{Executable, has_raised_privileges};

/// Returns the lines to add to a program that cannot record.
fn advice() -> String {
    format!(
        "
  Add the allocator to the program. While nothing records, it costs one extra load per call:
    Cargo.toml   [dependencies]    with the path of your checkout of heapglass
                 {}
    main.rs      #[global_allocator]
                 static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();
                 or, if you use another allocator:
                 static ALLOC: tracking_alloc::TrackingAlloc<YourAllocator> =
                     tracking_alloc::TrackingAlloc::new(YourAllocator);",
        tracking_alloc::__private::DEPENDENCY
    )
}

/// Returns lines that explain why nothing was recorded, with or without a preloaded library.
pub(super) fn why(executables: &[PathBuf], preloads: bool) -> String {
    let mut text = "heapglass: nothing was recorded".to_owned();
    if let Some(mode) = unknown_mode() {
        // No program records in it, whatever it contains.
        text.push_str(&format!(
            ": unknown HEAPGLASS_MODE `{}`; use `exact`, `sample` or `count`, or unset it",
            printable(&mode)
        ));
        return text;
    }
    let mut is_linked = false;
    let mut is_preloadable = false;
    for path in executables.iter().take(8) {
        let executable = Executable::of(path);
        is_linked |= executable.is_linked();
        is_preloadable |= Executable::interpreted(path).way().is_ok();
        let why = match executable {
            linked if linked.is_linked() => format!(
                "contains tracking-alloc but did not record: {}",
                linked_but_silent(path)
            ),
            _ if preloads => "did not record with the preloaded library: it cleared its \
                              environment, or printed the reason above"
                .to_owned(),
            Executable::Elf(_) | Executable::Foreign { .. } => {
                "does not use tracking-alloc as its allocator, and started no program that records"
                    .to_owned()
            }
            Executable::Script(_) => "is a script, and started no program that records".to_owned(),
            Executable::Other => {
                "cannot be inspected, and started no program that records".to_owned()
            }
        };
        let name = path.to_string_lossy();
        text.push_str(&format!("\n  {} {why}", printable(&name)));
    }
    if !is_linked {
        if is_preloadable && !preloads {
            text.push_str("\n  Record it as it is, without a change: heapglass run -- COMMAND");
        }
        text.push_str(&advice());
    }
    text
}

/// Returns the value of HEAPGLASS_MODE if it is no mode.
fn unknown_mode() -> Option<String> {
    let word = std::env::var_os("HEAPGLASS_MODE").filter(|word| !word.is_empty())?;
    let is_known = word.to_str().and_then(mode::from_name).is_some();
    (!is_known).then(|| word.to_string_lossy().into_owned())
}

/// Returns possible reasons why a program that could record did not.
fn linked_but_silent(path: &Path) -> String {
    if has_raised_privileges(path) {
        return "it runs with raised privileges (set-user-id) and so ignores the environment; \
                run it as its own user, or start a tracking_alloc::Recorder in it"
            .to_owned();
    }
    "it allocated nothing, its #[global_allocator] is in a library that was not linked, \
     it cleared its environment, or it printed the reason above"
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_lines_to_add_are_there() {
        let text = why(&[], false);
        assert!(text.contains("tracking-alloc = "), "{text}");
        assert!(text.contains("#[global_allocator]"), "{text}");
    }
}
