//! `IndexMap` and `IndexSet`: a list of entries, and a table of their indexes.

use super::{BlockKind, ContainerType, Element, Growth, Part, Stacks, TypeKind, hash, vec};

pub(super) static CONTAINERS: &[&ContainerType] = &[&MAP, &SET];

const fn index(path: &'static str, stacks: Stacks) -> ContainerType {
    ContainerType {
        stacks: Stacks {
            more: 1,
            hashers: hash::HASHERS_OF_STD,
            ..stacks
        },
        blocks: BlockKind::Parts,
        growth: Growth::of_table(),
        ..ContainerType::new(path, TypeKind::Map)
    }
}

static MAP: ContainerType = index(
    "indexmap::map::IndexMap",
    Stacks {
        also: &["indexmap::map::", "indexmap::inner::"],
        parameters: 2,
        element: Element::Entry,
        made_of: &[
            (&hash::RAW_TABLE, Part::Indexes),
            (&hash::RAW_TABLE_OF_STD, Part::Indexes),
            (&vec::VEC, Part::Buckets),
            (&vec::RAW_VEC, Part::Buckets),
        ],
        ..Stacks::of_one_argument()
    },
);

static SET: ContainerType = index(
    "indexmap::set::IndexSet",
    Stacks {
        made_of: &[
            (&MAP, Part::First(1)),
            (&hash::RAW_TABLE, Part::Indexes),
            (&hash::RAW_TABLE_OF_STD, Part::Indexes),
            (&vec::VEC, Part::Buckets),
            (&vec::RAW_VEC, Part::Buckets),
        ],
        ..Stacks::of_one_argument()
    },
);
