//! Generated data with exactly the shapes and sizes of the sources, the same in each run, and real
//! files after they are fetched.

pub mod airlines;
pub mod fetched;
