//! `HashMap` and `HashSet` of the standard library and of hashbrown, which are one, and their
//! table. A table grows by a new block.

use super::{BlockKind, ContainerType, Element, Growth, Part, Stacks, TypeKind, Walk};

pub(super) static CONTAINERS: &[&ContainerType] = &[
    &RAW_TABLE,
    &MAP_OF_STD,
    &MAP,
    &SET_OF_STD,
    &SET,
    &HASH_TABLE,
];

pub(super) const HASHERS_OF_STD: &[&str] = &[
    "std::hash::random::RandomState",
    "std::collections::hash::map::RandomState",
];
const HASHERS: &[&str] = &[
    "foldhash::fast::RandomState",
    "hashbrown::hasher::DefaultHashBuilder",
];

/// The table below maps and sets. Without more it is most likely below a map.
pub static RAW_TABLE: ContainerType = ContainerType {
    values: &[(
        "hashbrown::raw::RawTable",
        Walk::Table {
            control: "ctrl",
            mask: "bucket_mask",
            left: "growth_left",
            items: "items",
        },
    )],
    ..raw_table(&MAP)
};

/// The same in the copy of hashbrown that the standard library has.
pub static RAW_TABLE_OF_STD: ContainerType = raw_table(&MAP_OF_STD);

const fn raw_table(map: &'static ContainerType) -> ContainerType {
    ContainerType {
        stacks: Stacks {
            inside: Some(map),
            ..Stacks::of_one_argument()
        },
        blocks: BlockKind::Table,
        ..ContainerType::new("hashbrown::raw::RawTable", TypeKind::Map)
    }
}

const fn map(path: &'static str, stacks: Stacks) -> ContainerType {
    ContainerType {
        stacks: Stacks {
            names_its_module: true,
            parameters: 2,
            more: 1,
            element: Element::Entry,
            ..stacks
        },
        blocks: BlockKind::Table,
        growth: Growth::of_table(),
        ..ContainerType::new(path, TypeKind::Map)
    }
}

const fn set(path: &'static str, stacks: Stacks) -> ContainerType {
    ContainerType {
        stacks: Stacks {
            names_its_module: true,
            more: 1,
            ..stacks
        },
        blocks: BlockKind::Table,
        unit: Some("()"),
        growth: Growth {
            fills_in_place: true,
            ..Growth::of_table()
        },
        ..ContainerType::new(path, TypeKind::Map)
    }
}

static MAP_OF_STD: ContainerType = map(
    "std::collections::hash::map::HashMap",
    Stacks {
        also: &["std::collections::hash::map::"],
        hashers: HASHERS_OF_STD,
        made_of: &[
            (&RAW_TABLE, Part::Entry),
            (&RAW_TABLE_OF_STD, Part::Entry),
            (&MAP, Part::First(2)),
        ],
        ..Stacks::of_one_argument()
    },
);

static MAP: ContainerType = map(
    "hashbrown::map::HashMap",
    Stacks {
        also: &["hashbrown::map::", "hashbrown::rustc_entry::"],
        hashers: HASHERS,
        made_of: &[(&RAW_TABLE, Part::Entry), (&RAW_TABLE_OF_STD, Part::Entry)],
        ..Stacks::of_one_argument()
    },
);

static SET_OF_STD: ContainerType = set(
    "std::collections::hash::set::HashSet",
    Stacks {
        hashers: HASHERS_OF_STD,
        made_of: &[
            (&RAW_TABLE, Part::Entry),
            (&RAW_TABLE_OF_STD, Part::Entry),
            (&MAP, Part::MapOfUnits),
            (&MAP_OF_STD, Part::MapOfUnits),
            (&SET, Part::First(1)),
        ],
        ..Stacks::of_one_argument()
    },
);

static SET: ContainerType = set(
    "hashbrown::set::HashSet",
    Stacks {
        hashers: HASHERS,
        made_of: &[
            (&RAW_TABLE, Part::Entry),
            (&RAW_TABLE_OF_STD, Part::Entry),
            (&MAP, Part::MapOfUnits),
            (&MAP_OF_STD, Part::MapOfUnits),
        ],
        ..Stacks::of_one_argument()
    },
);

/// The table as a type of its own, whose values have no keys that it knows.
pub static HASH_TABLE: ContainerType = ContainerType {
    blocks: BlockKind::Table,
    growth: Growth::of_table(),
    ..ContainerType::new("hashbrown::table::HashTable", TypeKind::Map)
};
