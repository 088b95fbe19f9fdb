//! Containers, and the containers that they are made of: a `String` is made of a `Vec<u8>`, a
//! `HashMap` of a raw table.
//!
//! This module must never take a container for the one around it: a `Vec<String>` is not made of
//! its strings.

use super::spell::normal;
use crate::containers::{self, BOX, ContainerType, Element, Held, Part};
use crate::name::{path_and_arguments, types};

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
    pub(super) of: &'static ContainerType,
    /// Its type's arguments, spelled one way, the allocator left out.
    pub(super) arguments: Vec<String>,
    /// `true` if the container is known only from functions that were not inlined into the
    /// program's code. The linker may have folded functions of other types, with the same
    /// instructions, into them.
    pub(super) shared: bool,
}

impl Container {
    pub(super) fn new<'a>(
        of: &'static ContainerType,
        arguments: impl IntoIterator<Item = &'a str>,
    ) -> Container {
        Container {
            of,
            arguments: arguments.into_iter().map(normal).collect(),
            shared: false,
        }
        .plain()
    }

    /// Returns the container whose innards are in a box, for such a box.
    fn plain(self) -> Container {
        if let Some(set) = self.set() {
            return set;
        }
        let [inner] = self.arguments.as_slice() else {
            return self;
        };
        if !self.of.is_pointer() {
            return self;
        }
        let (path, arguments) = path_and_arguments(inner);
        // Before its value is there.
        if self.of != &BOX && path == "core::mem::maybe_uninit::MaybeUninit" {
            return Container::new(self.of, arguments);
        }
        let mut owners = containers::all().filter(|of| of.nodes.contains(&path));
        match owners.find(|of| self.of == &BOX && of.stacks.parameters == arguments.len()) {
            Some(of) => Container::new(of, arguments),
            None => self,
        }
    }

    /// Returns the set that a map with its unit for values is.
    fn set(&self) -> Option<Container> {
        let [key, value] = self.arguments.as_slice() else {
            return None;
        };
        let mut all = containers::all();
        let set = all.find(|of| {
            of.nodes == self.of.nodes && !of.nodes.is_empty() && of.unit == Some(value)
        })?;
        Some(Container::new(set, [key.as_str()]))
    }

    /// Combines a container with the one whose code called it. Returns `None` if `outer` is a
    /// different container, which the block does not belong to.
    pub(super) fn within(&self, outer: &Container, direct: bool) -> Option<Container> {
        let inner = self;
        if inner.of == outer.of {
            let common = inner.arguments.len().min(outer.arguments.len());
            if inner.arguments.get(..common) == outer.arguments.get(..common) {
                let is_longer = inner.arguments.len() > common;
                return Some(if is_longer { inner } else { outer }.clone());
            }
            // `Rc<str>` is made as `Rc<[u8]>`.
            let is_bytes = inner.arguments.iter().eq(["[u8]"]);
            if inner.of.is_pointer() && is_bytes && outer.held() == Held::Text {
                return Some(outer.clone());
            }
            // Code of a container calls code of another one of its kind only for a value that it
            // holds. Otherwise the inner code was merged with equal code, and inlined later (fat
            // LTO).
            return (direct && !self.is_held_by(outer)).then(|| outer.clone());
        }
        let parts = outer.of.stacks.made_of;
        let (_, part) = parts.iter().find(|(of, _)| *of == inner.of)?;
        if outer.has(*part, inner)? {
            return Some(outer.with_hasher_of(inner));
        }
        // The table and the entries of an index do not tell its types.
        if matches!(part, Part::Indexes | Part::Buckets) {
            return None;
        }
        // One block seems to have two types, because the linker folded equal code of different
        // types into one function. The outer type is right if its code calls the inner code
        // directly, unless it holds values of the inner type. Then the inner one is such a value,
        // being made.
        (direct && self.shared && !self.is_held_by(outer)).then(|| outer.clone())
    }

    /// Returns `true` if a container of the right kind has the arguments to be a part of this one.
    /// Returns `None` if none can.
    fn has(&self, part: Part, inner: &Container) -> Option<bool> {
        let inner = inner.arguments.as_slice();
        let first = self.argument(0);
        let is = |expected: &str| inner == [expected];
        Some(match part {
            Part::Any => true,
            Part::Never => false,
            Part::Element => is(first),
            Part::First(count) => inner.get(..count) == self.arguments.get(..count),
            Part::Bytes => is("u8"),
            Part::Indexes => is("usize"),
            Part::Text if first == "str" => true,
            Part::Slice if first == "str" => is("u8"),
            Part::Slice => is(in_brackets(first)?),
            Part::Text => return None,
            Part::Entry => is(&entry(first, self.of.unit.unwrap_or(self.argument(1)))),
            Part::MapOfUnits => {
                inner.first().is_some_and(|key| key == first)
                    && inner.get(1).map(String::as_str) == self.of.unit
            }
            Part::Buckets => inner
                .first()
                .is_some_and(|element| element.contains("Bucket<")),
        })
    }

    /// A map or set with the hasher that a map inside it knows.
    fn with_hasher_of(&self, inner: &Container) -> Container {
        let mut this = self.clone();
        let knows = |of: &Container| !of.of.stacks.hashers.is_empty();
        if knows(self) && knows(inner) && this.arguments.len() == self.of.stacks.parameters {
            let hasher = inner.arguments.get(inner.of.stacks.parameters);
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

    fn argument(&self, index: usize) -> &str {
        self.arguments.get(index).map_or("", String::as_str)
    }

    /// Returns what a pointer holds.
    fn held(&self) -> Held<'_> {
        Held::of_argument(self.argument(0))
    }

    /// Its full name.
    fn name(&self) -> String {
        let inside = self.of.stacks.inside;
        let path = match (inside, self.element()) {
            (Some(of), Some(element)) if of.stacks.parameters == 1 => {
                return format!("{}<{element}>", of.path);
            }
            (Some(of), _) => match self.table_entry() {
                Some([key, value]) => return format!("{}<{key}, {value}>", of.path),
                None => containers::HASH_TABLE.path,
            },
            (None, _) => self.of.path,
        };
        if self.arguments.is_empty() {
            path.to_owned()
        } else {
            format!("{path}<{}>", self.arguments.join(", "))
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
        let first = self.arguments.first()?;
        Some(match self.of.stacks.element {
            Element::None => return None,
            Element::First => first.clone(),
            Element::Entry => entry(first, self.arguments.get(1)?),
            // Version 2 of smallvec has the length as another argument.
            Element::OfArray if self.arguments.len() > 1 => first.clone(),
            Element::OfArray => array_element(first).unwrap_or(first).to_owned(),
            // It is not a slice of paths, and not a tuple of slices.
            Element::Held => match in_brackets(first).filter(|of| types(of).len() == 1) {
                _ if self.held() == Held::Text => return None,
                Some(element) if array_element(first).is_none() => element.to_owned(),
                _ => first.clone(),
            },
        })
    }

    /// Key and value of a table of pairs.
    fn table_entry(&self) -> Option<[&str; 2]> {
        let pair = self
            .arguments
            .first()?
            .strip_prefix('(')?
            .strip_suffix(')')?;
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
