//! `CString`, a boxed slice of bytes.

use super::{BlockKind, ContainerType, Part, Stacks, TypeKind, vec};

pub(super) static CONTAINERS: &[&ContainerType] = &[&C_STRING];

static C_STRING: ContainerType = ContainerType {
    stacks: Stacks {
        also: &["core::ffi::c_str::CStr"],
        modules: &["std::ffi::c_str"],
        made_of: &[(&vec::RAW_VEC, Part::Bytes), (&vec::VEC, Part::Bytes)],
        ..Stacks::of_text()
    },
    blocks: BlockKind::Slice,
    ..ContainerType::new("alloc::ffi::c_str::CString", TypeKind::Text)
};
