//! What the columns and rows of a table mean, below it.

use super::Page;
use crate::profile::Profile;
use crate::report::notes::{ARENA_FIGURES, REALLOC_POLICY, notes};
use crate::report::{By, Detail, PhaseDetail, Row, Style};

/// What the figures of every table mean.
const FIGURES: &str = "peak: bytes live at the program's largest moment; live: at the end; total: allocated altogether, each \
    realloc with its whole new size; blocks: how many that were; temporary: bytes of blocks freed before their thread \
    allocated another.";

/// What a type says of a block, and what it cannot say.
const ALLOCATED_AS: &str = "allocated as: the type whose container asked for the block. A block that the program reuses \
    keeps it: collecting a Vec in place, into_boxed_slice, String::into_bytes.";

pub(super) fn write(page: &mut Page<'_>, profile: &Profile, rows: &[Row]) {
    let by = page.options.by;
    // What bounds the figures, and how to get rows that are missing.
    let mut said = notes(profile, by, rows);
    if page.options.explain {
        let explained = [FIGURES].into_iter().chain(explained(by, rows));
        said.splice(0..0, explained.map(str::to_owned));
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

/// What rows of that kind, and columns that only they have, mean.
fn explained(by: By, rows: &[Row]) -> Vec<&'static str> {
    match by {
        By::Type => vec![
            ALLOCATED_AS,
            "A row is the type that blocks were allocated as, by the container that asked for them. values, inline: seen as Profiled<T>, and \
             their own size, wherever they lie.",
        ],
        By::Field => vec![
            "self: of the field itself, so rows add up; all other columns with the places inside it. values: how many were \
             deserialized.",
        ],
        By::Phase => {
            let any = |of: fn(&PhaseDetail) -> bool| {
                rows.iter()
                    .any(|row| matches!(&row.detail, Detail::Phase(detail) if of(detail)))
            };
            let mut all = vec!["A row is a phase without the phases inside it, so rows add up."];
            if any(|phase| phase.retained_bytes.is_some()) {
                all.push("retained: net bytes its threads allocated while in it.");
            }
            if any(|phase| phase.input_bytes > 0 || phase.records > 0) {
                all.push(
                    "/in, /rec: bytes for each byte and record of input, with the phases inside it; kept: retained.",
                );
            }
            all
        }
        By::Site => vec![
            ALLOCATED_AS,
            "sizes: blocks by their size when allocated or reallocated, the most frequent first. lifetime: allocations \
             that the thread made from a block's allocation to its free, the mean over blocks that the thread freed \
             itself; freed elsewhere: by another thread. Both are known of blocks above 16 B: of how many of the freed \
             blocks stands in brackets (reallocated ones count as freed).",
        ],
        By::Owner => vec![
            "A row is the function that owns the blocks: the innermost one of the program that nothing called back, or of \
             the nearest dependency.",
        ],
        By::Function => vec![
            "peak and its neighbours: of blocks that the function asked for itself, so rows add up (folded, what containers \
             of the standard library do for it is its own); inclusive: with all that it calls.",
        ],
        By::Crate | By::Module => vec![
            "A row is whose code asked for the blocks; the standard library asks for whoever called it.",
        ],
        By::Thread | By::Arena => Vec::new(),
    }
}
