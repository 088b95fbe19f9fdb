//! The line table of a unit: which source line an instruction came from.
//! One run of the program answers all addresses; rows that match nothing are dropped as they come.

use std::cell::RefCell;
use std::collections::HashMap;

use gimli::{AttributeValue, UnitRef};

use super::super::names::{join_path, text};
use super::units::directory;
use super::{Budget, Shared, Slice};

/// A place in the source; the file is an index into the unit's file table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) file: u64,
    pub(super) line: Option<u32>,
}

/// The places of `positions` into the sorted `addresses`, in that order.
pub(super) fn places(
    unit: UnitRef<'_, Slice<'_>>,
    addresses: &[u64],
    positions: &[usize],
    budget: &Budget,
) -> Vec<Option<Place>> {
    let mut places = vec![None; positions.len()];
    let Some(program) = unit.unit.line_program.clone() else {
        return places;
    };
    let mut rows = program.rows();
    // The row before, with the address its instructions begin at; `None` at the start of a sequence.
    let mut previous: Option<(u64, Place)> = None;
    // A sequence that starts at 0 was discarded by the linker.
    let mut discarded = false;
    let mut pending = 0;
    while let Ok(Some((_, row))) = rows.next_row() {
        pending += 1;
        if pending == 1024 {
            if !budget.take(pending) {
                break;
            }
            pending = 0;
        }
        let address = row.address();
        if let Some((begin, place)) = previous
            && !discarded
            && begin < address
        {
            let first = positions.partition_point(|&position| addresses[position] < begin);
            for (slot, _) in places[first..]
                .iter_mut()
                .zip(&positions[first..])
                .take_while(|&(_, &p)| addresses[p] < address)
            {
                slot.get_or_insert(place);
            }
        } else if previous.is_none() {
            discarded = address == 0;
        }
        previous = if row.end_sequence() {
            None
        } else {
            let line = row.line().and_then(|line| u32::try_from(line.get()).ok());
            Some((
                address,
                Place {
                    file: row.file_index(),
                    line,
                },
            ))
        };
    }
    budget.take(pending);
    places
}

/// The file names of a unit's line table, made once each.
pub(super) struct Files<'u, 'a> {
    unit: UnitRef<'u, Slice<'a>>,
    names: RefCell<HashMap<u64, Option<Shared>>>,
}

impl<'u, 'a> Files<'u, 'a> {
    pub(super) fn new(unit: UnitRef<'u, Slice<'a>>) -> Self {
        Files {
            unit,
            names: RefCell::default(),
        }
    }

    /// The path of a file, made absolute by the folder the compiler ran in.
    pub(super) fn name(&self, file: u64) -> Option<Shared> {
        if let Some(name) = self.names.borrow().get(&file) {
            return name.clone();
        }
        let name = self.render(file).map(Shared::from);
        self.names.borrow_mut().insert(file, name.clone());
        name
    }

    fn render(&self, file: u64) -> Option<String> {
        let header = self.unit.unit.line_program.as_ref()?.header();
        let entry = header.file(file)?;
        let string = |value: AttributeValue<Slice<'a>>| {
            self.unit
                .attr_string(value)
                .ok()
                .map(|bytes| text(bytes.slice()))
        };
        let name = string(entry.path_name())?;
        let folder = entry.directory(header).and_then(string).unwrap_or_default();
        Some(join_path(
            &join_path(&directory(self.unit.unit), &folder),
            &name,
        ))
    }
}
