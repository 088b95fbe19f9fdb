//! Names of generated code: asks just-in-time compilers for them (`heapglass run --jit-names`), and
//! keeps in recordings what they wrote.

use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::process::Command;

use heapglass_profiler::find_generated_names;

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
        let mut whole = match std::env::var_os(variable) {
            Some(known) if !known.is_empty() && value.starts_with('-') => known,
            _ => OsString::new(),
        };
        if !whole.is_empty() {
            whole.push(" ");
        }
        whole.push(value);
        command.env(variable, whole);
    }
}

/// Keeps in each recording the names that its process wrote. If they were `asked` for, removes the
/// file to which they were written. Returns the number of recordings with names.
///
/// # Errors
/// Returns an error if a recording cannot be read or replaced. It is unchanged then.
pub(crate) fn keep(recordings: &[KeptRecording], asked: bool) -> Result<usize, Error> {
    let mut with_names = 0;
    let mut maps = Vec::new();
    for kept in recordings.iter().filter(|kept| !kept.is_written) {
        let map = format!("/tmp/perf-{}.map", kept.pid);
        if !Path::new(&map).exists() {
            continue;
        }
        let found = find_generated_names(&kept.path).map_err(Error::misuse)?;
        let Some(found) = found else {
            continue;
        };
        if !found.names.is_empty() {
            put_into(&kept.path, &found.names)?;
            with_names += 1;
        }
        maps.push(found.map);
    }
    // A process that became another program has several recordings and one map.
    for map in maps.iter().filter(|_| asked) {
        // It stays if it cannot be removed, as without heapglass.
        let _ = std::fs::remove_file(map);
    }
    Ok(with_names)
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
