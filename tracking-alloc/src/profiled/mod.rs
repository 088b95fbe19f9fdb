//! `Profiled<T>`: whose bytes are these? A deserializer around the format's own keeps the place in
//! the data.
//!
//! Never changes what is deserialized or which error comes back, never allocates through the hooked
//! allocator.

mod access;
#[cfg(feature = "derive")]
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
/// Works with any serde format through its own functions, without a change of any type:
/// ```
/// # #[global_allocator] static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();
/// # let bytes = b"[1, 2, 3]";
/// let numbers = serde_json::from_slice::<tracking_alloc::Profiled<Vec<u32>>>(bytes)?.0;
/// # assert_eq!(numbers, [1, 2, 3]);
/// # Ok::<(), serde_json::Error>(())
/// ```
/// It goes around the whole value: inside another `Profiled` it is one with that one, and a type
/// that contains itself through a `Profiled` does not compile. Values, errors and their messages
/// are those without it. While nothing records and no [`Budget`] is in force, it costs two loads
/// for the whole value.
///
/// # Paths
///
/// A path begins with the type, goes on inside the phases the thread is in, and has a step for each
/// value that may allocate. Numbers, `bool`, `char`, `&str`, `&[u8]` and `Option`s of them are no
/// steps.
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
/// | enum, adjacently tagged | `.content` under its own name, then `#0` or `.name`, all variants together; `(buffered)` and `(from buffer)` where the content comes before the tag |
/// | enum, untagged | `(buffered)` and `(from buffer)`, failed variants included |
/// | `flatten` of a struct or a map | the fields the struct knows as ever; all others `(buffered)` and `(from buffer)` |
/// | `with`, `deserialize_with` | `.name`; its type is the first one the function deserializes, steps go on below |
/// | `default`, `skip` | nothing: they are not deserialized; what their functions allocate is counted at the struct |
/// | a type inside itself | folded: counted at its nearest place further out, which is marked recursive |
/// | borrowed `&str`, `&[u8]` | no step |
/// | `RawValue` and other internals of a format | no step |
/// | a visitor of your own | `[]`, `{key}`, `{value}`, `#0` or `.name` by the method it calls |
/// | in place (`deserialize_in_place`) | the same paths; sizes of values are not known |
///
/// A value's own memory is counted where it is allocated: the buffer of a `Vec` at the vector, a
/// `String` at the string's field, a `Box` at the field that is boxed. What a format keeps for
/// itself (a scratch buffer for escapes) is counted where it grows.
///
/// # What it cannot know
///
/// - **Buffers.** Below `flatten`, untagged and internally tagged, serde copies into a private
///   buffer and builds from that with a deserializer of its own. `(buffered)` is what that costs;
///   `(from buffer)` what is built, without steps. Strings that move from the buffer into the value
///   stay counted as buffered. Types from stacks see further.
/// - **Names without a format that tells them.** A type lists its names with all their aliases.
///   When it asks for as many elements as it has names, there are no aliases, and order is proved:
///   rows are then called by their names, those that began as `#0 (name?)` too. When it is content
///   with fewer, they are `#0`. A program that ends before the outermost value is complete may
///   leave `#0 (name?)`. Variants are proved by asking the type how many it has, else they are
///   `::#0`.
/// - **A function of `deserialize_with`** shows the type it reads, which need not be the type of
///   the field.
///
/// # Bounds
///
/// 65,536 places in total, 4,096 under one, further ones are counted at their parent or as
/// `(other)`; 64 steps from the outermost phase, what lies deeper is counted at its ancestor. Names
/// are cut at 256 bytes. Keys of maps are never names, so hostile data makes no places.
///
/// Stack: the wrapper takes 230 to 850 bytes more for each level of nesting in optimised code on
/// x86-64 (a list of `Option<Box<_>>` in postcard 340, a tree of `Vec` in JSON 610, in rmp 850),
/// and 2 to 4 KiB without optimisation. A format without a limit of depth gives up that much
/// earlier.
///
/// Time: measured on a fleet of 38,000 ships (30 MB of JSON), 1.09 of exact recording without it
/// for JSON and postcard, 1.10 for rmp.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Profiled<T>(pub T);
