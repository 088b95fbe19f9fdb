//! The holders of a snapshot as folded lines of the names of their paths.

use std::io::{self, Write};

use crate::calltree::push_name;
use crate::profile::Measure;
use crate::table::HolderRow;

/// Writes one line for each holder that has bytes of its own: `stack of main;Catalog;.products[]
/// 96`.
pub(super) fn write_folded(
    rows: &[HolderRow],
    measure: Measure,
    mut out: impl Write,
) -> io::Result<()> {
    let mut line = String::new();
    for row in rows {
        let own = match measure {
            Measure::Retained => row.held.own.bytes,
            Measure::Unused => row.held.own.unused_bytes,
            _ => 0,
        };
        if own == 0 {
            continue;
        }
        line.clear();
        for step in row.steps(rows) {
            if !line.is_empty() {
                line.push(';');
            }
            push_name(&mut line, &step);
        }
        writeln!(out, "{line} {own}")?;
    }
    out.flush()
}
