//! Measures a live value by the addresses that its own `Serialize` passes.
//!
//! # Why the figures are never too large
//!
//! Each rule that takes a block follows from what was shown and from the exact starts and sizes of
//! live blocks in the shadow map. No rule assumes how a type lies in memory, and none goes by a
//! type's name:
//!
//! - If a shown address lies in a block, the value leads to that block.
//! - If a value is only the address of a block, and the addresses that it showed lie in that block
//!   or in a block to which a pointer in it leads, the value leads to those addresses through that
//!   block.
//! - The methods of a `String`, or of a `Vec` of numbers, return its buffer. Types are compared by
//!   identity.
//!
//! If a word of a value leads to a live block to which no rule applies, the value is *hidden*, and
//! the figures are marked as a lower bound.
//!
//! Memory is read only while it is borrowed: the memory of a value directly after it was shown,
//! never later. Blocks that are reached only through a word of it are looked up again, and not read
//! if they are large; see `unfollowed`.

use super::nodes::{NO_TYPE, Nodes};
use super::value::{At, Value};
use super::value_ref::ValueRef;
use super::walk::Walk;
use crate::Footprint;
use heapglass_recorder::footprints::{self, Measured, Part};
use serde::Serialize;
use std::any::type_name;
use std::cell::RefCell;
use tracking_alloc_recording::footprint_kind;

/// Measures the heap that a live value retains and writes it to the recording as `label`: bytes by
/// field and type, including unused capacity, with shared blocks (`Arc`, `Rc`) counted once. Calls
/// with the same label form a series.
///
/// The value's `Serialize` runs with a serializer that writes nothing, but looks up each address in
/// the live blocks of the recording. So every type that implements `Serialize` works, without
/// another derive.
///
/// Returns `None` if nothing was written: nothing records, the recording takes samples (which a
/// line on standard error says), the value's `Serialize` failed, or memory ran out. It is not a
/// `Result`, because programs also call this while nothing records and do not need to check.
///
/// ```
/// # #[global_allocator] static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();
/// # fn main() -> Result<(), tracking_alloc::Error> {
/// let recorder = tracking_alloc::Recorder::start_in_memory()?;
/// let names = vec!["Ada".to_owned(), "Grace".to_owned()];
/// if let Some(found) = tracking_alloc::footprint("names", &names) {
///     assert_eq!((found.blocks, found.block_bytes), (3, 2 * 24 + 3 + 5));
/// }
/// # recorder.finish()
/// # }
/// ```
///
/// # Counted blocks
///
/// - A block counts once, at the first value that leads to it; at other values it counts as shared.
///   Memory behind a reference (`&T`, a borrowed `Cow<str>`) belongs to another owner and counts as
///   shared too.
/// - A block counts with its whole size, including unused capacity and the counters of `Arc` and
///   `Rc`.
/// - Blocks that serializing allocates and frees again do not count. Blocks from before the start
///   of the recording are unknown and do not count.
///
/// # Exact figures and lower bounds
///
/// A block counts if it is proved that the value leads to it: a shown address lies in it, or the
/// value is a pointer to it and it contains a pointer to a shown address. The following are exact
/// to the byte, also inside each other and inside `RefCell`, `Mutex` and `RwLock`:
///
/// - strings, lists, maps and sets that are not empty,
/// - `Box`, `Arc` and `Rc` of those or of a number (4 bytes or more, not 0),
/// - empty `String`s and `Vec`s of numbers with their unused capacity.
///
/// A value with pointers to live blocks that are not proved is counted in
/// [`Footprint::hidden_values`]. The figures are then a lower bound, and reports say so. These
/// values are hidden:
///
/// - skipped fields, and fields that are serialized `with` a function,
/// - values that are serialized as something else (`into`, text),
/// - empty lists and maps with spare capacity,
/// - boxes of nothing (`None`, a variant without fields), of a `bool`, of a number of 1 or 2 bytes
///   or of 0,
/// - boxes of more than 64 KiB that were not shown completely,
/// - the index of an `IndexMap`, and a `Cow` of a type of your own.
///
/// The following are neither seen nor counted as hidden: skipped fields of an enum's variants;
/// hidden fields beyond the first KiB of a value, or in elements of a map whose size is unknown;
/// pointers in another form (tagged, compressed); and memory that only a `Weak` keeps.
///
/// A type of which a field points into a block behind its start, such as a list that a format
/// without copies borrows from its input, does not own the block: it counts as hidden. A type whose
/// own `Serialize` passes other borrowed memory (from the very start of a block, or not through a
/// reference in a field) counts as the owner of that memory.
///
/// # Limits
///
/// - Places beyond 65,536 in total, 4,096 in one place or 64 levels are counted at the enclosing
///   place, and the recording says so. Values of a type inside a value of the same type count at
///   the outermost place.
///
/// # Panics
/// If `TrackingAlloc` is not the global allocator, with the two lines to add. It never returns
/// zeros instead. A panic in the value's `Serialize` passes through and leaves nothing behind.
#[inline(never)]
pub fn footprint<T: Serialize + ?Sized>(label: &str, value: &T) -> Option<Footprint> {
    heapglass_recorder::assert_observing("footprint");
    if !heapglass_recorder::is_exact("footprint") {
        return None;
    }
    let live_bytes = footprints::live_bytes()?;
    // Everything that the measurement puts on the stack lies below this.
    let local = 0u8;
    let (mut walk, own_bytes) = measured(value, live_bytes, std::ptr::from_ref(&local) as usize)?;
    let hidden_values = walk.blocks.hidden_values(std::ptr::from_ref(value).addr());
    let measured = Measured {
        label,
        type_name: type_name::<T>(),
        kind: footprint_kind::EXACT,
        live_bytes,
        folded: walk.nodes.folded,
        hidden_values,
    };
    let mut types = std::mem::take(&mut walk.nodes.types);
    footprints::record(&measured, &mut types, parts(&walk.nodes));
    let mut all = Footprint {
        inline_bytes: own_bytes as u64,
        hidden_values,
        ..Footprint::default()
    };
    for node in walk.nodes.all.iter().map(|node| node.figures) {
        all.blocks += node.blocks;
        all.block_bytes += node.block_bytes;
        all.usable_bytes += node.usable_bytes;
        all.used_bytes += node.used_bytes;
        all.shared_blocks += node.shared_blocks;
        all.shared_bytes += node.shared_bytes;
    }
    Some(all)
}

/// Walks a value. Returns the findings and the value's own size.
#[inline(never)]
fn measured<T: Serialize + ?Sized>(
    value: &T,
    live_bytes: u64,
    stack_end: usize,
) -> Option<(Walk, usize)> {
    // A reference to the measured value belongs to the caller and is not part of the value.
    let mut item = ValueRef::of(value, |_| true);
    item.is_temporary = false;
    let nodes = Nodes::new(item.type_name, item.bytes.filter(|_| item.is_sized))?;
    let largest = usize::try_from(live_bytes).ok()?;
    let mut walk = Walk::new(nodes, largest, stack_end, footprints::usable_bytes());
    if let Some(root) = walk.nodes.all.first_mut() {
        root.figures.count = 1;
        root.figures.inline_bytes = item.bytes.unwrap_or(0) as u64;
        root.unsized_count = u64::from(item.bytes.is_none());
    }
    let value_itself = Value::new(&mut walk, None, 0, item);
    let walk = RefCell::new(walk);
    let at = At {
        walk: &walk,
        value: &value_itself,
    };
    value.serialize(at).ok()?;
    value_itself.finish(&mut walk.borrow_mut());
    let mut walk = walk.into_inner();
    walk.finish();
    // Values of its type inside it count at the same place as the value itself.
    let own_bytes = item.bytes.unwrap_or_else(|| walk.nodes.bytes_each(0));
    (!walk.failed).then_some((walk, own_bytes))
}

/// Returns the nodes in the form that the recording keeps.
fn parts(nodes: &Nodes) -> impl Iterator<Item = Part<'_>> {
    nodes.all.iter().map(|node| Part {
        name: nodes.name(node),
        type_index: (node.type_index != NO_TYPE).then_some(node.type_index),
        node: node.figures,
    })
}
