//! `std::function` of C++: a copy of what it calls, if that is larger than two words.

use super::{ContainerType, Element, Stacks, TypeKind};

pub(super) static CONTAINERS: &[&ContainerType] = &[&FUNCTION];

static FUNCTION: ContainerType = ContainerType {
    stacks: Stacks {
        below: &[
            "std::_Function_base",
            "std::_Function_handler",
            "std::__function",
        ],
        element: Element::None,
        ..Stacks::of_one_argument()
    },
    ..ContainerType::new("std::function", TypeKind::Dynamic)
};
