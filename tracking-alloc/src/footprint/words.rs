//! What the first words of a value tell: where it lies, and the items of an iterator.

use super::names::well_known_bytes;
use crate::shadow::word_at;
use std::any::type_name;

/// A value as it was handed over: where it lies, how large it is, of what type.
#[derive(Clone, Copy)]
pub(super) struct Seen {
    pub(super) address: usize,
    /// Its size, bytes, where that is known.
    pub(super) bytes: Option<usize>,
    pub(super) type_name: &'static str,
    /// It was made for the occasion and lies on the stack of the measuring.
    pub(super) is_temporary: bool,
}

impl Seen {
    /// Looks at a value. `stack` tells whether an address is on the stack of the measuring.
    ///
    /// References that lie there are serde's own way of handing over elements (`collect_seq`): what they refer to is
    /// meant.
    pub(super) fn of<V: ?Sized>(value: &V, stack: impl Fn(usize) -> bool) -> Seen {
        let mut seen = Seen {
            address: std::ptr::from_ref(value).cast::<u8>() as usize,
            bytes: Some(size_of_val(value)),
            type_name: type_name::<V>(),
            is_temporary: false,
        };
        seen.is_temporary = stack(seen.address);
        while seen.is_temporary && cfg!(not(miri)) {
            let Some(target) = seen.type_name.strip_prefix('&') else {
                break;
            };
            let is_fat = seen.bytes == Some(16);
            seen.type_name = target.strip_prefix("mut ").unwrap_or(target);
            // SAFETY: a reference of one or two words lies there: its type begins with `&`, and it is borrowed.
            let (pointer, length) = unsafe {
                let length = if is_fat { word_at(seen.address + 8) } else { 0 };
                (word_at(seen.address), length)
            };
            seen.address = pointer;
            seen.bytes = match seen.type_name {
                "str" | "[u8]" if is_fat => Some(length),
                name => well_known_bytes(name),
            };
            seen.is_temporary = stack(seen.address);
        }
        seen
    }
}

/// The items of an iterator over a slice.
#[derive(Clone, Copy)]
pub(super) struct Items {
    pub(super) start: usize,
    pub(super) count: usize,
    /// Size of one, bytes.
    pub(super) each: usize,
}

impl Items {
    /// Reads where a slice's iterator begins and ends from its two words. Verify that its first item lies at `start`.
    pub(super) fn of<I: Iterator>(items: &I) -> Option<Items> {
        let (count, most) = items.size_hint();
        if !type_name::<I>().starts_with("core::slice::iter::Iter<")
            || size_of::<I>() != 16
            || align_of::<I>() != 8
            || most != Some(count)
            || count == 0
        {
            return None;
        }
        let place = std::ptr::from_ref(items) as usize;
        // SAFETY: the iterator is that large and aligned.
        let (one, other) = unsafe { (word_at(place), word_at(place + 8)) };
        let (start, bytes) = (one.min(other), one.abs_diff(other));
        // Iterators over values without a size keep a length instead of an end.
        (start >= 4096 && bytes > 0 && bytes % count == 0).then_some(Items {
            start,
            count,
            each: bytes / count,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_iterator_of_a_slice_tells_the_size_of_its_items() {
        let items = [(1u64, 2u8); 5];
        let told = Items::of(&items.iter()).expect("a slice's iterator");
        assert_eq!(
            (told.start, told.count, told.each),
            (items.as_ptr() as usize, 5, 16)
        );
        assert!(Items::of(&items[..0].iter()).is_none());
        assert!(Items::of(&[(); 4].iter()).is_none());
        assert!(Items::of(&(0..3)).is_none());
    }
}
