//! The line table of a unit: the source lines of instructions. One run of the line program answers
//! all addresses, and rows that match none are dropped at once.

use gimli::UnitRef;

use super::super::names::{join_path, text};
use super::units::directory;
use super::{Budget, Slice};

/// A place in the source; the file is an index into the unit's file table.
#[derive(Clone, Copy, Default)]
pub(super) struct Place {
    pub(super) file: Option<u64>,
    pub(super) line: Option<u32>,
    /// `true` if it points to a word in the line, not to a function as a whole, as at its
    /// beginning.
    pub(super) has_column: bool,
}

/// The places of sorted addresses, in that order.
pub(super) fn places(
    unit: UnitRef<'_, Slice<'_>>,
    addresses: &[u64],
    budget: &Budget,
) -> Vec<Option<Place>> {
    let mut places = vec![None; addresses.len()];
    let Some(program) = unit.unit.line_program.clone() else {
        return places;
    };
    let mut rows = program.rows();
    // The row before, with the address its instructions begin at; `None` at the start of a
    // sequence.
    let mut previous: Option<(u64, Place)> = None;
    // A sequence that starts at 0 was discarded by the linker.
    let mut discarded = false;
    let mut work = 0;
    while let Ok(Some((_, row))) = rows.next_row() {
        work += 1;
        if work % 1024 == 0 && !budget.take(1024) {
            break;
        }
        let address = row.address();
        if let Some((begin, place)) = previous
            && !discarded
            && begin < address
        {
            let first = addresses.partition_point(|&address| address < begin);
            for (slot, _) in places[first..]
                .iter_mut()
                .zip(&addresses[first..])
                .take_while(|(_, wanted)| **wanted < address)
            {
                slot.get_or_insert(place);
            }
        } else if previous.is_none() {
            discarded = address == 0;
        }
        let line = row.line().and_then(|line| u32::try_from(line.get()).ok());
        let place = Place {
            file: Some(row.file_index()),
            line,
            has_column: row.column() != gimli::ColumnType::LeftEdge,
        };
        previous = (!row.end_sequence()).then_some((address, place));
    }
    budget.take(work % 1024);
    places
}

/// The path of a file of a unit's line table, made absolute by the folder the compiler ran in.
pub(super) fn file_name(unit: UnitRef<'_, Slice<'_>>, file: u64) -> Option<String> {
    let header = unit.unit.line_program.as_ref()?.header();
    let entry = header.file(file)?;
    let string = |value| {
        let bytes = unit.attr_string(value).ok()?;
        Some(text(bytes.slice()))
    };
    let name = string(entry.path_name())?;
    let folder = entry.directory(header).and_then(string).unwrap_or_default();
    Some(join_path(&join_path(&directory(unit.unit), &folder), &name))
}
