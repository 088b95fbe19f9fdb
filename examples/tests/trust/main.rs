//! What an attack on the recorder found, one module for each kind of attack: every finding stays fixed.

#[path = "../common/mod.rs"]
mod common;

mod figures;
mod files;
mod lifecycle;
mod peak;
mod sandbox;
