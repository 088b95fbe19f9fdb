//! `Profiled<T>`: allocations by field and type. A deserializer around the format's own keeps track
//! of the place in the data.
//!
//! It never changes the deserialized value or the error, and never allocates through the observed
//! allocator.

mod access;
pub(crate) mod arena_path;
mod budget;
mod deserializer;
mod enter;
mod forward;
mod identifier;
mod known;
mod root;
mod tree;
mod variants;
mod visitor;

pub use budget::{Budget, ProfiledSeed};

/// Deserializes a `T` and, while something records, counts every allocation at its path in the
/// data.
///
/// It works with the functions of every serde format, without changes to types:
/// ```
/// # #[global_allocator] static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();
/// # let bytes = b"[1, 2, 3]";
/// let numbers = serde_json::from_slice::<tracking_alloc::Profiled<Vec<u32>>>(bytes)?.0;
/// # assert_eq!(numbers, [1, 2, 3]);
/// # Ok::<(), serde_json::Error>(())
/// ```
/// Put it around the whole value. A `Profiled` inside another `Profiled` has no effect of its own,
/// and a type that contains itself through a `Profiled` does not compile. Values, errors and their
/// messages stay the same. While nothing records and no [`Budget`] is active, it costs two loads
/// for the whole value.
///
/// # Paths
///
/// A path begins with the type, inside the current phase of the thread, and has a step for each
/// value that may allocate. Numbers, `bool`, `char`, `&str`, `&[u8]` and `Option`s of them get no
/// step.
///
/// | serde | the path in `Fleet` |
/// |---|---|
/// | struct | `.name`, as the data spells it, so an alias has a row of its own |
/// | struct in a format without names (postcard, bincode, rmp's arrays) | `.name` once the order is proved, else `#0 (name?)`; see below |
/// | tuple, tuple struct | `#0`, `#1`, without those that cannot allocate |
/// | newtype struct, `transparent`, `Option`, `Box`, `Arc`, `Rc`, `Cow` | no step |
/// | unit, unit struct, unit variant | no step |
/// | `Cow<str>`, `Cow<[u8]>`, with `borrow` or without | no step; borrowed ones allocate nothing |
/// | `Vec`, sets, arrays | `[]`, all elements together |
/// | maps | `{key}` and `{value}` |
/// | enum, externally tagged | `::Variant`, then `#0` or `.name`; a newtype variant is `::Variant` alone |
/// | enum, internally tagged | `(buffered)` and `(from buffer)` |
/// | enum, adjacently tagged | `.content` under its own name, then `#0` or `.name`, all variants together; `(buffered)` and `(from buffer)` if the content comes before the tag |
/// | enum, untagged | `(buffered)` and `(from buffer)`, failed variants included |
/// | `flatten` of a struct or a map | the fields of the struct itself as usual; all others `(buffered)` and `(from buffer)` |
/// | `with`, `deserialize_with` | `.name`; its type is the first one the function deserializes, steps go on below |
/// | `default`, `skip` | nothing: they are not deserialized; what their functions allocate is counted at the struct |
/// | a type inside itself | folded: counted at its nearest place further out, which is marked recursive |
/// | borrowed `&str`, `&[u8]` | no step |
/// | `RawValue` and other internals of a format | no step |
/// | a visitor of your own | `[]`, `{key}`, `{value}`, `#0` or `.name` by the method it calls |
/// | in place (`deserialize_in_place`) | the same paths; sizes of values are not known |
///
/// The memory of a value is counted at the place that allocates it: the buffer of a `Vec` at the
/// vector, a `String` at the field of the string, a `Box` at the boxed field. The format's own
/// memory (a scratch buffer for escapes) is counted where it grows.
///
/// # Limits of what can be known
///
/// - **Buffers.** For `flatten`, untagged and internally tagged enums, serde copies the data into a
///   private buffer and then builds the value from it with its own deserializer. `(buffered)` is
///   the buffer; `(from buffer)` is the value, without steps. Strings that move from the buffer
///   into the value stay counted as buffered. Types found in stacks give more detail.
/// - **Names in a format without names.** A type lists its names with all their aliases. If it asks
///   for as many elements as it has names, there are no aliases, and the order is proved. Rows then
///   get their names, including rows that began as `#0 (name?)`. If it asks for fewer elements, the
///   rows are `#0`. A program that ends before the outermost value is complete may leave `#0
///   (name?)`. The names of variants are proved by asking the type for the number of its variants;
///   if that fails, they are `::#0`.
/// - **A `deserialize_with` function** shows the type that it reads, which may differ from the type
///   of the field.
///
/// # Bounds
///
/// There are at most 65,536 places in total and 4,096 under one place; further places are counted
/// at their parent or as `(other)`. Paths have at most 64 steps from the outermost phase; deeper
/// places are counted at their ancestor. Names are truncated to 256 bytes. Keys of maps never
/// become names, so hostile data cannot create places.
///
/// The wrapper uses additional stack for each level of nesting: 230 to 850 bytes in optimized code
/// on x86-64 (340 for a list of `Option<Box<_>>` in postcard, 610 for a tree of `Vec` in JSON, 850
/// in rmp), and 2 to 4 KiB without optimization. A format without a depth limit runs out of stack
/// correspondingly earlier.
///
/// On a fleet of 38,000 ships (30 MB of JSON), deserializing took 1.09 times as long as exact
/// recording without the wrapper for JSON and postcard, and 1.10 times for rmp.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Profiled<T>(pub T);
