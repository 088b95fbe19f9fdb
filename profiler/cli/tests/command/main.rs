//! Tests that call the command, grouped by its functions.

mod action;
mod advise;
#[cfg(target_os = "linux")]
mod agents;
mod attach;
mod cargo;
mod common;
mod compare;
#[cfg(target_os = "linux")]
mod compare_allocators;
mod demo;
mod docs;
#[cfg(feature = "https")]
mod encrypted;
mod export;
#[cfg(feature = "parquet")]
mod fleet;
mod hostile_names;
mod interrupted;
mod left;
mod locals;
mod merge;
mod names;
mod no_effect;
mod out_of_memory;
mod packages;
mod preload;
mod read;
mod run;
#[cfg(target_os = "linux")]
mod sample;
#[cfg(feature = "serve")]
mod scrapers;
#[cfg(feature = "serve")]
mod serve;
mod signals;
mod snapshot;
mod terminal;
mod unrecorded;
#[cfg(target_os = "linux")]
mod window;
