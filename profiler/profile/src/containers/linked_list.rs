//! `LinkedList`: a block for each element.

use super::{BlockKind, ContainerType, Growth, Stacks, TypeKind};

pub(super) static CONTAINERS: &[&ContainerType] = &[&LINKED_LIST];

static LINKED_LIST: ContainerType = ContainerType {
    stacks: Stacks::of_one_argument(),
    blocks: BlockKind::Nodes,
    nodes: &["alloc::collections::linked_list::Node"],
    growth: Growth {
        fills_in_place: true,
        ..Growth::NONE
    },
    ..ContainerType::new(
        "alloc::collections::linked_list::LinkedList",
        TypeKind::Pointer,
    )
};
