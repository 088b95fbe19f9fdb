//! `std::deque` of C++: blocks of elements, and an array of pointers to them.

use super::{ContainerType, Stacks, TypeKind};

pub(super) static CONTAINERS: &[&ContainerType] = &[&DEQUE];

static DEQUE: ContainerType = ContainerType {
    stacks: Stacks {
        also: &["std::_Deque_base"],
        ..Stacks::of_one_argument()
    },
    ..ContainerType::new("std::deque", TypeKind::Sequence)
};
