//! `Vec`, the buffer below it, and `vec![..]`.

use super::{BlockKind, ContainerType, Element, Growth, Stacks, TypeKind, Walk};

pub(super) static CONTAINERS: &[&ContainerType] = &[&VEC, &RAW_VEC, &LITERAL];

pub static VEC: ContainerType = ContainerType {
    stacks: Stacks {
        modules: &["alloc::slice"],
        except: &[
            // The iterator is the first argument.
            "alloc::vec::from_iter_in_place",
            "alloc::vec::splice",
            "alloc::vec::drain",
            "alloc::vec::drop",
            // They may make strings.
            "alloc::slice::concat",
            "alloc::slice::join",
            "alloc::slice::connect",
        ],
        names_its_module: true,
        made_of: &[(&RAW_VEC, super::Part::Element)],
        ..Stacks::of_one_argument()
    },
    blocks: BlockKind::List,
    values: &[
        (
            "alloc::vec::Vec",
            Walk::List {
                pointer: "ptr",
                capacity: "cap",
                length: "len",
            },
        ),
        (
            "alloc::vec::into_iter::IntoIter",
            Walk::Iter {
                pointer: "buf",
                capacity: "cap",
                first: "ptr",
                end: "end",
            },
        ),
    ],
    growth: Growth {
        exact_type: Some("Box<[T]>"),
        fits_arena: true,
        fills_in_place: true,
        ..Growth::of_list()
    },
    ..ContainerType::new("alloc::vec::Vec", TypeKind::Sequence)
};

/// The growable buffer below `Vec` and others.
pub static RAW_VEC: ContainerType = ContainerType {
    stacks: Stacks {
        inside: Some(&VEC),
        ..Stacks::of_one_argument()
    },
    blocks: BlockKind::List,
    ..ContainerType::new("alloc::raw_vec::RawVec", TypeKind::Sequence)
};

/// The box of an array that `vec![a, b]` fills and makes the buffer of a `Vec`, by the array. No
/// type has this path.
pub static LITERAL: ContainerType = ContainerType {
    stacks: Stacks {
        element: Element::OfArray,
        inside: Some(&VEC),
        ..Stacks::of_one_argument()
    },
    ..ContainerType::new("vec!", TypeKind::Sequence)
};
