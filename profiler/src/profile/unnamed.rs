//! The reason why types have no names, and what to do about it. This module must never guess a
//! type.

use super::{Profile, SymbolSource};
use std::collections::HashSet;

/// Explains why types are not named and what to do about it; `None` if few bytes are concerned.
pub(super) fn unnamed(profile: &Profile) -> Option<String> {
    let total: u64 = profile.totals.total_bytes;
    let described = described(profile);
    let mut unnamed_bytes: u64 = 0;
    let mut program = "";
    for site in &profile.sites {
        if site.contents.is_some() || site.marks.synthetic {
            continue;
        }
        if let Some((frame, function)) = profile.innermost_code(site)
            && frame.file.is_none()
            && !described.contains(function.krate.as_str())
        {
            unnamed_bytes = unnamed_bytes.saturating_add(site.figures.total_bytes);
            let module = profile.modules.get(frame.module as usize);
            program = module.map_or(program, |module| match &module.symbols {
                SymbolSource::Table(_) | SymbolSource::Debug(_) | SymbolSource::Packed => {
                    &module.path
                }
                _ => program,
            });
        }
    }
    // A dependency here and there is compiled without; then the rows say "no type" for themselves.
    if unnamed_bytes == 0 || unnamed_bytes.saturating_mul(100) < total {
        return None;
    }
    let program = program.rsplit('/').next().unwrap_or(program);
    Some(format!(
        "types are not named for {:.0} % of the bytes: {} was built without debug information. Build it with \
         `[profile.release] debug = \"limited\"` (or 1) in Cargo.toml and record again",
        unnamed_bytes as f64 * 100.0 / total.max(1) as f64,
        if program.is_empty() {
            "the program"
        } else {
            program
        },
    ))
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
