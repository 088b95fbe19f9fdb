//! Containers, and the containers that they are made of: a `String` is made of a `Vec<u8>`, a
//! `HashMap` of a raw table.
//!
//! This module must never take a container for the one around it: a `Vec<String>` is not made of
//! its strings.

use super::spell::normal;
use crate::name::{path_and_arguments, types};

/// The kind of container that asked for a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The growable buffer below `Vec` and others.
    Buffer,
    Vec,
    VecDeque,
    BinaryHeap,
    LinkedList,
    /// `String`, `OsString`, `PathBuf`, `CString`, by path.
    Text(&'static str),
    /// The hash table below maps and sets, by the path of the map it is likely to be below.
    Table(&'static str),
    /// A map, by path: the standard library's or hashbrown's.
    Map(&'static str),
    /// A set, by path.
    Set(&'static str),
    BTreeMap,
    BTreeSet,
    Box,
    /// The box of an array that `vec![a, b]` fills and makes the buffer of a `Vec`, by the array.
    Literal,
    Rc,
    Arc,
    IndexMap,
    IndexSet,
    /// Any other, by the path in its one argument.
    Other,
}

pub(super) const STRING: &str = "alloc::string::String";
pub(super) const OS_STRING: &str = "std::ffi::os_str::OsString";
pub(super) const PATH_BUF: &str = "std::path::PathBuf";
pub(super) const C_STRING: &str = "alloc::ffi::c_str::CString";
pub(super) const STD_MAP: &str = "std::collections::hash::map::HashMap";
pub(super) const STD_SET: &str = "std::collections::hash::set::HashSet";
pub(super) const BROWN_MAP: &str = "hashbrown::map::HashMap";
pub(super) const BROWN_SET: &str = "hashbrown::set::HashSet";

/// Types by their path, or (with `::` at the end) by the module around it, with the container that
/// asks for memory in their methods. The first entry of a kind, except text, is the kind's own
/// type.
pub(super) const TYPES: &[(&str, Kind)] = &[
    ("str", Kind::Text(STRING)),
    ("alloc::vec::Vec", Kind::Vec),
    ("alloc::raw_vec::RawVec", Kind::Buffer),
    ("alloc::collections::vec_deque::VecDeque", Kind::VecDeque),
    (
        "alloc::collections::binary_heap::BinaryHeap",
        Kind::BinaryHeap,
    ),
    (
        "alloc::collections::linked_list::LinkedList",
        Kind::LinkedList,
    ),
    ("alloc::collections::btree::map::BTreeMap", Kind::BTreeMap),
    ("alloc::collections::btree::map::entry::", Kind::BTreeMap),
    ("alloc::collections::btree::node::LeafNode", Kind::BTreeMap),
    (
        "alloc::collections::btree::node::InternalNode",
        Kind::BTreeMap,
    ),
    ("alloc::collections::btree::set::BTreeSet", Kind::BTreeSet),
    ("alloc::string::String", Kind::Text(STRING)),
    ("alloc::ffi::c_str::CString", Kind::Text(C_STRING)),
    ("core::ffi::c_str::CStr", Kind::Text(C_STRING)),
    ("std::ffi::os_str::OsString", Kind::Text(OS_STRING)),
    ("std::ffi::os_str::OsStr", Kind::Text(OS_STRING)),
    ("std::sys::os_str::", Kind::Text(OS_STRING)),
    ("std::path::PathBuf", Kind::Text(PATH_BUF)),
    ("std::path::Path", Kind::Text(PATH_BUF)),
    ("alloc::boxed::Box", Kind::Box),
    ("alloc::rc::Rc", Kind::Rc),
    ("alloc::rc::UniqueRc", Kind::Rc),
    ("alloc::rc::UniqueRcUninit", Kind::Rc),
    ("alloc::sync::Arc", Kind::Arc),
    ("alloc::sync::UniqueArcUninit", Kind::Arc),
    ("hashbrown::raw::RawTable", Kind::Table(BROWN_MAP)),
    (STD_MAP, Kind::Map(STD_MAP)),
    (BROWN_MAP, Kind::Map(BROWN_MAP)),
    (STD_SET, Kind::Set(STD_SET)),
    (BROWN_SET, Kind::Set(BROWN_SET)),
    ("indexmap::map::IndexMap", Kind::IndexMap),
    ("indexmap::set::IndexSet", Kind::IndexSet),
    ("std::collections::hash::map::", Kind::Map(STD_MAP)),
    ("hashbrown::map::", Kind::Map(BROWN_MAP)),
    ("hashbrown::rustc_entry::", Kind::Map(BROWN_MAP)),
    ("indexmap::map::", Kind::IndexMap),
    ("indexmap::inner::", Kind::IndexMap),
];

impl Kind {
    /// Returns the number of arguments of its type, without hasher and allocator.
    pub(super) fn parameters(self) -> usize {
        match self {
            Kind::Text(_) => 0,
            Kind::Map(_) | Kind::BTreeMap | Kind::IndexMap => 2,
            _ => 1,
        }
    }

    /// Returns `true` if the hasher follows them.
    pub(super) fn has_hasher(self) -> bool {
        matches!(
            self,
            Kind::Map(_) | Kind::Set(_) | Kind::IndexMap | Kind::IndexSet
        )
    }
}

/// The contents that a stack names for its block: full names, not yet in one spelling.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct ContentNames {
    /// The container that asked for the block.
    pub container: String,
    /// The container that it is made of and that asked, if that is another one: the table of a
    /// map.
    pub allocating: Option<String>,
    /// The type of one element; an entry of a map is `(K, V)`.
    pub element: Option<String>,
    /// The type being deserialized, or cloned, when it asked.
    pub owner: Option<String>,
    /// The contents under the other names of a function on the stack that has the same machine
    /// code as other functions, if they differ. `None` if such a name does not tell the
    /// contents.
    pub others: Vec<Option<ContentNames>>,
}

/// A container and what it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Container {
    pub(super) kind: Kind,
    /// Its type's arguments, spelled one way, the allocator left out.
    pub(super) arguments: Vec<String>,
    /// `true` if the container is known only from functions that were not inlined into the
    /// program's code. The linker may have folded functions of other types, with the same
    /// instructions, into them.
    pub(super) shared: bool,
}

impl Container {
    pub(super) fn new<'a>(kind: Kind, arguments: impl IntoIterator<Item = &'a str>) -> Container {
        Container {
            kind,
            arguments: arguments.into_iter().map(normal).collect(),
            shared: false,
        }
        .plain()
    }

    /// Returns the container whose innards are in a box, for such a box.
    fn plain(self) -> Container {
        let (path, arguments) = match (self.kind, self.arguments.as_slice()) {
            (Kind::Box | Kind::Rc | Kind::Arc, [inner]) => path_and_arguments(inner),
            (Kind::BTreeMap, [key, value])
                if value == "alloc::collections::btree::set_val::SetValZST" =>
            {
                return Container::new(Kind::BTreeSet, [key.as_str()]);
            }
            _ => return self,
        };
        let kind = match (self.kind, path, arguments.len()) {
            (Kind::Box, "alloc::collections::btree::node::LeafNode", 2)
            | (Kind::Box, "alloc::collections::btree::node::InternalNode", 2) => Kind::BTreeMap,
            (Kind::Box, "alloc::collections::linked_list::Node", 1) => Kind::LinkedList,
            (Kind::Box, "alloc::sync::ArcInner", 1) => Kind::Arc,
            (Kind::Box, "alloc::rc::RcInner" | "alloc::rc::RcBox", 1) => Kind::Rc,
            // Before its value is there.
            (Kind::Rc | Kind::Arc, "core::mem::maybe_uninit::MaybeUninit", _) => self.kind,
            _ => return self,
        };
        Container::new(kind, arguments)
    }

    /// Combines a container with the one whose code called it. Returns `None` if `outer` is a
    /// different container, which the block does not belong to.
    pub(super) fn within(&self, outer: &Container, direct: bool) -> Option<Container> {
        let inner = self;
        let fits = |expected: &[&str]| inner.arguments.iter().eq(expected.iter());
        let argument = |index: usize| outer.arguments.get(index).map_or("", String::as_str);
        let same_first = || {
            inner
                .arguments
                .first()
                .is_some_and(|first| first == argument(0))
        };
        if inner.kind == outer.kind {
            let common = inner.arguments.len().min(outer.arguments.len());
            if inner.arguments.get(..common) == outer.arguments.get(..common) {
                let is_longer = inner.arguments.len() > common;
                return Some(if is_longer { inner } else { outer }.clone());
            }
            // `Rc<str>` is made as `Rc<[u8]>`.
            let bytes = matches!(inner.kind, Kind::Box | Kind::Rc | Kind::Arc) && fits(&["[u8]"]);
            let text = [
                "str",
                "std::path::Path",
                "std::ffi::os_str::OsStr",
                "core::ffi::c_str::CStr",
            ];
            if bytes && text.contains(&argument(0)) {
                return Some(outer.clone());
            }
            // Code of a container calls code of another one of its kind only for a value that it
            // holds. Otherwise the inner code was merged with equal code, and inlined later (fat
            // LTO).
            return (direct && !self.is_held_by(outer)).then(|| outer.clone());
        }
        let same = match (outer.kind, inner.kind) {
            // Other functions of `Box`, such as `default`, begin like that as well.
            (Kind::Box, Kind::Literal) => fits(&[argument(0)]),
            (Kind::Vec | Kind::VecDeque | Kind::BinaryHeap, Kind::Buffer)
            | (Kind::VecDeque | Kind::BinaryHeap, Kind::Vec) => fits(&[argument(0)]),
            (Kind::Box, Kind::Buffer | Kind::Vec) => match in_brackets(argument(0)) {
                Some(element) => fits(&[element]),
                None if argument(0) == "str" => fits(&["u8"]),
                None => return None,
            },
            (Kind::Box, Kind::Text(STRING)) if argument(0) == "str" => true,
            (Kind::Text(_), Kind::Buffer | Kind::Vec) => fits(&["u8"]),
            // A path is an OS string, which may be made of a string.
            (Kind::Text(OS_STRING), Kind::Text(STRING))
            | (Kind::Text(PATH_BUF), Kind::Text(OS_STRING | STRING)) => true,
            (Kind::Map(_), Kind::Table(_)) => fits(&[&entry(argument(0), argument(1))]),
            (Kind::Set(_), Kind::Table(_)) => fits(&[&entry(argument(0), "()")]),
            (Kind::Map(STD_MAP), Kind::Map(BROWN_MAP)) => {
                inner.arguments.get(..2) == outer.arguments.get(..2)
            }
            (Kind::Set(_), Kind::Map(_)) => {
                same_first() && inner.arguments.get(1).is_some_and(|value| value == "()")
            }
            (Kind::Set(STD_SET), Kind::Set(BROWN_SET)) | (Kind::IndexSet, Kind::IndexMap) => {
                same_first()
            }
            // This happens only if a function of the one was folded into a function of the other.
            (Kind::BTreeSet, Kind::BTreeMap) | (Kind::BTreeMap, Kind::BTreeSet) => false,
            (Kind::IndexMap | Kind::IndexSet, Kind::Table(_)) => fits(&["usize"]),
            (Kind::IndexMap | Kind::IndexSet, Kind::Vec | Kind::Buffer) => inner
                .arguments
                .first()
                .is_some_and(|element| element.contains("Bucket<")),
            _ => return None,
        };
        if same {
            return Some(outer.with_hasher_of(inner));
        }
        // The table and the entries of an index do not tell its types.
        if matches!(outer.kind, Kind::IndexMap) {
            return None;
        }
        // One block seems to have two types, because the linker folded equal code of different
        // types into one function. The outer type is right if its code calls the inner code
        // directly, unless it holds values of the inner type. Then the inner one is such a value,
        // being made.
        (direct && self.shared && !self.is_held_by(outer)).then(|| outer.clone())
    }

    /// A map or set with the hasher that a map inside it knows.
    fn with_hasher_of(&self, inner: &Container) -> Container {
        let mut this = self.clone();
        let knows = |kind| matches!(kind, Kind::Map(_) | Kind::Set(_));
        if knows(self.kind) && knows(inner.kind) && this.arguments.len() == self.kind.parameters() {
            let hasher = inner.arguments.get(inner.kind.parameters());
            this.arguments.extend(hasher.cloned());
        }
        this
    }

    /// Returns `true` if values of this type are part of what the other one holds, as far as names
    /// tell.
    fn is_held_by(&self, outer: &Container) -> bool {
        let name = self.name();
        let mut arguments = outer.arguments.iter();
        arguments.any(|argument| argument.contains(&name))
    }

    /// Its full name.
    fn name(&self) -> String {
        let of = |path: &str| format!("{path}<{}>", self.arguments.join(", "));
        match self.kind {
            Kind::Buffer => of("alloc::vec::Vec"),
            Kind::Literal => format!("alloc::vec::Vec<{}>", self.element().unwrap_or_default()),
            Kind::Text(path) => path.to_owned(),
            Kind::Table(map) => match self.table_entry() {
                Some([key, value]) => format!("{map}<{key}, {value}>"),
                _ => of("hashbrown::table::HashTable"),
            },
            Kind::Other => self.arguments.first().cloned().unwrap_or_default(),
            kind => {
                let own = TYPES.iter().find(|(_, of)| *of == kind);
                own.map_or_else(String::new, |(path, _)| of(path))
            }
        }
    }

    /// Returns the contents of its block, as far as they are known.
    pub(super) fn names(&self) -> ContentNames {
        ContentNames {
            container: self.name(),
            element: self.element(),
            ..ContentNames::default()
        }
    }

    /// Returns the contents of a block that a container inside this one asked for.
    pub(super) fn names_around(&self, inner: &Container) -> ContentNames {
        let names = self.names();
        let inner = Some(inner.name()).filter(|inner| *inner != names.container);
        ContentNames {
            allocating: inner,
            ..names
        }
    }

    /// The type of one element; an entry of a map is `(K, V)`.
    fn element(&self) -> Option<String> {
        match (self.kind, self.arguments.as_slice()) {
            (Kind::Text(_), _) => None,
            (Kind::Literal, [array]) => array_element(array).map(str::to_owned),
            (Kind::Map(_) | Kind::BTreeMap | Kind::IndexMap, [key, value, ..]) => {
                Some(entry(key, value))
            }
            (Kind::Box | Kind::Rc | Kind::Arc, [held, ..]) => {
                let slice = in_brackets(held)
                    .filter(|element| types(element).len() == 1)
                    .filter(|_| array_element(held).is_none());
                match (held.as_str(), slice) {
                    ("str", _) => None,
                    (_, Some(element)) => Some(element.to_owned()),
                    _ => Some(held.clone()),
                }
            }
            (Kind::Other, _) => {
                let (_, arguments) = path_and_arguments(self.arguments.first()?);
                arguments
                    .first()
                    // `SmallVec<[T; 4]>`
                    .map(|&first| array_element(first).unwrap_or(first).to_owned())
            }
            (_, [element, ..]) => Some(element.clone()),
            _ => None,
        }
    }

    /// Key and value of a table of pairs.
    fn table_entry(&self) -> Option<[&str; 2]> {
        let pair = self.arguments.first()?;
        let pair = pair.strip_prefix('(')?.strip_suffix(')')?;
        types(pair).try_into().ok()
    }
}

/// `T` of `[T]`, and all of `T; 3`.
pub(super) fn in_brackets(of: &str) -> Option<&str> {
    of.strip_prefix('[')?.strip_suffix(']')
}

/// `T` of `[T; 3]`.
pub(super) fn array_element(of: &str) -> Option<&str> {
    let (element, length) = in_brackets(of)?.rsplit_once("; ")?;
    let is_length = !length.is_empty() && length.bytes().all(|byte| byte.is_ascii_digit());
    is_length.then_some(element)
}

/// The entry of a map.
fn entry(key: &str, value: &str) -> String {
    format!("({key}, {value})")
}
