//! Lists that are in place up to a capacity: `SmallVec`, and `ArrayVec`, which always is.
//!
//! `SmallVec` has its first elements in place of a pointer, so its header has another form
//! than that of a `Vec`.

use super::{BlockKind, ContainerType, Element, Growth, Stacks, TypeKind, Walk};

pub(super) static CONTAINERS: &[&ContainerType] = &[&SMALL_VEC, &ARRAY_VEC];

static SMALL_VEC: ContainerType = ContainerType {
    stacks: Stacks {
        modules: &["smallvec"],
        // `SmallVec<[T; 4]>`, and `SmallVec<T, 4>` from version 2 on.
        more: 1,
        element: Element::OfArray,
        ..Stacks::of_one_argument()
    },
    blocks: BlockKind::Elements,
    values: &[("smallvec::..::SmallVec", Walk::Small)],
    growth: Growth::of_list(),
    ..ContainerType::new("smallvec::SmallVec", TypeKind::Sequence)
};

static ARRAY_VEC: ContainerType =
    ContainerType::new("arrayvec::arrayvec::ArrayVec", TypeKind::Sequence);
