//! What a recording could not count or name, as short sentences. Never leaves one out.

use heapglass_profiler::profile::Lost;
use heapglass_profiler::units::{Bytes, Count, printable};

/// One sentence a loss, the gravest first.
pub(crate) fn sentences(lost: &Lost) -> Vec<String> {
    let mut out = Vec::new();
    if lost.table_full_blocks > 0 || lost.table_full_bytes > 0 {
        let (blocks, bytes) = (Count(lost.table_full_blocks), Bytes(lost.table_full_bytes));
        let word = if lost.table_full_blocks == 1 {
            "block"
        } else {
            "blocks"
        };
        out.push(format!(
            "{blocks} {word} ({bytes}) only at \"(table full)\""
        ));
    }
    let counts = [
        (lost.untracked_blocks, "block", "not followed to the end"),
        (lost.unattributed_blocks, "block", "without a stack"),
        (
            lost.unknown_frees,
            "free",
            "of blocks from before the recording",
        ),
        (lost.cut_stacks, "stack", "cut"),
        (
            lost.deep_stacks,
            "stack",
            "without the outermost frames, too deep",
        ),
        (
            lost.foreign_stacks,
            "block",
            "from a stack not the thread's own",
        ),
        (lost.folded_stacks, "site", "with repeated frames folded"),
        (lost.marks, "mark or timeline point", "without room"),
        (lost.torn, "row", "read while written"),
        (lost.unresolved_frames, "frame", "without a name"),
    ];
    for (n, noun, what) in counts.into_iter().filter(|(n, ..)| *n > 0) {
        let plural = if n == 1 { "" } else { "s" };
        out.push(format!("{} {noun}{plural} {what}", Count(n)));
    }
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
        assert_eq!(said[0], "1 block (2.0 KiB) only at \"(table full)\"");
        assert_eq!(said[10], "1,100 frames without a name");
        assert_eq!(said[11], "the disk is full\\u{7}");
    }
}
