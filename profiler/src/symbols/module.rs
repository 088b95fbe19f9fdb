//! One module: its files, its cache, and how the two are put together. It must never cache what may turn up later.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use super::locate::Files;
use super::table::Table;
use super::{AddressFrames, Identity, Lookup, ModuleRef, Options, Progress, SourceFrame};
use super::{cache, dwarf, image, locate, names};
use crate::profile::SymbolSource;

/// The names of sorted, distinct look-up addresses of one module.
pub(super) fn resolve(
    module: &ModuleRef<'_>,
    addresses: &[u64],
    binary: Option<&Path>,
    options: &Options,
    progress: &dyn Fn(Progress<'_>),
    notes: &mut Vec<String>,
) -> (SymbolSource, HashMap<u64, AddressFrames>) {
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
    resolved: Vec<(u64, AddressFrames)>,
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
        let file_bytes = debug_bytes.as_ref().map_or(0, Vec::len);
        match dwarf::resolve(
            (object, file_bytes),
            &table,
            &files.split,
            addresses,
            &mut report,
        ) {
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
        let mut resolved = if !chain.is_empty() {
            AddressFrames {
                how: Lookup::Debug,
                frames: chain,
            }
        } else if let Some(symbol) = names::best(table.names(address)) {
            let frame = SourceFrame {
                function: names::demangle(symbol).into(),
                raw: Some(symbol.into()),
                file: None,
                line: None,
                inlined: false,
                aliases: Vec::new(),
            };
            AddressFrames {
                how: Lookup::Table,
                frames: vec![frame],
            }
        } else {
            AddressFrames {
                how: Lookup::Unresolved,
                frames: Vec::new(),
            }
        };
        if let Some(frame) = resolved.frames.last_mut() {
            frame.aliases = names::aliases(table.names(address), frame);
        }
        (address, resolved)
    });
    Read {
        resolved: resolved.collect(),
        complete,
    }
}

/// What to say about where the names of a module come from: the kind that names most of its frames.
fn source_of(files: &Files, known: &BTreeMap<u64, AddressFrames>) -> SymbolSource {
    let count = |how| {
        known
            .values()
            .filter(|resolved| resolved.how == how)
            .count()
    };
    let (debug, table) = (count(Lookup::Debug), count(Lookup::Table));
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
    resolved: &HashMap<u64, AddressFrames>,
) -> Option<String> {
    let names_only = |resolved: &&AddressFrames| {
        let rust = |frame: &SourceFrame| {
            frame
                .raw
                .as_deref()
                .is_some_and(|raw| names::mangling(raw) != names::Mangling::Foreign)
        };
        resolved.how == Lookup::Table && resolved.frames.iter().any(rust)
    };
    let bare = resolved.values().filter(names_only).count();
    // A few are the compiler's own shims.
    (bare * 10 > resolved.len()).then(|| {
        format!(
            "{}: {bare} of {} frames have a name only (no lines, no inlined functions): set debug = \"limited\" in its \
             cargo profile (CARGO_PROFILE_RELEASE_DEBUG=limited for one build)",
            file_name(module.path),
            resolved.len()
        )
    })
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
