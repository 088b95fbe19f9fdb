//! The plan of `run --preload` for a command: the variables to set, and what the summary says.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use super::library;
use crate::error::Error;
use crate::executable::{Executable, Way};

/// The plan for recording a command by the preloaded library.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    variables: Vec<(&'static str, OsString)>,
    /// Sentences for the summary about what is not seen.
    pub(crate) notes: Vec<String>,
}

impl Plan {
    /// Makes a plan for an executable. `with_children` also records the programs that it starts.
    ///
    /// # Errors
    /// Returns an error if the library cannot record it, or cannot be written.
    pub(crate) fn of(executable: &Path, with_children: bool) -> Result<Plan, Error> {
        let found = Executable::interpreted(executable);
        let way = found.way().map_err(|refusal| {
            Error::misuse(format_args!(
                "cannot record {} with --preload: {refusal}",
                executable.display()
            ))
        })?;
        let mut plan = Plan::default();
        match way {
            Way::Linked => plan.notes.push(
                "the program links tracking-alloc, which records it; the preloaded library does nothing in it"
                    .to_owned(),
            ),
            Way::Preload => {}
            Way::Libraries => plan.notes.push(
                "the program has a malloc of its own: only what its libraries allocate is recorded"
                    .to_owned(),
            ),
        }
        if let (Executable::Elf(elf), Way::Preload | Way::Libraries) = (&found, way)
            && let Some(allocator) = elf.allocator
        {
            plan.notes.push(format!(
                "the program contains {allocator}, whose blocks the preloaded library does not see; add tracking-alloc to see them (three lines)"
            ));
        }
        let name = executable.file_name().unwrap_or_default();
        if name.to_string_lossy().starts_with("python")
            && std::env::var_os("PYTHONMALLOC").is_none()
        {
            plan.notes.push(
                "Python keeps its objects in arenas of its own; set PYTHONMALLOC=malloc to see each of them"
                    .to_owned(),
            );
        }
        let library = library().map_err(Error::misuse)?;
        let mut value = library.into_os_string();
        if let Some(others) = std::env::var_os("LD_PRELOAD").filter(|others| !others.is_empty()) {
            // Another allocator goes on working behind ours.
            value.push(":");
            value.push(others);
        }
        plan.variables.push(("LD_PRELOAD", value));
        if with_children {
            plan.variables.push(("HEAPGLASS_CHILDREN", "1".into()));
        }
        Ok(plan)
    }

    /// Sets the variables.
    pub(crate) fn apply(&self, command: &mut Command) {
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
    }
}
