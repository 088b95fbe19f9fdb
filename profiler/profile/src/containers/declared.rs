//! Containers of the program's own, which it declares.

use serde::Deserialize;

use super::Walk;

/// A container that a program declares: a list of elements of the type's first argument, in one
/// block. A snapshot then knows how full such lists are, and what beyond their length is unused.
///
/// `cargo heapglass` reads declarations from `[[package.metadata.heapglass.containers]]`. They need
/// types (`debug = "full"`), as fields are found by their names.
///
/// Nothing proves a declaration: if `length` is the name of a field that counts something else,
/// figures of unused capacity are wrong.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeclaredContainer {
    /// The path of the type, without arguments: `shop::pool::Pool`.
    #[serde(rename = "type")]
    pub path: String,
    /// The field with the pointer to the first element.
    pub pointer: String,
    /// The field with the number of elements that the block has room for.
    pub capacity: String,
    /// The field with the number of elements that are in use. These are the first ones.
    pub length: String,
}

impl DeclaredContainer {
    /// Returns how to read a value.
    pub fn walk(&self) -> Walk<'_> {
        Walk::List {
            pointer: &self.pointer,
            capacity: &self.capacity,
            length: &self.length,
        }
    }
}
