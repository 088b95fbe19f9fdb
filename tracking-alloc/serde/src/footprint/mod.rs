//! Footprints: the heap that a live value retains, measured by its addresses or estimated by
//! deepsize.

mod blocks;
mod coverage;
#[cfg(feature = "deepsize")]
mod estimate;
mod exact;
mod known;
mod mapped;
mod nodes;
mod serializer;
mod unfollowed;
mod value;
mod value_ref;
mod walk;

#[cfg(feature = "deepsize")]
pub use estimate::footprint_estimate;
pub use exact::footprint;
