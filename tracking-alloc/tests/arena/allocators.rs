//! A tracked arena as an allocator of collections, and a user-defined arena.

use std::alloc::Layout;
use std::cell::Cell;
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use tracking_alloc::arena::{AllocError, Arena, Chunks, Reset, Tracked};

macro_rules! versions {
    ($($name:ident $version:ident)*) => {$(
        #[test]
        fn $name() {
            let bump = bumpalo::Bump::new();
            let tracked = Tracked::new("vectors", &bump);
            let mut one = $version::vec::Vec::new_in(&tracked);
            let mut two = $version::vec::Vec::new_in(&tracked);
            for number in 0..1000_u32 {
                one.push(number);
                two.push(Box::new(number));
            }
            assert!(one.iter().zip(&two).all(|(one, two)| one == &**two));
            let stats = tracked.stats();
            assert_eq!(stats.used_bytes, 1024 * (4 + 8));
            assert_eq!((stats.bypassed_bytes, stats.grows), (0, 2 * 8));
            one.truncate(10);
            one.shrink_to_fit();
            assert_eq!(tracked.stats().used_bytes, 40 + 8 * 1024);
            drop((one, two));
            assert_eq!(tracked.stats().used_bytes, 0);
        }
    )*};
}

versions! {
    vectors_of_allocator_api2_0_2_are_counted allocator_api2_02
    vectors_of_allocator_api2_0_4_are_counted allocator_api2_04
}

/// One fixed piece of memory.
struct Fixed {
    bytes: Box<[MaybeUninit<u8>]>,
    used: Cell<usize>,
}

impl Fixed {
    fn new(bytes: usize) -> Self {
        Fixed {
            bytes: Box::new_uninit_slice(bytes),
            used: Cell::new(0),
        }
    }
}

// SAFETY: pieces follow each other in a block that never moves. Grow, shrink and release are the
// defaults.
unsafe impl Arena for Fixed {
    fn try_alloc_layout(&self, layout: Layout) -> Result<NonNull<u8>, AllocError> {
        let base = NonNull::from(&*self.bytes).cast::<u8>();
        let start = (base.addr().get() + self.used.get()).next_multiple_of(layout.align())
            - base.addr().get();
        match start.checked_add(layout.size()) {
            Some(end) if end <= self.bytes.len() => {
                self.used.set(end);
                // SAFETY: `start` lies inside the block.
                Ok(unsafe { base.add(start) })
            }
            _ => Err(AllocError::by(self, layout)),
        }
    }

    fn cursor(&self) -> usize {
        self.used.get()
    }

    fn used_since(&self, cursor: usize) -> Option<u64> {
        Some(self.used.get().checked_sub(cursor)? as u64)
    }

    fn chunks(&self) -> Chunks {
        Chunks {
            count: 1,
            bytes: self.bytes.len() as u64,
            bytes_with_metadata: self.bytes.len() as u64,
            unused_tail_bytes: (self.bytes.len() - self.used.get()) as u64,
            free_bytes: (self.bytes.len() - self.used.get()) as u64,
            present_start: 0,
            present_bytes: self.bytes.len(),
        }
    }

    fn limit(&self) -> Option<u64> {
        Some(self.bytes.len() as u64)
    }
}

impl Reset for Fixed {
    fn reset(&mut self) {
        self.used.set(0);
    }
}

#[test]
fn an_arena_of_ones_own_is_tracked_like_any_other() {
    let mut tracked = Tracked::new("fixed", Fixed::new(1000));
    let name = tracked.alloc_str("Ulm");
    assert_eq!(name, "Ulm");
    tracked.alloc_slice_copy(&[1_u64, 2, 3]);
    let stats = tracked.stats();
    assert_eq!((stats.used_bytes, stats.allocated_bytes), (27, 1000));
    assert!(stats.padding_bytes < 8);
    assert!(tracked.try_alloc([0_u8; 2000]).is_err());
    tracked.reset();
    assert_eq!(tracked.stats().unused_tail_bytes, 1000);
    assert_eq!(tracked.stats().total_used_bytes, 27);
}

#[test]
fn the_derive_reads_into_an_arena_of_ones_own() {
    use serde::de::DeserializeSeed;
    use tracking_alloc::arena::ArenaSeed;
    let arena = Fixed::new(1000);
    let mut input = serde_json::Deserializer::from_str(r#"[["Ulm", 120000], ["Bonn", 330000]]"#);
    let cities = ArenaSeed::<&[(&str, u32)]>::new(&arena)
        .deserialize(&mut input)
        .unwrap();
    assert_eq!(cities, [("Ulm", 120_000), ("Bonn", 330_000)]);
}

#[test]
fn a_full_arena_is_an_error_of_the_format() {
    use serde::de::DeserializeSeed;
    use tracking_alloc::arena::ArenaSeed;
    let arena = Fixed::new(10);
    let mut input = serde_json::Deserializer::from_str(r#""far too long for ten bytes""#);
    let error = ArenaSeed::<&str>::new(&arena)
        .deserialize(&mut input)
        .unwrap_err();
    assert!(error.to_string().contains("limit of 10"), "{error}");
}

#[test]
fn a_bumpalo_collection_in_another_arena_says_what_it_needs() {
    use serde::de::DeserializeSeed;
    use tracking_alloc::arena::ArenaSeed;
    let arena = Fixed::new(100);
    let mut input = serde_json::Deserializer::from_str(r#""Ulm""#);
    let error = ArenaSeed::<bumpalo::collections::String>::new(&arena)
        .deserialize(&mut input)
        .unwrap_err();
    assert!(error.to_string().contains("bumpalo::Bump"), "{error}");
}
