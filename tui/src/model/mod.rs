//! The state of the UI: the loaded profile, the commands of keys, and the interface of the views.
//! Imports no view and no drawing code.

mod answers;
mod base;
mod command;
mod context;
mod data;
pub(crate) mod keys;
mod later;
mod message;
mod pointer;
mod prompt;
mod selection;
mod source_line;
mod view_id;

pub(crate) use answers::panic_text;
pub use base::Base;
pub(crate) use command::{Command, Edit, Format};
pub(crate) use context::{Context, Jump, Outcome};
pub(crate) use data::{Data, have_same_nodes};
pub(crate) use later::Later;
pub(crate) use message::{Message, Order};
pub(crate) use pointer::{Action, Pointer};
pub(crate) use prompt::{Pattern, Prompt};
pub(crate) use selection::{FieldKey, Selection, type_key};
pub(crate) use source_line::{SourceLine, candidates};
pub use view_id::ViewId;
