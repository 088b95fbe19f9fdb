//! Blocks that nothing reached in two snapshots: `unreachable`, `cycle`.
//!
//! One snapshot alone may catch a block in the middle of a move. In two, the address and the number
//! of the allocation must be the same. Even then a pointer may be hidden, so nothing is called a
//! leak.

use super::at_moment::{AtMoment, blocks_of};
use super::finding::{Confidence, Finding, Kind};
use super::group::Group;
use crate::snapshot::NotReached;
use crate::units::{Bytes, counted};

/// Returns the findings for a group whose blocks are the outermost ones.
pub(super) fn find(at: &AtMoment<'_>, group: &Group, confirmed: &[&NotReached]) -> Vec<Finding> {
    let is_of_group = |site: Option<u32>| site.is_some_and(|site| group.has(site));
    let blocks = confirmed
        .iter()
        .filter(|block| is_of_group(block.outermost));
    let mut sums = [(0_u64, 0_u64, 0_u64); 2];
    for block in blocks {
        let (count, bytes, own) = &mut sums[usize::from(block.is_of_cycle)];
        *count += 1;
        *bytes = bytes.saturating_add(block.bytes);
        *own += u64::from(is_of_group(block.site));
    }
    let [unreachable, cycle] = sums;
    let finding = |kind, (blocks, bytes, own): (u64, u64, u64)| Finding {
        saves_bytes: bytes,
        saves_blocks: blocks,
        of_bytes: at.figures(group).bytes,
        // A pointer may be hidden.
        confidence: Confidence::Estimate,
        evidence: vec![("blocks", own), ("held_blocks", blocks - own)],
        holder: None,
        ..at.finding(kind, group)
    };
    let mut found = Vec::new();
    if unreachable.0 > 0 {
        let figures = at.figures(group);
        // A function that always leaks looks like one that hides its pointers.
        let is_all = figures.blocks > 1 && unreachable.2 == figures.blocks;
        let (why, remedy) = if is_all {
            (
                format!(
                    "No pointer to any of the {} of this site was found, in two snapshots, {}: \
                     either all are leaked, or they are held in a way that cannot be seen, such as \
                     by compressed pointers.",
                    counted(figures.blocks, "block"),
                    Bytes(unreachable.1)
                ),
                "If this code keeps its pointers as they are, look for `mem::forget`, `Box::leak`, \
                 or `into_raw` without `from_raw`.",
            )
        } else {
            (
                told(unreachable, group, "no pointer to them was found"),
                "Look for `mem::forget`, `Box::leak`, `into_raw` without `from_raw`, or a pointer \
                 that is kept as a number.",
            )
        };
        found.push(Finding {
            why,
            remedy: remedy.to_owned(),
            ..finding(Kind::Unreachable, unreachable)
        });
    }
    if cycle.0 > 0 {
        found.push(Finding {
            why: told(cycle, group, "they only reach each other"),
            remedy:
                "Make one of the references that close the cycle a `Weak`, such as that to the \
                parent."
                    .to_owned(),
            ..finding(Kind::Cycle, cycle)
        });
    }
    found
}

fn told((blocks, bytes, own): (u64, u64, u64), group: &Group, what: &str) -> String {
    let mut text = blocks_of(own, group);
    if blocks > own {
        let held = counted(blocks - own, "block");
        text.push_str(&format!(", with {held} that they hold"));
    }
    text + &format!(": {what}, in two snapshots, {}.", Bytes(bytes))
}
