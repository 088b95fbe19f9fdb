//! `BinaryHeap`, a `Vec` in an order of its own.

use super::{BlockKind, ContainerType, Growth, Part, Stacks, TypeKind, vec};

pub(super) static CONTAINERS: &[&ContainerType] = &[&BINARY_HEAP];

static BINARY_HEAP: ContainerType = ContainerType {
    stacks: Stacks {
        made_of: &[(&vec::RAW_VEC, Part::Element), (&vec::VEC, Part::Element)],
        ..Stacks::of_one_argument()
    },
    blocks: BlockKind::List,
    growth: Growth {
        fills_in_place: true,
        ..Growth::of_list()
    },
    ..ContainerType::new(
        "alloc::collections::binary_heap::BinaryHeap",
        TypeKind::Sequence,
    )
};
