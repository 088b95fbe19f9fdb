//! The notes below the rows of each grouping: facts that a reader must know before comparing rows.

use crate::profile::arenas::HOW_TO_NAME;
use crate::profile::fields::NO_FIELD;
use crate::profile::{Group, Profile, UNKNOWN};
use crate::table::{By, Detail, Row};
use crate::units::{Bytes, printable};

/// Explains the policy for reallocations, for readers who compare single sites with other tools.
pub(super) const REALLOC_POLICY: &str = "A reallocated block moves, with its new size, to the site that \
    reallocated it. dhat-rs and heapscope leave it at the first site: totals agree, but single sites \
    may differ.";

/// Explains how a program gets rows by field.
pub(super) const NO_FIELDS: &str = "No fields: the program deserialized nothing as Profiled<T> while it was \
    recorded. Wrap the type, serde_json::from_slice::<tracking_alloc::Profiled<T>>(bytes)?.0 (any \
    serde format; feature \"serde\" of tracking-alloc), and record again.";

/// Sites of a recording without stacks.
pub(super) const NO_STACKS: &str =
    "No stacks were recorded: a site is a phase or a field, and has its name.";

/// Types of a recording without stacks.
const NO_STACKS_NO_TYPES: &str =
    "(unknown type): no stacks were recorded, so types are known only from fields (Profiled<T>).";

/// Explains an unknown type in a recording whose stacks could name types.
const NO_CONTAINER: &str = "(unknown type): neither the stack nor a field tells what these blocks \
    hold. C code allocated them, no Rust container is on the stack, or Rust code was built without \
    debug = \"limited\".";

/// Explains the figures of arenas.
pub(crate) const ARENA_FIGURES: &str = "allocated_bytes counts the usable bytes of chunks, as bumpalo \
    defines it. Pieces use part of them. All figures are inside the arena: the totals of the process \
    already include its chunks, so never add the two.";

/// Explains the figures of rows by thread.
const NO_LIVE_THREADS: &str = "Any thread may free a block, so live bytes belong to no thread. Rows \
    count what each thread allocated. freed: bytes that the thread freed, including blocks that \
    other threads allocated.";

/// The sentences below rows of threads.
fn of_threads(profile: &Profile, rows: &[Row]) -> Vec<String> {
    let mut said = vec![NO_LIVE_THREADS.to_owned()];
    let group = Group::Backtrace.name();
    if rows.iter().any(|row| row.key == group) {
        said.push(format!(
            "{group}: what the standard library allocated for backtraces, whichever thread asked for them."
        ));
    }
    let bytes = profile.backtrace_bytes_of_threads();
    if bytes > 0 {
        said.push(format!(
            "Up to {} of {group} are also in the rows of other threads: these threads ran one after \
             another, and the recording does not tell which of them allocated what.",
            Bytes(bytes)
        ));
    }
    said
}

/// Explains rows of chunks beside fields.
const CHUNKS: &str = "chunks: the blocks of an arena, which hold values of many fields. in arenas: \
    bytes ever allocated inside arenas for a field, with the places inside it; never add them to the \
    chunks. --by arena has both.";

fn has_chunks(row: &Row) -> bool {
    matches!(&row.detail, Detail::Field(detail) if detail.chunks_of.is_some())
}

/// The sentences below rows of that kind.
pub(crate) fn notes(profile: &Profile, by: By, rows: &[Row]) -> Vec<String> {
    let stacks = profile.capture().has_stacks();
    match by {
        By::Site if !stacks => vec![NO_STACKS.to_owned()],
        By::Type if !stacks && rows.iter().any(|row| row.key == UNKNOWN) => {
            vec![NO_STACKS_NO_TYPES.to_owned()]
        }
        By::Site => vec![REALLOC_POLICY.to_owned()],
        By::Type if rows.iter().any(|row| row.key == UNKNOWN) => {
            vec![match profile.unnamed() {
                Some(why) => format!("{UNKNOWN}: {}.", printable(why)),
                None => NO_CONTAINER.to_owned(),
            }]
        }
        By::Thread => of_threads(profile, rows),
        By::Arena if rows.is_empty() => HOW_TO_NAME.map(str::to_owned).to_vec(),
        By::Arena => vec![ARENA_FIGURES.to_owned()],
        By::Field if rows.iter().all(|row| row.key == NO_FIELD) => vec![NO_FIELDS.to_owned()],
        By::Field if rows.iter().any(has_chunks) => vec![CHUNKS.to_owned()],
        _ => Vec::new(),
    }
}
