//! `std::unique_ptr` and `std::shared_ptr` of C++. A pointer to what `new` returned is known only
//! where the library itself made the block: `make_unique`, `make_shared`, the counts of a
//! `shared_ptr`.

use super::{ContainerType, Stacks, TypeKind};

pub(super) static CONTAINERS: &[&ContainerType] = &[&UNIQUE, &SHARED];

static UNIQUE: ContainerType = ContainerType {
    stacks: Stacks {
        also: &["std::make_unique", "std::make_unique_for_overwrite"],
        ..Stacks::of_one_argument()
    },
    ..ContainerType::new("std::unique_ptr", TypeKind::Pointer)
};

static SHARED: ContainerType = ContainerType {
    stacks: Stacks {
        also: &["std::make_shared", "std::make_shared_for_overwrite"],
        below: &[
            "std::__shared_ptr",
            "std::__shared_count",
            "std::__allocate_guarded",
            "std::_Sp_counted_ptr_inplace",
            "std::__shared_ptr_emplace",
            "std::allocate_shared",
        ],
        ..Stacks::of_one_argument()
    },
    ..ContainerType::new("std::shared_ptr", TypeKind::Shared)
};
