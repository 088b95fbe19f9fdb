//! `BTreeMap` and `BTreeSet`: nodes of up to 11 entries.
//!
//! They free their nodes when they are cleared, and cannot shrink.

use super::{BlockKind, ContainerType, Element, Growth, Part, Stacks, TypeKind, Walk};

pub(super) static CONTAINERS: &[&ContainerType] = &[&MAP, &SET];

const NODES: &[&str] = &[
    "alloc::collections::btree::node::LeafNode",
    "alloc::collections::btree::node::InternalNode",
];

static MAP: ContainerType = ContainerType {
    stacks: Stacks {
        also: &[
            "alloc::collections::btree::map::entry::",
            "alloc::collections::btree::node::LeafNode",
            "alloc::collections::btree::node::InternalNode",
        ],
        modules: &[
            "alloc::collections::btree::append",
            "alloc::collections::btree::fix",
            "alloc::collections::btree::split",
        ],
        names_its_module: true,
        parameters: 2,
        element: Element::Entry,
        made_of: &[(&SET, Part::Never)],
        ..Stacks::of_one_argument()
    },
    blocks: BlockKind::Nodes,
    nodes: NODES,
    values: &[
        (
            "alloc::collections::btree::map::BTreeMap",
            Walk::Tree { root: "root" },
        ),
        ("alloc::collections::btree::node::LeafNode", Walk::Node),
        ("alloc::collections::btree::node::InternalNode", Walk::Node),
    ],
    ..ContainerType::new("alloc::collections::btree::map::BTreeMap", TypeKind::Map)
};

static SET: ContainerType = ContainerType {
    stacks: Stacks {
        names_its_module: true,
        made_of: &[(&MAP, Part::Never)],
        ..Stacks::of_one_argument()
    },
    blocks: BlockKind::Nodes,
    nodes: NODES,
    unit: Some("alloc::collections::btree::set_val::SetValZST"),
    growth: Growth {
        fills_in_place: true,
        ..Growth::NONE
    },
    ..ContainerType::new("alloc::collections::btree::set::BTreeSet", TypeKind::Map)
};
