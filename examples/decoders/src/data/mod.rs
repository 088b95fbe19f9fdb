//! The data sets. Each is a table with one list of records, generated from a fixed seed, and each
//! type implements the traits of every format that can hold it.
//!
//! `log`, `mesh`, `savedata` and `mk48` have the shapes and sizes of the data sets of the public
//! Rust serialization benchmark (github.com/djkoloski/rust_serialization_benchmark). Their values
//! are our own.

pub(crate) mod airlines;
pub(crate) mod geo;
pub(crate) mod log;
pub(crate) mod mesh;
pub(crate) mod mk48;
pub(crate) mod requests;
pub(crate) mod savedata;

pub(crate) use crate::random::Random;

/// Declares types with the traits of all formats.
macro_rules! data {
    ($($(#[$($attribute:tt)*])* $kind:ident $name:ident { $($body:tt)* })*) => {$(
        #[derive(Clone, Debug, PartialEq)]
        #[derive(serde::Serialize, serde::Deserialize)]
        #[derive(bincode::Encode, bincode::Decode)]
        #[derive(bitcode::Encode, bitcode::Decode)]
        #[derive(borsh::BorshSerialize, borsh::BorshDeserialize)]
        #[derive(facet::Facet)]
        #[derive(musli::Encode, musli::Decode)]
        #[derive(nanoserde::SerBin, nanoserde::DeBin, nanoserde::SerJson, nanoserde::DeJson)]
        #[derive(rkyv::Archive, rkyv::Serialize, rkyv::Deserialize)]
        #[derive(wincode::SchemaWrite, wincode::SchemaRead)]
        $(#[$($attribute)*])*
        pub $kind $name { $($body)* }
    )*};
}
use data;

impl Random {
    /// Returns one of these.
    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    /// Returns one of these texts.
    fn text(&mut self, of: &[&str]) -> String {
        self.one(of).to_owned()
    }

    fn bool(&mut self) -> bool {
        self.bits() >> 63 == 1
    }

    /// Returns a number in `0.0..1.0` with all digits of an `f32`.
    fn f32(&mut self) -> f32 {
        (self.bits() >> 40) as f32 / (1 << 24) as f32
    }

    /// Returns a number in `0.0..1.0` with all digits of an `f64`.
    fn f64(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Returns something in every second case.
    fn maybe<T>(&mut self, make: impl FnOnce(&mut Random) -> T) -> Option<T> {
        if self.bool() { Some(make(self)) } else { None }
    }

    /// Returns a list of fewer than `end` elements.
    fn list<T>(&mut self, end: usize, mut make: impl FnMut(&mut Random) -> T) -> Vec<T> {
        (0..self.below(end)).map(|_| make(self)).collect()
    }
}
