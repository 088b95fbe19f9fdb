//! Types: the contents of blocks, and the types that the values belong to.

use crate::containers::TypeKind;

/// Index into [`Profile::types`](super::Profile::types).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TypeId(pub u32);

/// A type.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct TypeName {
    /// With module paths, spelled one way whatever the source: `alloc::vec::Vec<app::Sailor>`.
    pub full: String,
    /// Without module paths: `Vec<Sailor>`.
    pub short: String,
    /// The kind of container, for colours and grouping.
    pub kind: TypeKind,
}

/// The contents of a site's blocks, according to the stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Contents {
    /// The container that asked for the block: `Vec<Sailor>`, `Box<Boss>`.
    pub container: TypeId,
    /// The container that it is made of and that asked for the block, if that is another one: the
    /// list or the table of an `IndexMap`, the `Vec` of a `Box<[T]>`.
    pub allocating: Option<TypeId>,
    /// The type of one element: `Sailor`; an entry of a map is `(K, V)`.
    pub element: Option<TypeId>,
    /// The type being deserialized, or built, when it asked: `Crew`.
    pub owner: Option<TypeId>,
}
