//! A value as `Serialize` passes it: its address, size and type.

use super::known;
use heapglass_recorder::blocks::word_at;
use std::any::type_name;

/// The owner of the memory to which a value leads.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Ownership {
    /// The value.
    Owned,
    /// Another owner: the value is a reference or a borrowed `Cow`.
    Borrowed,
    /// Unknown: the value is a `Cow` of a type that is not known.
    Unclear,
}

#[derive(Clone, Copy)]
pub(super) struct ValueRef {
    pub(super) address: usize,
    /// Its size in bytes, if known.
    pub(super) bytes: Option<usize>,
    /// `true` if all values of its type have this size.
    pub(super) is_sized: bool,
    pub(super) type_name: &'static str,
    pub(super) ownership: Ownership,
    /// Address and bytes of the buffer that it owns, if its type is known to have one.
    pub(super) buffer: Option<(usize, usize)>,
    /// `true` if it was created only to be serialized, on the stack of the measurement.
    pub(super) is_temporary: bool,
}

impl ValueRef {
    /// Creates the reference to a value. `is_on_stack` returns `true` for an address on the stack
    /// of the measurement.
    ///
    /// References on that stack are created by serde when it passes elements (`collect_seq`), so
    /// the values behind them are measured. A reference to a sized type is one address, and only
    /// names of references begin with `&`.
    pub(super) fn of<V: ?Sized>(value: &V, is_on_stack: impl Fn(usize) -> bool) -> ValueRef {
        const WORD: usize = size_of::<usize>();
        let mut found = ValueRef {
            address: std::ptr::from_ref(value).cast::<u8>() as usize,
            bytes: Some(size_of_val(value)),
            is_sized: size_of::<&V>() == WORD,
            type_name: type_name::<V>(),
            ownership: Ownership::Owned,
            buffer: known::buffer(value),
            is_temporary: false,
        };
        found.is_temporary = is_on_stack(found.address);
        let mut known_bytes = known::bytes(value);
        while found.is_temporary
            && cfg!(not(miri))
            && let Some(target) = found.type_name.strip_prefix('&')
        {
            found.type_name = target.strip_prefix("mut ").unwrap_or(target);
            (found.address, found.bytes, found.is_sized) = if found.bytes == Some(WORD) {
                // SAFETY: the place contains a reference of one word, and it is borrowed.
                let address = unsafe { word_at(found.address) };
                (address, known_bytes.take(), true)
            } else if let Some((address, bytes)) = known::text(value) {
                (address, Some(bytes), false)
            } else {
                break;
            };
            found.is_temporary = is_on_stack(found.address);
        }
        found.ownership = match known::is_borrowed_cow(value) {
            _ if found.type_name.starts_with('&') && !found.is_temporary => Ownership::Borrowed,
            Some(true) => Ownership::Borrowed,
            None if found.type_name.starts_with("alloc::borrow::Cow<") => Ownership::Unclear,
            _ => Ownership::Owned,
        };
        found
    }
}
