//! Pages: those of large blocks that were never touched, and those that few small blocks keep.
//!
//! Both are about memory of the system, not about bytes that are live: an untouched page takes
//! none, and a page that is kept takes all of it.

use super::at_moment::{AtMoment, Form, blocks_of, bytes_of};
use super::finding::{Confidence, Finding, Kind};
use super::group::Group;
use crate::units::{Bytes, Count, Share};

/// A page counts as kept by few blocks if at most one byte in this number is live.
const FEW: u64 = 4;

/// Bytes that the smallest block takes in glibc's allocator. Pages full of such blocks are not kept
/// by a few.
const SMALLEST_CHUNK: u64 = 32;

/// A block is large from this size on, bytes.
const LARGE: u64 = 64 * 1024;

/// Returns the finding for a group of large blocks. What is untouched because it is unused capacity
/// is not counted again.
pub(super) fn find_untouched(at: &AtMoment<'_>, group: &Group) -> Option<Finding> {
    let figures = at.figures(group);
    let unused = match at.form(group) {
        Form::List | Form::Table => figures.unused_bytes,
        Form::Other => 0,
    };
    let saves_bytes = figures.untouched_bytes.saturating_sub(unused);
    // A list whose length is not known may be in the middle of being filled.
    if figures.unknown_length_bytes > 0 && at.heap_grew_on() {
        return None;
    }
    if saves_bytes == 0 || figures.bytes / figures.blocks.max(1) < LARGE {
        return None;
    }
    let finding = at.finding(Kind::Untouched, group);
    Some(Finding {
        saves_bytes,
        of_bytes: figures.bytes,
        confidence: Confidence::AtLeast,
        evidence: vec![
            ("untouched_bytes", figures.untouched_bytes),
            ("blocks", figures.blocks),
        ],
        why: format!(
            "{} of {} in {} was never touched, so it is not resident.",
            Share::of(figures.untouched_bytes, figures.bytes),
            Bytes(figures.bytes),
            blocks_of(figures.blocks, group),
        ),
        remedy:
            "Ask for as much as is used. This lowers the live bytes and what a limit on virtual \
            memory counts, not the resident set."
                .to_owned(),
        ..finding
    })
}

/// Returns the finding for a group of small blocks that keep pages.
pub(super) fn find_pinned(at: &AtMoment<'_>, group: &Group) -> Option<Finding> {
    let figures = at.figures(group);
    let pinned = figures.pinned;
    let chunks = figures.blocks.saturating_mul(SMALLEST_CHUNK);
    let needed = pinned.live_bytes.max(chunks);
    if pinned.page_bytes == 0 || needed > pinned.page_bytes / FEW {
        return None;
    }
    let finding = at.finding(Kind::PinnedPages, group);
    Some(Finding {
        saves_bytes: pinned.page_bytes - needed,
        of_bytes: pinned.page_bytes,
        // What lies between the blocks is free, or of libraries that are not recorded.
        confidence: Confidence::Estimate,
        evidence: vec![
            ("pages", pinned.pages),
            ("own_pages", pinned.own_pages),
            ("page_bytes", pinned.page_bytes),
            ("live_bytes_on_pages", pinned.live_bytes),
        ],
        why: format!(
            "{} kept {} resident pages, {} of which it has alone.",
            bytes_of(pinned.live_bytes, group),
            Count(pinned.pages),
            Count(pinned.own_pages),
        ),
        remedy: "Make these blocks before the ones that are freed soon, or close together: in an \
            arena, or by copying them once the others are freed."
            .to_owned(),
        ..finding
    })
}
