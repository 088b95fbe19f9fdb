//! Names of generated code: asks just-in-time compilers for them (`heapglass run --jit-names`), and
//! keeps in recordings what they wrote.

use std::io::Write;
use std::path::Path;
use std::process::Command;

use heapglass_profiler::{FoundNames, find_generated_names};

use crate::error::Error;
use crate::files::output::{PRIVATE, Temporary};
use crate::files::spool::KeptRecording;

/// The environment that makes run-times write maps of the names of their code: variable, value. If
/// the user has set the variable, the value is appended.
///
/// Others ignore these variables, and Java ignores options that it does not know.
const ENVIRONMENT: [(&str, &str); 3] = [
    (
        "NODE_OPTIONS",
        "--perf-basic-prof --interpreted-frames-native-stack",
    ),
    ("PYTHONPERFSUPPORT", "1"),
    (
        "JAVA_TOOL_OPTIONS",
        "-XX:+IgnoreUnrecognizedVMOptions -XX:+UnlockDiagnosticVMOptions -XX:+PreserveFramePointer \
         -XX:+DumpPerfMapAtExit",
    ),
];

/// Asks for names in the programs that a command starts.
pub(crate) fn ask(command: &mut Command) {
    for (variable, value) in ENVIRONMENT {
        match std::env::var_os(variable).filter(|known| !known.is_empty()) {
            None => _ = command.env(variable, value),
            Some(mut known) if value.starts_with('-') => {
                known.push(" ");
                known.push(value);
                command.env(variable, known);
            }
            // Not a list of options: the user has decided.
            Some(_) => {}
        }
    }
}

/// Returns `true` if the user asked for maps without heapglass, and so may want to keep them.
fn are_asked_elsewhere() -> bool {
    ENVIRONMENT.iter().any(|(variable, _)| {
        let value = std::env::var(variable).unwrap_or_default();
        let words = ["--perf-basic-prof", "--perf-prof", "DumpPerfMapAtExit"];
        *variable == "PYTHONPERFSUPPORT" && !value.is_empty()
            || words.iter().any(|word| value.contains(word))
    })
}

/// Keeps in each recording the names that its process wrote. If they were `asked` for, and by
/// nobody else, removes the file to which they were written. Returns the number of recordings with
/// names.
///
/// # Errors
/// Returns the first error if a recording cannot be read or replaced. It is unchanged then, and the
/// others have their names.
pub(crate) fn keep(recordings: &[KeptRecording], asked: bool) -> Result<usize, Error> {
    let mut with_names = 0;
    let mut maps = Vec::new();
    let mut failed = None;
    for kept in recordings.iter().filter(|kept| !kept.is_written) {
        let map = format!("/tmp/perf-{}.map", kept.pid);
        if !Path::new(&map).exists() {
            continue;
        }
        match keep_in(&kept.path) {
            Ok(None) => {}
            Ok(Some(found)) => {
                with_names += usize::from(!found.names.is_empty());
                maps.push(found.map);
            }
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    // A process that became another program has several recordings and one map.
    let is_ours = asked && failed.is_none() && !are_asked_elsewhere();
    for map in maps.iter().filter(|_| is_ours) {
        // It stays if it cannot be removed, as without heapglass.
        let _ = std::fs::remove_file(map);
    }
    match failed {
        Some(error) => Err(error),
        None => Ok(with_names),
    }
}

/// Keeps in a recording the names that its process wrote, and returns them.
fn keep_in(path: &Path) -> Result<Option<FoundNames>, Error> {
    let found = find_generated_names(path).map_err(Error::misuse)?;
    if let Some(found) = found.as_ref().filter(|found| !found.names.is_empty()) {
        put_into(path, &found.names)?;
    }
    Ok(found)
}

fn put_into(path: &Path, names: &[u8]) -> Result<(), Error> {
    let cannot = |error: std::io::Error| {
        Error::misuse(format_args!(
            "cannot put the names of generated code into {}: {error}",
            path.display()
        ))
    };
    let bytes = std::fs::read(path).map_err(cannot)?;
    let bytes =
        tracking_alloc_recording::with_generated_names(bytes, names).map_err(Error::misuse)?;
    let mut temporary = Temporary::beside(path, PRIVATE).map_err(cannot)?;
    temporary.file.write_all(&bytes).map_err(cannot)?;
    temporary.replace().map_err(cannot)
}
