//! Types of the standard library that are recognized by their identity, and the information that
//! their own methods give about a value.
//!
//! Types are never recognized by name or by an assumed layout. [`TypeId`] shows that a value has
//! the type, and the value is then used as such.

use std::any::TypeId;
use std::borrow::Cow;
use std::marker::PhantomData;

/// Returns the identity of a type, ignoring its lifetimes.
fn id_of<T: ?Sized>() -> TypeId {
    trait Identity {
        fn id(&self) -> TypeId
        where
            Self: 'static;
    }

    impl<T: ?Sized> Identity for PhantomData<T> {
        fn id(&self) -> TypeId
        where
            Self: 'static,
        {
            TypeId::of::<T>()
        }
    }

    let of_type: &dyn Identity = &PhantomData::<T>;
    // SAFETY: only the bound on lifetimes changes. The method reads nothing through the reference,
    // and the type's identity is the same for all lifetimes.
    let of_type: &(dyn Identity + 'static) = unsafe { std::mem::transmute(of_type) };
    of_type.id()
}

/// Returns the value, or the value that it refers to, as a `K`, if it is one. No part of it may be
/// kept after the call, because lifetimes inside `K` are not `'static` here.
fn known<V: ?Sized, K: 'static>(value: &V) -> Option<&K> {
    let id = id_of::<V>();
    let place = std::ptr::from_ref(value).cast::<()>();
    if id == TypeId::of::<K>() {
        // SAFETY: the types are the same except for lifetimes.
        return Some(unsafe { &*place.cast::<K>() });
    }
    // SAFETY: as above.
    (id == TypeId::of::<&'static K>()).then(|| unsafe { *place.cast::<&K>() })
}

/// Calls a generic function for each type of number until one call returns a value.
macro_rules! first_of_numbers {
    ($function:ident($argument:expr)) => {
        first_of_numbers!($function($argument): bool char f32 f64
            i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize)
    };
    ($function:ident($argument:expr): $($number:ident)*) => {
        None $(.or_else(|| $function::<_, $number>($argument)))*
    };
}

/// Returns the size in bytes of a value that is given by a reference.
pub(super) fn bytes<V: ?Sized>(value: &V) -> Option<usize> {
    fn of<V: ?Sized, T: 'static>(value: &V) -> Option<usize> {
        known::<V, T>(value).map(size_of_val)
    }
    fn of_list<V: ?Sized, T: 'static>(value: &V) -> Option<usize> {
        of::<V, Vec<T>>(value)
    }
    of::<V, String>(value)
        .or_else(|| of::<V, &'static str>(value))
        .or_else(|| of::<V, Cow<'static, str>>(value))
        .or_else(|| first_of_numbers!(of(value)))
        .or_else(|| first_of_numbers!(of_list(value)))
}

pub(super) fn is_str<V: ?Sized>() -> bool {
    id_of::<V>() == TypeId::of::<str>()
}

/// Returns the address and the length of a `str` that is given by a reference.
pub(super) fn text<V: ?Sized>(value: &V) -> Option<(usize, usize)> {
    known::<V, &'static str>(value).map(|text| (text.as_ptr() as usize, text.len()))
}

/// Returns the address and the size in bytes of the buffer that a string or a list of numbers owns,
/// including spare capacity.
pub(super) fn buffer<V: ?Sized>(value: &V) -> Option<(usize, usize)> {
    fn of<V: ?Sized, T: 'static>(value: &V) -> Option<(usize, usize)> {
        let list = known::<V, Vec<T>>(value)?;
        Some((list.as_ptr() as usize, list.capacity() * size_of::<T>()))
    }
    known::<V, String>(value)
        .map(|text| (text.as_ptr() as usize, text.capacity()))
        .or_else(|| first_of_numbers!(of(value)))
}

/// Returns `Some(true)` if a `Cow` of text or bytes is borrowed, and `None` for all other types.
pub(super) fn is_borrowed_cow<V: ?Sized>(value: &V) -> Option<bool> {
    known::<V, Cow<'static, str>>(value)
        .map(|cow| matches!(cow, Cow::Borrowed(_)))
        .or_else(|| {
            known::<V, Cow<'static, [u8]>>(value).map(|cow| matches!(cow, Cow::Borrowed(_)))
        })
}

/// Consecutive numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Numbers {
    pub(super) start: usize,
    pub(super) count: usize,
    /// The size of one number in bytes.
    pub(super) each: usize,
    pub(super) type_name: &'static str,
}

/// Returns the rest of an iterator over a slice of numbers.
pub(super) fn numbers<I>(items: &I) -> Option<Numbers> {
    fn of<I, T: 'static>(items: &I) -> Option<Numbers> {
        let rest = known::<I, std::slice::Iter<'static, T>>(items)?.as_slice();
        (!rest.is_empty()).then(|| Numbers {
            start: rest.as_ptr() as usize,
            count: rest.len(),
            each: size_of::<T>(),
            type_name: std::any::type_name::<T>(),
        })
    }
    first_of_numbers!(of(items))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_known_by_identity_whatever_their_lifetimes() {
        fn of_a_lifetime<'a>(part: &'a str) {
            let cow: Cow<'a, str> = Cow::Borrowed(part);
            assert_eq!(is_borrowed_cow(&cow), Some(true));
            assert_eq!(is_borrowed_cow(&&cow), Some(true));
            assert_eq!(text(&part), Some((part.as_ptr() as usize, part.len())));
        }
        let short_lived = "text".repeat(2);
        of_a_lifetime(&short_lived);
        assert_eq!(
            is_borrowed_cow::<Cow<'_, str>>(&Cow::Owned(String::new())),
            Some(false)
        );
        assert_eq!(is_borrowed_cow(&"text"), None);
    }

    #[test]
    fn sizes_and_buffers_are_those_of_the_value() {
        let list = Vec::<u32>::with_capacity(10);
        let name = String::with_capacity(7);
        assert_eq!(buffer(&list), Some((list.as_ptr() as usize, 40)));
        assert_eq!(buffer(&&name), Some((name.as_ptr() as usize, 7)));
        assert_eq!(buffer(&vec![(1, 2)]), None);
        assert_eq!((bytes(&&name), bytes(&&7_u128)), (Some(24), Some(16)));
        assert_eq!(bytes(&&(1, 2)), None);
    }

    #[test]
    fn the_iterator_of_a_slice_of_numbers_tells_where_they_lie() {
        let items = [7_u64; 5];
        let mut rest = items.iter();
        rest.next();
        let found = numbers(&rest).expect("a slice's iterator");
        assert_eq!(
            (found.start, found.count, found.each),
            (items.as_ptr() as usize + 8, 4, 8)
        );
        assert_eq!(numbers(&items[..0].iter()), None);
        assert_eq!(numbers(&[(); 4].iter()), None);
        assert_eq!(numbers(&(0..3)), None);
    }
}
