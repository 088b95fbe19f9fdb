//! `OsString`, and `PathBuf`, which is made of one.

use super::{BlockKind, ContainerType, Growth, Part, Stacks, TypeKind, string, vec};

pub(super) static CONTAINERS: &[&ContainerType] = &[&OS_STRING, &PATH_BUF];

static OS_STRING: ContainerType = ContainerType {
    stacks: Stacks {
        also: &["std::ffi::os_str::OsStr", "std::sys::os_str::"],
        made_of: &[
            (&vec::RAW_VEC, Part::Bytes),
            (&vec::VEC, Part::Bytes),
            (&string::STRING, Part::Any),
        ],
        ..Stacks::of_text()
    },
    blocks: BlockKind::List,
    growth: Growth::of_list(),
    ..ContainerType::new("std::ffi::os_str::OsString", TypeKind::Text)
};

pub static PATH_BUF: ContainerType = ContainerType {
    stacks: Stacks {
        also: &["std::path::Path"],
        made_of: &[
            (&vec::RAW_VEC, Part::Bytes),
            (&vec::VEC, Part::Bytes),
            (&string::STRING, Part::Any),
            (&OS_STRING, Part::Any),
        ],
        ..Stacks::of_text()
    },
    blocks: BlockKind::List,
    growth: Growth::of_list(),
    ..ContainerType::new("std::path::PathBuf", TypeKind::Text)
};
