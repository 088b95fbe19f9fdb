//! Measures a live value by the addresses that its own `Serialize` shows.
//!
//! # Why the figures are a lower bound, and never more
//!
//! Each rule that takes a block follows from what was shown and from the exact starts and sizes of
//! live blocks in the shadow map. No rule assumes how a type lies in memory, and none goes by a
//! type's name:
//!
//! - An address that was shown lies in a block: the value leads to that block.
//! - A value is nothing but the address of a block, and what it showed lies in that block, or in a
//!   block to which a pointer in it leads: the value leads to what it showed through that block.
//! - The buffer of a `String`, or of a `Vec` of numbers, is what its own methods say. Types are
//!   compared by identity.
//!
//! Where a word of a value leads to a live block that no rule takes, the value is *hidden*, and the
//! figures say that they are a lower bound.
//!
//! Memory is read only while it is borrowed: of a value just after it was shown, never later.
//! Blocks that only a word of it leads to are looked up anew, and not read when they are large: see
//! `unfollowed`.

use super::Footprint;
use super::nodes::{NO_TYPE, Nodes};
use super::record;
use super::value::{At, Value, Walk};
use super::value_ref::ValueRef;
use crate::tables::{Measured, Part};
use crate::{hook, probe, start};
use serde::Serialize;
use std::any::type_name;
use std::cell::RefCell;
use tracking_alloc_recording::footprint_kind;

/// Measures the heap that a live value retains and writes it to the recording as `label`: bytes by
/// field and type of the value, with spare capacity, and shared blocks (`Arc`, `Rc`) once. Repeated
/// labels form a series.
///
/// The value's `Serialize` runs with a serializer that writes nothing: it looks up the addresses
/// that it gets among the live blocks of the recording. So any type that can be serialized will do,
/// without a derive of ours.
///
/// `None` when nothing was written: nothing records, the value's `Serialize` failed, or the system
/// refused memory. It is an `Option`, and not a `Result`, because a program that is not being
/// recorded calls this too, and need not look.
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
/// # What counts
///
/// - A block counts once, where it is met first; met again by another value it counts as shared
///   there. What is behind a reference (`&T`, a borrowed `Cow<str>`) belongs to somebody else and
///   counts as shared too.
/// - A block counts with its whole size, spare capacity and the counters of `Arc` and `Rc`
///   included.
/// - Blocks that were made by serializing and freed again do not count. Blocks from before the
///   recording began are not known and count as nothing.
///
/// # What is exact, and what a lower bound
///
/// A block counts where it is proved that the value leads to it: something shown lies in it, or the
/// value is a pointer to it and what was shown lies behind. So strings, lists, maps and sets with
/// something in them, and `Box`, `Arc` and `Rc` of those or of a number (of 4 bytes or more, and
/// not 0), are exact to the byte, in each other and in `RefCell`, `Mutex` and `RwLock` too; empty
/// `String`s and `Vec`s of numbers with their spare capacity as well.
///
/// Values whose memory leads to live blocks that nothing proves are counted as
/// [`Footprint::hidden_values`]; the figures are then a lower bound, and reports say so. Hidden are
/// skipped fields, fields that are serialized `with` a function, values that are serialized as
/// something else (`into`, text), empty lists and maps with spare capacity, boxes of nothing
/// (`None`, a variant without fields), of a `bool`, of a number of 1 or 2 bytes or of 0, boxes of
/// more than 64 KiB of which not all was shown, the index of an `IndexMap`, and a `Cow` of a type
/// of your own.
///
/// Not seen, and not said: skipped fields of an enum's variants, hidden fields beyond the first KiB
/// of a value or in elements of a map whose size nothing tells, pointers that are kept as something
/// else (tagged, compressed), and what a `Weak` alone keeps.
///
/// A type that lends memory by its own `Serialize` (not by a reference that is a field) counts as
/// its owner, and a value in an arena as the owner of the chunks that it lies in.
///
/// # Limits
///
/// - More than 65,536 places, 4,096 in one, or 64 levels are counted at the place around them,
///   which the recording says. Values of a type inside itself count at its outermost place.
///
/// # Panics
/// When `TrackingAlloc` is not the global allocator, with the two lines to add: never a silent
/// zero. A panic in the value's `Serialize` passes through and leaves nothing behind.
#[inline(never)]
pub fn footprint<T: Serialize + ?Sized>(label: &str, value: &T) -> Option<Footprint> {
    probe::assert_installed("footprint");
    let live_bytes = hook::recorded_stats()?.live_bytes.max(0) as u64;
    // Everything that the measuring puts on the stack lies below this.
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
    record(&measured, &mut types, parts(&walk.nodes));
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

/// Walks a value: what was found, and the value's own size.
#[inline(never)]
fn measured<T: Serialize + ?Sized>(
    value: &T,
    live_bytes: u64,
    stack_end: usize,
) -> Option<(Walk, usize)> {
    // A reference to the value that is meant is the caller's own, not a part of it.
    let mut item = ValueRef::of(value, |_| true);
    item.is_temporary = false;
    let nodes = Nodes::new(item.type_name, item.bytes.filter(|_| item.is_sized))?;
    let largest = usize::try_from(live_bytes).ok()?;
    let mut walk = Walk::new(nodes, largest, stack_end, start::usable_bytes());
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
    // Values of its type inside it count at the same place: the value itself is one of them.
    let own_bytes = item.bytes.unwrap_or_else(|| walk.nodes.bytes_each(0));
    (!walk.failed).then_some((walk, own_bytes))
}

/// The nodes as the recording keeps them.
fn parts(nodes: &Nodes) -> impl Iterator<Item = Part<'_>> {
    nodes.all.iter().map(|node| Part {
        name: nodes.name(node),
        type_index: (node.type_index != NO_TYPE).then_some(node.type_index),
        node: node.figures,
    })
}
