//! The pages that cover the views: the help and the description of the recording.

pub(crate) mod about;
pub(crate) mod help;
pub(crate) mod menu;

/// A page that covers the views.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Page {
    /// The keys.
    Help,
    /// The description of the recording and its losses.
    About,
    /// The file that was written.
    Written,
}
