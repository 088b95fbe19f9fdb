//! Texts that lie in a larger text which is live too: `input_kept`, `could_borrow`.

use super::at_moment::{AtMoment, bytes_of};
use super::finding::{Confidence, Finding, Kind};
use super::group::{Group, is_owned_cow};
use crate::profile::TypeKind;
use crate::snapshot::InputFigures;
use crate::units::{Bytes, Count, counted, printable};

/// A text counts as an input if at least one byte in this number is in texts read from it.
const PART: u64 = 16;

/// Places that a finding names.
const PLACES: usize = 3;

/// Returns the finding for a group of large texts from which others were read.
///
/// A text that blocks refer to is needed: what was read borrows from it.
pub(super) fn find_kept(at: &AtMoment<'_>, group: &Group) -> Option<Finding> {
    let inputs = inputs_of(at, group);
    let text_bytes = inputs.text_bytes.saturating_mul(PART);
    if inputs.unreferenced_bytes == 0 || text_bytes < inputs.bytes {
        return None;
    }
    let finding = at.finding(Kind::InputKept, group);
    Some(Finding {
        saves_bytes: inputs.unreferenced_bytes,
        saves_blocks: inputs.blocks,
        of_bytes: inputs.bytes,
        confidence: if inputs.unreferenced_bytes == inputs.bytes {
            Confidence::Exact
        } else {
            Confidence::Estimate
        },
        evidence: vec![
            ("input_bytes", inputs.bytes),
            ("texts", inputs.texts),
            ("text_bytes", inputs.text_bytes),
        ],
        why: format!(
            "{} lived beside {} that lie in it word for word, {}.",
            bytes_of(inputs.unreferenced_bytes, group),
            counted(inputs.texts, "later text"),
            Bytes(inputs.text_bytes),
        ),
        remedy: "Drop it as soon as it is read (`drop(input)`), or read from a stream \
            (`from_reader`) instead of from a whole text."
            .to_owned(),
        ..finding
    })
}

/// Returns the finding for a group of texts that could borrow.
pub(super) fn find_borrow(at: &AtMoment<'_>, groups: &[Group], group: &Group) -> Option<Finding> {
    let figures = at.figures(group);
    let is_cow = group
        .sites(at.profile)
        .any(|site| is_owned_cow(at.profile, site));
    let can_borrow = is_cow || at.can_change(group);
    if figures.in_input_bytes == 0 || at.kind(group) != TypeKind::Text || !can_borrow {
        return None;
    }
    let inputs = groups.iter().map(|other| (inputs_of(at, other), other));
    let (input, from) = inputs.max_by_key(|(input, _)| input.text_bytes)?;
    if input.texts == 0 {
        return None;
    }
    let remedy = if is_cow {
        "Put `#[serde(borrow)]` on the field: without it, serde makes each `Cow` an owned one."
    } else {
        "Borrow from the input: `&'a str`, or `Cow<'a, str>` with `#[serde(borrow)]`, and keep the \
         input as long as the values."
    };
    let finding = at.finding(Kind::CouldBorrow, group);
    Some(Finding {
        saves_bytes: figures.in_input_bytes,
        saves_blocks: figures.in_input_blocks,
        of_bytes: figures.bytes,
        // Texts of fewer than eight bytes are not looked for.
        confidence: Confidence::AtLeast,
        evidence: vec![
            ("texts", figures.in_input_blocks),
            ("blocks", figures.blocks),
            ("input_bytes", input.bytes),
        ],
        why: format!(
            "{} of {}{} lie word for word in a text that is live: {}, made at {}.",
            Count(figures.in_input_blocks),
            counted(figures.blocks, "text"),
            places(&at.paths(group)),
            Bytes(input.bytes),
            printable(from.place.source.as_ref().unwrap_or(&from.place.owner)),
        ),
        remedy: remedy.to_owned(),
        ..finding
    })
}

/// Returns ` in Line.host, Line.agent`, or nothing where no place is known.
fn places(paths: &[String]) -> String {
    let paths: Vec<_> = paths
        .iter()
        .take(PLACES)
        .map(|path| printable(path))
        .collect();
    if paths.is_empty() {
        String::new()
    } else {
        format!(" in {}", paths.join(", "))
    }
}

fn inputs_of(at: &AtMoment<'_>, group: &Group) -> InputFigures {
    let inputs = at.snapshot.inputs().iter();
    let own = inputs.filter(|input| input.site.is_some_and(|site| group.has(site)));
    let mut sum = InputFigures::default();
    for input in own {
        sum.blocks = sum.blocks.saturating_add(input.blocks);
        sum.bytes = sum.bytes.saturating_add(input.bytes);
        let unreferenced = input.unreferenced_bytes;
        sum.unreferenced_bytes = sum.unreferenced_bytes.saturating_add(unreferenced);
        sum.texts = sum.texts.saturating_add(input.texts);
        sum.text_bytes = sum.text_bytes.saturating_add(input.text_bytes);
    }
    sum
}
