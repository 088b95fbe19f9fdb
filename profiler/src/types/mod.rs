//! Types: names spelled one way, and what a stack says its blocks hold.
//!
//! A stack is read from the allocator outward (`stack`): each function's name is taken apart
//! (`call`), says which container it is part of (`rules`), and the containers found are laid into
//! each other (`container`) up to the program's own code; around that is the type being read or
//! cloned (`owner`). It must never guess: what no frame tells has no type.
//!
//! One limit is the compiler's: functions whose machine code is equal become one, under one of
//! their names. The functions inlined into the program's own code then still tell the truth and
//! win; where such a function of the program itself is called (`load::<A>` and `load::<B>` that do
//! the same to values of one layout), its name, its lines and its types may be the other's, here as
//! in any profiler. Where the symbol table still has the names of all, the type is "one of" those
//! that they stand for (`alias`). Inside one function, equal code becomes one too: then no line and
//! no inlined function is known at all, and only what `merged` can prove is named.
//!
//! Another is the library's: `vec![a, b]` asks for its block by `Box::<[T; 2]>::new_uninit()`, and
//! nothing else on the stack tells the two apart. Such a block is a `Vec<T>`'s here: a box of an
//! array made by that function written out by hand, unlike one of `Box::new`, is in the wrong row.

mod alias;
mod call;
mod container;
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
pub(crate) use spell::{normal, short};
pub(crate) use stack::Stacks;

use crate::name::one_of;
use crate::profile::{TypeId, TypeKind, TypeName};
use std::collections::HashMap;

/// In place of a type, or a function, that is not known.
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

/// Types numbered in the order they were first seen, whatever the source spelled them like.
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
        let number = self.one_of(&[Some(name)]);
        self.numbers.insert(name.to_owned(), number);
        number
    }

    /// The number of "one of" several types; `None` stands for one that is not known. A single one
    /// is itself.
    pub(crate) fn one_of(&mut self, names: &[Option<&str>]) -> TypeId {
        let all = names.iter();
        let all: Vec<String> = all
            .map(|name| name.map_or_else(|| UNKNOWN.to_owned(), normal))
            .collect();
        let full = one_of(all.iter().cloned());
        if let Some(number) = self.numbers.get(&full) {
            return *number;
        }
        let number = TypeId(u32::try_from(self.values.len()).unwrap_or(u32::MAX));
        self.values.push(TypeName {
            // Types that differ in nothing that is shown, such as the hasher, read like one.
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
