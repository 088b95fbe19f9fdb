//! `std::string` of C++. Up to 15 bytes (libstdc++) or 22 (libc++) are in place.

use super::{BlockKind, ContainerType, Stacks, TypeKind};

pub(super) static CONTAINERS: &[&ContainerType] = &[&STRING];

static STRING: ContainerType = ContainerType {
    stacks: Stacks::of_text(),
    blocks: BlockKind::Elements,
    ..ContainerType::new("std::string", TypeKind::Text)
};
