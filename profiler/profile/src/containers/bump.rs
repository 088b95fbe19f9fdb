//! bumpalo: the arena, which asks for chunks, and its containers, which lie in them.

use super::{Changes, ContainerType, Element, Stacks, TypeKind};

pub(super) static CONTAINERS: &[&ContainerType] = &[&BUMP, &VEC, &STRING, &BOX];

static BUMP: ContainerType = ContainerType {
    stacks: Stacks {
        modules: &["bumpalo"],
        except: &["bumpalo::collections"],
        parameters: 0,
        element: Element::None,
        ..Stacks::of_one_argument()
    },
    changes: Changes::Always,
    ..ContainerType::new("bumpalo::Bump", TypeKind::Other)
};

static VEC: ContainerType =
    ContainerType::new("bumpalo::collections::vec::Vec", TypeKind::Sequence);

static STRING: ContainerType =
    ContainerType::new("bumpalo::collections::string::String", TypeKind::Text);

static BOX: ContainerType = ContainerType::new("bumpalo::boxed::Box", TypeKind::Pointer);
