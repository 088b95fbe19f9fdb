//! The techniques that `heapglass advise` recommends: for each, a variant without the technique,
//! from which the saving is predicted, and a variant with it.
//!
//! To add one, add a row to [`REMEDIES`]. Tests and the page take their rows from there.

/// One row: a kind of advice, and the two variants of a case.
#[derive(Clone, Copy, Debug)]
pub struct Remedy {
    /// The kind of advice, by its word in JSON.
    pub kind: &'static str,
    /// The number of the case.
    pub case: &'static str,
    /// The variant without the technique.
    pub before: &'static str,
    /// The variant with it.
    pub after: &'static str,
    /// The relation of the prediction to the bytes that the technique saves.
    pub bound: Bound,
    /// The reason for a difference; empty if there is none.
    pub because: &'static str,
}

/// The relation of a predicted saving to the measured one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// Equal to the byte.
    Exact,
    /// At most the measured saving, and at least this share of it.
    AtLeast(f64),
    /// Within this share of the measured saving.
    About(f64),
}

impl Bound {
    /// Returns `true` if a prediction keeps the bound.
    pub fn holds(self, predicted: i64, measured: i64) -> bool {
        let (predicted, measured) = (predicted as f64, measured as f64);
        match self {
            Bound::Exact => predicted == measured,
            Bound::AtLeast(share) => predicted <= measured && predicted >= share * measured,
            Bound::About(share) => (predicted - measured).abs() <= share * measured,
        }
    }
}

impl std::fmt::Display for Bound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Bound::Exact => f.write_str("equal"),
            Bound::AtLeast(share) => write!(f, "{:.0} to 100 %", share * 100.0),
            Bound::About(share) => write!(f, "within {:.0} %", share * 100.0),
        }
    }
}

const fn remedy(
    kind: &'static str,
    case: &'static str,
    before: &'static str,
    after: &'static str,
    bound: Bound,
    because: &'static str,
) -> Remedy {
    Remedy {
        kind,
        case,
        before,
        after,
        bound,
        because,
    }
}

/// All rows, in the order of the kinds.
pub const REMEDIES: &[Remedy] = &[
    remedy(
        "missing_capacity",
        "2.10",
        "push",
        "with_capacity",
        Bound::AtLeast(0.5),
        "growth that does not move a block is not counted",
    ),
    remedy(
        "temporary",
        "1.12",
        "zerovec, yoked",
        "zerovec",
        Bound::AtLeast(0.9),
        "one buffer stays in the prediction, and borrowing needs none",
    ),
    remedy("buffered", "3.7", "flatten", "typed", Bound::Exact, ""),
    remedy("buffered", "3.7", "untagged", "typed", Bound::Exact, ""),
    remedy(
        "value_tree",
        "3.7",
        "value",
        "typed",
        Bound::About(0.3),
        "a field is taken to have 32 bytes; these fields are part of values on the stack",
    ),
    remedy(
        "value_tree",
        "0.22",
        "json, Value, glibc",
        "json, typed, glibc",
        Bound::About(0.3),
        "a field is taken to have 32 bytes; these fields are part of values on the stack",
    ),
    remedy(
        "small_strings",
        "0.20",
        "String",
        "compact_str",
        Bound::Exact,
        "",
    ),
    remedy(
        "small_strings",
        "3.4",
        "String",
        "kstring",
        Bound::Exact,
        "",
    ),
    remedy(
        "duplicate_content",
        "0.19",
        "String, airlines",
        "lasso, airlines",
        Bound::About(0.3),
        "a key of lasso has 4 bytes and a `String` 24, and lasso has a table of its texts",
    ),
    remedy(
        "duplicate_content",
        "3.5",
        "clone",
        "Arc",
        Bound::About(0.1),
        "an `Arc<str>` has 16 bytes and a `String` 24",
    ),
    remedy(
        "could_borrow",
        "0.20",
        "String, longer",
        "&str, longer",
        Bound::AtLeast(0.5),
        "texts of fewer than 8 bytes are not looked for, and a `&str` has 16 bytes and a `String` \
         24",
    ),
    remedy(
        "small_map",
        "3.4",
        "HashSet<u32>",
        "tinyset",
        Bound::AtLeast(0.4),
        "the prediction is for a sorted `Vec`; a tinyset of these numbers has no block, and 8 bytes \
         instead of 48",
    ),
];

/// The kinds that no row has, with the reason.
pub const WITHOUT: &[(&str, &str)] = &[
    (
        "growing",
        "each variant ends with its work, and keeps nothing that grows until the end",
    ),
    ("failed_request", "no technique asks for too much"),
    (
        "held_by_small_part",
        "its texts are read into locals: a pointer on a stack may be that of the owner",
    ),
    (
        "unused_capacity",
        "its lists of numbers are locals: nothing in the block proves a length on a stack",
    ),
    (
        "amplification",
        "it names a phase with a stated input and predicts no saving; the work states none",
    ),
    (
        "empty_container",
        "buffers that are emptied are reused by the next record, which is the technique",
    ),
    (
        "input_kept",
        "an input is used again by the next repetition of the work, so no variant drops it",
    ),
    (
        "untouched",
        "2.6 asks for blocks that it never touches, as its source does; it has no variant that asks \
         for less",
    ),
    (
        "unreachable",
        "the `String`s that 0.14 leaks have at most 16 bytes; such blocks keep no birth number, so \
         two snapshots cannot agree on them, and one proves nothing",
    ),
    (
        "cycle",
        "no technique is about reference counts that form one",
    ),
    (
        "pinned_pages",
        "no variant keeps small blocks between others that it frees, except for the input of 0.24",
    ),
    (
        "kept_by_weak",
        "no technique keeps `Weak` pointers to values that it drops",
    ),
    ("large_future", "no technique is about async functions"),
    (
        "large_variant",
        "no technique changes the variants of an enum",
    ),
    (
        "freed_together",
        "it saves blocks and no bytes, and these rows compare bytes; the cases of arenas count blocks",
    ),
    (
        "in_place_fell_back",
        "only fields in `Profiled` show it, and the variants of 0.17 and 0.18 are not wrapped",
    ),
    (
        "allocator_rounding",
        "it counts what an allocator adds to requests, and these rows compare requested bytes",
    ),
];
