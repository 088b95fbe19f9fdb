//! Generated data with the sources' exact shapes and sizes, the same each time.

pub mod airlines;
