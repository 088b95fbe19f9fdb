//! `Profiled<T>`: whose bytes are these? A deserializer around the format's own keeps the place in the data.
//!
//! Never changes what is deserialized or which error comes back, never allocates through the hooked allocator.

mod access;
mod budget;
mod deserializer;
mod enter;
mod identifier;
mod known;
#[cfg(feature = "derive")]
mod place;
mod register;
mod root;
mod tree;
mod variants;
mod visitor;

pub(crate) use budget::Active;
pub use budget::{Budget, ProfiledSeed};
#[cfg(feature = "derive")]
pub(crate) use place::{Below, Inside, Place, Rooted};

/// Deserializes a `T` and, while something records, counts every allocation at its path in the data.
///
/// Works with any serde format through its own functions, without a change of any type:
/// ```
/// # #[global_allocator] static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();
/// # let bytes = b"[1, 2, 3]";
/// let numbers = serde_json::from_slice::<tracking_alloc::Profiled<Vec<u32>>>(bytes)?.0;
/// # assert_eq!(numbers, [1, 2, 3]);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Profiled<T>(pub T);
