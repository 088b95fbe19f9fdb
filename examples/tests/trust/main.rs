//! The findings of an attack on the recorder, one module for each kind of attack. Every finding
//! stays fixed.

#[path = "../common/mod.rs"]
mod common;

mod figures;
mod files;
mod lifecycle;
mod peak;
mod sandbox;
