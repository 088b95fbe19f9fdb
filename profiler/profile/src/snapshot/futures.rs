//! Futures: the locals that async functions hold across an await.

use serde::{Deserialize, Serialize};

/// The async functions that wait at one await.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FutureState {
    /// The async function or block.
    pub function: String,
    /// Its state: `await at main.rs:52`, `not started`.
    pub state: String,
    /// Futures in this state.
    pub futures: u64,
    /// The size of each future.
    pub future_bytes: u64,
    /// The locals that are held across the await, with their bytes, largest first.
    pub locals: Vec<(String, u64)>,
}

/// A local that an async function holds across an await, and that makes blocks larger. A future has
/// space for its largest state, so blocks whose futures never reach the await are larger too.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LargeLocal {
    /// The name of the local.
    pub local: String,
    /// Its size.
    pub local_bytes: u64,
    /// The async function or block.
    pub function: String,
    /// The crate of the function.
    pub krate: String,
    /// The file of the first await that it is held across, without folders.
    pub file: String,
    /// The line of this await; 0 if it is not known.
    pub line: u32,
    /// Futures that wait at an await that it is held across.
    pub futures: u64,
    /// Live blocks that are larger for it.
    pub blocks: u64,
    /// Their bytes.
    pub block_bytes: u64,
    /// The bytes by which they are larger.
    pub saves_bytes: u64,
    /// The site with most of these bytes, if it is in the profile.
    pub site: Option<u32>,
}
