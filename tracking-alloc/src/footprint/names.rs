//! What the name of a type says of its memory: of the standard library's types, whose names are theirs alone.
//!
//! Only what is certain: a type that is not known here is [`Form::Other`] and has no known size.

use std::collections::{BTreeMap, BinaryHeap, HashMap, LinkedList, VecDeque};

/// How a type lies in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form<'n> {
    /// Its first word is the address of a block with a value of this type in it, so many bytes from the block's start.
    Pointer(&'n str, usize),
    /// A value of this type, behind so many bytes of its own.
    Around(&'n str, usize),
    /// Sizes and the address of one block, of so many bytes together.
    List(usize),
    /// Nothing is known.
    Other,
}

impl Form<'_> {
    /// The form of a type.
    pub(super) fn of(name: &str) -> Form<'_> {
        if let Some(target) = argument(name, "alloc::boxed::Box") {
            return Form::Pointer(target, 0);
        }
        let counted = argument(name, "alloc::sync::Arc").or(argument(name, "alloc::rc::Rc"));
        if let Some(target) = counted {
            return Form::Pointer(target, 2 * size_of::<usize>());
        }
        if let Some((target, before)) = around(name) {
            // What may be aligned otherwise may lie elsewhere.
            return if is_like_words(target) {
                Form::Around(target, before)
            } else {
                Form::Other
            };
        }
        list_bytes(name).map_or(Form::Other, Form::List)
    }

    /// The bytes that a value of this form has at least.
    pub(super) fn least_bytes(self) -> usize {
        match self {
            Form::Pointer(..) => size_of::<usize>(),
            Form::Around(target, before) => before + Form::of(target).least_bytes(),
            Form::List(bytes) => bytes,
            Form::Other => 0,
        }
    }
}

/// Whether a type is certainly aligned like a pointer.
fn is_like_words(name: &str) -> bool {
    let is_sized_so = || {
        let bytes = well_known_bytes(name).unwrap_or(0);
        bytes > 0 && bytes.is_multiple_of(size_of::<usize>()) && !is_wide(name)
    };
    Form::of(name) != Form::Other || is_sized_so()
}

/// `T` of `head<T>`; `None` when it has more arguments: an allocator, a hasher.
fn argument<'n>(name: &'n str, head: &str) -> Option<&'n str> {
    let inside = name.strip_prefix(head)?.strip_prefix('<')?;
    let inside = inside.strip_suffix('>')?;
    (arguments(inside) == 1).then_some(inside)
}

/// How many arguments stand between `<` and `>`.
fn arguments(text: &str) -> usize {
    let (mut depth, mut count, mut last) = (0i32, 1, b' ');
    for byte in text.bytes() {
        match byte {
            b'<' | b'(' | b'[' => depth += 1,
            // The arrow of `fn() -> T`.
            b'>' if last == b'-' => {}
            b'>' | b')' | b']' => depth -= 1,
            b',' if depth == 0 => count += 1,
            _ => {}
        }
        last = byte;
    }
    count
}

/// What serializes as the value in it, and the bytes it has before a value that is aligned like a pointer.
fn around(name: &str) -> Option<(&str, usize)> {
    // Each may hold what has no size, so the value is its last field.
    const CELL: usize = size_of::<std::cell::RefCell<usize>>() - size_of::<usize>();
    const MUTEX: usize = size_of::<std::sync::Mutex<usize>>() - size_of::<usize>();
    const LOCK: usize = size_of::<std::sync::RwLock<usize>>() - size_of::<usize>();
    let known = |head, before| argument(name, head).map(|target| (target, before));
    known("core::cell::RefCell", CELL)
        .or_else(|| known("std::sync::poison::mutex::Mutex", MUTEX))
        .or_else(|| known("std::sync::mutex::Mutex", MUTEX))
        .or_else(|| known("std::sync::poison::rwlock::RwLock", LOCK))
        .or_else(|| known("std::sync::rwlock::RwLock", LOCK))
        .or_else(|| known("core::cmp::Reverse", 0))
}

/// The size of what grows in one block.
fn list_bytes(name: &str) -> Option<usize> {
    Some(match name {
        "alloc::string::String" | "std::path::PathBuf" | "std::ffi::os_str::OsString" => {
            size_of::<String>()
        }
        _ if argument(name, "alloc::vec::Vec").is_some() => size_of::<Vec<u8>>(),
        _ if argument(name, "alloc::collections::binary_heap::BinaryHeap").is_some() => {
            size_of::<BinaryHeap<u8>>()
        }
        _ if argument(name, "alloc::collections::vec_deque::VecDeque").is_some() => {
            size_of::<VecDeque<u8>>()
        }
        _ => return None,
    })
}

/// The size of a reference type, bytes.
fn reference_bytes(name: &str) -> usize {
    let target = name.strip_prefix('&').unwrap_or(name);
    pointer_bytes(target.strip_prefix("mut ").unwrap_or(target))
}

/// The size of a pointer to a type, bytes.
fn pointer_bytes(target: &str) -> usize {
    if is_unsized(target) {
        size_of::<&str>()
    } else {
        size_of::<&u8>()
    }
}

/// Whether values of a type have no common size: `str`, slices, trait objects.
pub(super) fn is_unsized(name: &str) -> bool {
    name == "str" || name.starts_with("dyn ") || name.starts_with('[') && !is_array(name)
}

/// Whether the type is an array: `[T; 4]`.
pub(super) fn is_array(name: &str) -> bool {
    let count = name
        .strip_suffix(']')
        .and_then(|name| name.rsplit_once("; "));
    name.starts_with('[')
        && count.is_some_and(|(_, count)| count.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Whether a type is a number, a character or a truth value.
pub(super) fn is_primitive(name: &str) -> bool {
    primitive_bytes(name).is_some()
}

/// Whether values of a type are numbers, whatever they are serialized as: no word of them leads anywhere.
pub(super) fn is_number(name: &str) -> bool {
    const NUMBERS: [&str; 5] = [
        "core::time::Duration",
        "std::time::SystemTime",
        "core::num::nonzero::NonZero<",
        "core::sync::atomic::Atomic",
        "core::net::",
    ];
    is_primitive(name)
        || NUMBERS.iter().any(|number| name.starts_with(number)) && !name.contains("AtomicPtr")
}

/// Whether a type may be aligned more strictly than a pointer.
fn is_wide(name: &str) -> bool {
    matches!(name, "u128" | "i128")
}

/// The size of such a type.
fn primitive_bytes(name: &str) -> Option<usize> {
    Some(match name {
        "u8" | "i8" | "bool" => 1,
        "u16" | "i16" => 2,
        "u32" | "i32" | "f32" | "char" => 4,
        "u64" | "i64" | "f64" => 8,
        "usize" | "isize" => size_of::<usize>(),
        "u128" | "i128" => 16,
        _ => return None,
    })
}

/// The size of a value of a type that everybody has, by its name.
pub(super) fn well_known_bytes(name: &str) -> Option<usize> {
    if let Some(bytes) = primitive_bytes(name) {
        return Some(bytes);
    }
    if name.starts_with('&') {
        return Some(reference_bytes(name));
    }
    // PERF: most types are the program's own.
    if !["alloc::", "core::", "std::"]
        .iter()
        .any(|library| name.starts_with(library))
    {
        return None;
    }
    if let Some(inside) = argument(name, "core::option::Option") {
        // Those in which an address or a capacity that cannot be says that there is none.
        return match Form::of(inside) {
            Form::Pointer(..) | Form::List(_) => well_known_bytes(inside),
            _ => None,
        };
    }
    match Form::of(name) {
        // Other types may be without a size too: their pointers have two words.
        Form::Pointer(target, _) => is_known_kind(target).then(|| pointer_bytes(target)),
        Form::Around(target, before) => Some(before + well_known_bytes(target)?),
        Form::List(bytes) => Some(bytes),
        Form::Other => container_bytes(name),
    }
}

/// Whether it is known of a type if it has a size.
fn is_known_kind(name: &str) -> bool {
    is_unsized(name)
        || is_array(name)
        || name.starts_with('(')
        || name.starts_with("core::option::Option<")
        || well_known_bytes(name).is_some()
}

fn container_bytes(name: &str) -> Option<usize> {
    let is = |head: &str, most: usize| {
        let inside = name
            .strip_prefix(head)
            .and_then(|rest| rest.strip_prefix('<')?.strip_suffix('>'));
        inside.is_some_and(|inside| arguments(inside) == most)
    };
    Some(match name {
        "alloc::borrow::Cow<str>" | "alloc::borrow::Cow<'_, str>" => size_of::<String>(),
        "core::time::Duration" => size_of::<std::time::Duration>(),
        _ if is("alloc::collections::btree::map::BTreeMap", 2)
            || is("alloc::collections::btree::set::BTreeSet", 1) =>
        {
            size_of::<BTreeMap<u8, u8>>()
        }
        _ if is("alloc::collections::linked_list::LinkedList", 1) => size_of::<LinkedList<u8>>(),
        _ if is("std::collections::hash::map::HashMap", 2)
            || is("std::collections::hash::set::HashSet", 1) =>
        {
            size_of::<HashMap<u8, u8>>()
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::any::type_name;
    use std::borrow::Cow;
    use std::cell::RefCell;
    use std::collections::{BTreeSet, HashSet};
    use std::rc::Rc;
    use std::sync::{Arc, Mutex, RwLock};

    macro_rules! right {
        ($($type:ty),* $(,)?) => {$(
            let name = type_name::<$type>();
            assert_eq!(well_known_bytes(name), Some(size_of::<$type>()), "{name}");
        )*};
    }

    macro_rules! unknown {
        ($($type:ty),* $(,)?) => {$(
            let name = type_name::<$type>();
            assert_eq!(well_known_bytes(name), None, "{name}");
        )*};
    }

    struct Own;

    #[test]
    fn well_known_sizes_are_right() {
        right!(i128, usize, char, String, Option<String>, Cow<'_, str>);
        right!(&str, &&str, &[u8; 4], &[u8], &[[u8; 4]]);
        right!(&dyn std::fmt::Debug);
        right!(
            Box<u64>,
            Option<Box<u64>>,
            Box<Box<u8>>,
            Box<str>,
            Box<[Own]>,
            Arc<[u8]>,
            Rc<str>
        );
        right!(
            Box<dyn Fn(u8) -> u8>,
            Arc<Option<Own>>,
            Rc<(Own, u8)>,
            Arc<Mutex<Box<u8>>>
        );
        right!(
            Vec<Own>,
            Option<Vec<Own>>,
            VecDeque<Own>,
            BinaryHeap<u8>,
            LinkedList<Own>
        );
        right!(BTreeMap<Own, u8>, BTreeSet<u8>, HashMap<Own, (u8, u8)>, HashSet<Own>);
        right!(
            RefCell<Box<u8>>,
            Mutex<Box<u8>>,
            RwLock<Vec<u8>>,
            Mutex<RefCell<String>>
        );
        right!(
            std::cmp::Reverse<String>,
            std::time::Duration,
            std::path::PathBuf
        );
    }

    #[test]
    fn what_is_not_certain_has_no_known_size() {
        type Hasher = std::hash::BuildHasherDefault<std::hash::DefaultHasher>;
        unknown!(
            Own,
            Option<Own>,
            (u8, u8),
            [u8; 3],
            Option<u64>,
            Option<BTreeMap<u8, u8>>
        );
        // A pointer to a type of the program's own may have two words.
        unknown!(Box<Own>, Box<std::path::Path>, Arc<std::ffi::CStr>);
        unknown!(HashMap<u8, u8, Hasher>, RefCell<Own>, Mutex<u128>, Mutex<u8>, Mutex<Box<Own>>);
    }

    #[test]
    fn the_form_of_a_type_is_told_by_its_name() {
        let form = |name: &'static str| Form::of(name);
        assert_eq!(form(type_name::<Box<u8>>()), Form::Pointer("u8", 0));
        let own = type_name::<Own>();
        assert_eq!(form(type_name::<Arc<Own>>()), Form::Pointer(own, 16));
        assert_eq!(form(type_name::<Rc<Own>>()), Form::Pointer(own, 16));
        let inner = type_name::<Box<u8>>();
        assert_eq!(
            form(type_name::<RefCell<Box<u8>>>()),
            Form::Around(inner, 8)
        );
        assert_eq!(form(type_name::<Vec<Own>>()), Form::List(24));
        assert_eq!(form(type_name::<RefCell<u64>>()), Form::Around("u64", 8));
        for other in [
            own,
            type_name::<RefCell<Own>>(),
            "alloc::boxed::Box<u8, my::Arena>",
        ] {
            assert_eq!(form(other), Form::Other);
        }
        let cell = form(type_name::<Mutex<RefCell<Box<Own>>>>());
        assert_eq!(cell.least_bytes(), size_of::<Mutex<RefCell<Box<Own>>>>());
        assert_eq!(arguments("dyn Fn(u8, u8) -> (u8, u8)"), 1);
        assert_eq!(arguments("[u8; 4], fn() -> u8"), 2);
    }
}
