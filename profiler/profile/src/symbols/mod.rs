//! Turns raw frames into source frames, offline: from modules and addresses to functions with file
//! and line.
//!
//! The files of a module are found and checked to be of the build that ran (`locate`), opened as
//! hostile input (`image`), and read for debug information with inlined functions (`dwarf`) and for
//! their symbol table (`table`). The results are kept by build-id (`cache`). `classify` and
//! `trim` then determine the origin of each frame and the part of a stack that is worth showing.
//!
//! This module must never name a function from another build: an unresolved frame is better than a
//! wrong one.
//!
//! Out of scope: `.gnu_debugdata` (compressed symbol tables inside stripped binaries),
//! supplementary files made by `dwz`, and demangling of languages other than Rust and C++; such
//! frames keep the names in the symbol table.

mod cache;
mod classify;
mod dwarf;
mod error;
mod generated;
mod image;
mod interpreter;
mod locate;
mod module;
mod names;
mod role;
mod stored;
mod table;
mod trim;
mod wrappers;

pub(crate) use classify::{Classifier, is_preload_library, language, unresolved};
pub use dwarf::Slice;
pub(crate) use error::Error;
pub(crate) use generated::GeneratedNames;
pub(crate) use interpreter::{Interpreter, is_cpp_runtime, is_loader};
pub use locate::hex_all;
pub use module::{ThreadLocals, with_debug_information};
pub(crate) use role::{is_handed_over, role};
pub(crate) use stored::{Shared, StoredFrame, Strings, string_of};
pub(crate) use trim::{Part, asks_for_callers, trim};

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use crate::profile::SymbolSource;

/// Options that say where to look for symbols.
#[derive(Clone, Debug, Default)]
pub struct SymbolOptions {
    /// The main executable, if it is not where it ran (`--binary`).
    pub binary: Option<PathBuf>,
    /// Folders with debug files (`--debug-dir`): `.build-id/xx/yyyy.debug`, `NAME.debug`,
    /// `NAME.dwp`, `.dwo` files or the binaries themselves, with or without their folders.
    /// `/usr/lib/debug` is always looked at.
    pub debug_dirs: Vec<PathBuf>,
    /// Folder of the symbol cache, by build-id; `None` = no cache.
    /// [`OpenOptions::with_cache`](crate::OpenOptions::with_cache) chooses the user's.
    pub cache: Option<PathBuf>,
}

/// The identity of the build that ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Identity {
    /// GNU build-id (or Mach-O UUID), as bytes.
    BuildId(Vec<u8>),
    /// Length and time of a binary without a build-id.
    File {
        /// Length of the file, bytes.
        size: u64,
        /// Modification time, nanoseconds since the Unix epoch; 0 = unknown.
        mtime_ns: u64,
    },
    /// Unknown: any file at its path is accepted.
    None,
}

/// A loaded image. The first one given to `resolve` is the main executable.
#[derive(Clone, Debug)]
pub struct ModuleRef<'a> {
    /// Path in the target; a trailing ` (deleted)` is ignored.
    pub path: &'a str,
    /// The build that ran.
    pub identity: Identity,
}

/// A function at a place, inlined or not.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SourceFrame {
    /// The name for people: demangled, without the hash, with generics where they are known.
    pub function: Arc<str>,
    /// The linkage name, if there is one.
    pub raw: Option<Arc<str>>,
    /// Source file as the compiler named it, made absolute.
    pub file: Option<Arc<str>>,
    /// Line of the position in this function, from 1.
    pub line: Option<u32>,
    /// `true` if the compiler inlined it into the next outer frame.
    pub inlined: bool,
    /// `true` if the line is that of the function's declaration: a macro made all of it from one
    /// word, as a derive does, or it was written on one line.
    pub at_declaration: bool,
    /// The names of other functions with the same machine code: the compiler merges equal
    /// functions. Known only for Rust functions that are not inlined, and incomplete if there are
    /// very many.
    pub aliases: Vec<Arc<str>>,
}

impl SourceFrame {
    /// Returns `true` for a function of Rust that the symbol table alone names.
    pub(crate) fn is_name_only(&self) -> bool {
        let is_rust = self.raw.as_deref().is_some_and(names::is_rust);
        is_rust && self.file.is_none() && self.line.is_none() && !self.inlined
    }
}

/// The symbols that [`resolve`] found.
#[derive(Clone, Debug, Default)]
pub(crate) struct Symbols {
    /// The source frames of each raw frame, innermost first; empty = unresolved.
    pub frames: Vec<Vec<SourceFrame>>,
    /// The source of the symbols of each module.
    pub modules: Vec<SymbolSource>,
    /// Sentences for people: what is missing, why, and what to do.
    pub notes: Vec<String>,
}

/// The progress of reading symbols.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// The module at hand: its path in the target.
    pub module: &'a str,
    /// Compilation units of it that are done.
    pub done: usize,
    /// Compilation units of it to do; 0 while it is opened.
    pub total: usize,
}

/// The frames of one address: none where nothing names it.
#[derive(Clone, Debug)]
struct AddressFrames {
    /// `true` if the debug information names it; else the symbol table does.
    from_debug: bool,
    frames: Vec<SourceFrame>,
}

impl SymbolOptions {
    /// Removes files in the cache that this process began to write and will not finish, because it
    /// is about to end.
    pub fn remove_unfinished(&self) {
        if let Some(folder) = &self.cache {
            cache::forget_unfinished(folder);
        }
    }
}

/// `$XDG_CACHE_HOME/heapglass`, else `~/.cache/heapglass`; `None` without either.
pub(crate) fn default_cache_dir() -> Option<PathBuf> {
    let set = |name: &str| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let base = set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|home| home.join(".cache")))?;
    Some(base.join("heapglass"))
}

/// Names raw frames: (index of the module, *return* address less the module's load bias).
///
/// A return address is the instruction after the call, so the one before it is looked up. Frames
/// whose module does not exist stay unresolved. `progress` is called on this thread.
///
/// # Errors
/// Returns an error only if [`SymbolOptions::binary`] cannot be read, or is of another build than
/// the recorded one. [`Symbols::modules`] and [`Symbols::notes`] say what else is missing.
pub(crate) fn resolve(
    modules: &[ModuleRef<'_>],
    frames: &[(u32, u64)],
    options: &SymbolOptions,
    progress: &dyn Fn(Progress<'_>),
) -> Result<Symbols, Error> {
    let chosen = match &options.binary {
        Some(path) => locate::module_of_binary(path, modules)?,
        None => None,
    };
    let mut by_module: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (at, &(module, _)) in frames.iter().enumerate() {
        let module = module as usize;
        if module < modules.len() {
            by_module.entry(module).or_default().push(at);
        }
    }
    // A return address of 0 is none.
    let address_of = |at: usize| frames[at].1.checked_sub(1);
    let mut symbols = Symbols {
        frames: vec![Vec::new(); frames.len()],
        modules: vec![SymbolSource::NotNeeded; modules.len()],
        notes: Vec::new(),
    };
    for (id, positions) in by_module {
        let mut addresses: Vec<u64> = positions.iter().filter_map(|&at| address_of(at)).collect();
        addresses.sort_unstable();
        addresses.dedup();
        let binary = options.binary.as_deref().filter(|_| chosen == Some(id));
        let (source, known) = module::resolve(
            &modules[id],
            &addresses,
            binary,
            options,
            progress,
            &mut symbols.notes,
        );
        for at in positions {
            if let Some(found) = address_of(at).and_then(|address| known.get(&address)) {
                symbols.frames[at].clone_from(&found.frames);
            }
        }
        symbols.modules[id] = source;
    }
    Ok(symbols)
}

#[cfg(all(test, target_os = "linux"))]
mod tests;
