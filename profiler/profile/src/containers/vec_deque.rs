//! `VecDeque`.

use super::{BlockKind, ContainerType, Growth, Part, Stacks, TypeKind, Walk, vec};

pub(super) static CONTAINERS: &[&ContainerType] = &[&VEC_DEQUE];

static VEC_DEQUE: ContainerType = ContainerType {
    stacks: Stacks {
        names_its_module: true,
        made_of: &[(&vec::RAW_VEC, Part::Element), (&vec::VEC, Part::Element)],
        ..Stacks::of_one_argument()
    },
    blocks: BlockKind::Deque,
    values: &[(
        "alloc::collections::vec_deque::VecDeque",
        Walk::Deque {
            pointer: "ptr",
            capacity: "cap",
            head: "head",
            length: "len",
        },
    )],
    growth: Growth {
        fills_in_place: true,
        ..Growth::of_list()
    },
    ..ContainerType::new(
        "alloc::collections::vec_deque::VecDeque",
        TypeKind::Sequence,
    )
};
