//! Makes a running program record itself: loads the library that records into it, and calls it.

pub use heapglass_freeze::{Answer, Error, Settings, attach, detach};
