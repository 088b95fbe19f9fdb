//! `String`, and the functions of `str` that make one.

use super::{BlockKind, ContainerType, Growth, Part, Stacks, TypeKind, vec};

pub(super) static CONTAINERS: &[&ContainerType] = &[&STRING];

pub static STRING: ContainerType = ContainerType {
    stacks: Stacks {
        also: &["str"],
        modules: &["alloc::str", "alloc::fmt", "std::io"],
        names_its_module: true,
        made_of: &[(&vec::RAW_VEC, Part::Bytes), (&vec::VEC, Part::Bytes)],
        ..Stacks::of_text()
    },
    blocks: BlockKind::List,
    growth: Growth {
        exact_type: Some("Box<str>"),
        fits_arena: true,
        fills_in_place: true,
        ..Growth::of_list()
    },
    ..ContainerType::new("alloc::string::String", TypeKind::Text)
};
