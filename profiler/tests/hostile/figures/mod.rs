//! Valid recordings made by hand, and every figure of what is loaded from them, by arithmetic.

mod losses;
mod made;
mod peak;
mod tables;
