//! The legend below a table: the meaning of its columns and rows.

use super::Page;
use crate::profile::{Measure, Profile, WrapperRule};
use crate::report::Style;
use crate::report::notes::{ARENA_FIGURES, REALLOC_POLICY, notes};
use crate::table::{By, Detail, PhaseDetail, Row};
use crate::units::printable;

/// Explains the figures of every table.
const FIGURES: &str = "peak: bytes live at the program's largest moment; live: bytes live at the end; \
    total: bytes allocated, with the whole new size of each reallocation; temporary: bytes of blocks \
    that were freed before their thread allocated another.";

/// Explains the figures of every table of a sum of recordings.
const FIGURES_OF_SUMS: &str = "sum of peaks: bytes live at each program's own largest moment, added up; live: bytes live at \
    the ends; total: bytes allocated, with the whole new size of each reallocation; temporary: bytes of blocks \
    that were freed before their thread allocated another.";

/// Explains the meaning of a block's type, and its limits.
const ALLOCATED_AS: &str = "allocated as: the type whose container asked for the block. A block keeps \
    this type when the program reuses it: collecting a Vec in place, into_boxed_slice, \
    String::into_bytes.";

pub(super) fn write(page: &mut Page<'_>, profile: &Profile, rows: &[Row]) {
    let by = page.options.by;
    // What bounds the figures, and how to get rows that are missing.
    let mut said = notes(profile, by, rows);
    if page.options.explain {
        let figures = match profile.process().merged {
            Some(_) => FIGURES_OF_SUMS,
            None => FIGURES,
        };
        let counts = counts(page.options.measure);
        let explained = [figures, counts].into_iter().chain(explained(by, rows));
        said.splice(0..0, explained.map(str::to_owned));
        if matches!(by, By::Site | By::Owner) {
            said.extend(wrappers(profile));
        }
    } else {
        said.retain(|note| note != REALLOC_POLICY && note != ARENA_FIGURES);
    }
    if !said.is_empty() {
        page.blank();
    }
    for note in said {
        page.wrap(Style::Faint, "  ", &note);
    }
}

/// Explains the column of blocks, which belongs to the measure, or the measure `blocks` itself.
fn counts(measure: Measure) -> &'static str {
    match measure {
        Measure::Peak => "blocks: number of blocks live at the peak.",
        Measure::Live => "blocks: number of blocks live at the end.",
        Measure::Total | Measure::Blocks => {
            "blocks: number of allocations, including reallocations."
        }
        Measure::Temporary => "blocks: number of these temporary blocks.",
        Measure::Copied | Measure::Grows => "reallocs: number of reallocations.",
        Measure::Retained | Measure::Unused => "blocks: number of blocks in the snapshot.",
    }
}

/// Maximum number of wrappers that are named.
const MOST_WRAPPERS: usize = 12;

/// Names the functions that own nothing, and the rule that says so.
fn wrappers(profile: &Profile) -> Option<String> {
    let mut named: Vec<String> = profile
        .wrappers()
        .filter_map(|(id, rule)| {
            let function = profile.functions().get(id.0 as usize)?;
            let rule = match rule {
                WrapperRule::Known => "known by name".to_owned(),
                WrapperRule::Named => "--wrapper".to_owned(),
                WrapperRule::OneAllocation(callers) => {
                    format!("makes one allocation, for {callers} callers")
                }
                _ => return None,
            };
            Some(format!("{} ({rule})", printable(&function.short)))
        })
        .collect();
    if named.is_empty() {
        return None;
    }
    named.sort();
    let more = match named.len().saturating_sub(MOST_WRAPPERS) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    named.truncate(MOST_WRAPPERS);
    Some(format!(
        "Wrappers of allocators own nothing, their callers do: {}{more}. --own NAME makes one the owner.",
        named.join(", ")
    ))
}

/// Explains the rows of that kind, and the columns that only they have.
fn explained(by: By, rows: &[Row]) -> Vec<&'static str> {
    match by {
        By::Type => vec![
            ALLOCATED_AS,
            "A row is the type whose container asked for the blocks. values: number of values seen as \
             Profiled<T>. inline: the size of these values themselves, wherever they lie.",
        ],
        By::Field => vec![
            "self: the field alone, so rows add up; all other columns include the places inside the \
             field. values: number of deserialized values.",
        ],
        By::Phase => {
            let any = |of: fn(&PhaseDetail) -> bool| {
                rows.iter()
                    .any(|row| matches!(&row.detail, Detail::Phase(detail) if of(detail)))
            };
            let mut all = vec!["A row is a phase without the phases inside it, so rows add up."];
            if any(|phase| phase.stayed_bytes.is_some()) {
                all.push(
                    "stayed: net bytes that its threads allocated during the phase; of a phase that \
                     was entered several times, the mean of its entries.",
                );
            }
            if any(|phase| phase.elapsed_ns.is_some()) {
                all.push(
                    "time: from entry to exit, summed over entries, with the phases inside; in/s, \
                     rec/s: input and records for each second of it.",
                );
            }
            if any(|phase| phase.input_bytes > 0 || phase.records > 0) {
                all.push(
                    "/in, /rec: bytes, or blocks, for each byte and each record of input, including \
                     the phases inside.",
                );
            }
            all
        }
        By::Site => vec![
            ALLOCATED_AS,
            "sizes: blocks by their size when allocated or reallocated, the most frequent first. \
             lifetime: mean number of allocations that the thread made between a block's \
             allocation and its free, over the blocks that the same thread freed. freed \
             elsewhere: blocks that another thread freed. Both are known only for blocks above \
             16 B; the brackets give their share of the freed blocks (reallocated blocks count as \
             freed). in time: about, the lifetime at the mean time between allocations of the \
             phase, an estimate; at most, the longest time between checkpoints without a live block.",
        ],
        By::Owner => vec![
            "A row is the function that owns the blocks: the innermost function of the program that is \
             not a callback, or else a function of the nearest dependency.",
        ],
        By::Function => vec![
            "peak and the columns next to it: blocks that the function itself asked for, so rows add up; \
             with folded frames, this includes blocks that containers of the standard library ask \
             for on its behalf. inclusive: the function and everything it calls.",
        ],
        By::Crate | By::Module => vec![
            "A row is the code that asked for the blocks; requests of the standard library count for \
             its caller.",
        ],
        By::Thread | By::Arena | By::Holder => Vec::new(),
    }
}
