//! Everything that could not be counted or named, as plain sentences.
//!
//! This module must name every loss that the profile knows of, with its size and what to do about
//! it.

use super::arenas::imbalance;
use super::{Profile, SymbolSource};
use crate::units::{Bytes, counted, printable};

/// More modules without symbols than this are only counted.
const MODULES_NAMED: usize = 5;

pub(super) fn losses(profile: &Profile) -> Vec<String> {
    let lost = &profile.lost;
    let mut sentences = Vec::from_iter(profile.process.unrecorded());
    if let Some(merged) = &profile.process.merged {
        sentences.extend(merged.sentences());
    }
    // Bytes without blocks would still be a loss.
    if lost.table_full_blocks > 0 || lost.table_full_bytes > 0 {
        let what = format!(
            "({}) found no room in the tables, counted in the row \"(table full)\": a larger HEAPGLASS_MAX_BYTES gives \
             them rows of their own",
            Bytes(lost.table_full_bytes)
        );
        sentences.push(format!(
            "{} {what}.",
            counted(lost.table_full_blocks, "block")
        ));
    }
    if lost.damaged > 0 {
        sentences.push(format!(
            "The recording is damaged: {} cannot come from a recorder. Its figures cannot be trusted; \
             record again.",
            counted(lost.damaged, "record")
        ));
    }
    let mut add = |count: u64, noun: &str, what: &str| {
        if count > 0 {
            sentences.push(format!("{} {what}.", counted(count, noun)));
        }
    };
    add(
        lost.untracked_blocks,
        "block",
        "could not be followed until freed, so live and peak are too high by the size of these",
    );
    add(
        lost.unattributed_blocks,
        "block",
        "had to be counted without a stack, because the hook was busy (in a signal handler)",
    );
    let unknown = if profile.process.pauses.count > 0 {
        "of blocks from before the recording or from a pause could not be counted, or of blocks \
         that libc's own malloc made (dlsym)"
    } else {
        "of blocks that were not recorded could not be counted: they are older than the recording, \
         or libc's own malloc made them (dlsym)"
    };
    add(lost.unknown_frees, "free", unknown);
    add(
        lost.cut_stacks,
        "stack",
        "truncated at a return address in no known code, shown as [truncated]",
    );
    add(
        lost.foreign_stacks,
        "allocation",
        "made on a stack that is not the thread's own, shown as [foreign stack]",
    );
    add(
        lost.deep_stacks,
        "stack",
        "exceeded the maximum depth; frames are missing, shown as [deep]",
    );
    add(
        lost.folded_stacks,
        "site",
        "with repeated cycles of frames folded into one, shown as [folded]",
    );
    add(
        lost.marks,
        "moment",
        "(marks or points of the timeline) did not fit in the recording",
    );
    add(
        lost.torn,
        "row",
        "read while the program wrote it, so figures are clamped; read the recording again after \
         the program ends",
    );
    add(
        lost.scopes,
        "time",
        "a phase or field did not fit in the recording and was counted at the one around it",
    );
    add(
        lost.records,
        "record",
        "(of footprints or arenas) did not fit in the recording",
    );
    add(
        lost.unresolved_frames,
        "frame",
        "without a name, shown as module+offset: build with debug = \"limited\" (C and C++: -g), or say where symbols \
         are with --binary or --debug-dir",
    );
    let imbalances = profile.arenas.iter().filter_map(imbalance);
    sentences.extend(imbalances.map(|sentence| format!("{sentence}.")));
    let missing: Vec<String> = profile
        .modules
        .iter()
        .filter_map(|module| match &module.symbols {
            // Code that was made at run time has no file, and so no name of one.
            SymbolSource::Missing(why) if !module.path.is_empty() => Some(format!(
                "No symbols for {}: {}.",
                printable(&module.path),
                printable(why).trim_end_matches('.')
            )),
            _ => None,
        })
        .collect();
    let unnamed = missing.len().saturating_sub(MODULES_NAMED);
    sentences.extend(missing.into_iter().take(MODULES_NAMED));
    if unnamed > 0 {
        sentences.push(format!(
            "No symbols for {} (report --json names them).",
            counted(unnamed as u64, "more module")
        ));
    }
    sentences.extend(lost.notes.iter().map(|note| {
        let note = printable(note.trim());
        // A note that begins with a file's name keeps it as it is.
        let is_named = note
            .split(' ')
            .next()
            .is_some_and(|word| word.ends_with(':'));
        let mut rest = note.chars();
        let first = rest.by_ref().take(usize::from(!is_named));
        let mut sentence: String = first.flat_map(char::to_uppercase).collect();
        sentence.push_str(rest.as_str());
        if !sentence.ends_with(['.', '!', '?']) {
            sentence.push('.');
        }
        sentence
    }));
    sentences
}
