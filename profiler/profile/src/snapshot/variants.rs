//! Enums of which a rare variant makes all values large.

use serde::{Deserialize, Serialize};

/// An enum whose values in lists and boxes would be smaller if its large variants were boxed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LargeVariants {
    /// The type.
    pub type_name: String,
    /// The crate of the type.
    pub krate: String,
    /// The large variants, the largest first.
    pub variants: Vec<String>,
    /// The bytes that the fields of the largest variant take.
    pub variant_bytes: u64,
    /// The bytes that the fields of any other variant take, at most.
    pub others_bytes: u64,
    /// The size of each value.
    pub value_bytes: u64,
    /// The size of each value if the fields of the large variants were boxed, at most.
    pub boxed_bytes: u64,
    /// Values that were found.
    pub values: u64,
    /// Those of them that are of a large variant. Each would have a block of its own.
    pub large_values: u64,
    /// Places for values in live blocks, with unused capacity.
    pub places: u64,
    /// The bytes of these blocks.
    pub block_bytes: u64,
    /// The bytes that are saved, less those of the new blocks.
    pub saves_bytes: u64,
    /// The site with most of these bytes, if it is in the profile.
    pub site: Option<u32>,
}
