//! Programs that test heapglass, and their shared parts. The tests and the benchmark in this
//! package run them as processes of their own. Only [`recorded`] analyzes recordings.

pub mod cases;
pub mod cliffs;
pub mod data;
pub mod footprints;
pub mod guide;
pub mod oracle;
pub mod recorded;
pub mod skip;
pub mod switch;
pub mod tasks;
