//! The input of a recording: the bytes and records that phases state.

use serde::{Serialize, Serializer};

use crate::profile::{Profile, ScopeKind};
use crate::units::{Bytes, counted};

/// The input of a program, as its phases state it; 0 = not stated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Input {
    /// Bytes of input.
    pub input_bytes: u64,
    /// Records.
    pub records: u64,
}

/// The unit of input that figures are divided by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Per {
    /// Records of the input.
    Record,
    /// Bytes of the input.
    InputByte,
}

impl Per {
    /// Both, in the order frontends offer them.
    pub const ALL: [Per; 2] = [Per::Record, Per::InputByte];

    /// Returns the word of the command line.
    pub fn name(self) -> &'static str {
        match self {
            Per::Record => "record",
            Per::InputByte => "byte",
        }
    }

    /// Returns the key in JSON and budgets.
    pub fn key(self) -> &'static str {
        match self {
            Per::Record => "per_record",
            Per::InputByte => "per_input_byte",
        }
    }

    /// Returns the words for a sentence: `for each record`.
    pub fn words(self) -> &'static str {
        match self {
            Per::Record => "for each record",
            Per::InputByte => "for each byte of input",
        }
    }

    /// Explains what a recording does not state, and the call that states it.
    pub(crate) fn unstated(self) -> &'static str {
        match self {
            Per::Record => "does not state its records: call .records(n)",
            Per::InputByte => "does not state its bytes of input: call .input_bytes(n)",
        }
    }

    /// Formats an amount of input for people: `20,000 records`, `6.0 MiB of input`.
    pub(crate) fn amount(self, count: u64) -> String {
        match self {
            Per::Record => counted(count, "record"),
            Per::InputByte => format!("{} of input", Bytes(count)),
        }
    }

    /// Returns the divisor; `None` if the input is not stated.
    pub fn count(self, input: Input) -> Option<u64> {
        let count = match self {
            Per::Record => input.records,
            Per::InputByte => input.input_bytes,
        };
        Some(count).filter(|&count| count > 0)
    }
}

impl Serialize for Per {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.key())
    }
}

/// The input of a whole recording. Of phases inside each other that state the same kind of input,
/// the outermost counts.
pub fn input(profile: &Profile) -> Input {
    let mut input = Input::default();
    // What the scope, or one around it, states. Parents come before children.
    let mut stated: Vec<Input> = Vec::with_capacity(profile.scopes().len());
    for scope in profile.scopes() {
        let around = stated.get(scope.parent as usize);
        let mut here = around.copied().unwrap_or_default();
        if scope.kind == ScopeKind::Phase && here.input_bytes == 0 {
            here.input_bytes = scope.input_bytes;
            input.input_bytes = input.input_bytes.saturating_add(scope.input_bytes);
        }
        if scope.kind == ScopeKind::Phase && here.records == 0 {
            here.records = scope.records;
            input.records = input.records.saturating_add(scope.records);
        }
        stated.push(here);
    }
    input
}
