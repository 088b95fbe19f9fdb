//! The order of words in std's containers, found out in the program itself.
//!
//! The compiler chooses these orders, so they are part of no interface. A reader of the program's
//! memory must know them, or it takes a length for a capacity.
//!
//! Each container is made empty, which allocates nothing. One of its words that are 0 is set to 1,
//! and the container is asked for its length and capacity: the answer that changed tells the
//! meaning of the word. Only functions that return a field are called, and the container is never
//! dropped. So this may run at any time, also inside the first allocation of a program.

use std::collections::{HashMap, VecDeque};
use std::mem::MaybeUninit;
use std::sync::atomic::Ordering::Relaxed;
use tracking_alloc_recording::Header;

/// Writes the orders into the header.
pub(crate) fn describe(header: &Header) {
    for (place, order) in [
        (&header.vec_order, vec_order()),
        (&header.string_order, string_order()),
        (&header.vec_deque_order, vec_deque_order()),
        (&header.hash_map_order, hash_map_order()),
    ] {
        place.store(u32::from_le_bytes(order.unwrap_or_default()), Relaxed);
    }
}

fn vec_order() -> Option<[u8; 4]> {
    let [capacity, length] = counts(Vec::<u8>::new, Vec::capacity, Vec::len)?;
    let pointer = pointer_of::<_, 3>(Vec::<u8>::new)?;
    Some([capacity, pointer, length, 0]).filter(|[a, b, c, _]| a != b && b != c)
}

fn string_order() -> Option<[u8; 4]> {
    let [capacity, length] = counts(String::new, String::capacity, String::len)?;
    let pointer = pointer_of::<_, 3>(String::new)?;
    Some([capacity, pointer, length, 0]).filter(|[a, b, c, _]| a != b && b != c)
}

fn vec_deque_order() -> Option<[u8; 4]> {
    let [capacity, length] = counts(VecDeque::<u8>::new, VecDeque::capacity, VecDeque::len)?;
    let pointer = pointer_of::<_, 4>(VecDeque::<u8>::new)?;
    // The head is what remains.
    let head = 6_u8.checked_sub(capacity + pointer + length)?;
    are_all([capacity, pointer, head, length])
}

/// Returns the order of a map with std's hasher, whose two words are its seed. A number of the same
/// size and alignment takes its place, because making a seed may ask the kernel.
fn hash_map_order() -> Option<[u8; 4]> {
    type Map = HashMap<u8, u8, [u64; 2]>;
    const SEED: usize = 0x5eed;
    let new = || Map::with_hasher([SEED as u64; 2]);
    let is_same = size_of::<Map>() == size_of::<HashMap<u8, u8>>();
    let words = words_of::<_, 6>(new).filter(|_| is_same)?;
    let mut known = [None; 4];
    for (index, word) in words.into_iter().enumerate() {
        let meaning = match word {
            SEED => continue,
            // An item takes one place of the capacity, which is the sum of items and growth left.
            0 => match with_one(new, index, |map| (map.len(), map.capacity()))? {
                (1, 1) => 3,
                (0, 1) => 2,
                _ => 1,
            },
            _ => 0,
        };
        let index = u8::try_from(index).ok()?;
        if known[meaning].replace(index).is_some() {
            return None;
        }
    }
    let [Some(control), Some(mask), Some(left), Some(items)] = known else {
        return None;
    };
    Some([control, mask, left, items])
}

/// Returns the order if it names each of the words 0 to 3 once.
fn are_all(order: [u8; 4]) -> Option<[u8; 4]> {
    (0..4).all(|word| order.contains(&word)).then_some(order)
}

/// Returns the indices of the words that hold the capacity and the length.
fn counts<T>(
    new: impl Fn() -> T,
    capacity: fn(&T) -> usize,
    length: fn(&T) -> usize,
) -> Option<[u8; 2]> {
    let words = size_of::<T>() / size_of::<usize>();
    let (mut at_capacity, mut at_length) = (None, None);
    for index in 0..words {
        match with_one(&new, index, |value| (capacity(value), length(value))) {
            Some((1, 0)) if at_capacity.is_none() => at_capacity = Some(index as u8),
            Some((0, 1)) if at_length.is_none() => at_length = Some(index as u8),
            Some((0, 0)) | None => {}
            Some(_) => return None,
        }
    }
    Some([at_capacity?, at_length?])
}

/// Returns the index of the only word that is not 0 in an empty container: a dangling pointer.
fn pointer_of<T, const WORDS: usize>(new: impl Fn() -> T) -> Option<u8> {
    let words = words_of::<T, WORDS>(new)?;
    let mut pointers = (0..WORDS).filter(|index| words[*index] != 0);
    let pointer = pointers.next()?;
    pointers.next().is_none().then_some(pointer as u8)
}

/// Returns the words of an empty container. Returns `None` if it does not have this many.
fn words_of<T, const WORDS: usize>(new: impl Fn() -> T) -> Option<[usize; WORDS]> {
    if size_of::<T>() != size_of::<[usize; WORDS]>() || align_of::<T>() != align_of::<usize>() {
        return None;
    }
    let value = MaybeUninit::new(new());
    // SAFETY: the containers here consist of pointers and numbers of the size of a pointer, without
    // padding, and the size was compared.
    let words = unsafe {
        value
            .as_ptr()
            .cast::<[MaybeUninit<*const u8>; WORDS]>()
            .read()
    };
    // SAFETY: as above.
    Some(words.map(|word| unsafe { word.assume_init() }.addr()))
}

/// Asks an empty container in which a word that is 0 was set to 1. Returns `None` if it is not 0.
fn with_one<T, R>(new: impl Fn() -> T, index: usize, ask: impl FnOnce(&T) -> R) -> Option<R> {
    let mut value = MaybeUninit::new(new());
    // SAFETY: the index is below the number of words. A word that is 0 is a number, because the
    // pointers of an empty container are not null, and 1 is a valid capacity, length or index.
    // `ask` only returns such numbers, and the container is not dropped.
    unsafe {
        let word = value.as_mut_ptr().cast::<usize>().add(index);
        if word.cast::<*const u8>().read().addr() != 0 {
            return None;
        }
        word.write(1);
        Some(ask(value.assume_init_ref()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words<T, const WORDS: usize>(value: &T) -> [usize; WORDS] {
        assert_eq!(size_of::<T>(), size_of::<[usize; WORDS]>());
        // SAFETY: pointers and numbers, and the size was compared.
        unsafe { std::ptr::from_ref(value).cast::<[usize; WORDS]>().read() }
    }

    #[test]
    fn the_orders_read_containers_that_have_elements() {
        let [capacity, pointer, length, _] = vec_order().expect("known").map(usize::from);
        let mut list = Vec::with_capacity(7);
        list.extend([1_u64, 2, 3]);
        let found: [usize; 3] = words(&list);
        assert_eq!((found[capacity], found[length]), (7, 3));
        assert_eq!(found[pointer], list.as_ptr().addr());

        let [capacity, pointer, length, _] = string_order().expect("known").map(usize::from);
        let mut text = String::with_capacity(20);
        text.push_str("word");
        let found: [usize; 3] = words(&text);
        assert_eq!((found[capacity], found[length]), (20, 4));
        assert_eq!(found[pointer], text.as_ptr().addr());

        let [capacity, pointer, head, length] = vec_deque_order().expect("known").map(usize::from);
        let mut queue = VecDeque::with_capacity(9);
        queue.extend([1_u32, 2, 3, 4, 5]);
        queue.pop_front();
        queue.pop_front();
        let found: [usize; 4] = words(&queue);
        assert_eq!((found[capacity], found[head], found[length]), (9, 2, 3));
        assert_eq!(found[pointer] + 8, queue.as_slices().0.as_ptr().addr());

        let [control, mask, left, items] = hash_map_order().expect("known").map(usize::from);
        let mut map: HashMap<u64, u64> = HashMap::with_capacity(20);
        map.extend((0..5).map(|key| (key, key)));
        let found: [usize; 6] = words(&map);
        assert_eq!((found[items], found[left]), (5, map.capacity() - 5));
        assert!((found[mask] + 1).is_power_of_two() && found[mask] >= map.capacity());
        let entries = map.keys().map(|key| std::ptr::from_ref(key).addr());
        assert!(entries.max() < Some(found[control]));
    }
}
