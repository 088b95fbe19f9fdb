//! Containers: the facts about each, in one file for a container or a family of one layout.
//!
//! A [`ContainerType`] says how stacks name a container (`types` reads that), what its blocks hold
//! (`snapshot` and `typed`), which of its fields lead to them (`typed`), and how it grows and
//! shrinks (`advice`). No other module has a list of containers.
//!
//! # Add a container
//!
//! Write a file with the facts, and add it to the modules and to `FILES` below. This is all of
//! `VecDeque`:
//!
//! ```text
//! pub(super) static CONTAINERS: &[&ContainerType] = &[&VEC_DEQUE];
//!
//! static VEC_DEQUE: ContainerType = ContainerType {
//!     stacks: Stacks {
//!         names_its_module: true,
//!         made_of: &[(&vec::RAW_VEC, Part::Element), (&vec::VEC, Part::Element)],
//!         ..Stacks::of_one_argument()
//!     },
//!     blocks: BlockKind::Deque,
//!     values: &[(
//!         "alloc::collections::vec_deque::VecDeque",
//!         Walk::Deque { pointer: "ptr", capacity: "cap", head: "head", length: "len" },
//!     )],
//!     growth: Growth { fills_in_place: true, ..Growth::of_list() },
//!     ..ContainerType::new("alloc::collections::vec_deque::VecDeque", TypeKind::Sequence)
//! };
//! ```
//!
//! A fact that is left out is "not known": blocks whose layout is not known keep all their words,
//! and advice names no method that is not listed. So a container can begin with its path and kind.
//! Say only what the container's source shows, for all versions that are in use.
//!
//! A program can declare a container of its own, whose field names are not known here:
//! [`DeclaredContainer`].
//!
//! The tests in `tests.rs` check all files: each path is listed once, and facts agree with each
//! other. Add stacks that name the container to `types/tests/stacks.rs`.
//!
//! Containers of C++ are named as their source names them (`std::vector`). Their functions are
//! methods of types, so that `stacks` needs no modules.

mod binary_heap;
mod boxed;
mod btree;
mod bump;
mod bytes;
mod c_string;
mod counted;
mod declared;
mod fill;
mod hash;
mod index;
mod linked_list;
mod os_string;
mod queue;
mod small_vec;
mod std_deque;
mod std_function;
mod std_list;
mod std_map;
mod std_pointer;
mod std_string;
mod std_unordered;
mod std_vector;
mod string;
#[cfg(test)]
mod tests;
mod vec;
mod vec_deque;

pub use boxed::{BOX, Held};
pub use declared::DeclaredContainer;
pub use fill::Header;
pub use fill::{Fill, bucket_bytes};
pub use hash::{HASH_TABLE, RAW_TABLE, RAW_TABLE_OF_STD};
pub use os_string::PATH_BUF;
pub use string::STRING;
pub use vec::{LITERAL, RAW_VEC, VEC};

use std::collections::HashMap;
use std::sync::LazyLock;

/// All containers, by file.
static FILES: &[&[&ContainerType]] = &[
    vec::CONTAINERS,
    string::CONTAINERS,
    os_string::CONTAINERS,
    c_string::CONTAINERS,
    vec_deque::CONTAINERS,
    binary_heap::CONTAINERS,
    linked_list::CONTAINERS,
    btree::CONTAINERS,
    hash::CONTAINERS,
    index::CONTAINERS,
    boxed::CONTAINERS,
    counted::CONTAINERS,
    small_vec::CONTAINERS,
    bytes::CONTAINERS,
    bump::CONTAINERS,
    queue::CONTAINERS,
    std_vector::CONTAINERS,
    std_string::CONTAINERS,
    std_map::CONTAINERS,
    std_unordered::CONTAINERS,
    std_deque::CONTAINERS,
    std_list::CONTAINERS,
    std_function::CONTAINERS,
    std_pointer::CONTAINERS,
];

/// The facts about a container.
pub struct ContainerType {
    /// The path of the type, without arguments.
    pub path: &'static str,
    /// Its kind. That of `Box` depends on what it holds: [`ContainerType::kind_of`].
    kind: TypeKind,
    pub stacks: Stacks,
    /// The contents of its blocks.
    blocks: BlockKind,
    /// The types of its blocks in debug information, if each is one value: nodes, counted values.
    pub nodes: &'static [&'static str],
    /// The type that a set has in place of the values of a map.
    pub unit: Option<&'static str>,
    /// Types of its values in debug information (`..` stands for any modules), and how to read
    /// them.
    pub values: &'static [(&'static str, Walk<'static>)],
    /// The changes by code that has a shared reference to a value.
    pub changes: Changes,
    pub growth: Growth,
}

impl ContainerType {
    /// Returns a map of C++ whose entries lie in a tree or table with one of these names.
    const fn map_of_cpp(path: &'static str, below: &'static [&'static str]) -> ContainerType {
        ContainerType {
            stacks: Stacks {
                below,
                parameters: 2,
                element: Element::Entry,
                ..Stacks::of_one_argument()
            },
            ..ContainerType::new(path, TypeKind::Map)
        }
    }

    /// Returns a set of C++, which has no values but is otherwise a map.
    const fn set_of_cpp(path: &'static str, below: &'static [&'static str]) -> ContainerType {
        ContainerType {
            stacks: Stacks {
                below,
                ..Stacks::of_one_argument()
            },
            ..ContainerType::new(path, TypeKind::Map)
        }
    }

    /// Returns a container of which only the name and the kind are known.
    const fn new(path: &'static str, kind: TypeKind) -> ContainerType {
        ContainerType {
            path,
            kind,
            stacks: Stacks::NONE,
            blocks: BlockKind::Unknown,
            nodes: &[],
            unit: None,
            values: &[],
            changes: Changes::WithArguments,
            growth: Growth::NONE,
        }
    }

    /// Returns the kind of a type by its full name, which begins with the path.
    fn kind_of(&self, full: &str) -> TypeKind {
        match self.blocks {
            BlockKind::Boxed => Held::of(full).kind(),
            _ => self.kind,
        }
    }

    /// Returns what the blocks of a type hold, by its full name.
    fn blocks_of(&self, full: &str) -> BlockKind {
        match (self.blocks, Held::of(full)) {
            (BlockKind::Boxed, Held::Text | Held::Elements(_)) => BlockKind::Slice,
            (kind, _) => kind,
        }
    }

    /// Returns `true` if the container holds text and is made of bytes.
    pub fn is_text(&self) -> bool {
        self.kind == TypeKind::Text
    }

    /// Returns `true` if it grows a buffer of its elements by the code that all such containers
    /// share.
    pub fn grows_a_buffer(&self) -> bool {
        let is_buffer = matches!(self.blocks, BlockKind::List | BlockKind::Deque);
        is_buffer && self.stacks.inside.is_none()
    }

    /// Returns `true` for a collection: neither a text nor a pointer to one value or slice.
    pub fn is_collection(&self) -> bool {
        let is_pointer = matches!(self.blocks, BlockKind::Boxed | BlockKind::Counted);
        !self.is_text() && !is_pointer && self.blocks != BlockKind::Unknown
    }

    /// Returns `true` for `Box`, `Rc` and `Arc`: a block for one value or slice.
    pub fn is_pointer(&self) -> bool {
        matches!(self.blocks, BlockKind::Boxed | BlockKind::Counted)
    }

    /// Returns `true` for a B-tree.
    pub fn is_tree(&self) -> bool {
        self.blocks == BlockKind::Nodes && self.kind == TypeKind::Map
    }

    /// Returns `true` if a value consists of nothing but a pointer to a block of its own, and of
    /// numbers.
    pub fn owns_one_block(&self) -> bool {
        matches!(
            self.blocks,
            BlockKind::List | BlockKind::Slice | BlockKind::Deque | BlockKind::Boxed
        )
    }
}

/// A container is itself and no other one, whatever facts they share.
impl PartialEq for ContainerType {
    fn eq(&self, other: &ContainerType) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for ContainerType {}

impl std::fmt::Debug for ContainerType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.path)
    }
}

/// The names of a container on stacks, and the containers that it is made of.
pub struct Stacks {
    /// Stacks name it at all.
    pub is_named: bool,
    /// Other types, and (with `::` at the end) modules, in whose methods it asks for memory.
    pub also: &'static [&'static str],
    /// Modules in whose free functions it asks for memory, in addition to those of its types.
    pub modules: &'static [&'static str],
    /// Functions and modules in these modules whose arguments mean something else.
    pub except: &'static [&'static str],
    /// Types that ask for its memory and do not tell its arguments, with all types inside them.
    pub below: &'static [&'static str],
    /// Nearly all functions of its module are its methods.
    pub names_its_module: bool,
    /// The arguments that a name must have.
    pub parameters: usize,
    /// The arguments that follow them and are kept: a hasher, the length of an array.
    pub more: usize,
    /// The hashers that are left out of names.
    pub hashers: &'static [&'static str],
    /// The type of one element.
    pub element: Element,
    /// The containers inside it that ask for its memory.
    pub made_of: &'static [(&'static ContainerType, Part)],
    /// The container that a stack stands for if it shows only this one, which no program names.
    pub inside: Option<&'static ContainerType>,
}

impl Stacks {
    const NONE: Stacks = Stacks {
        is_named: false,
        ..Stacks::of_one_argument()
    };

    /// Returns the names of a type with one argument, its element.
    const fn of_one_argument() -> Stacks {
        Stacks {
            is_named: true,
            also: &[],
            modules: &[],
            except: &[],
            below: &[],
            names_its_module: false,
            parameters: 1,
            more: 0,
            hashers: &[],
            element: Element::First,
            made_of: &[],
            inside: None,
        }
    }

    /// Returns the names of a type without arguments that is made of bytes.
    const fn of_text() -> Stacks {
        Stacks {
            parameters: 0,
            element: Element::None,
            ..Stacks::of_one_argument()
        }
    }
}

/// The type of one element, by the arguments of the container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    None,
    /// The first argument.
    First,
    /// `(K, V)`.
    Entry,
    /// The value behind the pointer, or the element of the slice.
    Held,
    /// The element of the array that the first argument is, or that argument.
    OfArray,
}

/// The arguments that a container inside another one must have to be a part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Any.
    Any,
    /// The outer one's first argument, and no other.
    Element,
    /// The outer one's first arguments, whatever follows.
    First(usize),
    /// The element of the slice that the outer one holds.
    Slice,
    /// Any, if the outer one holds a `str`.
    Text,
    /// `u8`.
    Bytes,
    /// One argument: an entry of the outer map, or of the set with its unit.
    Entry,
    /// The arguments of the map that the outer set is.
    MapOfUnits,
    /// `usize`: the indexes of a list of entries.
    Indexes,
    /// The entries of such a list.
    Buckets,
    /// None: only code that was folded into equal code of the other shows both.
    Never,
}

/// A kind of container, by what its blocks hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BlockKind {
    /// Not known: every word that points into a block owns it.
    #[default]
    Unknown,
    /// `Vec`, `String`, `BinaryHeap`, `OsString`, `PathBuf`: capacity, pointer and length.
    List,
    /// `Box<[T]>`, `Box<str>`: a pointer and a length, without spare capacity.
    Slice,
    /// `VecDeque`.
    Deque,
    /// `HashMap`, `HashSet`.
    Table,
    /// `Box`.
    Boxed,
    /// `Rc`, `Arc`: two counts before the value.
    Counted,
    /// Elements, the first of which are in use, with a header of another form than that of `Vec`.
    /// Only debug information tells how full they are: `SmallVec`.
    Elements,
    /// Nodes that point to each other: `BTreeMap`, `LinkedList`.
    Nodes,
    /// Blocks of the containers that it is made of: `IndexMap`.
    Parts,
}

/// The way from a value of a container to its blocks, by the fields that debug information names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Walk<'a> {
    /// A list of elements.
    List {
        pointer: &'a str,
        capacity: &'a str,
        length: &'a str,
    },
    Deque {
        pointer: &'a str,
        capacity: &'a str,
        head: &'a str,
        length: &'a str,
    },
    /// The elements of a list that are left to be taken.
    Iter {
        pointer: &'a str,
        capacity: &'a str,
        first: &'a str,
        end: &'a str,
    },
    /// hashbrown's table.
    Table {
        control: &'a str,
        mask: &'a str,
        left: &'a str,
        items: &'a str,
    },
    /// The counts of a shared value, and the value.
    Counted {
        strong: &'a str,
        value: &'a [&'a str],
    },
    /// A tree whose nodes hang on a field.
    Tree { root: &'a str },
    /// A node of a B-tree.
    Node,
    /// A list that is in place up to a capacity.
    Small,
    /// Bytes of a buffer that may be shared.
    BytesMut {
        pointer: &'a str,
        length: &'a str,
        capacity: &'a str,
        data: &'a str,
    },
    /// A view of bytes, and the pointer that holds them, whose lowest bit is no part of it.
    Bytes { pointer: &'a str, data: &'a str },
    /// A pointer to bytes, whose lowest bit is no part of it.
    Tagged { pointer: &'a [&'a str] },
    /// A place of a queue, whose value is there from when it was written until it is read.
    Slot {
        state: &'a str,
        value: &'a [&'a str],
    },
}

/// The changes of a value by code that has a shared reference to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changes {
    /// None, whatever atomic numbers it has inside.
    Never,
    /// Those of its arguments.
    WithArguments,
    /// Its own.
    Always,
}

/// The growth of a container, and the methods that advice may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Growth {
    /// `with_capacity(n)`, and growth by `realloc`, which that saves.
    pub grows_by_realloc: bool,
    /// `clear()` that keeps the block, so that it can be used again.
    pub clears: bool,
    /// `shrink_to_fit()`.
    pub shrinks: bool,
    /// The type that holds the same without unused capacity.
    pub exact_type: Option<&'static str>,
    /// An arena such as bumpalo has the same container, or takes the value as it is.
    pub fits_arena: bool,
    /// serde fills an old value in place (`deserialize_in_place`).
    pub fills_in_place: bool,
}

impl Growth {
    pub const NONE: Growth = Growth {
        grows_by_realloc: false,
        clears: false,
        shrinks: false,
        exact_type: None,
        fits_arena: false,
        fills_in_place: false,
    };

    const fn of_list() -> Growth {
        Growth {
            grows_by_realloc: true,
            ..Growth::of_table()
        }
    }

    /// Returns the growth of a container that grows by a new block.
    const fn of_table() -> Growth {
        Growth {
            clears: true,
            shrinks: true,
            ..Growth::NONE
        }
    }
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
        of(full).map_or(TypeKind::Other, |container| container.kind_of(full))
    }
}

/// Returns all containers.
pub fn all() -> impl Iterator<Item = &'static ContainerType> {
    FILES.iter().flat_map(|file| file.iter().copied())
}

/// Returns the container with a path, which is without arguments.
pub fn by_path(path: &str) -> Option<&'static ContainerType> {
    all().find(|container| container.path == path)
}

/// Returns the container of a type with this full name: `alloc::vec::Vec<u64>`.
pub fn of(full: &str) -> Option<&'static ContainerType> {
    by_path(full.split('<').next().unwrap_or(full))
}

/// Returns the type inside an `Option`, which has no block of its own, and any other type itself.
pub fn inside_option(full: &str) -> &str {
    let inside = full.strip_prefix("core::option::Option<");
    inside
        .and_then(|inside| inside.strip_suffix('>'))
        .unwrap_or(full)
}

/// Returns what the blocks hold that a container asked for, by the full names of the container and
/// of the one inside it that asked. One of several types is not known.
pub fn block_kind(full: &str, allocating: Option<&str>) -> BlockKind {
    let known = |full: &str| of(full).map_or(BlockKind::Unknown, |known| known.blocks_of(full));
    match known(full) {
        BlockKind::Parts => allocating.map_or(BlockKind::Unknown, known),
        kind => kind,
    }
}

/// Returns `true` if the elements of a list or text are bytes, by its full name.
#[cfg(any(test, target_os = "linux"))]
pub fn holds_bytes(full: &str) -> bool {
    let Some(container) = of(full) else {
        return false;
    };
    match container.blocks {
        BlockKind::Boxed => matches!(Held::of(full), Held::Text | Held::Elements("u8")),
        BlockKind::List => container.is_text() || Held::of(full) == Held::Value("u8"),
        BlockKind::Slice => container.is_text(),
        _ => false,
    }
}

/// Returns the types of values with a name, which is without modules, and how to read each.
pub fn values_of(name: &str) -> impl Iterator<Item = (&'static str, Walk<'static>)> {
    /// The values of all containers. Plans ask for each type of a program.
    static VALUES: LazyLock<HashMap<&str, Vec<(&str, Walk<'static>)>>> = LazyLock::new(|| {
        let mut values: HashMap<&str, Vec<(&str, Walk<'static>)>> = HashMap::new();
        for &(path, walk) in all().flat_map(|container| container.values) {
            let name = path.rsplit("::").next().unwrap_or(path);
            values.entry(name).or_default().push((path, walk));
        }
        values
    });
    VALUES.get(name).into_iter().flatten().copied()
}

/// Returns the name of the type that nearly all functions of a module are methods of.
pub fn type_of_module(module: &str) -> Option<&'static str> {
    let all = all().filter(|container| container.stacks.names_its_module);
    let mut split = all.filter_map(|container| container.path.rsplit_once("::"));
    split.find_map(|(path, name)| (path == module).then_some(name))
}

/// Returns `true` for a crate whose frames are looked through like the standard library's.
pub fn is_container_crate(krate: &str) -> bool {
    // Its containers only pass on what those of other crates ask for.
    let passes_on = krate == "allocator_api2";
    let is_named = |container: &ContainerType| {
        let own = container.path.split("::").next();
        container.stacks.is_named && own == Some(krate)
    };
    let is_std = matches!(krate, "alloc" | "core" | "std");
    passes_on || !is_std && all().any(is_named)
}
