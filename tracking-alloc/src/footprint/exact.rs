//! Measuring a live value by the addresses its own `Serialize` shows.

use super::Footprint;
use super::nodes::{NO_TYPE, Nodes};
use super::place::{At, Value, Walk};
use super::record;
use super::room::Room;
use super::words::Seen;
use crate::tables::{Measured, Part};
use crate::{hook, probe, start};
use serde::Serialize;
use std::any::type_name;
use std::cell::RefCell;
use tracking_alloc_recording::{FootprintNodeValue, footprint_kind};

/// Measures what a live value retains and writes it to the recording as `label`: bytes by field and type of the value,
/// with spare capacity, and shared blocks (`Arc`, `Rc`) once. Several of one label make a series.
///
/// The value's `Serialize` is driven with a serializer that writes nothing: it looks up the addresses it is handed among
/// the live blocks of the recording. So nothing but the recording is needed, and any type that can be serialized will
/// do. `None` when nothing records, or when the value's `Serialize` fails: then nothing is written.
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
/// - A block counts once, where it is met first; met again by another value it counts as shared there. What is behind a
///   reference (`&T`, a borrowed `Cow<str>`) is somebody else's and counts as shared too.
/// - Spare capacity counts also where nothing is in it yet; the heads of `Arc` and `Rc` count.
/// - Blocks that were made by serializing and freed again do not count. Blocks from before the recording began are not
///   known and count as nothing.
///
/// # What is exact, and what a lower bound
///
/// Exact to the byte, as long as everything is serialized: what strings, lists, maps and sets of the standard library and
/// of indexmap hold, and what `Box`, `Arc` and `Rc` lead to, in each other and in `RefCell`, `Mutex` and `RwLock` too,
/// even when nothing is shown of what is in them. All of that is known by the types' names and by how they lie in memory.
///
/// Values whose memory leads to blocks that nothing shows are counted as [`Footprint::hidden_values`], and the faces say
/// that the figures are a lower bound: skipped fields, fields left out by `skip_serializing_if` with spare capacity,
/// fields that are serialized `with` a function, values that are serialized as something else (`into`), boxed numbers in
/// untagged enums. Of values that write themselves as text (`VersionReq`) lists and strings count; boxes inside those
/// are hidden. Whatever is behind the hidden pointers of a value, it is one.
///
/// Not seen, and not said either: skipped fields of an enum's variants, boxes of variants without fields in untagged
/// enums, hidden fields beyond the first KiB of a value, pointers that are kept as something else (tagged, compressed,
/// into the middle of a block), and what a `Weak` alone keeps. The other way about, an address kept as a number in a type
/// of one word that writes itself as text is taken for a pointer.
///
/// # Limits
///
/// - More than 65,536 places, 4,096 in one, or 64 levels are counted at the place around them, which the recording says.
///   Values of a type inside itself count at its outermost place.
///
/// # Panics
/// When `TrackingAlloc` is not the global allocator, with the two lines to add: never a silent zero. A panic in the
/// value's `Serialize` passes through and leaves nothing behind.
#[inline(never)]
pub fn footprint<T: Serialize + ?Sized>(label: &str, value: &T) -> Option<Footprint> {
    probe::insist("footprint");
    let live_bytes = hook::recorded_stats()?.live_bytes.max(0) as u64;
    // Everything the measuring puts on the stack lies below this.
    let here = 0u8;
    let mut walk = measured(value, live_bytes, std::ptr::from_ref(&here) as usize)?;
    let measured = Measured {
        label,
        type_name: type_name::<T>(),
        kind: footprint_kind::EXACT,
        live_bytes,
        folded: walk.nodes.folded,
        hidden_values: walk.blocks.hidden_values(),
    };
    let mut types = std::mem::replace(&mut walk.nodes.types, Room::new());
    record(&measured, &mut types, parts(&walk.nodes));
    Some(summary(&walk))
}

#[inline(never)]
fn measured<T: Serialize + ?Sized>(value: &T, live_bytes: u64, stack_end: usize) -> Option<Walk> {
    // A reference to the value that is meant is the caller's own, not a part of it.
    let seen = Seen {
        is_temporary: false,
        ..Seen::of(value, |_| true)
    };
    let nodes = Nodes::new(seen.type_name, seen.bytes.unwrap_or(0))?;
    let largest = usize::try_from(live_bytes).ok()?;
    let mut walk = Walk::new(nodes, largest, stack_end, start::usable_bytes());
    if let Some(root) = walk.nodes.all.first_mut() {
        root.count = 1;
        root.inline_bytes = seen.bytes.unwrap_or(0) as u64;
        root.unsized_count = u64::from(seen.bytes.is_none());
    }
    let value_itself = Value::new(&mut walk, None, 0, seen);
    let walk = RefCell::new(walk);
    let at = At {
        walk: &walk,
        value: &value_itself,
    };
    value.serialize(at).ok()?;
    value_itself.finish(&mut walk.borrow_mut());
    let mut walk = walk.into_inner();
    walk.blocks.settle()?;
    walk.blocks.sum(&mut walk.nodes);
    // Values of its type inside it count at the same place: the value itself is one of them.
    let own_bytes = seen.bytes.unwrap_or_else(|| walk.nodes.bytes_each(0));
    walk.own_bytes = own_bytes as u64;
    (!walk.failed).then_some(walk)
}

/// The nodes as the recording keeps them.
fn parts(nodes: &Nodes) -> impl Iterator<Item = Part<'_>> {
    nodes.all.iter().map(|node| Part {
        name: nodes.name(node),
        type_index: (node.type_index != NO_TYPE).then_some(node.type_index),
        node: FootprintNodeValue {
            parent: node.parent,
            kind: node.kind,
            count: node.count,
            inline_bytes: node.inline_bytes,
            blocks: node.blocks,
            block_bytes: node.block_bytes,
            usable_bytes: node.usable_bytes,
            used_bytes: node.used_bytes,
            shared_blocks: node.shared_blocks,
            shared_bytes: node.shared_bytes,
            ..FootprintNodeValue::default()
        },
    })
}

fn summary(walk: &Walk) -> Footprint {
    let mut all = Footprint {
        inline_bytes: walk.own_bytes,
        hidden_values: walk.blocks.hidden_values(),
        ..Footprint::default()
    };
    for part in parts(&walk.nodes) {
        all.blocks += part.node.blocks;
        all.block_bytes += part.node.block_bytes;
        all.usable_bytes += part.node.usable_bytes;
        all.used_bytes += part.node.used_bytes;
        all.shared_blocks += part.node.shared_blocks;
        all.shared_bytes += part.node.shared_bytes;
    }
    all
}
