//! Programs that heapglass is proved on, and what they share. The tests and the benchmark in this package run them as
//! processes of their own; nothing here analyses a recording except [`recorded`].

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
