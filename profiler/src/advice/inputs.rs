//! Texts that lie in a larger text which is live too: `input_kept`, `could_borrow`.

use super::at_moment::{AtMoment, bytes_of};
use super::finding::{Confidence, Finding, Kind, Place};
use super::group::{Group, is_owned_cow};
use crate::profile::TypeKind;
use crate::snapshot::{InputFigures, TextsRead};
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
        // Code may keep offsets into the text, and a stream has a buffer.
        confidence: Confidence::Estimate,
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
            (`from_reader`) instead of from a whole text. Offsets into the text cannot be seen: code \
            that keeps some still needs it."
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
    let read = texts_of(at, group);
    if read.text_bytes == 0 || at.kind(group) != TypeKind::Text || !can_borrow {
        return None;
    }
    let (_, from) = groups
        .iter()
        .map(|other| (lies_in(at, group, other), other))
        .filter(|(bytes, _)| *bytes > 0)
        .max_by_key(|(bytes, _)| *bytes)?;
    let input_bytes = inputs_of(at, from).bytes;
    let remedy = if is_cow {
        "Put `#[serde(borrow)]` on the field: without it, serde makes each `Cow` an owned one. Keep \
         the input as long as the values."
    } else {
        "Borrow from the input: `&'a str`, or `Cow<'a, str>` with `#[serde(borrow)]`, and keep the \
         input as long as the values."
    };
    let finding = at.finding(Kind::CouldBorrow, group);
    Some(Finding {
        saves_bytes: read.text_bytes,
        saves_blocks: read.texts,
        of_bytes: figures.bytes,
        // Texts of fewer than eight bytes are not looked for.
        confidence: Confidence::AtLeast,
        evidence: vec![
            ("texts", read.texts),
            ("blocks", figures.blocks),
            ("input_bytes", input_bytes),
        ],
        why: format!(
            "{} of {}{} lie word for word in a text that is live: {}, made at {}.",
            Count(read.texts),
            counted(figures.blocks, "text"),
            places(&at.paths(group)),
            Bytes(input_bytes),
            place(&from.place),
        ),
        remedy: remedy.to_owned(),
        ..finding
    })
}

/// Says of findings about the same text that only one of their remedies can be applied: a text that
/// is dropped cannot be borrowed from.
pub(super) fn name_alternatives(at: &AtMoment<'_>, found: &mut [Finding]) {
    let of_kind = |kind: Kind| {
        let places = found.iter().enumerate();
        let places = places.filter(move |(_, finding)| finding.kind == kind);
        let is_of_this = |finding: &Finding| at.is_of(finding);
        let places = places.filter(|(_, finding)| is_of_this(finding));
        places.map(|(index, _)| index).collect::<Vec<usize>>()
    };
    let (kept, borrow) = (of_kind(Kind::InputKept), of_kind(Kind::CouldBorrow));
    for &input in &kept {
        let sites = found[input].place.sites.clone();
        let of_input = |finding: &Finding| {
            let own = &finding.place.sites;
            let mut pairs = at.snapshot.texts_read().iter();
            pairs.any(|pair| has(own, pair.site) && has(&sites, pair.input))
        };
        let others: Vec<usize> = borrow
            .iter()
            .copied()
            .filter(|&other| of_input(&found[other]))
            .collect();
        if others.is_empty() {
            continue;
        }
        let bytes = others.iter().map(|&other| found[other].saves_bytes);
        let bytes = bytes.fold(0, u64::saturating_add);
        found[input].alternative_to = Some(Kind::CouldBorrow);
        found[input].why.push_str(&format!(
            " Either drop it, or borrow from it (could_borrow saves at least {}): not both.",
            Bytes(bytes)
        ));
        let of_input = place(&found[input].place);
        let about = Bytes(found[input].saves_bytes).to_string();
        for other in others {
            found[other].alternative_to = Some(Kind::InputKept);
            found[other].why.push_str(&format!(
                " Either borrow from the text of {of_input}, or drop it (input_kept saves about \
                 {about}): not both."
            ));
        }
    }
}

/// `src/main.rs:12`, or the function where no line is known.
fn place(place: &Place) -> String {
    printable(place.source.as_ref().unwrap_or(&place.owner)).into_owned()
}

fn has(sites: &[usize], site: Option<u32>) -> bool {
    site.is_some_and(|site| sites.contains(&(site as usize)))
}

/// Returns the sum of the texts of a group that were read from larger ones.
fn texts_of(at: &AtMoment<'_>, group: &Group) -> TextsRead {
    let own = at.snapshot.texts_read().iter();
    let own = own.filter(|texts| has(&group.sites, texts.site) && texts.input.is_some());
    let mut sum = TextsRead::default();
    for texts in own {
        sum.texts = sum.texts.saturating_add(texts.texts);
        sum.text_bytes = sum.text_bytes.saturating_add(texts.text_bytes);
    }
    sum
}

/// Returns the bytes of the texts of a group that were read from those of another.
fn lies_in(at: &AtMoment<'_>, group: &Group, input: &Group) -> u64 {
    let pairs = at.snapshot.texts_read().iter();
    let pairs = pairs.filter(|pair| has(&group.sites, pair.site) && has(&input.sites, pair.input));
    pairs
        .map(|pair| pair.text_bytes)
        .fold(0, u64::saturating_add)
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
