//! Generated data with the sources' exact shapes and sizes, the same each time; and real files, when they are fetched.

pub mod airlines;
pub mod fetched;
