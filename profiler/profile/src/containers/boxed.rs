//! `Box`: one value, or a slice without unused capacity.

use super::{BlockKind, ContainerType, Element, Growth, Part, Stacks, TypeKind, string, vec};

pub(super) static CONTAINERS: &[&ContainerType] = &[&BOX];

pub static BOX: ContainerType = ContainerType {
    stacks: Stacks {
        names_its_module: true,
        element: Element::Held,
        made_of: &[
            // Other functions of `Box`, such as `default`, begin like that as well.
            (&vec::LITERAL, Part::Element),
            (&vec::RAW_VEC, Part::Slice),
            (&vec::VEC, Part::Slice),
            (&string::STRING, Part::Text),
        ],
        ..Stacks::of_one_argument()
    },
    blocks: BlockKind::Boxed,
    growth: Growth {
        fits_arena: true,
        ..Growth::NONE
    },
    ..ContainerType::new("alloc::boxed::Box", TypeKind::Pointer)
};

/// The value behind a pointer, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held<'a> {
    /// `str`, and the other types that are slices of bytes.
    Text,
    /// The elements of a slice, by their type.
    Elements(&'a str),
    /// A closure or a trait object.
    Dynamic,
    /// Any other value.
    Value(&'a str),
}

impl<'a> Held<'a> {
    /// Returns what a pointer with this full name holds, by its only argument:
    /// `alloc::boxed::Box<[u8]>`.
    pub fn of(full: &'a str) -> Held<'a> {
        let arguments = full.split_once('<').map_or("", |(_, arguments)| arguments);
        Held::of_argument(arguments.strip_suffix('>').unwrap_or(arguments))
    }

    /// Returns what a pointer to a type holds.
    pub fn of_argument(of: &'a str) -> Held<'a> {
        let elements = of.strip_prefix('[').and_then(|of| of.strip_suffix(']'));
        match of {
            "str" | "std::path::Path" | "std::ffi::os_str::OsStr" | "core::ffi::c_str::CStr" => {
                Held::Text
            }
            _ if of.starts_with("dyn ") || of.ends_with("{{closure}}") => Held::Dynamic,
            _ => match elements.filter(|elements| !has_length(elements)) {
                Some(elements) => Held::Elements(elements),
                None => Held::Value(of),
            },
        }
    }

    pub(super) fn kind(self) -> TypeKind {
        match self {
            Held::Text => TypeKind::Text,
            Held::Elements(_) => TypeKind::Sequence,
            Held::Dynamic => TypeKind::Dynamic,
            Held::Value(_) => TypeKind::Pointer,
        }
    }
}

/// Returns `true` for what stands in the brackets of an array: `T; 3`.
fn has_length(elements: &str) -> bool {
    elements.rsplit_once("; ").is_some_and(|(_, length)| {
        !length.is_empty() && length.bytes().all(|byte| byte.is_ascii_digit())
    })
}
