//! The reason why types have no names, and what to do about it. This module must never guess a
//! type.

use super::{Frame, Function, Origin, Profile, Site, SymbolSource};
use std::collections::{BTreeMap, HashSet};

/// Explains why types are not named and what to do about it; `None` if few bytes are concerned.
/// Speaks of the module that allocated most of these bytes.
pub(super) fn unnamed(profile: &Profile) -> Option<String> {
    let total = profile.totals.total_bytes;
    let described = described(profile);
    let mut unnamed_bytes: BTreeMap<u32, u64> = BTreeMap::new();
    for site in &profile.sites {
        if site.contents.is_some() || site.marks.synthetic {
            continue;
        }
        if let Some((frame, function)) = innermost(profile, site)
            && function.language_name(None) == Some("rust")
            && frame.file.is_none()
            && !described.contains(function.krate.as_str())
        {
            let bytes = unnamed_bytes.entry(frame.module).or_default();
            *bytes = bytes.saturating_add(site.figures.total_bytes);
        }
    }
    let (module, bytes) = unnamed_bytes.into_iter().max_by_key(|(_, bytes)| *bytes)?;
    // A dependency here and there is compiled without; then the rows say "no type" for themselves.
    if bytes == 0 || bytes.saturating_mul(100) < total {
        return None;
    }
    let module = profile.modules.get(module as usize);
    let path = module.map_or("", |module| match &module.symbols {
        SymbolSource::Table(_) | SymbolSource::Debug(_) | SymbolSource::Packed => &module.path,
        _ => "",
    });
    Some(format!(
        "types are not named for {:.0} % of the bytes: {} was built without debug information. Build it with \
         `[profile.release] debug = \"limited\"` (or 1) in Cargo.toml and record again",
        bytes as f64 * 100.0 / total.max(1) as f64,
        match path.rsplit('/').next() {
            None | Some("") => "the program",
            Some(name) => name,
        },
    ))
}

/// Returns the innermost frame that is neither the standard library's nor heapglass's. If it is
/// one of C or C++, no debug information gives its blocks a type.
fn innermost<'p>(profile: &'p Profile, site: &Site) -> Option<(&'p Frame, &'p Function)> {
    let mut frames = profile
        .innermost_first(site)
        .filter_map(|id| profile.lookup(id));
    frames.find(|(_, function)| function.origin != Origin::Std && !function.is_own())
}

/// Crates with debug information: a function of such a crate may still have none (the compiler made
/// it, or made it one with others), which no setting helps.
fn described(profile: &Profile) -> HashSet<&str> {
    let frames = profile.frames.iter().filter(|frame| frame.file.is_some());
    frames
        .filter_map(|frame| profile.functions.get(frame.function.0 as usize))
        .map(|function| function.krate.as_str())
        .collect()
}
