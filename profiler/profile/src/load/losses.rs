//! What a recording could not count or name, as numbers and as sentences for people.

use crate::profile::{FrameId, Group, Origin, Profile, Site, State};
use crate::symbols;
use crate::units::counted;
use std::collections::HashSet;
use tracking_alloc_recording::{LaneColumns, Recording, RowValue, growth, site_flags, state};

/// Fills in the losses, as numbers and as sentences. Called while `recording` still has its rows.
///
/// `impossible` is the number of sites with impossible figures. If the program may still run, these
/// were read while the program wrote them.
pub(super) fn fill(profile: &mut Profile, recording: &Recording, impossible: u64) {
    let header = &recording.header;
    let saturated = profile.totals.saturated();
    let lost = &mut profile.lost;
    let sum = |figure: fn(&LaneColumns) -> u64| {
        let lanes = recording.lanes.iter();
        lanes.map(figure).fold(0, u64::saturating_add)
    };
    lost.table_full_blocks = sum(|lane| lane.table_full.total_blocks);
    lost.table_full_bytes = sum(|lane| lane.table_full.total_bytes);
    lost.unattributed_blocks = sum(|lane| lane.unattributed.total_blocks);
    lost.unknown_frees = sum(|lane| lane.lane.unknown_frees);
    match profile.process.state {
        State::Running | State::Copied | State::Unknown => lost.torn = impossible,
        State::Finished | State::Ended | State::Merged | State::NotRecorded => {
            lost.damaged = impossible;
        }
    }
    if profile.process.state == State::Merged {
        let torn = recording.merged.iter().map(|part| part.torn);
        lost.torn = torn.fold(0, u64::saturating_add);
    }
    let off = lanes_that_do_not_add_up(recording);
    let broken = [recording.damage, off, u64::from(saturated)];
    lost.damaged = broken.into_iter().fold(lost.damaged, u64::saturating_add);
    lost.untracked_blocks = header.untracked_blocks;
    lost.marks = header.lost_marks;
    lost.scopes = header.lost_scopes;
    lost.records = header.lost_records;
    lost.notes.extend(growth_note(recording));
    lost.notes.extend(mistaken_notes(recording));
    if header.unwinder_disagreements > 0 {
        lost.notes.push(format!(
            "{} of the first stacks walked by frame pointers differ from .eh_frame: some code on them \
             keeps no frame pointers",
            header.unwinder_disagreements
        ));
    }
    if header.walk_disagreements > 0 {
        lost.notes.push(format!(
            "{} that reused the previous walk found a different stack than a full walk; this is a bug \
             in heapglass, please report it",
            counted(header.walk_disagreements, "walk")
        ));
    }
    if header.missed_snapshots > 0 {
        lost.notes.push(format!(
            "{} at a mark or at the end could not be taken: the reader had not finished with earlier \
             ones; name fewer moments",
            counted(header.missed_snapshots, "snapshot")
        ));
    }
    if header.lost_threads > 0 {
        lost.notes.push(format!(
            "the {} of {} did not fit in the recording",
            if header.lost_threads == 1 {
                "name"
            } else {
                "names"
            },
            counted(header.lost_threads, "thread")
        ));
    }
}

/// Counts the marks that the walk left on the stacks of sites.
pub(super) fn of_stacks(profile: &mut Profile) {
    let of_cpp: HashSet<usize> = (0..profile.sites.len())
        .filter(|at| is_of_start_of_cpp(profile, &profile.sites[*at]))
        .collect();
    let of_start = nameless_of_start(profile, &of_cpp);
    let lost = &mut profile.lost;
    for (at, site) in profile.sites.iter().enumerate() {
        let (marks, total_blocks) = (site.marks, site.figures.total_blocks);
        // The walk ends at the loader, and nothing is missing.
        let is_of_start = of_cpp.contains(&at);
        for (is_set, blocks) in [
            (marks.cut && !is_of_start, &mut lost.cut_stacks),
            (marks.foreign, &mut lost.foreign_stacks),
            (marks.deep, &mut lost.deep_stacks),
        ] {
            if is_set {
                *blocks = blocks.saturating_add(total_blocks);
            }
        }
        lost.folded_stacks += u64::from(marks.folded);
    }
    lost.unresolved_frames = lost.unresolved_frames.saturating_sub(of_start);
}

/// Returns `true` for what the run-time of C++ asks for before the program begins.
fn is_of_start_of_cpp(profile: &Profile, site: &Site) -> bool {
    let owner = site.owner.filter(|_| site.group == Some(Group::Runtime));
    let function = owner.and_then(|owner| profile.lookup(owner));
    let is_loader = |id: &FrameId| {
        let found = profile.lookup(*id);
        found.is_some_and(|(_, function)| symbols::is_loader(function))
    };
    function.is_some_and(|(_, function)| symbols::is_cpp_runtime(&function.krate))
        && profile.innermost_first(site).any(|id| is_loader(&id))
}

/// Returns the number of frames without a name that are only on stacks of the start, given its
/// sites. Their blocks are nobody's, so no name is missing.
fn nameless_of_start(profile: &Profile, of_start: &HashSet<usize>) -> u64 {
    let is_nameless = |id: &FrameId| {
        let found = profile.lookup(*id);
        found.is_some_and(|(_, function)| function.origin == Origin::Unresolved)
    };
    let sites = of_start.iter().map(|at| &profile.sites[*at]);
    let mut frames: HashSet<FrameId> = sites
        .flat_map(|site| profile.innermost_first(site))
        .filter(is_nameless)
        .collect();
    for (at, site) in profile.sites.iter().enumerate() {
        if frames.is_empty() {
            break;
        }
        if !of_start.contains(&at) {
            for id in profile.innermost_first(site) {
                frames.remove(&id);
            }
        }
    }
    frames.len() as u64
}

/// Stacks that may have been taken for others.
fn mistaken_notes(recording: &Recording) -> Vec<String> {
    let collided = recording
        .sites
        .iter()
        .filter(|site| site.flags & site_flags::COLLIDED != 0);
    let replaced = recording.modules.iter().filter(|module| {
        let path = recording.string(module.path);
        module.generation > 0 && path.is_some_and(|path| path.starts_with('/'))
    });
    let notes = [
        (
            collided.count(),
            ["stack", "stacks"],
            "had the key of another stack at first, so some blocks are counted at the other stack",
        ),
        (
            replaced.count(),
            ["library was", "libraries were"],
            "loaded where another had been: the first allocations may be charged to the earlier one",
        ),
    ];
    let notes = notes.into_iter().filter(|(count, ..)| *count > 0);
    notes
        .map(|(count, [one, many], what)| {
            format!("{count} {} {what}", if count == 1 { one } else { many })
        })
        .collect()
}

/// Explains why the recording stopped growing, if it did.
fn growth_note(recording: &Recording) -> Option<String> {
    let header = &recording.header;
    if header.state == state::MERGED {
        let was_full = header.growth_ended != growth::OPEN || header.growth_errno != 0;
        return was_full.then(|| {
            "some of the recordings could not grow for a while or at all, so sites of theirs count as \
             \"(table full)\""
                .to_owned()
        });
    }
    let error = |errno: u32| std::io::Error::from_raw_os_error(errno as i32);
    let why = match header.growth_ended {
        growth::OPEN if header.growth_errno == 0 => return None,
        growth::OPEN => {
            return Some(format!(
                "the recording could not grow for a while; new sites were counted as \"(table full)\" \
                 during that time: {}",
                error(header.growth_errno)
            ));
        }
        growth::DISK_FULL => "the disk is full; record to another place (HEAPGLASS_OUT)",
        growth::FILE_SIZE_LIMIT => "the file size limit is reached (ulimit -f)",
        growth::FILE_GONE => {
            "its file was removed or replaced while the program ran, or cannot be reached (chroot)"
        }
        growth::NO_ACCESS => {
            "the program gave up the right to open its file (setuid, a sandbox); \
             HEAPGLASS_PREALLOC=1 reserves 64 MiB at the start"
        }
        growth::NO_MEMORY => "the system gave no more memory (ulimit -v, overcommit)",
        growth::CAP => "HEAPGLASS_MAX_BYTES is reached",
        _ => "the file system refused to grow the file",
    };
    let error = match header.growth_errno {
        0 => String::new(),
        errno => format!(": {}", error(errno)),
    };
    Some(format!(
        "the recording could not grow past {} bytes, so new sites count as \"(table full)\": {why}{error}",
        header.file_bytes
    ))
}

/// Lanes of a finished recording whose rows do not add up to them: by more than the one event that
/// may be in flight.
fn lanes_that_do_not_add_up(recording: &Recording) -> u64 {
    if ![state::FINISHED, state::MERGED].contains(&recording.header.state) {
        return 0;
    }
    let off = recording.lanes.iter().filter(|lane| {
        let sum = |figure: fn(&RowValue) -> u64| {
            let rows = lane.rows.iter().chain([&lane.table_full]);
            rows.map(figure).fold(0, u64::saturating_add)
        };
        let apart = sum(|row| row.total_blocks).abs_diff(lane.all.total_blocks);
        apart > 1 || apart == 0 && sum(|row| row.total_bytes) != lane.all.total_bytes
    });
    off.count() as u64
}
