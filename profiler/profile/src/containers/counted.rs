//! `Rc` and `Arc`: two counts before a value. They must be dropped one by one, which an arena never
//! does.

use super::{BlockKind, ContainerType, Element, Stacks, TypeKind, Walk};

pub(super) static CONTAINERS: &[&ContainerType] = &[&RC, &ARC];

const WALK: Walk = Walk::Counted {
    strong: "strong",
    value: &["value", "data"],
};

static RC: ContainerType = ContainerType {
    stacks: Stacks {
        also: &["alloc::rc::UniqueRc", "alloc::rc::UniqueRcUninit"],
        names_its_module: true,
        element: Element::Held,
        ..Stacks::of_one_argument()
    },
    blocks: BlockKind::Counted,
    // Earlier versions of the standard library say `RcBox`.
    nodes: &["alloc::rc::RcInner", "alloc::rc::RcBox"],
    values: &[("alloc::rc::RcInner", WALK), ("alloc::rc::RcBox", WALK)],
    ..ContainerType::new("alloc::rc::Rc", TypeKind::Shared)
};

static ARC: ContainerType = ContainerType {
    stacks: Stacks {
        also: &["alloc::sync::UniqueArcUninit"],
        names_its_module: true,
        element: Element::Held,
        ..Stacks::of_one_argument()
    },
    blocks: BlockKind::Counted,
    nodes: &["alloc::sync::ArcInner"],
    values: &[("alloc::sync::ArcInner", WALK)],
    ..ContainerType::new("alloc::sync::Arc", TypeKind::Shared)
};
