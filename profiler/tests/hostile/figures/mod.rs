//! Valid recordings made by hand. Every figure of their profiles is compared with the arithmetic.

mod arenas;
mod distribution;
mod losses;
mod made;
mod names;
mod peak;
mod stacks;
mod tables;
