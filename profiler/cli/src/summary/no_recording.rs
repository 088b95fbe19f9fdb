//! The reason why a command recorded nothing, judged by its executables, and the lines to add.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use heapglass_profiler::units::printable;
use tracking_alloc_recording::mode;

use crate::files::search;

/// The name of the variable that tracking-alloc reads. Every program that links tracking-alloc
/// contains it.
const MARKER: &[u8] = b"HEAPGLASS_OUT";

/// Maximum number of bytes of an executable to search.
const LARGEST: u64 = 4 << 30;

/// The kind of an executable, judged by its contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Executable {
    /// A text that names its interpreter.
    Script,
    /// Neither a script nor a program of this system, or not readable.
    Other,
    Linked,
    NotLinked,
}

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

/// Returns lines that explain why nothing was recorded.
pub(super) fn why(executables: &[PathBuf]) -> String {
    let mut text = "heapglass: nothing was recorded".to_owned();
    let mut is_linked = false;
    for path in executables.iter().take(8) {
        let looks = look(path);
        is_linked |= looks == Executable::Linked;
        let why = match looks {
            Executable::Linked => format!(
                "contains tracking-alloc but did not record: {}",
                linked_but_silent(path)
            ),
            Executable::NotLinked => {
                "does not use tracking-alloc as its allocator, and started no program that records"
                    .to_owned()
            }
            Executable::Script => "is a script, and started no program that records".to_owned(),
            Executable::Other => {
                "cannot be inspected, and started no program that records".to_owned()
            }
        };
        let name = path.to_string_lossy();
        text.push_str(&format!("\n  {} {why}", printable(&name)));
    }
    if !is_linked {
        text.push_str(&advice());
    }
    text
}

/// Returns possible reasons why a program that could record did not.
fn linked_but_silent(path: &Path) -> String {
    let known = |word: &std::ffi::OsString| {
        word.is_empty() || word.to_str().and_then(mode::from_name).is_some()
    };
    if let Some(mode) = std::env::var_os("HEAPGLASS_MODE").filter(|mode| !known(mode)) {
        return format!(
            "unknown HEAPGLASS_MODE `{}`; use `exact` or `count`, or unset it",
            printable(&mode.to_string_lossy())
        );
    }
    if has_raised_privileges(path) {
        return "it runs with raised privileges (set-user-id) and so ignores the environment; \
                run it as its own user, or start a tracking_alloc::Recorder in it"
            .to_owned();
    }
    "it allocated nothing, its #[global_allocator] is in a library that was not linked, \
     it cleared its environment, or it printed the reason above"
        .to_owned()
}

fn has_raised_privileges(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|metadata| metadata.permissions().mode() & 0o6000 != 0)
}

fn look(path: &Path) -> Executable {
    let regular = path.metadata().is_ok_and(|metadata| metadata.is_file());
    let file = regular.then(|| File::open(path).ok()).flatten();
    let looks = file.map(|file| look_into(file.take(LARGEST)));
    looks.and_then(Result::ok).unwrap_or(Executable::Other)
}

fn look_into(mut file: impl Read) -> io::Result<Executable> {
    let mut head = Vec::new();
    file.by_ref().take(4).read_to_end(&mut head)?;
    let images: [&[u8]; 4] = [b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe", b"MZ"];
    Ok(if head.starts_with(b"#!") {
        Executable::Script
    } else if head.len() == 4 && !images.iter().any(|magic| head.starts_with(magic)) {
        Executable::Other
    } else if search::contains(file, MARKER)? {
        Executable::Linked
    } else {
        Executable::NotLinked
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn looks_of(bytes: &[u8]) -> Executable {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("program");
        std::fs::write(&path, bytes).unwrap();
        look(&path)
    }

    #[test]
    fn the_marker_is_found_across_pieces() {
        for at in [100, (1 << 20) - 5, 1 << 20, (1 << 20) + 7] {
            let mut bytes = b"\x7fELF".to_vec();
            bytes.resize(at, b'H');
            bytes.extend_from_slice(MARKER);
            assert_eq!(looks_of(&bytes), Executable::Linked, "{at}");
        }
    }

    #[test]
    fn a_script_a_program_without_it_and_something_else_are_told_apart() {
        assert_eq!(looks_of(b"#!/bin/sh\n# HEAPGLASS_OUT"), Executable::Script);
        assert_eq!(looks_of(b"\x7fELF and no more"), Executable::NotLinked);
        assert_eq!(looks_of(b"HEAPGLASS_OUT"), Executable::Other);
    }

    #[test]
    fn the_two_lines_to_add_are_there() {
        let text = why(&[]);
        assert!(text.contains("tracking-alloc = "), "{text}");
        assert!(text.contains("#[global_allocator]"), "{text}");
    }
}
