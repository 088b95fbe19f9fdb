//! The input of a recording: what phases state of bytes and records.

use crate::profile::{Profile, ScopeKind};
use crate::units::{Bytes, counted};

/// How much a program read, as its phases state it; 0 = not stated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Input {
    /// Bytes of input.
    pub input_bytes: u64,
    /// Records.
    pub records: u64,
}

/// What figures are divided by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Per {
    /// Records of the input.
    Record,
    /// Bytes of the input.
    InputByte,
}

impl Per {
    /// Both, in the order frontends offer them.
    pub const ALL: [Per; 2] = [Per::Record, Per::InputByte];

    /// The word of the command line.
    pub fn name(self) -> &'static str {
        match self {
            Per::Record => "record",
            Per::InputByte => "byte",
        }
    }

    /// The key in JSON and budgets.
    pub fn key(self) -> &'static str {
        match self {
            Per::Record => "per_record",
            Per::InputByte => "per_input_byte",
        }
    }

    /// As a sentence says it: `for each record`.
    pub fn words(self) -> &'static str {
        match self {
            Per::Record => "for each record",
            Per::InputByte => "for each byte of input",
        }
    }

    /// What is stated: `records`.
    pub(crate) fn noun(self) -> &'static str {
        match self {
            Per::Record => "records",
            Per::InputByte => "bytes of input",
        }
    }

    /// The call that states it on a phase.
    pub(crate) fn call(self) -> &'static str {
        match self {
            Per::Record => "records(n)",
            Per::InputByte => "input_bytes(n)",
        }
    }

    /// So much of it, for people: `20,000 records`, `6.0 MiB of input`.
    pub(crate) fn amount(self, count: u64) -> String {
        match self {
            Per::Record => counted(count, "record"),
            Per::InputByte => format!("{} of input", Bytes(count)),
        }
    }

    /// What to divide by; `None` when the input is not stated.
    pub fn count(self, input: Input) -> Option<u64> {
        let count = match self {
            Per::Record => input.records,
            Per::InputByte => input.input_bytes,
        };
        Some(count).filter(|&count| count > 0)
    }
}

/// The input of a whole recording. Of phases inside each other that state the same kind of input, the outermost counts.
pub fn input(profile: &Profile) -> Input {
    let mut input = Input::default();
    // Whether the scope, or one around it, states bytes or records. Parents come before children.
    let mut stated: Vec<[bool; 2]> = Vec::with_capacity(profile.scopes.len());
    for scope in &profile.scopes {
        let around = stated
            .get(scope.parent as usize)
            .copied()
            .unwrap_or_default();
        let own = match scope.kind {
            ScopeKind::Phase => [scope.input_bytes, scope.records],
            _ => [0, 0],
        };
        if !around[0] {
            input.input_bytes = input.input_bytes.saturating_add(own[0]);
        }
        if !around[1] {
            input.records = input.records.saturating_add(own[1]);
        }
        stated.push([around[0] || own[0] > 0, around[1] || own[1] > 0]);
    }
    input
}
