//! The pages over the views: the help, and what is known of the recording.

pub(crate) mod about;
pub(crate) mod help;

/// A page over the views.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Page {
    /// The keys.
    Help,
    /// What is known of the recording, and what was lost.
    About,
}
