//! Types: names in one spelling, and the contents of blocks according to their stacks.
//!
//! A stack is read from the allocator outward (`stack`). The name of each function (`call`) says
//! which container it is part of (`rules`). The containers found are combined (`container`), up to
//! the program's own code. Around that is the type being read or cloned (`owner`). This module must
//! never guess: if no frame tells the type, the block has none.
//!
//! Names of C++ have rules of their own (`cpp`).
//!
//! One limit comes from the compiler: it makes one function of those with equal machine code, under
//! one of their names. Functions inlined into the program's own code still tell the truth, and win.
//! If the program calls such a function of its own (`load::<A>` and `load::<B>`, which do the same
//! to values of one layout), the name, lines and types may be those of the other, as in any
//! profiler. If the symbol table still has all names, the type is "one of" the types that they
//! stand for (`alias`). Equal code inside one function is merged too. Then no line and no inlined
//! function is known, and only what `merged` can prove is named.
//!
//! Another limit comes from the library: `vec![a, b]` asks for its block by
//! `Box::<[T; 2]>::new_uninit()`, and nothing else on the stack tells the two apart. Such a block
//! counts as a `Vec<T>`. So a boxed array that the program makes with `new_uninit` is in the wrong
//! row; one made with `Box::new` is not.

mod alias;
mod call;
mod container;
mod cpp;
mod facts;
mod frame;
mod merged;
mod owner;
mod reader;
mod rules;
mod spell;
mod stack;

pub(crate) use container::ContentNames;
pub(crate) use frame::StackFrame;
pub(crate) use reader::{deserialized, read_by};
pub use spell::{normal, short};
pub(crate) use stack::Stacks;

use crate::name::one_of;
use crate::profile::{Group, TypeId, TypeKind, TypeName};
use std::collections::HashMap;

/// Replaces a type or a function that is not known.
const UNKNOWN: &str = "?";

impl TypeName {
    /// Returns the names of a type, whose full name is spelled as in debug information or by
    /// [`type_name`](std::any::type_name).
    pub fn new(name: &str) -> TypeName {
        let full = normal(name);
        TypeName {
            short: short(&full),
            kind: TypeKind::of(&full),
            full,
        }
    }
}

/// Types, numbered in the order in which they were first seen, whatever their spelling.
#[derive(Clone, Debug, Default)]
pub(crate) struct Types {
    values: Vec<TypeName>,
    /// The numbers of types by full name, and by the name as it was given.
    numbers: HashMap<String, TypeId>,
}

impl Types {
    /// The number of a type by its full name, as `type_name` or debug information spell it.
    pub(crate) fn number(&mut self, name: &str) -> TypeId {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = if name == Group::Backtrace.name() {
            self.group(name)
        } else {
            self.one_of(&[Some(name)])
        };
        self.numbers.insert(name.to_owned(), number);
        number
    }

    /// The number of a group, which stands for types that nobody asked for.
    fn group(&mut self, name: &str) -> TypeId {
        let number = TypeId(u32::try_from(self.values.len()).unwrap_or(u32::MAX));
        self.values.push(TypeName {
            full: name.to_owned(),
            short: name.to_owned(),
            kind: TypeKind::Other,
        });
        number
    }

    /// The number of "one of" several types. `None` stands for an unknown type. A single type is
    /// itself.
    pub(crate) fn one_of(&mut self, names: &[Option<&str>]) -> TypeId {
        let all: Vec<String> = names
            .iter()
            .map(|name| name.map_or_else(|| UNKNOWN.to_owned(), normal))
            .collect();
        let full = one_of(all.iter().cloned());
        if let Some(number) = self.numbers.get(&full) {
            return *number;
        }
        let number = TypeId(u32::try_from(self.values.len()).unwrap_or(u32::MAX));
        self.values.push(TypeName {
            // Types that differ only in parts that are not shown, such as the hasher, look the
            // same.
            short: one_of(all.iter().map(|full| short(full))),
            kind: TypeKind::of(all.first().map_or(UNKNOWN, String::as_str)),
            full: full.clone(),
        });
        self.numbers.insert(full, number);
        number
    }

    /// All types, in the order of their numbers.
    pub(crate) fn into_values(self) -> Vec<TypeName> {
        self.values
    }
}

#[cfg(test)]
mod tests;
