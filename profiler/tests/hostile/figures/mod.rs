//! Valid recordings made by hand, and every figure of what is loaded from them, by arithmetic.

mod arenas;
mod distribution;
mod losses;
mod made;
mod names;
mod peak;
mod stacks;
mod tables;
