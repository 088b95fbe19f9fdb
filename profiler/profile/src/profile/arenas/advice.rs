//! Advice that makes an arena cheaper, with the figures that it rests on.
//!
//! Advice must hold for the recording: a capacity is enough for the largest instance, and a share
//! is of bytes that were counted. Doubtful advice is left out.

use super::inside::by_field;
use super::parts::{Breakdown, Whose};
use crate::profile::fields::Fields;
use crate::profile::{Arena, ArenaFigures, ArenaValue, State};
use crate::units::{Bytes, Count, Share, counted, joined, printable};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Abandoned bytes and padding get a sentence from this share of the allocated bytes on: one in
/// this number.
const WORTH_ONE_IN: u64 = 20;

/// An arena smaller than this is not called too large, bytes.
const SMALL: u64 = 64 * 1024;

/// Bytes that alignment may cost more where a chunk began before.
const SEAM: u64 = 16;

/// One piece of advice. The names are the keys in JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Advice {
    /// The kind of waste.
    pub kind: AdviceKind,
    /// A sentence without its stop, free of control characters.
    pub text: String,
    /// A capacity to give the arena, bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity_bytes: Option<u64>,
}

/// A kind of waste that advice is about. The names are the words of the JSON report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum AdviceKind {
    /// Several chunks where one would do.
    Capacity,
    /// A chunk much larger than what was ever used.
    #[serde(rename = "too large")]
    TooLarge,
    /// Growth left bytes behind.
    Abandoned,
    /// Alignment cost bytes.
    Padding,
    /// Bytes bypassed the handle.
    Bypassed,
    /// Instances were never dropped.
    #[serde(rename = "never dropped")]
    NeverDropped,
    /// A limit refused requests.
    Limit,
    /// Values were put in whose drop never runs.
    #[serde(rename = "drop never runs")]
    Undropped,
}

/// Returns the advice for an arena, with the largest saving first.
pub fn advice(arena: &Arena, fields: &Fields, state: State) -> Vec<Advice> {
    let figures = &arena.figures;
    let plain = |kind, text| Advice {
        kind,
        text,
        capacity_bytes: None,
    };
    [
        capacity(figures),
        abandoned(arena, fields).map(|text| plain(AdviceKind::Abandoned, text)),
        padding(arena).map(|text| plain(AdviceKind::Padding, text)),
        bypassed(arena, fields).map(|text| plain(AdviceKind::Bypassed, text)),
        never_dropped(figures, state).map(|text| plain(AdviceKind::NeverDropped, text)),
        limit(figures).map(|text| plain(AdviceKind::Limit, text)),
        undropped(arena).map(|text| plain(AdviceKind::Undropped, text)),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// `grew 14 times: with_capacity(6.1 MiB) would have been one chunk`
fn capacity(arena: &ArenaValue) -> Option<Advice> {
    let used = arena.most_occupied_bytes;
    // Where a limit refused something, more would have been used than was.
    if used == 0 || arena.limit_reached > 0 {
        return None;
    }
    if arena.most_chunks < 2 {
        return too_large(arena);
    }
    let grew = arena.most_chunks - 1;
    let need = used.checked_add(grew.checked_mul(SEAM)?)?;
    let capacity = round_up(need)?;
    let which = match arena.made {
        0 | 1 => String::new(),
        made => format!("the largest of {} ", counted(made, "instance")),
    };
    let times = match grew {
        1 => "once".to_owned(),
        _ => counted(grew, "time"),
    };
    let mut text = format!(
        "{which}grew {times}: with_capacity({}) would have been one chunk",
        Bytes(capacity)
    );
    let mean = arena.total_allocated_bytes / arena.made.max(1);
    if arena.made > 1 && mean < capacity / 4 {
        text.push_str(&format!(
            ", but the mean instance takes only {}: reuse instances with reset() instead",
            Bytes(mean)
        ));
    }
    Some(Advice {
        kind: AdviceKind::Capacity,
        text,
        capacity_bytes: Some(capacity),
    })
}

fn too_large(arena: &ArenaValue) -> Option<Advice> {
    let (used, took) = (arena.most_occupied_bytes, arena.most_instance_bytes);
    if took < SMALL || used > took / 2 {
        return None;
    }
    let capacity = round_up(used)?;
    Some(Advice {
        kind: AdviceKind::TooLarge,
        text: format!(
            "took {} and never used more than {}: with_capacity({}) would have been enough",
            Bytes(took),
            Bytes(used),
            Bytes(capacity)
        ),
        capacity_bytes: Some(capacity),
    })
}

/// `bytes` rounded up to what [`Bytes`] spells without rounding: a figure to copy that is enough.
fn round_up(bytes: u64) -> Option<u64> {
    let mut unit = 1024_u128;
    if bytes < 1024 {
        return Some(bytes);
    }
    while (u128::from(bytes) * 10).div_ceil(unit) >= 10_240 {
        unit *= 1024;
    }
    let tenths = (u128::from(bytes) * 10).div_ceil(unit);
    u64::try_from((tenths * unit).div_ceil(10)).ok()
}

fn worth(part: u64, whole: u64) -> bool {
    part > 0 && part >= whole.div_ceil(WORTH_ONE_IN)
}

/// `12.3 % abandoned by growth (1.2 MiB), most at City.tags: ..`
fn abandoned(arena: &Arena, fields: &Fields) -> Option<String> {
    let figures = &arena.figures;
    let (bytes, whole, past) = match judged(arena) {
        // What was abandoned before a reset is only known from what growth copied: each copy left
        // its old bytes behind.
        Some((Whose::Dropped, _)) if figures.resets > 0 => (
            figures.copied_bytes,
            figures.total_allocated_bytes,
            " of the chunks ever taken",
        ),
        Some((whose, of)) => (of.abandoned_bytes, of.allocated_bytes, chunks_of(whose)),
        None => return None,
    };
    if !worth(bytes, whole) {
        return None;
    }
    let place = widest(arena, fields, |inside| inside.copied_bytes);
    Some(format!(
        "{}{past} abandoned by growth ({}{place}): reserve first, or collect in place",
        Share::of(bytes, whole),
        Bytes(bytes)
    ))
}

fn padding(arena: &Arena) -> Option<String> {
    let (whose, of) = judged(arena)?;
    worth(of.padding_bytes, of.allocated_bytes).then(|| {
        format!(
            "{}{} padding ({}): hand out what is less aligned (strings, bytes) from an arena of its own",
            Share::of(of.padding_bytes, of.allocated_bytes),
            chunks_of(whose),
            Bytes(of.padding_bytes)
        )
    })
}

/// Returns the instances that stand for the arena: the live ones if they have chunks, else the
/// dropped ones.
fn judged(arena: &Arena) -> Option<(Whose, Breakdown)> {
    [Whose::Live, Whose::Dropped]
        .into_iter()
        .filter_map(|whose| Some((whose, Breakdown::of(arena, whose)?)))
        .find(|(_, breakdown)| breakdown.allocated_bytes > 0)
}

fn chunks_of(whose: Whose) -> &'static str {
    match whose {
        Whose::Dropped => " of the chunks of dropped instances",
        Whose::Live | Whose::Largest => "",
    }
}

/// `1.2 MiB bypassed the handle ..`
fn bypassed(arena: &Arena, fields: &Fields) -> Option<String> {
    let by_rows = arena
        .rows
        .iter()
        .map(|row| row.inside.bypassed_bytes)
        .fold(0, u64::saturating_add);
    let bytes = by_rows.max(arena.figures.bypassed_bytes);
    if bytes == 0 {
        return None;
    }
    let place = widest(arena, fields, |inside| inside.bypassed_bytes);
    Some(format!(
        "{} bypassed the handle{place}: collections made on the bare arena are seen only as chunk bytes used; make them \
         on the tracked handle to see pieces and growth",
        Bytes(bytes)
    ))
}

/// `, most at City.tags`: the path of the field with most of something, if it is in any.
fn widest(arena: &Arena, fields: &Fields, of: fn(&ArenaFigures) -> u64) -> String {
    let rows = by_field(fields, arena);
    let widest = rows
        .iter()
        .max_by_key(|(_, inside)| of(inside))
        .filter(|(_, inside)| of(inside) > 0);
    let field = widest.and_then(|&(field, _)| fields.get(field));
    field.map_or_else(String::new, |field| {
        format!(", most at {}", printable(&field.path))
    })
}

/// `3 instances never dropped: 1.2 MiB of chunks`
fn never_dropped(arena: &ArenaValue, state: State) -> Option<String> {
    let left = arena.made.saturating_sub(arena.dropped);
    // A program that was killed had no time to drop anything.
    if left == 0 || state != State::Finished {
        return None;
    }
    Some(format!(
        "{} never dropped: {} of chunks were held to the end",
        counted(left, "instance"),
        Bytes(arena.allocated_bytes)
    ))
}

fn limit(arena: &ArenaValue) -> Option<String> {
    let requests = counted(arena.limit_reached, "request");
    (arena.limit_reached > 0).then(|| format!("its limit refused {requests}"))
}

/// `drop never runs for 40 values put in by its handle (40 String): ..`
fn undropped(arena: &Arena) -> Option<String> {
    const NAMED: usize = 3;
    let mut types: BTreeMap<&str, u64> = BTreeMap::new();
    for values in arena.values.iter().filter(|values| values.site.is_none()) {
        let count = types.entry(&values.type_name).or_default();
        *count = count.saturating_add(values.count);
    }
    let mut types: Vec<(&str, u64)> = types.into_iter().filter(|(_, count)| *count > 0).collect();
    types.sort_by_key(|&(_, count)| Reverse(count));
    let mut named: Vec<String> = types
        .iter()
        .take(NAMED)
        .map(|(name, count)| format!("{} {}", Count(*count), printable(name)))
        .collect();
    if types.len() > NAMED {
        named.push(counted((types.len() - NAMED) as u64, "more type"));
    }
    (!named.is_empty()).then(|| {
        format!(
            "drop never runs for values put in through its handle: {}. What they own leaks: put in text and slices instead",
            joined(&named)
        )
    })
}
