//! Changes to a recording that keep most of it valid: words, columns, entries, lengths, whole
//! tables.

use crate::parts::{Parts, seal};
use proptest::prelude::*;
use proptest::sample::Index;
use std::mem::offset_of;
use tracking_alloc_recording::*;

/// A recording to start from, and the changes to it.
#[derive(Clone, Debug)]
pub(crate) struct Input {
    pub(crate) base: Index,
    pub(crate) changes: Vec<Change>,
    /// `true` if the checksum is corrected, so that the recording passes the first check; `false`
    /// for one of a running program.
    pub(crate) finished: bool,
    /// The length to which the file is extended with holes.
    pub(crate) length: Option<u64>,
    pub(crate) pick: u16,
}

#[derive(Clone, Debug)]
pub(crate) enum Change {
    Header {
        word: Index,
        value: Value,
    },
    Word {
        segment: Index,
        word: Index,
        value: Value,
    },
    /// One field of every record of a table.
    Column {
        segment: Index,
        word: Index,
        value: Value,
    },
    Entry {
        segment: Index,
        field: u8,
        value: Value,
    },
    Swap(Index, Index),
    Duplicate(Index),
    Remove(Index),
    Truncate(Index, Index),
    /// Repeats the records of a table, and adapts its length.
    Repeat(Index, u8),
    Zeros(Index, u32),
    Symbols {
        frames: u16,
        inlined: u8,
        number: u32,
        text: String,
    },
}

/// The new value of a word.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Value {
    Exactly(u64),
    More(i8),
    Shifted(i8),
}

impl Value {
    pub(crate) fn of(self, old: u64) -> u64 {
        match self {
            Value::Exactly(value) => value,
            Value::More(more) => old.wrapping_add_signed(more.into()),
            Value::Shifted(by @ 0..) => old.wrapping_shl(by as u32),
            Value::Shifted(by) => old.wrapping_shr(u32::from(by.unsigned_abs())),
        }
    }
}

pub(crate) fn value() -> impl Strategy<Value = Value> {
    let edge = prop::sample::select(vec![
        0,
        1,
        2,
        0x7f,
        0xff,
        0x7fff,
        0xffff,
        1 << 16,
        u64::from(MAX_SITES) - 1,
        u64::from(MAX_SITES),
        0x7fff_ffff,
        0xffff_fffe,
        0xffff_ffff,
        1 << 32,
        1 << 40,
        1 << 56,
        i64::MAX as u64,
        1 << 63,
        u64::MAX - 1,
        u64::MAX,
    ]);
    prop_oneof![
        4 => edge.prop_map(Value::Exactly),
        2 => (0..80_u64).prop_map(Value::Exactly),
        1 => any::<u64>().prop_map(Value::Exactly),
        2 => any::<i8>().prop_map(Value::More),
        1 => (-8..24_i8).prop_map(Value::Shifted),
    ]
}

fn change() -> impl Strategy<Value = Change> {
    let index = any::<Index>;
    prop_oneof![
        4 => (index(), value()).prop_map(|(word, value)| Change::Header { word, value }),
        8 => (index(), index(), value())
            .prop_map(|(segment, word, value)| Change::Word { segment, word, value }),
        6 => (index(), index(), value())
            .prop_map(|(segment, word, value)| Change::Column { segment, word, value }),
        3 => (index(), 0..5_u8, value())
            .prop_map(|(segment, field, value)| Change::Entry { segment, field, value }),
        1 => (index(), index()).prop_map(|(a, b)| Change::Swap(a, b)),
        1 => index().prop_map(Change::Duplicate),
        1 => index().prop_map(Change::Remove),
        1 => (index(), index()).prop_map(|(segment, to)| Change::Truncate(segment, to)),
        2 => (index(), any::<u8>()).prop_map(|(segment, times)| Change::Repeat(segment, times)),
        1 => (index(), 0..400_000_u32).prop_map(|(segment, bytes)| Change::Zeros(segment, bytes)),
        1 => (any::<u16>(), any::<u8>(), 0..40_u32, ".{0,12}").prop_map(
            |(frames, inlined, number, text)| Change::Symbols { frames: frames % 200, inlined: inlined % 40, number, text }
        ),
    ]
}

pub(crate) fn input() -> impl Strategy<Value = Input> {
    let length = prop_oneof![
        6 => Just(None),
        1 => prop::sample::select(vec![0, 100, 4096, 70_000, 1 << 22, 1 << 33, 4 << 40]).prop_map(Some),
    ];
    (
        any::<Index>(),
        prop::collection::vec(change(), 0..8),
        any::<bool>(),
        length,
        any::<u16>(),
    )
        .prop_map(|(base, changes, finished, length, pick)| Input {
            base,
            changes,
            finished,
            length,
            pick,
        })
}

/// Reads or writes the word of 4 or 8 bytes at a place.
fn change_word(bytes: &mut [u8], at: usize, wide: bool, value: Value) {
    let size = if wide { 8 } else { 4 };
    let Some(word) = bytes.get_mut(at..at + size) else {
        return;
    };
    let mut old = [0; 8];
    old[..size].copy_from_slice(word);
    let new = value.of(u64::from_le_bytes(old)).to_le_bytes();
    word.copy_from_slice(&new[..size]);
}

/// Returns the bytes of a record of a table, and the place in the header of the number of records:
/// its offset, and `true` if it has 64 bits.
fn record_of(table: u32) -> (usize, Option<(usize, bool)>) {
    macro_rules! counted {
        ($record:ident, $len:ident) => {
            (
                $record::SIZE,
                Some((offset_of!(Header, $len), is_wide(|header| &header.$len))),
            )
        };
    }
    match table {
        table::MODULES => counted!(ModuleValue, modules_len),
        table::FRAMES => counted!(FrameValue, frames_len),
        table::STACKS => counted!(StackValue, stacks_len),
        table::SCOPES => counted!(ScopeValue, scopes_len),
        table::SITES => counted!(SiteValue, sites_len),
        table::THREADS => counted!(ThreadNameValue, threads_len),
        table::MARKS => counted!(MarkValue, marks_len),
        table::MARK_ROWS => counted!(MarkRowValue, mark_rows_len),
        table::FOOTPRINTS => counted!(FootprintValue, footprints_len),
        table::FOOTPRINT_NODES => counted!(FootprintNodeValue, footprint_nodes_len),
        table::ARENAS => counted!(ArenaValue, arenas_len),
        table::ARENA_ROWS => counted!(ArenaRowValue, arena_rows_len),
        table::ARENA_CHUNKS => counted!(ArenaChunkValue, arena_chunks_len),
        table::ARENA_VALUES => counted!(ArenaValuesValue, arena_values_len),
        table::FAILED_REQUESTS => counted!(FailedRequestValue, failed_requests_len),
        table::LANES => (LaneValue::SIZE, None),
        table::FIXED_ROWS | table::ROWS => (RowValue::SIZE, None),
        table::SIZES => (SizesValue::SIZE, None),
        table::CHECKPOINTS => (CheckpointsValue::SIZE, None),
        table::CHECKPOINT_MOMENTS => (CheckpointMomentValue::SIZE, None),
        table::VISITS => (VisitsValue::SIZE, None),
        table::TIMELINE => (PointValue::SIZE, None),
        _ => (4, None),
    }
}

/// Returns `true` if a word of the header has 64 bits.
fn is_wide<W>(_: impl Fn(&HeaderValue) -> &W) -> bool {
    size_of::<W>() == 8
}

fn symbols(frames: u16, inlined: u8, number: u32, text: &str) -> Vec<u8> {
    let text = serde_json::to_string(text).unwrap_or_default();
    let frame =
        format!(r#"{{"function":{number},"raw":1,"file":3,"line":{number},"inlined":true}}"#);
    let chain = format!("[{}]", vec![frame; inlined.into()].join(","));
    let chains = vec![chain; frames.into()].join(",");
    format!(
        r#"{{"format":1,"strings":["app::load::<u8>","{{closure#0}}","/src/app.rs",{text}],"frames":[{chains}],
        "sources":{{"3":[[{number},{text}]],"9":[]}},"notes":[{text}]}}"#
    )
    .into_bytes()
}

impl Input {
    /// Returns the bytes of the file before it is extended with holes.
    pub(crate) fn bytes(&self, bases: &[Parts]) -> Vec<u8> {
        let mut parts = self.base.get(bases).clone();
        let mut lengths = Vec::new();
        for change in &self.changes {
            change.apply_to_parts(&mut parts, &mut lengths);
        }
        parts.header.checksum = 0;
        parts.header.state = if self.finished {
            state::FINISHED
        } else {
            state::RUNNING
        };
        let mut bytes = parts.bytes();
        for ((at, wide), more) in lengths {
            change_word(&mut bytes, at, wide, Value::Exactly(more));
        }
        for change in &self.changes {
            match change {
                Change::Header { word, value } => {
                    // 32-bit words up to 192, then those of 64; the magic stays.
                    let at = 8 + 4 * word.index((HeaderValue::SIZE - 8) / 4);
                    let wide = at.is_multiple_of(8) && word.index(3) > 0;
                    change_word(&mut bytes, at, wide, *value);
                }
                Change::Entry {
                    segment,
                    field,
                    value,
                } if !parts.segments.is_empty() => {
                    let at = HEADER_BYTES as usize
                        + segment.index(parts.segments.len()) * SegmentValue::SIZE;
                    let at = at + [0, 4, 8, 16, 24][usize::from(*field) % 5];
                    change_word(&mut bytes, at, *field > 1, *value);
                }
                _ => {}
            }
        }
        if let Some(length) = self.length
            && length < bytes.len() as u64
        {
            bytes.truncate(length as usize);
        }
        if self.finished {
            seal(&mut bytes);
        }
        bytes
    }
}

impl Change {
    fn apply_to_parts(&self, parts: &mut Parts, lengths: &mut Vec<((usize, bool), u64)>) {
        let count = parts.segments.len();
        if count == 0 {
            return;
        }
        match self {
            Change::Word {
                segment,
                word,
                value,
            } => {
                let (_, bytes) = &mut parts.segments[segment.index(count)];
                if bytes.len() >= 8 {
                    let at = 4 * word.index(bytes.len() / 4);
                    change_word(bytes, at, at.is_multiple_of(8) && word.index(3) > 0, *value);
                }
            }
            Change::Column {
                segment,
                word,
                value,
            } => {
                let table = parts.segments[segment.index(count)].0.table;
                let size = record_of(table).0;
                let at = 4 * word.index(size.div_ceil(4));
                // In all lanes, because figures are sums over them.
                for (segment, bytes) in &mut parts.segments {
                    if segment.table == table {
                        for record in bytes.chunks_exact_mut(size) {
                            change_word(record, at, at.is_multiple_of(8), *value);
                        }
                    }
                }
            }
            Change::Swap(a, b) => {
                let (a, b) = (a.index(count), b.index(count));
                let kept = parts.segments[a].1.clone();
                parts.segments[a].1 = std::mem::replace(&mut parts.segments[b].1, kept);
                for at in [a, b] {
                    parts.segments[at].0.bytes = parts.segments[at].1.len() as u64;
                }
            }
            Change::Duplicate(segment) => {
                let (segment, bytes) = parts.segments[segment.index(count)].clone();
                let size = record_of(segment.table).0 as u64;
                parts.append_bytes(segment.table, segment.lane, size, bytes);
            }
            Change::Remove(segment) => {
                parts.segments.remove(segment.index(count));
            }
            Change::Truncate(segment, to) => {
                let (segment, bytes) = &mut parts.segments[segment.index(count)];
                bytes.truncate(to.index(bytes.len() + 1));
                segment.bytes = bytes.len() as u64;
            }
            Change::Repeat(segment, times) => {
                let (segment, bytes) = &mut parts.segments[segment.index(count)];
                let (size, length) = record_of(segment.table);
                let times = usize::from(*times)
                    .min((600 << 10) / bytes.len().max(1))
                    .max(1);
                *bytes = bytes.repeat(times);
                segment.bytes = bytes.len() as u64;
                if let Some(length) = length {
                    lengths.push((length, segment.first + (bytes.len() / size) as u64));
                }
            }
            Change::Zeros(segment, more) => {
                let (segment, bytes) = &mut parts.segments[segment.index(count)];
                let (size, length) = record_of(segment.table);
                bytes.resize(bytes.len() + *more as usize, 0);
                segment.bytes = bytes.len() as u64;
                if let Some(length) = length {
                    lengths.push((length, segment.first + (bytes.len() / size) as u64));
                }
            }
            Change::Symbols {
                frames,
                inlined,
                number,
                text,
            } => {
                let json = symbols(*frames, *inlined, *number, text);
                parts.append_bytes(table::SYMBOLS, 0, 1, json);
            }
            Change::Header { .. } | Change::Entry { .. } => {}
        }
    }
}
