//! One module: its files and its cache. Only results that cannot improve later may be cached.

use std::collections::BTreeMap;
use std::path::Path;

use super::image;
use super::locate::Files;
use super::table::Table;
use super::{AddressFrames, Identity, ModuleRef, Progress, SourceFrame, SymbolOptions};
use super::{cache, dwarf, locate, names};
use crate::name::Demangler;
use crate::profile::SymbolSource;
use crate::units::counted;

/// Names sorted, distinct addresses of one module. Returns their frames, and those of other
/// addresses that were known.
pub(super) fn resolve(
    module: &ModuleRef<'_>,
    addresses: &[u64],
    binary: Option<&Path>,
    options: &SymbolOptions,
    progress: &dyn Fn(Progress<'_>),
    notes: &mut Vec<String>,
) -> (SymbolSource, BTreeMap<u64, AddressFrames>) {
    let report = |done, total| {
        let module = module.path;
        progress(Progress {
            module,
            done,
            total,
        });
    };
    report(0, 0);
    let name = module.path.rsplit('/').next().unwrap_or_default();
    let located = locate::locate(module, binary, options);
    let store = match &module.identity {
        Identity::BuildId(id) if !id.is_empty() && id.len() <= 64 => {
            options.cache.as_deref().map(|folder| (folder, &id[..]))
        }
        _ => None,
    };
    let fingerprint = located.as_ref().map(Files::fingerprint).ok();
    // Without the files, there is only the cache. With them, it must have been made from the same
    // files.
    let cached = store
        .and_then(|(folder, id)| cache::read(folder, id))
        .filter(|cached| fingerprint.is_none_or(|fingerprint| fingerprint == cached.fingerprint));
    let was_cached = cached.is_some();
    let mut known = cached.unwrap_or_default();
    known.fingerprint = fingerprint.unwrap_or_default();
    let unknown: Vec<u64> = addresses
        .iter()
        .copied()
        .filter(|address| !known.addresses.contains_key(address))
        .collect();
    match located {
        Ok(files) => {
            let mut to_be_kept = false;
            if !unknown.is_empty() {
                let notes_before = notes.len();
                let found = read_files(name, &files, &unknown, &report, notes);
                known.addresses.extend(unknown.into_iter().zip(found));
                // Missing files may turn up later.
                to_be_kept = notes.len() == notes_before;
            }
            if !known.addresses.is_empty() {
                known.source = source_of(&files, &known.addresses);
            }
            if let Some((folder, id)) = store.filter(|_| to_be_kept) {
                // A full disk or a folder we may not write to: the next run resolves again.
                let _unimportant = cache::write(folder, id, &known);
            }
        }
        Err(reason) if !unknown.is_empty() => {
            if was_cached {
                notes.push(format!(
                    "{name}: {} not in the symbol cache have no names: {reason}",
                    counted(unknown.len() as u64, "frame")
                ));
            } else {
                if module.path.starts_with('/') {
                    notes.push(format!("{name}: no symbols: {reason}"));
                }
                known.source = SymbolSource::Missing(reason);
            }
        }
        Err(_) => {}
    }
    (known.source, known.addresses)
}

/// The thread-local values of a module, as its file lays them out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadLocals {
    /// Their size in bytes.
    pub bytes: u64,
    /// Their alignment in bytes.
    pub align: u64,
}

/// Calls `read` with the debug information of a module, its thread-local values and the size of the
/// debug information. `binary` is where the user says that the module is.
///
/// # Errors
/// Returns a sentence for people: why there is none, and what to do.
pub fn with_debug_information<R>(
    module: &ModuleRef<'_>,
    binary: Option<&Path>,
    options: &SymbolOptions,
    read: impl FnOnce(&gimli::Dwarf<dwarf::Slice<'_>>, ThreadLocals, usize) -> R,
) -> Result<R, String> {
    let files = locate::locate(module, binary, options)?;
    let image = files
        .debug_information()
        .ok_or("the file has no debug information")?;
    let bytes = image.bytes()?;
    let object = image::parse(&bytes[..])?;
    let thread_locals = thread_locals(&object);
    let sections = image::Sections::new(&object, bytes.len());
    dwarf::with_sections(sections, |dwarf, size| read(dwarf, thread_locals, size))
}

fn thread_locals(object: &object::File<'_>) -> ThreadLocals {
    use object::{Object, ObjectSection, SectionKind};
    let mut range: Option<(u64, u64)> = None;
    let mut align = 1;
    for section in object.sections() {
        if matches!(
            section.kind(),
            SectionKind::Tls | SectionKind::UninitializedTls
        ) {
            let start = section.address();
            let end = start.saturating_add(section.size());
            let (first, last) = range.unwrap_or((start, end));
            range = Some((first.min(start), last.max(end)));
            align = align.max(section.align());
        }
    }
    let (start, end) = range.unwrap_or_default();
    ThreadLocals {
        bytes: end - start,
        align,
    }
}

/// Reads the debug information and the symbol table of a module. Returns the frames of each
/// address, and adds a note for each part that cannot be read.
fn read_files(
    name: &str,
    files: &Files,
    addresses: &[u64],
    report: &dyn Fn(usize, usize),
    notes: &mut Vec<String>,
) -> Vec<AddressFrames> {
    let mut chains: Vec<Vec<SourceFrame>> = Vec::new();
    let with_debug = files.debug_information();
    let with_table = files
        .symbol_table()
        .filter(|table| with_debug.is_none_or(|debug| debug.path != table.path));
    let contents = [with_debug, with_table].map(|image| {
        let image = image?;
        let bytes = image.bytes().inspect_err(|why| {
            let path = image.path.display();
            notes.push(format!("{name}: cannot read {path}: {why}"));
        });
        bytes.ok()
    });
    let [debug, apart] = contents
        .each_ref()
        .map(|bytes| image::parse(bytes.as_deref()?).ok());
    let table = apart
        .as_ref()
        .or(debug.as_ref())
        .map(Table::read)
        .unwrap_or_default();
    if let (Some(object), Some(bytes), Some(image)) = (&debug, &contents[0], with_debug) {
        let path = image.path.display();
        let sections = image::Sections::new(object, bytes.len());
        match dwarf::resolve(sections, &table, &files.split, addresses, report) {
            Ok(found) => {
                if !found.missing_split.is_empty() {
                    notes.push(format!(
                        "{name}: split debug information is missing ({}), so functions have no lines; keep \
                         the .dwp or .dwo files next to the binary or pass --debug-dir",
                        found.missing_split.join(", ")
                    ));
                }
                if found.gave_up {
                    notes.push(format!(
                        "{name}: the debug information in {path} is broken: names may be missing"
                    ));
                }
                chains = found.chains;
            }
            Err(why) => notes.push(format!(
                "{name}: cannot read the debug information in {path}: {why}"
            )),
        }
    }
    chains.resize(addresses.len(), Vec::new());
    let named = addresses.iter().zip(chains).map(|(&address, mut frames)| {
        let symbols = || table.names(address);
        let from_debug = !frames.is_empty();
        if !from_debug && let Some(symbol) = names::best(symbols()) {
            frames.push(SourceFrame {
                function: names::demangle(symbol).into(),
                raw: Some(symbol.into()),
                ..SourceFrame::default()
            });
        }
        if let Some(frame) = frames.last_mut() {
            frame.aliases = names::aliases(symbols(), frame);
        }
        AddressFrames { from_debug, frames }
    });
    let mut named: Vec<AddressFrames> = named.collect();
    let mut cpp = Demangler::default();
    for frame in named.iter_mut().flat_map(|found| &mut found.frames) {
        // A name of Rust is demangled already, and differs from its linkage name.
        if let Some(raw) = frame.raw.as_ref().filter(|raw| **raw == frame.function) {
            frame.function = cpp.demangle(raw);
        }
    }
    if cpp.has_given_up() {
        notes.push(format!(
            "{name}: names of C++ functions are mangled, as demangling them took too long"
        ));
    }
    named
}

/// Returns the source of a module's names: the kind that names most of its frames.
fn source_of(files: &Files, known: &BTreeMap<u64, AddressFrames>) -> SymbolSource {
    let named = || known.values().filter(|found| !found.frames.is_empty());
    let debug = named().filter(|found| found.from_debug).count();
    let table = named().count() - debug;
    match (files.debug_information(), files.symbol_table()) {
        (Some(image), _) if debug > 0 && debug >= table => SymbolSource::Debug(image.path.clone()),
        (_, Some(image)) if debug + table > 0 => SymbolSource::Table(image.path.clone()),
        (_, image) => {
            let path = image.map(|image| image.path.display().to_string());
            SymbolSource::Missing(format!(
                "{} has no names for its frames (it is stripped); pass --debug-dir with its debug \
                 information or --binary with the unstripped file",
                path.as_deref().unwrap_or("the file")
            ))
        }
    }
}
