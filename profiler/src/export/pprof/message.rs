//! The messages of pprof's `profile.proto`, under its names. Strings are indexes into the table of
//! strings.

use prost::Message;

#[derive(Clone, PartialEq, Message)]
pub(in crate::export) struct Profile {
    #[prost(message, repeated, tag = "1")]
    pub(in crate::export) sample_type: Vec<ValueType>,
    #[prost(message, repeated, tag = "2")]
    pub(in crate::export) sample: Vec<Sample>,
    #[prost(message, repeated, tag = "3")]
    pub(in crate::export) mapping: Vec<Mapping>,
    #[prost(message, repeated, tag = "4")]
    pub(in crate::export) location: Vec<Location>,
    #[prost(message, repeated, tag = "5")]
    pub(in crate::export) function: Vec<Function>,
    #[prost(string, repeated, tag = "6")]
    pub(in crate::export) string_table: Vec<String>,
    #[prost(int64, tag = "9")]
    pub(in crate::export) time_nanos: i64,
    #[prost(int64, tag = "10")]
    pub(in crate::export) duration_nanos: i64,
    #[prost(message, optional, tag = "11")]
    pub(in crate::export) period_type: Option<ValueType>,
    #[prost(int64, tag = "12")]
    pub(in crate::export) period: i64,
    #[prost(int64, repeated, tag = "13")]
    pub(in crate::export) comment: Vec<i64>,
    #[prost(int64, tag = "14")]
    pub(in crate::export) default_sample_type: i64,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub(in crate::export) struct ValueType {
    #[prost(int64, tag = "1")]
    pub(in crate::export) r#type: i64,
    #[prost(int64, tag = "2")]
    pub(in crate::export) unit: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(in crate::export) struct Sample {
    /// Innermost first.
    #[prost(uint64, repeated, tag = "1")]
    pub(in crate::export) location_id: Vec<u64>,
    /// One for each sample type.
    #[prost(int64, repeated, tag = "2")]
    pub(in crate::export) value: Vec<i64>,
    #[prost(message, repeated, tag = "3")]
    pub(in crate::export) label: Vec<Label>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Message)]
pub(in crate::export) struct Label {
    #[prost(int64, tag = "1")]
    pub(in crate::export) key: i64,
    #[prost(int64, tag = "2")]
    pub(in crate::export) str: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(in crate::export) struct Mapping {
    #[prost(uint64, tag = "1")]
    pub(in crate::export) id: u64,
    /// Start, limit and file offset stay 0: addresses are those of the binary itself.
    #[prost(uint64, tag = "2")]
    pub(in crate::export) memory_start: u64,
    #[prost(int64, tag = "5")]
    pub(in crate::export) filename: i64,
    #[prost(int64, tag = "6")]
    pub(in crate::export) build_id: i64,
    #[prost(bool, tag = "7")]
    pub(in crate::export) has_functions: bool,
    #[prost(bool, tag = "8")]
    pub(in crate::export) has_filenames: bool,
    #[prost(bool, tag = "9")]
    pub(in crate::export) has_line_numbers: bool,
    #[prost(bool, tag = "10")]
    pub(in crate::export) has_inline_frames: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(in crate::export) struct Location {
    #[prost(uint64, tag = "1")]
    pub(in crate::export) id: u64,
    /// 0 = none.
    #[prost(uint64, tag = "2")]
    pub(in crate::export) mapping_id: u64,
    #[prost(uint64, tag = "3")]
    pub(in crate::export) address: u64,
    /// Inlined functions before the one they were inlined into.
    #[prost(message, repeated, tag = "4")]
    pub(in crate::export) line: Vec<Line>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Message)]
pub(in crate::export) struct Line {
    #[prost(uint64, tag = "1")]
    pub(in crate::export) function_id: u64,
    #[prost(int64, tag = "2")]
    pub(in crate::export) line: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(in crate::export) struct Function {
    #[prost(uint64, tag = "1")]
    pub(in crate::export) id: u64,
    #[prost(int64, tag = "2")]
    pub(in crate::export) name: i64,
    /// Stays 0: where it equals the name, pprof strips `<..>` and `(..)` from it.
    #[prost(int64, tag = "3")]
    pub(in crate::export) system_name: i64,
    #[prost(int64, tag = "4")]
    pub(in crate::export) filename: i64,
}
