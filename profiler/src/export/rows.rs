//! The rows of the report as values by key, for formats that have tables.

use std::io;

use serde_json::Value;

use crate::profile::{Measure, Profile};
use crate::report::row_json;
use crate::table::{By, Detail, HeldFigures, Row};

/// Returns a row as the report's JSON has it, with what it holds in a snapshot. Instead of a list,
/// `stacks` is a number.
pub(super) fn row_values(
    profile: &Profile,
    (by, measure): (By, Measure),
    row: &Row,
    held: Option<&HeldFigures>,
) -> io::Result<Value> {
    let mut json = row_json(profile, (by, measure), row)?;
    for (key, figure) in held.into_iter().flat_map(HeldFigures::by_key) {
        json[key] = figure.into();
    }
    let owner = match &row.detail {
        Detail::Site(detail) => {
            // JSON would list them.
            json["stacks"] = detail.stacks.into();
            detail.owner
        }
        Detail::Owner { owner, .. } => *owner,
        _ => None,
    };
    // Without a frame, JSON has the key there.
    if owner.is_none() {
        json["function"] = Value::Null;
    }
    Ok(json)
}

/// Returns the paths of the further columns of a table in the JSON of a row.
pub(super) fn details(by: By) -> &'static str {
    match by {
        By::Site => "what where owner function crate file line phase field type stacks",
        By::Owner => "function crate file line",
        By::Function => "crate inclusive/total_bytes inclusive/live_bytes inclusive/peak_bytes",
        By::Crate | By::Module => "sites",
        By::Type => "full_name values inline_bytes",
        By::Field => {
            "type full_name values inline_bytes stayed_bytes \
             with_inner/total_bytes with_inner/live_bytes with_inner/peak_bytes \
             in_arenas/total_bytes in_arenas/total_blocks in_arenas_with_inner/total_bytes"
        }
        By::Thread => "threads",
        By::Phase => {
            "entered input_bytes records elapsed_ns stayed_bytes \
             with_inner/total_bytes with_inner/live_bytes with_inner/peak_bytes"
        }
        By::Arena | By::Holder => "",
    }
}
