//! `std::list` and `std::forward_list` of C++: a block for each element.

use super::{ContainerType, Stacks, TypeKind};

pub(super) static CONTAINERS: &[&ContainerType] = &[&LIST, &FORWARD_LIST];

static LIST: ContainerType = ContainerType {
    stacks: Stacks {
        also: &["std::_List_base", "std::__list_imp"],
        ..Stacks::of_one_argument()
    },
    ..ContainerType::new("std::list", TypeKind::Pointer)
};

static FORWARD_LIST: ContainerType = ContainerType {
    stacks: Stacks {
        also: &["std::_Fwd_list_base", "std::__forward_list_base"],
        ..Stacks::of_one_argument()
    },
    ..ContainerType::new("std::forward_list", TypeKind::Pointer)
};
