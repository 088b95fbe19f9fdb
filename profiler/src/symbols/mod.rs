//! Raw frames to source frames, offline: modules and addresses in, functions with file and line out.
//!
//! The files of a module are found and checked to be of the build that ran (`locate`), opened as hostile input
//! (`image`), read for debug information with inlined functions (`dwarf`) and for their symbol table (`table`), and
//! what was learnt is kept by build-id (`cache`). [`classify`] and [`trim`] then say whose code a frame is and
//! which part of a stack is worth showing.
//!
//! It must never name a function from another build: an unresolved frame is better than a wrong one.
//!
//! Out of scope: `.gnu_debugdata` (compressed symbol tables inside stripped binaries), supplementary files made by
//! `dwz`, and demangling of anything but Rust; such frames keep the names the symbol table has.

mod cache;
mod classify;
mod dwarf;
mod error;
mod image;
mod locate;
mod names;
mod short;
mod table;
mod trim;

pub use classify::{Classifier, unresolved};
pub use error::Error;
pub use trim::trim;

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::profile::SymbolSource;
use locate::Files;
use table::Table;

/// Where to look for symbols.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The main executable, if it is not where it ran (`--binary`).
    pub binary: Option<PathBuf>,
    /// Folders with debug files (`--debug-dir`): `.build-id/xx/yyyy.debug`, `NAME.debug`, `NAME.dwp`, `.dwo` files or
    /// the binaries themselves, with or without their folders. `/usr/lib/debug` is always looked at.
    pub debug_dirs: Vec<PathBuf>,
    /// Folder to keep symbols in, by build-id; `None`: nothing is kept. See [`default_cache_dir`].
    pub cache: Option<PathBuf>,
}

/// What tells the image that ran from other builds of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Identity {
    /// GNU build-id (or Mach-O UUID), as bytes.
    BuildId(Vec<u8>),
    /// For binaries without a build-id.
    File {
        /// Length of the file, bytes.
        size: u64,
        /// Modification time, nanoseconds since the Unix epoch; 0 = unknown.
        mtime_ns: u64,
    },
    /// Nothing is known: any file at its path is taken.
    None,
}

/// A loaded image. The first one given to [`resolve`] is the main executable.
#[derive(Clone, Debug)]
pub struct ModuleRef<'a> {
    /// Path in the target; a trailing ` (deleted)` is ignored.
    pub path: &'a str,
    /// Which build of it ran.
    pub identity: Identity,
}

/// A function at a place, inlined or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFrame {
    /// For people: demangled, without the hash, with generics where they are known.
    pub function: Arc<str>,
    /// The linkage name, where there is one.
    pub raw: Option<Arc<str>>,
    /// Source file as the compiler named it, made absolute.
    pub file: Option<Arc<str>>,
    /// Line of the position in this function, from 1.
    pub line: Option<u32>,
    /// Whether the compiler inlined it into the next outer frame.
    pub inlined: bool,
}

/// What [`resolve`] found.
#[derive(Clone, Debug, Default)]
pub struct Symbols {
    /// For each raw frame its source frames, innermost first; empty = unresolved.
    pub frames: Vec<Vec<SourceFrame>>,
    /// For each module where its symbols came from.
    pub modules: Vec<SymbolSource>,
    /// Sentences for people: what is missing, why, and what to do.
    pub notes: Vec<String>,
}

/// How far [`resolve`] is.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// The module at hand: its path in the target.
    pub module: &'a str,
    /// Compilation units of it that are done.
    pub done: usize,
    /// Compilation units of it to do; 0 while it is opened.
    pub total: usize,
}

/// How an address got its names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum How {
    Unresolved = 0,
    Table = 1,
    Debug = 2,
}

impl How {
    fn from_byte(byte: u8) -> Option<How> {
        [How::Unresolved, How::Table, How::Debug]
            .into_iter()
            .find(|&how| how as u8 == byte)
    }
}

/// The frames of one address.
#[derive(Clone, Debug)]
struct Resolved {
    how: How,
    frames: Vec<SourceFrame>,
}

/// `$XDG_CACHE_HOME/heapglass`, else `~/.cache/heapglass`; `None` without either.
pub fn default_cache_dir() -> Option<PathBuf> {
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
/// A return address is the instruction after the call, so the one before it is looked up. Frames whose module does
/// not exist stay unresolved. `progress` is called on this thread.
///
/// # Errors
/// Only about [`Options::binary`]: it cannot be read, or it is of another build than the one recorded
/// ([`Error::is_mismatch`]). Anything else that is missing is said in [`Symbols::modules`] and [`Symbols::notes`].
pub fn resolve(
    modules: &[ModuleRef<'_>],
    frames: &[(u32, u64)],
    options: &Options,
    progress: &dyn Fn(Progress<'_>),
) -> Result<Symbols, Error> {
    let chosen = match &options.binary {
        Some(path) => locate::module_of_binary(path, modules)?,
        None => None,
    };
    let mut by_module: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (at, &(module, _)) in frames.iter().enumerate() {
        if let Some(module) = usize::try_from(module)
            .ok()
            .filter(|&module| module < modules.len())
        {
            by_module.entry(module).or_default().push(at);
        }
    }
    let mut symbols = Symbols {
        frames: vec![Vec::new(); frames.len()],
        modules: vec![SymbolSource::NotNeeded; modules.len()],
        notes: Vec::new(),
    };
    for (id, positions) in by_module {
        let module = &modules[id];
        let mut addresses: Vec<u64> = positions
            .iter()
            .filter_map(|&at| frames[at].1.checked_sub(1))
            .collect();
        addresses.sort_unstable();
        addresses.dedup();
        let binary = options.binary.as_deref().filter(|_| chosen == Some(id));
        let (source, resolved) = resolve_module(
            module,
            &addresses,
            binary,
            options,
            progress,
            &mut symbols.notes,
        );
        for at in positions {
            if let Some(found) = frames[at]
                .1
                .checked_sub(1)
                .and_then(|address| resolved.get(&address))
            {
                symbols.frames[at].clone_from(&found.frames);
            }
        }
        symbols.modules[id] = source;
    }
    Ok(symbols)
}

/// The names of sorted, distinct look-up addresses of one module.
fn resolve_module(
    module: &ModuleRef<'_>,
    addresses: &[u64],
    binary: Option<&Path>,
    options: &Options,
    progress: &dyn Fn(Progress<'_>),
    notes: &mut Vec<String>,
) -> (SymbolSource, HashMap<u64, Resolved>) {
    progress(Progress {
        module: module.path,
        done: 0,
        total: 0,
    });
    let located = locate::locate(module, binary, options);
    let store = match &module.identity {
        Identity::BuildId(id) if !id.is_empty() && id.len() <= 64 => options
            .cache
            .as_deref()
            .map(|folder| (folder, id.as_slice())),
        _ => None,
    };
    let fingerprint = located.as_ref().map(Files::fingerprint).ok();
    // Without the files the cache is all there is; with them it must have been made from the same ones.
    let cached = store
        .and_then(|(folder, id)| cache::read(folder, id))
        .filter(|cached| fingerprint.is_none_or(|fingerprint| fingerprint == cached.fingerprint));
    let (mut known, mut source) = match cached {
        Some(cached) => (cached.addresses, Some(cached.source)),
        None => (BTreeMap::new(), None),
    };
    let unknown: Vec<u64> = addresses
        .iter()
        .copied()
        .filter(|address| !known.contains_key(address))
        .collect();
    match &located {
        Ok(files) if !unknown.is_empty() => {
            let read = read_files(module, files, &unknown, progress, notes);
            known.extend(read.resolved);
            source = Some(source_of(files, &known));
            if read.complete
                && let (Some((folder, id)), Some(fingerprint), Some(source)) =
                    (store, fingerprint, &source)
                && !matches!(source, SymbolSource::Missing(_))
            {
                let addresses = std::mem::take(&mut known);
                let cached = cache::Cached {
                    fingerprint,
                    source: source.clone(),
                    addresses,
                };
                cache::write(folder, id, &cached);
                known = cached.addresses;
            }
        }
        Err(reason) if !unknown.is_empty() => {
            let name = file_name(module.path);
            if source.is_some() {
                notes.push(format!(
                    "{name}: {} frames are not in the symbol cache: {reason}",
                    unknown.len()
                ));
            } else if module.path.starts_with('/') {
                notes.push(format!("{name}: no symbols: {reason}"));
            }
            source = source.or_else(|| Some(SymbolSource::Missing(reason.clone())));
        }
        Ok(files) if !known.is_empty() => source = Some(source_of(files, &known)),
        _ => {}
    }
    let wanted = addresses
        .iter()
        .filter_map(|address| Some((*address, known.remove(address)?)))
        .collect();
    notes.extend(advise_debug_information(module, &wanted));
    (source.unwrap_or_default(), wanted)
}

struct Read {
    resolved: Vec<(u64, Resolved)>,
    /// Nothing was missing that may turn up later: fit to be cached.
    complete: bool,
}

/// Reads debug information and symbol table of a module.
fn read_files(
    module: &ModuleRef<'_>,
    files: &Files,
    addresses: &[u64],
    progress: &dyn Fn(Progress<'_>),
    notes: &mut Vec<String>,
) -> Read {
    let name = file_name(module.path);
    let mut complete = true;
    let mut chains: Vec<Vec<SourceFrame>> = Vec::new();
    let mut load = |image: &image::Image| match image.bytes() {
        Ok(bytes) => Some(bytes),
        Err(why) => {
            notes.push(format!(
                "{name}: cannot read {}: {why}",
                image.path.display()
            ));
            None
        }
    };
    let with_debug = files.debug_information();
    let with_table = files
        .symbol_table()
        .filter(|table| with_debug.is_none_or(|debug| debug.path != table.path));
    let debug_bytes = with_debug.and_then(&mut load);
    let table_bytes = with_table.and_then(&mut load);
    let debug_object = debug_bytes
        .as_deref()
        .and_then(|bytes| image::parse(bytes).ok());
    let table_object = table_bytes
        .as_deref()
        .and_then(|bytes| image::parse(bytes).ok());
    let table = table_object
        .as_ref()
        .or(debug_object.as_ref())
        .map(Table::read)
        .unwrap_or_default();
    if let (Some(object), Some(image)) = (&debug_object, with_debug) {
        let mut report = |done, total| {
            progress(Progress {
                module: module.path,
                done,
                total,
            })
        };
        match dwarf::resolve(object, &table, &files.split, addresses, &mut report) {
            Ok(found) => {
                if !found.missing_split.is_empty() {
                    complete = false;
                    notes.push(format!(
                        "{name}: split debug information is missing ({}): functions without lines; keep the .dwp or .dwo files \
                         beside the binary or pass --debug-dir",
                        found.missing_split.join(", ")
                    ));
                }
                if found.gave_up {
                    complete = false;
                    notes.push(format!(
                        "{name}: the debug information in {} is broken: names may be missing",
                        image.path.display()
                    ));
                }
                chains = found.chains;
            }
            Err(why) => {
                complete = false;
                notes.push(format!(
                    "{name}: cannot read the debug information in {}: {why}",
                    image.path.display()
                ));
            }
        }
    }
    chains.resize(addresses.len(), Vec::new());
    let resolved = addresses.iter().zip(chains).map(|(&address, chain)| {
        let resolved = if !chain.is_empty() {
            Resolved {
                how: How::Debug,
                frames: chain,
            }
        } else if let Some(symbol) = names::best(table.names(address)) {
            let frame = SourceFrame {
                function: names::demangle(symbol).into(),
                raw: Some(symbol.into()),
                file: None,
                line: None,
                inlined: false,
            };
            Resolved {
                how: How::Table,
                frames: vec![frame],
            }
        } else {
            Resolved {
                how: How::Unresolved,
                frames: Vec::new(),
            }
        };
        (address, resolved)
    });
    Read {
        resolved: resolved.collect(),
        complete,
    }
}

/// What to say about where the names of a module come from: the kind that names most of its frames.
fn source_of(files: &Files, known: &BTreeMap<u64, Resolved>) -> SymbolSource {
    let count = |how| {
        known
            .values()
            .filter(|resolved| resolved.how == how)
            .count()
    };
    let (debug, table) = (count(How::Debug), count(How::Table));
    match (files.debug_information(), files.symbol_table()) {
        (Some(image), _) if debug > 0 && debug >= table => SymbolSource::Debug(image.path.clone()),
        (_, Some(image)) if debug + table > 0 => SymbolSource::Table(image.path.clone()),
        (_, image) => SymbolSource::Missing(format!(
            "{} has no names for its frames (it is stripped); pass --debug-dir with its debug information or --binary with the unstripped file",
            image.map_or("the file".to_owned(), |image| image
                .path
                .display()
                .to_string())
        )),
    }
}

/// Advice for a program of one's own that was built without debug information.
fn advise_debug_information(
    module: &ModuleRef<'_>,
    resolved: &HashMap<u64, Resolved>,
) -> Option<String> {
    let names_only = |resolved: &&Resolved| {
        let rust = |frame: &SourceFrame| {
            frame
                .raw
                .as_deref()
                .is_some_and(|raw| names::mangling(raw) != names::Mangling::Foreign)
        };
        resolved.how == How::Table && resolved.frames.iter().any(rust)
    };
    let bare = resolved.values().filter(names_only).count();
    // A few are the compiler's own shims.
    (bare * 10 > resolved.len()).then(|| {
        format!(
            "{}: {bare} of {} frames have a name only (no lines, no inlined functions): set debug = \"line-tables-only\" in its \
             cargo profile, or build it with `cargo heapglass`",
            file_name(module.path),
            resolved.len()
        )
    })
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests;
