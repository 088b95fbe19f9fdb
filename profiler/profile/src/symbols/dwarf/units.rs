//! The units of a file: the addresses that each covers, and the way to an entry in another unit.
//! One broken unit must never make the whole file fail: parts that cannot be read are left out.

use std::borrow::Cow;
use std::collections::HashMap;

use gimli::{AttributeValue, DebugInfoOffset, DwoId, Section, UnitOffset, UnitRef};

use super::super::names::{CrateRoots, text};
use super::{Budget, Entry, Slice};

/// Address ranges kept of all units together: a binary of a gigabyte has some millions. Each takes
/// two bytes at least.
const MAX_RANGES: usize = 16 << 20;
const BYTES_OF_A_RANGE: usize = 2;

/// File and folder names kept of all units together: each takes more than two bytes of a line
/// table, and a small table may always have a few. Without this limit each unit of a small file
/// could keep a copy of one large table.
const BYTES_OF_A_FILE: usize = 2;
const FEW_FILES: usize = 16 << 10;

/// All units of a file.
pub(super) struct Index<'a> {
    pub(super) dwarf: &'a gimli::Dwarf<Slice<'a>>,
    /// In the order of `.debug_info`.
    pub(super) units: Vec<Unit<'a>>,
    /// Address ranges of the units: (begin, end, unit), by begin.
    ranges: Vec<(u64, u64, usize)>,
    most_ranges: usize,
    pub(super) roots: CrateRoots,
    /// Some units have no lines: all of them together claim more than the file can hold.
    pub(super) gave_up: bool,
}

/// One unit.
pub(super) struct Unit<'a> {
    pub(super) unit: gimli::Unit<Slice<'a>>,
    offset: usize,
    /// `true` if rustc made it.
    pub(super) rust: bool,
    /// The half of it that is kept outside the binary, when the debug information is split.
    pub(super) split: Option<(gimli::Dwarf<Slice<'a>>, gimli::Unit<Slice<'a>>)>,
}

impl<'a> Unit<'a> {
    /// Takes the first unit of `dwarf` for its other half; false if that is of another build.
    pub(super) fn take_half(&mut self, dwarf: gimli::Dwarf<Slice<'a>>) -> bool {
        let Ok(Some(header)) = dwarf.units().next() else {
            return false;
        };
        let Ok(mut unit) = dwarf.unit(header) else {
            return false;
        };
        if unit.dwo_id != self.unit.dwo_id {
            return false;
        }
        unit.copy_relocated_attributes(&self.unit);
        self.rust |= root_of(&unit).is_ok_and(|root| is_rust(&root));
        self.split = Some((dwarf, unit));
        true
    }
}

impl<'a> Index<'a> {
    /// Reads the headers and root entries of all units, in sections of `bytes` bytes.
    pub(super) fn build(
        dwarf: &'a gimli::Dwarf<Slice<'a>>,
        bytes: usize,
        budget: &Budget,
    ) -> Index<'a> {
        let mut index = Index {
            dwarf,
            units: Vec::new(),
            ranges: Vec::new(),
            most_ranges: MAX_RANGES.min(bytes / BYTES_OF_A_RANGE),
            roots: CrateRoots::default(),
            gave_up: false,
        };
        let mut files_left = dwarf.debug_line.reader().len() / BYTES_OF_A_FILE + FEW_FILES;
        let mut without_ranges = Vec::new();
        let mut headers = dwarf.units();
        while let Ok(Some(header)) = headers.next() {
            if !budget.take(64) {
                break;
            }
            let Some(DebugInfoOffset(offset)) = header.debug_info_offset() else {
                continue;
            };
            if matches!(
                header.type_(),
                gimli::UnitType::Type { .. } | gimli::UnitType::SplitType { .. }
            ) {
                continue;
            }
            let Ok(mut unit) = dwarf.unit(header) else {
                continue;
            };
            let files = unit.line_program.as_ref().map_or(0, |program| {
                let header = program.header();
                header.file_names().len() + header.include_directories().len()
            });
            budget.take(files);
            match files_left.checked_sub(files) {
                Some(left) => files_left = left,
                None => (unit.line_program, index.gave_up) = (None, true),
            }
            let id = index.units.len();
            let mut any = false;
            let root = root_of(&unit).unwrap_or_default();
            ranges_of(UnitRef::new(dwarf, &unit), &root, budget, |begin, end| {
                if index.ranges.len() < index.most_ranges {
                    index.ranges.push((begin, end, id));
                }
                any = true;
            });
            if !any {
                without_ranges.push((offset, id));
            }
            if let Some(name) = unit.name {
                index.roots.add(&text(name.slice()), &directory(&unit));
            }
            index.units.push(Unit {
                unit,
                offset,
                rust: is_rust(&root),
                split: None,
            });
        }
        index.add_address_ranges(&without_ranges, budget);
        index.ranges.sort_unstable();
        index
    }

    /// `.debug_aranges`, for units that do not say themselves what they cover.
    fn add_address_ranges(&mut self, without_ranges: &[(usize, usize)], budget: &Budget) {
        let mut headers = self.dwarf.debug_aranges.headers();
        while let Ok(Some(header)) = headers.next() {
            let offset = header.debug_info_offset().0;
            let Ok(at) = without_ranges.binary_search_by_key(&offset, |&(offset, _)| offset) else {
                continue;
            };
            let mut entries = header.entries();
            while let Ok(Some(entry)) = entries.next() {
                if !budget.take(1) || self.ranges.len() >= self.most_ranges {
                    return;
                }
                let range = entry.range();
                if range.begin != 0 && range.begin < range.end {
                    self.ranges
                        .push((range.begin, range.end, without_ranges[at].1));
                }
            }
        }
    }

    /// The units that cover any of the sorted addresses, each with the positions of the addresses
    /// it covers.
    pub(super) fn units_of(&self, addresses: &[u64], budget: &Budget) -> Vec<(usize, Vec<usize>)> {
        let mut positions: HashMap<usize, Vec<usize>> = HashMap::new();
        for &(begin, end, unit) in &self.ranges {
            let first = addresses.partition_point(|&address| address < begin);
            let inside = addresses[first..].partition_point(|&address| address < end);
            if inside > 0 {
                if !budget.take(inside) {
                    break;
                }
                positions
                    .entry(unit)
                    .or_default()
                    .extend(first..first + inside);
            }
        }
        let mut units: Vec<_> = positions.into_iter().collect();
        for (_, positions) in &mut units {
            positions.sort_unstable();
            positions.dedup();
        }
        // The large ones first, so that no thread is left alone with one at the end.
        let size = |unit: usize| self.units[unit].unit.header.unit_length();
        units.sort_by_key(|(unit, _)| std::cmp::Reverse((size(*unit), *unit)));
        units
    }

    /// Returns those of the units that have another half in another file, with its id.
    pub(super) fn split_units(&self, units: &[(usize, Vec<usize>)]) -> Vec<(usize, DwoId)> {
        let split = |(id, _): &(usize, _)| Some((*id, self.units[*id].unit.dwo_id?));
        units.iter().filter_map(split).collect()
    }

    /// Returns the unit that contains the functions: the split half if there is one.
    pub(super) fn entries(&self, id: usize) -> UnitRef<'_, Slice<'a>> {
        let unit = &self.units[id];
        match &unit.split {
            Some((dwarf, half)) => UnitRef::new(dwarf, half),
            None => UnitRef::new(self.dwarf, &unit.unit),
        }
    }

    /// The unit and the offset inside it of an entry given by its place in `.debug_info`.
    pub(super) fn locate(&self, entry: DebugInfoOffset) -> Option<(usize, UnitOffset)> {
        let after = self.units.partition_point(|unit| unit.offset <= entry.0);
        let id = after.checked_sub(1)?;
        Some((id, entry.to_unit_offset(&self.units[id].unit.header)?))
    }
}

/// The first entry of a unit.
fn root_of<'a>(unit: &gimli::Unit<Slice<'a>>) -> gimli::Result<Entry<'a>> {
    unit.entry(unit.header.root_offset())
}

/// Returns `true` if the language of a unit is Rust.
fn is_rust(root: &Entry<'_>) -> bool {
    root.attr_value(gimli::DW_AT_language) == Some(AttributeValue::Language(gimli::DW_LANG_Rust))
}

/// The folder the compiler ran in.
pub(super) fn directory<'a>(unit: &gimli::Unit<Slice<'a>>) -> Cow<'a, str> {
    unit.comp_dir
        .map_or(Cow::Borrowed(""), |directory| text(directory.slice()))
}

/// Calls `each` with the address ranges of an entry. Ranges at address 0 were discarded by the
/// linker.
///
/// (Not `gimli::Dwarf::die_ranges`, whose `begin + size` may overflow on hostile input.)
pub(super) fn ranges_of<'a>(
    unit: UnitRef<'_, Slice<'a>>,
    entry: &Entry<'a>,
    budget: &Budget,
    mut each: impl FnMut(u64, u64),
) {
    let mut emit = |begin: u64, end: u64| {
        if begin != 0 && begin < end {
            each(begin, end);
        }
    };
    let ranges = entry.attr_value(gimli::DW_AT_ranges);
    if let Some(Ok(Some(mut list))) = ranges.map(|value| unit.attr_ranges(value)) {
        while let Ok(Some(range)) = list.next() {
            if !budget.take(1) {
                return;
            }
            emit(range.begin, range.end);
        }
        return;
    }
    let address = |value: AttributeValue<Slice<'a>>| unit.attr_address(value).ok().flatten();
    let low = entry.attr_value(gimli::DW_AT_low_pc).and_then(address);
    if let Some(low) = low
        && let Some(high) = entry.attr_value(gimli::DW_AT_high_pc)
        && let Some(high) = match high {
            AttributeValue::Udata(bytes) => low.checked_add(bytes),
            high => address(high),
        }
    {
        emit(low, high);
    }
}
