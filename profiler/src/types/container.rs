//! Containers, and which of them are made of which: a `String` of a `Vec<u8>`, a `HashMap` of a raw table.
//!
//! It must never take a container for the one around it: a `Vec<String>` is not made of its strings.

use super::call::{path_and_arguments, split_arguments};
use super::spell::normal;

/// What asked for a block.
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

/// A container and what it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Container {
    pub(super) kind: Kind,
    /// Its type's arguments, spelled one way, the allocator left out.
    pub(super) arguments: Vec<String>,
    /// Known from functions that were not inlined into the code of the program only: the linker may have folded
    /// functions of other types, with the same instructions, into them.
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

    /// What a box of another container's innards is: that container.
    fn plain(self) -> Container {
        let again = |kind, arguments: Vec<&str>| Container::new(kind, arguments);
        match (self.kind, self.arguments.as_slice()) {
            (Kind::Box, [inner]) => {
                let (path, arguments) = path_and_arguments(inner);
                let count = arguments.len();
                match path {
                    "alloc::collections::btree::node::LeafNode"
                    | "alloc::collections::btree::node::InternalNode"
                        if count == 2 =>
                    {
                        again(Kind::BTreeMap, arguments)
                    }
                    "alloc::collections::linked_list::Node" if count == 1 => {
                        again(Kind::LinkedList, arguments)
                    }
                    "alloc::sync::ArcInner" if count == 1 => again(Kind::Arc, arguments),
                    "alloc::rc::RcInner" | "alloc::rc::RcBox" if count == 1 => {
                        again(Kind::Rc, arguments)
                    }
                    _ => self,
                }
            }
            (Kind::Rc | Kind::Arc, [inner]) => {
                // Before its value is there.
                match path_and_arguments(inner) {
                    ("core::mem::maybe_uninit::MaybeUninit", arguments) => {
                        again(self.kind, arguments)
                    }
                    _ => self,
                }
            }
            (Kind::BTreeMap, [key, value])
                if value == "alloc::collections::btree::set_val::SetValZST" =>
            {
                again(Kind::BTreeSet, vec![key])
            }
            _ => self,
        }
    }

    /// What it is when `outer` turns out to have asked for it: `None` if that is another container, whose business
    /// this block is not.
    pub(super) fn within(&self, outer: &Container, direct: bool) -> Option<Container> {
        let inner = self;
        let fits = |expected: &[&str]| inner.arguments.iter().eq(expected.iter());
        let argument = |index: usize| outer.arguments.get(index).map_or("", String::as_str);
        let slice = argument(0)
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'));
        if inner.kind == outer.kind {
            let common = inner.arguments.len().min(outer.arguments.len());
            if inner.arguments.get(..common) == outer.arguments.get(..common) {
                let longer = if inner.arguments.len() > common {
                    inner
                } else {
                    outer
                };
                return Some(longer.clone());
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
            // Code of a container calls that of another of its kind only for a value that it holds; else it was made one
            // of several that were equal, and inlined later (fat LTO).
            return (direct && !self.is_held_by(outer)).then(|| outer.clone());
        }
        let same = match (outer.kind, inner.kind) {
            // Other functions of `Box` (`default`) begin like that as well.
            (Kind::Box, Kind::Literal) => fits(&[argument(0)]),
            (Kind::Vec | Kind::VecDeque | Kind::BinaryHeap, Kind::Buffer)
            | (Kind::VecDeque | Kind::BinaryHeap, Kind::Vec) => fits(&[argument(0)]),
            (Kind::Box, Kind::Buffer | Kind::Vec) => match slice {
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
                inner.arguments.first().map(String::as_str) == Some(argument(0))
                    && inner.arguments.get(1).is_some_and(|value| value == "()")
            }
            (Kind::Set(STD_SET), Kind::Set(BROWN_SET)) => {
                inner.arguments.first().map(String::as_str) == Some(argument(0))
            }
            // Only ever one function folded into the other's.
            (Kind::BTreeSet, Kind::BTreeMap) | (Kind::BTreeMap, Kind::BTreeSet) => false,
            (Kind::IndexMap | Kind::IndexSet, Kind::Table(_)) => fits(&["usize"]),
            (Kind::IndexMap | Kind::IndexSet, Kind::Vec | Kind::Buffer) => inner
                .arguments
                .first()
                .is_some_and(|element| element.contains("Bucket<")),
            (Kind::IndexSet, Kind::IndexMap) => {
                inner.arguments.first().map(String::as_str) == Some(argument(0))
            }
            _ => return None,
        };
        if same {
            return Some(outer.with_hasher_of(inner));
        }
        // An index's table and entries say nothing of its types.
        if matches!(outer.kind, Kind::IndexMap) {
            return None;
        }
        self.refined(outer, direct)
    }

    /// A map or set with the hasher that a map inside it knows.
    fn with_hasher_of(&self, inner: &Container) -> Container {
        let mut this = self.clone();
        let own = match self.kind {
            Kind::Map(_) => 2,
            Kind::Set(_) => 1,
            _ => return this,
        };
        let theirs = match inner.kind {
            Kind::Map(_) => 2,
            Kind::Set(_) => 1,
            _ => return this,
        };
        if this.arguments.len() == own {
            this.arguments.extend(inner.arguments.get(theirs).cloned());
        }
        this
    }

    /// Two types for one block: the linker folds equal code of different types into one function. The outer one is
    /// right where it calls the inner one directly, unless it holds what the inner one is: then the inner one is a
    /// value being made for it.
    fn refined(&self, outer: &Container, direct: bool) -> Option<Container> {
        (direct && self.shared && !self.is_held_by(outer)).then(|| outer.clone())
    }

    /// Whether values of this type are part of what the other one holds, as far as names tell.
    fn is_held_by(&self, outer: &Container) -> bool {
        let name = self.name();
        let mut arguments = outer.arguments.iter();
        arguments.any(|argument| argument.contains(&name))
    }

    /// Its full name.
    pub(super) fn name(&self) -> String {
        let of = |path: &str| format!("{path}<{}>", self.arguments.join(", "));
        match self.kind {
            Kind::Buffer | Kind::Vec => of("alloc::vec::Vec"),
            Kind::Literal => format!("alloc::vec::Vec<{}>", self.element().unwrap_or_default()),
            Kind::VecDeque => of("alloc::collections::vec_deque::VecDeque"),
            Kind::BinaryHeap => of("alloc::collections::binary_heap::BinaryHeap"),
            Kind::LinkedList => of("alloc::collections::linked_list::LinkedList"),
            Kind::Text(path) => path.to_owned(),
            Kind::Table(map) => match self.table_entry().as_deref() {
                Some([key, value]) => format!("{map}<{key}, {value}>"),
                _ => of("hashbrown::table::HashTable"),
            },
            Kind::Map(path) | Kind::Set(path) => of(path),
            Kind::BTreeMap => of("alloc::collections::btree::map::BTreeMap"),
            Kind::BTreeSet => of("alloc::collections::btree::set::BTreeSet"),
            Kind::Box => of("alloc::boxed::Box"),
            Kind::Rc => of("alloc::rc::Rc"),
            Kind::Arc => of("alloc::sync::Arc"),
            Kind::IndexMap => of("indexmap::map::IndexMap"),
            Kind::IndexSet => of("indexmap::set::IndexSet"),
            Kind::Other => self.arguments.first().cloned().unwrap_or_default(),
        }
    }

    /// What one element is; an entry of a map is `(K, V)`.
    pub(super) fn element(&self) -> Option<String> {
        match (self.kind, self.arguments.as_slice()) {
            (Kind::Text(_), _) => None,
            (Kind::Literal, [array]) => array_element(array).map(str::to_owned),
            (Kind::Map(_) | Kind::BTreeMap | Kind::IndexMap, [key, value, ..]) => {
                Some(entry(key, value))
            }
            (Kind::Box | Kind::Rc | Kind::Arc, [held, ..]) => {
                let slice = held
                    .strip_prefix('[')
                    .and_then(|rest| rest.strip_suffix(']'))
                    .filter(|element| split_arguments(&format!("<{element}>")).len() == 1)
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
    fn table_entry(&self) -> Option<Vec<String>> {
        let inside = self
            .arguments
            .first()?
            .strip_prefix('(')?
            .strip_suffix(')')?;
        let pair = format!("<{inside}>");
        let pair: Vec<String> = split_arguments(&pair)
            .into_iter()
            .map(str::to_owned)
            .collect();
        (pair.len() == 2).then_some(pair)
    }
}

/// `T` of `[T; 3]`.
pub(super) fn array_element(of: &str) -> Option<&str> {
    let inside = of.strip_prefix('[')?.strip_suffix(']')?;
    let (element, length) = inside.rsplit_once("; ")?;
    let is_length = !length.is_empty() && length.bytes().all(|byte| byte.is_ascii_digit());
    is_length.then_some(element)
}

/// The entry of a map.
fn entry(key: &str, value: &str) -> String {
    format!("({key}, {value})")
}
