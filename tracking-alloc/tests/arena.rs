//! Arenas: their figures compared with the crates' own, the derive with serde's, and the blocks
//! that the global allocator sees.

#![forbid(unsafe_op_in_unsafe_fn)]

#[path = "arena/allocators.rs"]
mod allocators;
#[path = "arena/blocks.rs"]
mod blocks;
#[path = "arena/figures.rs"]
mod figures;
#[path = "arena/read.rs"]
mod read;
#[path = "arena/source.rs"]
mod source;

#[global_allocator]
static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();
