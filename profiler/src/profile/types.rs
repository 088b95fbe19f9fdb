//! Types: the contents of blocks, and the types that the values belong to.

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

/// A kind of container.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum TypeKind {
    /// Text: `String`, `Box<str>`, `PathBuf`, `CString`.
    Text,
    /// `Vec`, `VecDeque`, `Box<[T]>`, `BinaryHeap`.
    Sequence,
    /// `HashMap`, `BTreeMap` and their sets.
    Map,
    /// `Box<T>`, `LinkedList` nodes.
    Pointer,
    /// `Rc`, `Arc`.
    Shared,
    /// A closure, future or trait object in a box.
    Dynamic,
    /// Anything else.
    #[default]
    Other,
}

impl TypeKind {
    /// Returns the kind of a type with this full name.
    pub fn of(full: &str) -> TypeKind {
        let name = full.split('<').next().unwrap_or(full);
        match name.rsplit("::").next().unwrap_or(name) {
            "String" | "PathBuf" | "OsString" | "CString" => TypeKind::Text,
            "Vec" | "VecDeque" | "BinaryHeap" | "SmallVec" | "ArrayVec" => TypeKind::Sequence,
            "HashMap" | "BTreeMap" | "HashSet" | "BTreeSet" | "IndexMap" | "IndexSet"
            | "HashTable" => TypeKind::Map,
            "Rc" | "Arc" => TypeKind::Shared,
            "Box" if full.ends_with("<str>") => TypeKind::Text,
            "Box" if full.ends_with("]>") && full.contains("<[") && !full.contains("; ") => {
                TypeKind::Sequence
            }
            "Box" if full.contains("<dyn ") || full.ends_with("{{closure}}>") => TypeKind::Dynamic,
            "Box" | "LinkedList" => TypeKind::Pointer,
            _ => TypeKind::Other,
        }
    }
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
