//! The library that `heapglass run` preloads into programs that do not link
//! [tracking-alloc](https://docs.rs/tracking-alloc).
//!
//! The library is `malloc` and its relatives over
//! [heapglass-recorder](https://docs.rs/heapglass-recorder). The build script of this crate builds
//! it by a second run of cargo, optimized whatever profile is used, and this crate contains its
//! bytes. A command that links this crate writes them to a file and names it in `LD_PRELOAD`.
//!
//! If the library cannot be built, the build script prints a warning, and [`LIBRARY`] says why.
#![forbid(unsafe_code)]

/// The bytes of the library, or the reason why this build does not contain it.
pub const LIBRARY: Result<&[u8], &str> = include!(concat!(env!("OUT_DIR"), "/library.rs"));
