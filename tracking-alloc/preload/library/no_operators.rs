//! On this architecture, `operator new` of an allocator that has its own is not recorded.

pub(crate) fn are_found() -> bool {
    false
}

pub(crate) fn find() {}
