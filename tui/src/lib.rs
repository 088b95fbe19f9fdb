//! The terminal UI of heapglass: ratatui views over one [`Profile`], finished or live.
//!
//! The UI depends only on the profile and on the keys pressed. It never reads a recording (a
//! [`Source`] does), never computes a figure that another frontend would compute differently, and
//! always restores the terminal.
//!
//! The architecture follows Elm: commands and other messages go to `update`, which alone changes
//! the model; drawing only reads it. Each view is a folder under `views`, with its state, keys and
//! rendering.
//!
//! ```no_run
//! use heapglass_profiler::Early;
//! use heapglass_profiler::profile::Profile;
//!
//! struct Finished(Profile);
//!
//! impl heapglass_tui::Source for Finished {
//!     fn title(&self) -> String {
//!         "out.hg".into()
//!     }
//!     fn load(&mut self, _: &dyn Fn(&str), _: Option<Early<'_>>) -> Result<Profile, String> {
//!         Ok(self.0.clone())
//!     }
//!     fn is_live(&self) -> bool {
//!         false
//!     }
//! }
//!
//! heapglass_tui::run(Finished(Profile::default()), heapglass_tui::Options::from_env())?;
//! # Ok::<(), heapglass_tui::Error>(())
//! ```
//!
//! The reasons for its choices are in `docs/src/decisions/reader-and-views.md`.
//!
//! [`Profile`]: heapglass_profiler::profile::Profile
#![forbid(unsafe_code)]
#![warn(clippy::match_bool)]

mod app;
mod error;
mod export;
mod model;
mod options;
mod pages;
mod run;
mod screen;
mod source;
#[cfg(test)]
mod tests;
mod text;
mod theme;
mod views;
mod widgets;

pub use error::Error;
pub use model::{Base, ViewId};
pub use options::Options;
pub use run::run;
pub use source::Source;
