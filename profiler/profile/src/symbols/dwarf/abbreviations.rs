//! Tables of abbreviations, checked before they are parsed. Each unit refers to a table by its
//! offset. A small file could let thousands of units begin at different places of one large table,
//! and each of these tables would be kept.

use gimli::{Reader, Section};

use super::Slice;

/// The largest total span of all tables, in sizes of the section: in real files they lie one after
/// the other.
const MOST_SPANS: usize = 2;
/// The span that tables may always have, even in a small section, bytes.
const FEW_BYTES: usize = 64 << 10;

/// Returns `true` if tables overlap more than any linker lets them.
pub(super) fn overlap(dwarf: &gimli::Dwarf<Slice<'_>>) -> bool {
    let mut offsets = Vec::new();
    let mut units = dwarf.units();
    while let Ok(Some(unit)) = units.next() {
        offsets.push(unit.debug_abbrev_offset().0);
    }
    offsets.sort_unstable();
    offsets.dedup();
    let section = *dwarf.debug_abbrev.reader();
    let mut left = section.len().saturating_mul(MOST_SPANS) + FEW_BYTES;
    for offset in offsets {
        let mut rest = section;
        if rest.skip(offset).is_err() {
            continue;
        }
        let most = rest.len();
        // A table that is broken is not parsed further than to there either.
        let _ended_early = skip_table(&mut rest, left);
        match left.checked_sub(most - rest.len()) {
            Some(less) => left = less,
            None => return true,
        }
    }
    false
}

/// Skips a table, or as many bytes of it as `most` and one declaration.
fn skip_table(input: &mut Slice<'_>, most: usize) -> gimli::Result<()> {
    let end = input.len().saturating_sub(most);
    while input.read_uleb128()? != 0 && input.len() >= end {
        let _tag = input.read_uleb128()?;
        let _has_children = input.read_u8()?;
        loop {
            let (name, form) = (input.read_uleb128()?, input.read_uleb128()?);
            if form == u64::from(gimli::DW_FORM_implicit_const.0) {
                input.read_sleb128()?;
            }
            if name == 0 && form == 0 {
                break;
            }
        }
    }
    Ok(())
}
