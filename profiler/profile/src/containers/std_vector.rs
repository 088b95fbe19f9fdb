//! `std::vector` of C++: three pointers to the begin, the end, and the end of the capacity.
//!
//! It grows by a new block. In libstdc++ its base class asks for the memory.

use super::{BlockKind, ContainerType, Stacks, TypeKind};

pub(super) static CONTAINERS: &[&ContainerType] = &[&VECTOR];

static VECTOR: ContainerType = ContainerType {
    stacks: Stacks {
        also: &["std::_Vector_base"],
        // The base of `std::vector<bool>`, and the new block of libc++ before it is the vector's.
        below: &["std::_Bvector_base", "std::__split_buffer"],
        ..Stacks::of_one_argument()
    },
    blocks: BlockKind::Elements,
    ..ContainerType::new("std::vector", TypeKind::Sequence)
};
