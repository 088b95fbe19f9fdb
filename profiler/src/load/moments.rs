//! The parts that do not belong to sites: the settings of the recording, threads, the timeline and
//! marks.

use super::counters::{LANE_DRIFT, Peak, figures, mark_rows, sample_mean};
use crate::profile::{
    Capture, Figures, LinearMemory, Mark, PAGE_BYTES, ResidentParts, Samples, Sampling, Thread,
    TimelinePoint,
};
use std::collections::BTreeMap;
use tracking_alloc_recording::{
    HeaderValue, MarkValue, MergedPartValue, Recording, Sums, arch, lane_kind, mode, sample_counts,
    state, unwinder,
};

/// Returns the settings of the recording, and the error bound of the peak.
pub(super) fn capture(recording: &Recording, peak: &Peak) -> Capture {
    let header = &recording.header;
    let mut discrepancy = peak.bytes.abs_diff(peak.register);
    let mut error = peak_error(header, peak.bound, peak.bytes);
    if header.state == state::MERGED {
        // A sum is off by at most the sum of the errors.
        let sum = |of: fn(&MergedPartValue) -> u64| {
            let parts = recording.merged.iter().map(of);
            parts.fold(0, u64::saturating_add)
        };
        error = sum(|part| part.peak_error_bytes);
        discrepancy = discrepancy.max(sum(|part| part.peak_discrepancy_bytes));
    }
    let [most_resident, last_resident] =
        [&header.most_resident, &header.last_resident].map(resident_parts);
    // The sum over mappings can be larger than what the kernel counts cheaply for the timeline.
    let taken_apart = [most_resident, last_resident].into_iter().flatten();
    let most_resident_bytes = taken_apart
        .map(|parts| parts.rss_bytes)
        .fold(header.peak_rss_bytes, u64::max);
    Capture {
        mode: match mode::name(header.mode) {
            Some(name) => name.to_owned(),
            None => format!("unknown ({})", header.mode),
        },
        sampling: sampling(header),
        unwinder: match header.unwinder {
            unwinder::FRAME_POINTERS => "frame-pointers",
            unwinder::EH_FRAME => "eh-frame",
            _ => "none",
        }
        .to_owned(),
        architecture: arch::name(header.arch).unwrap_or_default().to_owned(),
        linear_memory: linear_memory(header),
        peak_error_bytes: error.max(discrepancy),
        peak_discrepancy_bytes: discrepancy,
        peak_time_ns: peak.time_ns,
        rss_bytes: header.rss_bytes,
        peak_rss_bytes: most_resident_bytes,
        own_bytes: header.own_bytes,
        most_resident,
        last_resident,
        recording_bytes: recording.file_bytes,
        allocator: recording.string(header.allocator).unwrap_or_default(),
        own_crates: own_crates(recording),
    }
}

/// Returns the samples of a recording, with what was counted exactly.
fn sampling(header: &HeaderValue) -> Option<Sampling> {
    let mean = sample_mean(header);
    let counts = |of: bool, sampled: u64, exact: u64| of.then(|| sampled.saturating_add(exact));
    let blocks = header.sample_counts != sample_counts::NOTHING;
    let bytes = header.sample_counts == sample_counts::BLOCKS_AND_BYTES;
    (mean > 0).then(|| Sampling {
        sample_bytes: header.sample_bytes,
        most_sample_bytes: mean,
        changes: header.sample_changes,
        since_ns: header.sampled_since_ns,
        total_bytes: header
            .sampled_total_bytes
            .saturating_add(header.exact_total_bytes),
        total_blocks: counts(
            blocks,
            header.sampled_total_blocks,
            header.exact_total_blocks,
        ),
        freed_bytes: counts(bytes, header.sampled_freed_bytes, header.exact_freed_bytes),
        freed_blocks: counts(
            blocks,
            header.sampled_freed_blocks,
            header.exact_freed_blocks,
        ),
    })
}

/// Gives figures whose sums alone are known the widest intervals, if they are
/// estimates.
fn estimated(mut figures: Figures, header: &HeaderValue) -> Figures {
    let mean = sample_mean(header);
    if mean > 0 {
        let sums = [figures.total_bytes, figures.live_bytes, figures.peak_bytes];
        figures.samples = Samples::at_most(mean, sums);
    }
    figures
}

/// Returns the largest error of a peak of `bytes`, by the records of the recorder.
fn peak_error(header: &HeaderValue, bound: i64, bytes: i64) -> u64 {
    let most = u64::from(header.most_lanes.max(header.lanes.min(1))) * LANE_DRIFT;
    let error = bound.saturating_sub(bytes).max(0) as u64;
    error.min(most)
}

/// The crates that who recorded called the program's own.
fn own_crates(recording: &Recording) -> Vec<String> {
    let named = recording.string(recording.header.own_crates);
    let named = named.unwrap_or_default();
    let names = named.split(',').map(str::trim);
    let names = names.filter(|name| !name.is_empty());
    names.map(str::to_owned).collect()
}

/// Linear memory, of a module that has any.
fn linear_memory(header: &HeaderValue) -> Option<LinearMemory> {
    let pages = header.memory_pages.saturating_sub(header.own_pages);
    (header.arch == arch::WASM32).then_some(LinearMemory {
        pages,
        bytes: pages.saturating_mul(PAGE_BYTES),
        first_pages: header.first_pages,
        grows: header.memory_grows,
        own_pages: header.own_pages,
    })
}

/// A resident set that was taken apart; `None` = none was.
fn resident_parts(words: &[u64; 5]) -> Option<ResidentParts> {
    let [time_ns, rss_bytes, heap_bytes, live_bytes, own_bytes] = *words;
    (time_ns > 0).then_some(ResidentParts {
        time_ns,
        rss_bytes,
        heap_bytes,
        live_bytes,
        own_bytes,
    })
}

/// A thread name as bytes, up to its NUL.
fn thread_name(words: [u64; 2]) -> String {
    let bytes = words.iter().flat_map(|word| word.to_le_bytes());
    let name: Vec<u8> = bytes.take_while(|byte| *byte != 0).collect();
    String::from_utf8_lossy(&name).into_owned()
}

/// Threads merged by name, those that ended and those that had a lane at the end.
pub(super) fn threads(recording: &Recording) -> Vec<Thread> {
    let mut threads: BTreeMap<String, Thread> = BTreeMap::new();
    let mut add = |name: String, count: u64, sums: &Sums| {
        let thread = threads.entry(name.clone()).or_default();
        thread.name = name;
        thread.count = thread.count.saturating_add(count);
        // What is live of it is not known: another thread may free its blocks.
        let counted = figures(sums, (0, 0), (0, 0));
        thread.figures.add(&estimated(counted, &recording.header));
    };
    for (name, count, sums) in thread_sums(recording) {
        let name = name.map_or_else(|| "(further threads)".to_owned(), thread_name);
        add(name, count, &sums);
    }
    threads.into_values().collect()
}

/// Returns the name of threads, their number and their counters, for those that ended and those
/// that had a lane at the end. Threads that had no lane of their own are together and have no name.
pub(crate) fn thread_sums(
    recording: &Recording,
) -> impl Iterator<Item = (Option<[u64; 2]>, u64, Sums)> {
    let ended = recording.threads.iter();
    let ended = ended.map(|ended| (Some(ended.name), ended.count, ended.sums));
    let lanes = recording.lanes.iter().filter_map(|lane| {
        let sums = lane.all.sums().zip(lane.lane.since, u64::saturating_sub);
        if lane.lane.kind != lane_kind::SHARED {
            Some((Some(lane.lane.name), 1, sums))
        } else if sums != Sums::default() {
            Some((None, u64::from(lane.lane.tenancies.max(1)), sums))
        } else {
            None
        }
    });
    ended.chain(lanes)
}

/// The timeline.
pub(super) fn timeline(recording: &Recording) -> Vec<TimelinePoint> {
    let point = |point: &tracking_alloc_recording::PointValue| TimelinePoint {
        time_ns: point.time_ns,
        live_bytes: point.live_bytes,
        live_blocks: point.live_blocks,
        total_bytes: point.total_bytes,
        rss_bytes: point.rss_bytes,
        own_bytes: point.own_bytes,
    };
    recording.timeline.iter().map(point).collect()
}

/// The marks, with the peak of the window each one ended.
pub(super) fn marks(recording: &Recording) -> Vec<Mark> {
    let peak_error_bytes = |mark: &MarkValue| {
        let rows = mark_rows(recording, mark).iter();
        let in_rows = rows.fold(0, |sum: i64, row| sum.saturating_add(row.peak_bytes));
        let error = peak_error(&recording.header, mark.peak_bound_bytes, mark.peak_bytes);
        (mark.has_rows == 1).then(|| error.max(in_rows.abs_diff(mark.peak_bytes)))
    };
    let mark = |mark: &MarkValue| Mark {
        peak_error_bytes: peak_error_bytes(mark),
        name: recording.string(mark.name).unwrap_or_default(),
        time_ns: mark.time_ns,
        figures: estimated(
            figures(
                &mark.sums,
                mark.sums.net(),
                (mark.peak_bytes, mark.peak_blocks),
            ),
            &recording.header,
        ),
    };
    recording.marks.iter().map(mark).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::counters::PeakAt;
    use tracking_alloc_recording::MarkRowValue;

    #[test]
    fn the_bound_of_a_peak_is_never_below_what_was_measured() {
        let mut recording = Recording::default();
        recording.header.lanes = 4;
        for (bytes, register, bound, expected) in [
            (1_000, 1_128, 1_000, 128),
            (1_128, 1_000, 1_000, 128),
            (1_000, 1_128, 1_500, 500),
            (1_000, 1_000, 1_000, 0),
            (0, 1 << 20, 0, 1 << 20),
        ] {
            let peak = Peak {
                at: PeakAt::Epoch,
                bytes,
                register,
                bound,
                time_ns: 0,
            };
            let capture = capture(&recording, &peak);
            assert_eq!(capture.peak_error_bytes, expected);
            assert!(capture.peak_error_bytes >= capture.peak_discrepancy_bytes);
        }
    }

    #[test]
    fn marks_have_the_bound_of_their_peaks() {
        let row = |peak_bytes: i64| MarkRowValue {
            peak_bytes,
            ..MarkRowValue::default()
        };
        let mark = |has_rows: u32, peak_bytes: i64, peak_bound_bytes: i64| MarkValue {
            has_rows,
            rows: 2,
            peak_bytes,
            peak_bound_bytes,
            ..MarkValue::default()
        };
        let mut recording = Recording::default();
        recording.header.lanes = 1;
        recording.mark_rows = vec![row(600), row(400)];
        recording.marks = vec![
            mark(1, 1_000, 1_000),
            mark(1, 1_000, 1_200),
            mark(1, 1_010, 1_010),
            mark(1, 1_000, 1 << 30),
            mark(0, 0, 0),
        ];
        let errors = marks(&recording).into_iter();
        let errors: Vec<Option<u64>> = errors.map(|mark| mark.peak_error_bytes).collect();
        let expected = [Some(0), Some(200), Some(10), Some(LANE_DRIFT), None];
        assert_eq!(errors, expected);
        let json = serde_json::to_value(&marks(&recording)[1]).expect("JSON");
        assert_eq!(json["peak_error_bytes"], 200);
    }
}
