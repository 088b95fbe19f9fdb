//! The command as it is called, by what it does.

mod cargo;
mod common;
mod compare;
mod demo;
mod docs;
mod export;
mod out_of_memory;
mod read;
mod recover;
mod run;
mod signals;
mod terminal;
