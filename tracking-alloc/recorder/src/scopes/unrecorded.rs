//! The scopes on platforms without recording: none is added, and none has a record.

pub(crate) use fields::*;

pub(crate) fn enter(_parent: u32, _name: &str) -> Option<u32> {
    None
}

pub(crate) fn report(_scope: u32, _bytes: u64, _records: u64) {}

pub(crate) fn outermost_ended(_scope: u32) {}

/// No time is counted.
pub(crate) enum Running {}

impl Running {
    pub(crate) fn begin(_scope: u32) -> Option<Running> {
        None
    }
}

/// Nothing stays.
pub(crate) enum Stayed {}

impl Stayed {
    pub(crate) fn enter(_scope: u32) -> Option<Stayed> {
        None
    }
}

mod fields {
    use crate::current_scope::{Added, NewScope};

    pub(crate) fn generation() -> u32 {
        0
    }

    pub(crate) fn add(_new: &NewScope<'_>) -> Added {
        Added::NotNow
    }

    pub(crate) fn flag(_scope: u32, _flags: u32) {}

    pub(crate) fn rename(_scope: u32, _kind: u32, _name: &str) {}

    pub(crate) fn retype(_scope: u32, _type_name: &'static str, _value_bytes: u64) {}

    pub(crate) fn visit(_scope: u32) {}

    pub(crate) fn visit_again(_scope: u32) -> bool {
        true
    }

    pub(crate) fn lost() {}
}
