//! The maximum sizes of tables in the format. A recording that claims more is forged.

use super::error::Error;
use crate::layout::*;

/// Size records of one row. Each size class is in one of them.
const SIZES_OF_A_ROW: u64 = crate::SIZE_CLASSES.div_ceil(SIZE_PAIRS) as u64;

/// Records of checkpoints of one row.
const CHECKPOINT_GROUPS: u64 = (CHECKPOINT_SLOTS / CHECKPOINT_GROUP) as u64;

/// Bytes of packed symbols, of snapshots, and of names.
const TEXT_BYTES: u64 = 1 << 30;

/// Returns the maximum number of records in a table, or in one lane's part of it (bytes for tables
/// of bytes).
fn most_records(table: u32) -> u64 {
    let (sites, lanes) = (u64::from(MAX_SITES), MAX_LANES as u64);
    match table {
        table::MODULES | table::THREADS | table::ARENAS => MAX_NAMED as u64,
        table::MERGED => MAX_MERGED as u64,
        // A lane has one record of visits per scope.
        table::SCOPES | table::VISITS => MAX_SCOPES as u64,
        table::SITES | table::ROWS | table::SAMPLES => sites,
        table::CHECKPOINTS => sites * CHECKPOINT_GROUPS,
        table::CHECKPOINT_MOMENTS => CHECKPOINT_SLOTS as u64,
        table::SIZES => sites * SIZES_OF_A_ROW,
        table::FRAMES | table::STACKS => sites * MAX_FRAMES as u64,
        table::LANES => lanes,
        table::FIXED_ROWS => 3 * lanes,
        table::TIMELINE => 2 * TIMELINE_POINTS as u64,
        table::SYMBOLS | table::SNAPSHOTS | table::GENERATED_NAMES => TEXT_BYTES,
        // References to strings and indices of all other records have 32 bits.
        _ => u64::from(u32::MAX),
    }
}

/// Rejects a length that is impossible in the format.
pub(super) fn check(table: u32, length: u64) -> Result<(), Error> {
    let most = most_records(table);
    if length > most {
        return Err(Error::damaged(format!(
            "table {table} has {length} records, more than the maximum of {most}"
        )));
    }
    Ok(())
}

/// Returns `true` if zeros are normal in a table: it is reserved as a whole and filled in arbitrary
/// places.
pub(super) fn is_sparse(table: u32) -> bool {
    matches!(
        table,
        table::LANES | table::FIXED_ROWS | table::TIMELINE | table::CHECKPOINT_MOMENTS
    )
}
