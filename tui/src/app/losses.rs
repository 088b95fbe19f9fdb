//! What a recording could not count or name, as short sentences. Never leaves one out.

use heapglass_profiler::profile::Lost;
use heapglass_profiler::units::{Bytes, Count, printable};

/// One sentence a loss, the gravest first.
pub(crate) fn sentences(lost: &Lost) -> Vec<String> {
    let mut out = Vec::new();
    if lost.table_full_blocks > 0 || lost.table_full_bytes > 0 {
        let (blocks, bytes) = (Count(lost.table_full_blocks), Bytes(lost.table_full_bytes));
        out.push(format!(
            "{blocks} blocks ({bytes}) only at \"(table full)\""
        ));
    }
    let counts = [
        (lost.untracked_blocks, "blocks not followed to their end"),
        (lost.unattributed_blocks, "blocks without a stack"),
        (
            lost.unknown_frees,
            "frees of blocks from before the recording",
        ),
        (lost.cut_stacks, "stacks cut"),
        (
            lost.deep_stacks,
            "stacks too deep, outermost frames missing",
        ),
        (
            lost.foreign_stacks,
            "blocks from stacks that are not their thread's",
        ),
        (lost.folded_stacks, "sites with repeated frames folded"),
        (lost.marks, "marks or timeline points without room"),
        (lost.torn, "rows read while written"),
        (lost.unresolved_frames, "frames without a name"),
    ];
    out.extend(
        counts
            .into_iter()
            .filter(|(n, _)| *n > 0)
            .map(|(n, what)| format!("{} {what}", Count(n))),
    );
    out.extend(lost.notes.iter().map(|note| printable(note).into_owned()));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_lost_says_nothing() {
        assert!(sentences(&Lost::default()).is_empty());
    }

    #[test]
    fn each_loss_has_its_sentence() {
        let lost = Lost {
            table_full_blocks: 1,
            table_full_bytes: 2048,
            untracked_blocks: 2,
            unattributed_blocks: 3,
            unknown_frees: 4,
            cut_stacks: 5,
            foreign_stacks: 6,
            deep_stacks: 7,
            folded_stacks: 8,
            marks: 9,
            torn: 10,
            unresolved_frames: 1_100,
            notes: vec!["the disk is full\u{7}".into()],
        };
        let said = sentences(&lost);
        assert_eq!(said.len(), 12);
        assert_eq!(said[0], "1 blocks (2.0 KiB) only at \"(table full)\"");
        assert_eq!(said[10], "1,100 frames without a name");
        assert_eq!(said[11], "the disk is full\\u{7}");
    }
}
