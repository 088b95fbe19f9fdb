//! What a recording could not count or name, as numbers and as sentences for people.

use crate::profile::Profile;
use tracking_alloc_recording::{Recording, growth, state};

/// What could not be counted or named, as numbers and as sentences.
pub(super) fn fill(profile: &mut Profile, recording: &Recording) {
    let header = &recording.header;
    let lost = &mut profile.lost;
    for lane in &recording.lanes {
        lost.table_full_blocks += lane.table_full.total_blocks;
        lost.table_full_bytes += lane.table_full.total_bytes;
        lost.unattributed_blocks += lane.unattributed.total_blocks;
        lost.unknown_frees += lane.lane.unknown_frees;
    }
    lost.untracked_blocks = header.untracked_blocks;
    lost.marks = header.lost_marks;
    lost.scopes = header.lost_scopes;
    lost.records = header.lost_records;
    let blocks_where = |flag: fn(&crate::profile::StackMarks) -> bool| -> u64 {
        let marked = profile.sites.iter().filter(|site| flag(&site.marks));
        marked.map(|site| site.figures.total_blocks).sum()
    };
    lost.cut_stacks = blocks_where(|marks| marks.cut);
    lost.foreign_stacks = blocks_where(|marks| marks.foreign);
    lost.deep_stacks = blocks_where(|marks| marks.deep);
    lost.folded_stacks = profile
        .sites
        .iter()
        .filter(|site| site.marks.folded)
        .count() as u64;
    if let Some(note) = growth_note(recording) {
        lost.notes.push(note);
    }
    if header.unwinder_disagreements > 0 {
        lost.notes.push(format!(
            "{} of the first stacks walked by frame pointers are not what .eh_frame says: some code on them keeps none",
            header.unwinder_disagreements
        ));
    }
    if header.lost_threads > 0 {
        lost.notes.push(format!(
            "{} threads ended without room for their names",
            header.lost_threads
        ));
    }
    if recording.damage > 0 {
        lost.notes.push(format!(
            "{} references in the recording lead nowhere: it was cut off while it was written",
            recording.damage
        ));
    }
    if let Some(note) = rows_note(recording) {
        lost.notes.push(note);
    }
}

/// Why the recording stopped growing, when it did.
fn growth_note(recording: &Recording) -> Option<String> {
    let header = &recording.header;
    let why = match header.growth_ended {
        growth::OPEN => return None,
        growth::DISK_FULL => "the disk is full; record to another place (HEAPGLASS_OUT)".to_owned(),
        growth::FILE_SIZE_LIMIT => "the file size limit is reached (ulimit -f)".to_owned(),
        growth::FILE_GONE => "its file was removed or replaced while the program ran".to_owned(),
        growth::NO_MEMORY => "the system gave no more memory (ulimit -v, overcommit)".to_owned(),
        growth::CAP => "HEAPGLASS_MAX_BYTES is reached".to_owned(),
        _ => "the file system refused".to_owned(),
    };
    let error = match header.growth_errno {
        0 => String::new(),
        errno => format!(": {}", std::io::Error::from_raw_os_error(errno as i32)),
    };
    Some(format!(
        "the recording could not grow past {} bytes, so new sites count as \"(table full)\": {why}{error}",
        header.file_bytes
    ))
}

/// Rows that do not add up to their lane: more than the one event that may be in flight.
fn rows_note(recording: &Recording) -> Option<String> {
    let off = recording.lanes.iter().filter(|lane| {
        let sum: u64 = lane
            .rows
            .iter()
            .chain([&lane.table_full])
            .map(|row| row.total_blocks)
            .sum();
        sum.abs_diff(lane.all.total_blocks) > 1
    });
    let off = off.count();
    (off > 0 && recording.header.state == state::FINISHED).then(|| {
        format!("the rows of {off} lanes do not add up to their totals: the recording is damaged")
    })
}
