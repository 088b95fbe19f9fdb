//! The decision how `run` records a command, and what the summary says about it.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use super::{in_front, library};
use crate::error::Error;
use crate::executable::{self, Executable, Refusal, Way};

/// The user's choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// By the program file: preload unless it links tracking-alloc.
    ByProgram,
    /// Preload, whatever the program links (`--preload`). The library does nothing in a program
    /// that links tracking-alloc.
    Always {
        /// `true` to record the programs that it starts too (`--children`).
        with_children: bool,
    },
    /// Do not preload (`--no-preload`).
    Never,
}

/// The way to record a command.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    variables: Vec<(&'static str, OsString)>,
    /// A sentence for the summary. `None` if nothing is said, because only programs that link
    /// tracking-alloc are recorded.
    pub(crate) how: Option<String>,
}

impl Plan {
    /// Makes a plan for an executable.
    ///
    /// # Errors
    /// Returns an error if the library is to be preloaded but cannot record the program or cannot
    /// be written.
    pub(crate) fn of(executable: &Path, choice: Choice) -> Result<Plan, Error> {
        if choice == Choice::Never {
            return Ok(Plan::default());
        }
        let decides = choice == Choice::ByProgram;
        match Executable::interpreted(executable).way() {
            Ok(Way::Linked) if decides => return Ok(Plan::default()),
            Ok(_) => {}
            // The system says more about a file that it does not start.
            Err(Refusal::Unreadable | Refusal::NotLinux) if decides => return Ok(Plan::default()),
            Err(refusal) => {
                return Err(Error::misuse(format_args!(
                    "cannot record {}: {refusal}; with --no-preload it runs, and only programs with tracking-alloc that it starts are recorded",
                    executable.display()
                )));
            }
        }
        let library = match library() {
            Ok(library) => library,
            Err(reason) if decides => {
                return Ok(Plan {
                    how: Some(format!("only programs that link tracking-alloc: {reason}")),
                    ..Plan::default()
                });
            }
            Err(reason) => return Err(Error::misuse(reason)),
        };
        // Another allocator goes on working behind ours.
        let mut variables = vec![("LD_PRELOAD", in_front(library))];
        let with_children = choice
            == (Choice::Always {
                with_children: true,
            });
        if with_children {
            variables.push(("HEAPGLASS_CHILDREN", "1".into()));
        }
        Ok(Plan {
            variables,
            how: Some(how(with_children)),
        })
    }

    /// Returns `true` if the library is preloaded.
    pub(crate) fn preloads(&self) -> bool {
        !self.variables.is_empty()
    }

    /// Sets the variables.
    pub(crate) fn apply(&self, command: &mut Command) {
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
    }
}

/// Returns how the preloaded library records a program.
fn how(with_children: bool) -> String {
    let children = if with_children {
        "; also of the programs that it starts"
    } else {
        "; --children also records the programs that it starts"
    };
    format!("malloc and free of programs without tracking-alloc, by a preloaded library{children}")
}

/// Returns sentences about what the preloaded library did not see of a program that it recorded.
/// `allocator` is the name that the recording has for the program's allocators.
pub(crate) fn not_seen(program: &Path, allocator: &str) -> Vec<String> {
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    let mut notes = Vec::new();
    let is_by_libraries = Executable::of(program).way() == Ok(Way::Libraries);
    if is_by_libraries {
        notes.push(format!(
            "{name} has a malloc of its own: only what its libraries allocate is recorded"
        ));
    }
    // Then its malloc is that allocator, and what its libraries ask of it is recorded.
    let hidden = executable::hidden_allocator(program).filter(|_| !is_by_libraries);
    if let Some(hidden) = hidden.filter(|hidden| !allocator.contains(hidden)) {
        let instead = if executable::has_symbols(program) {
            ""
        } else {
            "build it with its symbol table (no `strip` in its cargo profile), or "
        };
        notes.push(format!(
            "{name} contains {hidden}: its C part is recorded, but not the blocks of {hidden}, as a rule its Rust part; to see them, {instead}add tracking-alloc to it (three lines)"
        ));
    }
    if name.starts_with("python") && std::env::var_os("PYTHONMALLOC").is_none() {
        notes.push(format!(
            "{name} keeps its objects in arenas of its own; to see each of them, run it with PYTHONMALLOC=malloc"
        ));
    }
    notes
}
