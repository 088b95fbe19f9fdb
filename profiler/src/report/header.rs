//! The head of the text report, in a line or two, and the details of the recording: the program,
//! the totals and their error bounds.
//!
//! This module must never show the peak without its bound.

use std::cmp::Reverse;

use super::Style;
use super::page::{Page, first_few};
use crate::profile::{Figures, Measure, Profile, Samples, State};
use crate::table::{
    SnapshotAt, all_snapshots, failed_requests, fatal_request, libraries, program_name,
};
use crate::units::{Bytes, Count, Nanos, Share, counted, joined, printable};

/// `shop: peak 23.3 MiB in 296,147 blocks, at 74.7 ms (exact); total 31.3 MiB; at exit 544 B`
pub(super) fn write_brief(page: &mut Page<'_>, profile: &Profile) {
    if !profile.process().state.is_recorded() {
        let found = amount(profile, "live", false);
        return page.heading(&format!("{}: {found} found", named(profile)));
    }
    let peak = format!(
        "{} {}{}",
        peak_name(profile.process().state),
        amount(profile, "peak", false),
        peak(profile)
    );
    let total = bytes(profile, "total", false);
    let live = bytes(profile, "live", false);
    let live_name = live_name(profile);
    let heading = format!(
        "{}: {peak}; total {total}; {live_name} {live}",
        named(profile)
    );
    page.heading(&heading);
    write_fatal_request(page, profile);
}

/// The program, and how it ended unless it finished.
pub(super) fn named(profile: &Profile) -> String {
    let program = program_name(profile);
    let is_damaged = profile.lost().damaged > 0;
    match profile.process().state {
        State::Finished if !is_damaged => program.into_owned(),
        State::Merged => format!("{program} ({})", ended(profile)),
        State::Ended => format!("{program} (ended without finishing)"),
        state if !is_damaged => format!("{program} ({})", self::state(state)),
        _ => format!("{program} (damaged)"),
    }
}

/// The details of the recording: everything that its header and its totals say.
pub(super) fn write_details(page: &mut Page<'_>, profile: &Profile) {
    write_program(page, profile);
    write_figures(page, profile);
    write_marks(page, profile);
    write_snapshots(page, profile);
}

/// Writes what a reader who sees no details can ask for.
pub(super) fn write_hint(page: &mut Page<'_>, profile: &Profile) {
    let mut more = vec!["the command".to_owned(), "all totals".to_owned()];
    if profile.resident().is_some() {
        more.push("the resident set".to_owned());
    }
    for (count, noun) in [
        (profile.marks().len(), "mark"),
        (profile.snapshots().len(), "snapshot"),
        (profile.measured().len(), "footprint"),
    ] {
        more.extend((count > 0).then(|| counted(count as u64, noun)));
    }
    let text = format!(
        "--details adds {}; --explain explains the columns.",
        joined(&more)
    );
    page.wrap(Style::Faint, "  ", &text);
}

/// Returns how the program ended.
fn ended(profile: &Profile) -> String {
    let process = profile.process();
    let mut ended = state(process.state).to_owned();
    if let Some(merged) = &process.merged {
        ended = format!("{ended} of {}", counted(merged.recordings, "recording"));
    }
    if profile.lost().damaged > 0 {
        ended.push_str(", damaged");
    }
    ended
}

/// The program and how it was recorded.
pub(super) fn write_program(page: &mut Page<'_>, profile: &Profile) {
    let process = profile.process();
    let program = program_name(profile);
    let ended = ended(profile);
    let (recorded, pid) = (process.duration(), process.pid);
    let heading = match profile.capture().linear_memory {
        // Neither a clock nor processes.
        Some(_) => format!("{program}: {ended}"),
        None if process.state == State::Merged => {
            format!("{program}: {ended}, {recorded} recorded together")
        }
        None => format!("{program}: {ended}, {recorded} recorded, pid {pid}"),
    };
    page.heading(&heading);
    if !process.command.is_empty() {
        let command = command(&process.command);
        page.entry(Style::Faint, "command", &printable(&command));
    }
    let capture = profile.capture();
    let module = match capture.linear_memory {
        Some(_) => format!("{}, ", printable(&capture.architecture)),
        None => String::new(),
    };
    let mut how = format!(
        "{}, {module}{}, {}",
        printable(&capture.mode),
        printable(&capture.stacks()),
        counted(threads(profile), "thread")
    );
    if let Some(recording) = page.options.recording {
        let bytes = Bytes(capture.recording_bytes);
        how.push_str(&format!("; {}, {bytes}", printable(recording)));
    }
    page.entry(Style::Faint, "recorded", &how);
    if page.options.explain && !capture.own_crates.is_empty() {
        let own = capture.own_crates.join(", ");
        page.entry(Style::Faint, "own crates", &printable(&own));
    }
    page.blank();
}

/// Totals, peak and resident memory; with `explain` the exact bytes.
pub(super) fn write_figures(page: &mut Page<'_>, profile: &Profile) {
    write_fatal_request(page, profile);
    let (totals, capture) = (profile.totals(), profile.capture());
    let explain = page.options.explain;
    let state = profile.process().state;
    let amount = |name: &str| amount(profile, name, explain);
    let at_peak = amount("peak") + &peak(profile);
    page.entry(Style::Strong, peak_name(state), &at_peak);
    let total = amount("total");
    let temporary = amount("temporary");
    let share = profile.temporary_share();
    let total = format!("{total}; temporary {temporary} ({share})");
    page.entry(Style::Strong, "total", &total);
    page.entry(Style::Strong, live_name(profile), &amount("live"));
    if explain {
        let freed = amount("freed");
        page.entry(Style::Strong, "freed", &freed);
    }
    if let Some(attached) = capture.attached {
        let text = match attached.in_use_bytes {
            Some(bytes) => format!(
                "to the running program, in which malloc had {} in use then; those blocks are not recorded",
                Bytes(bytes)
            ),
            None => "to the running program; blocks from before are not recorded".to_owned(),
        };
        page.entry(Style::Faint, "attached", &text);
    }
    if let Some(reallocs) = reallocs(totals) {
        page.entry(Style::Faint, "reallocs", &reallocs);
    }
    if let Some(memory) = capture.linear_memory {
        let memory = format!(
            "{} linear, {} ({} at first), grown {}; plus {} of profiler overhead",
            Bytes(memory.bytes),
            counted(memory.pages, "page"),
            Count(memory.first_pages),
            counted(memory.grows, "time"),
            Bytes(memory.own_bytes())
        );
        page.entry(Style::Faint, "memory", &memory);
    }
    if let Some(at) = profile.resident() {
        let most = capture.peak_rss_bytes.max(at.rss_bytes);
        let divided = profile.divided_resident();
        let mut said = vec![format!("{} at most", Bytes(most))];
        if divided.is_empty() && at.own_bytes > 0 {
            said.push(format!("{} of it profiler overhead", Bytes(at.own_bytes)));
        }
        if explain && divided.is_empty() {
            said.push(format!("at {}", Nanos(at.time_ns)));
            let (live, not_seen) = (Bytes(at.live_bytes), at.not_seen_bytes().map(Bytes));
            said.push(match not_seen {
                Some(bytes) => format!("{bytes} more than the {live} live then"),
                None => format!("less than the {live} live then: some bytes were never touched"),
            });
        }
        let mut lines = vec![said.join(", ")];
        for parts in &divided {
            let (when, bytes) = (Nanos(parts.time_ns), Bytes(parts.rss_bytes));
            let parts = parts.text(profile.kept_text());
            lines.push(format!("{bytes} at {when}: {parts}"));
        }
        if let [first, second, ..] = &lines[..] {
            lines.splice(..2, [format!("{first}; {second}")]);
        }
        for (line, label) in lines.iter().zip(["resident", ""]) {
            page.entry(Style::Faint, label, line);
        }
        if let Some(most) = profile.mostly_not_live() {
            let lead = match (profile.resident_parts(), divided.len()) {
                (Some(parts), 2..) => format!("at {}: {}", Nanos(parts.time_ns), most.lead()),
                _ => most.lead(),
            };
            page.entry(Style::Strong, "", &lead);
        }
    }
    write_libraries(page, profile);
    write_failed_requests(page, profile);
}

/// Warns of a request that the allocator refused and that ended the program.
fn write_fatal_request(page: &mut Page<'_>, profile: &Profile) {
    if let Some(sentence) = fatal_request(profile) {
        page.warning(&printable(&sentence));
    }
}

/// Warns of estimates.
pub(super) fn write_estimates(page: &mut Page<'_>, profile: &Profile) {
    let capture = profile.capture();
    if let Some(sampling) = capture.sampling.as_ref() {
        let hits = profile.totals().samples().map_or(0, Samples::hits);
        page.warning(&sampling.explained("Figures with ~", hits));
    } else if !capture.is_exact() {
        let mode = printable(&capture.mode);
        page.warning(&format!("Mode {mode}: figures are estimates."));
    }
}

/// The name of the bytes that are live when the recording ends.
fn live_name(profile: &Profile) -> &'static str {
    match profile.process().state {
        State::Finished if profile.capture().is_detached() => "at detach",
        State::Running => "live now",
        State::Copied => "live then",
        State::Merged => "at exits",
        _ => "at exit",
    }
}

fn peak_name(state: State) -> &'static str {
    match state {
        State::Running | State::Copied => "peak so far",
        State::Merged => "sum of peaks",
        State::NotRecorded => "found",
        _ => "peak",
    }
}

/// `23.3 MiB`: bytes of the program, an estimate with its interval unless they were counted; with
/// `to_the_byte` also each byte.
fn bytes(profile: &Profile, name: &str, to_the_byte: bool) -> String {
    let key = format!("{name}_bytes");
    let spell = |bytes: u64| {
        if to_the_byte && bytes >= 1024 {
            format!("{} ({} bytes)", Bytes(bytes), Count(bytes))
        } else {
            Bytes(bytes).to_string()
        }
    };
    if let Some(exact) = profile.exact_total(&key) {
        return spell(exact);
    }
    let value = profile.number(&key).value;
    match profile.totals().interval(&key) {
        Some(interval) => format!("~{} ({})", spell(value), Measure::Total.ends(interval)),
        None => spell(value),
    }
}

/// `23.3 MiB in 296,147 blocks`
fn amount(profile: &Profile, name: &str, to_the_byte: bool) -> String {
    let bytes = bytes(profile, name, to_the_byte);
    let blocks = profile.number(&format!("{name}_blocks"));
    format!("{bytes} in {}", blocks.of("block"))
}

/// Libraries that are named; the others are counted.
const LIBRARIES: usize = 3;

/// `libsqlite3.so.0 2.6 MiB (99.8 %), libc.so.6 4.7 KiB (0.2 %) of the peak`: the share of C and
/// other libraries, where it is worth a line.
fn write_libraries(page: &mut Page<'_>, profile: &Profile) {
    let libraries = libraries(profile);
    let peak = profile.totals().peak_bytes;
    let bytes = libraries
        .iter()
        .map(|(_, figures)| figures.peak_bytes)
        .fold(0, u64::saturating_add);
    if bytes == 0 || bytes < peak / LEAST_LIBRARIES {
        return;
    }
    let about = if profile.capture().sampling.is_some() {
        "~"
    } else {
        ""
    };
    let named = libraries.iter().map(|(path, figures)| {
        let name = path.rsplit('/').next().unwrap_or_default();
        let (bytes, share) = (figures.peak_bytes, Share::of(figures.peak_bytes, peak));
        format!("{} {about}{} ({share})", printable(name), Bytes(bytes))
    });
    let named = first_few(named, LIBRARIES);
    let peak = profile.the_peak();
    page.entry(Style::Faint, "libraries", &format!("{named} of {peak}"));
}

/// Libraries whose bytes are less than this part of the peak are not named: a hundredth.
const LEAST_LIBRARIES: u64 = 100;

/// Sites named whose requests were refused; the others are counted.
const REFUSED: usize = 2;

/// `115.5 GiB for Vec<u8> by shop::parse src/lib.rs:92`, the last request first.
fn write_failed_requests(page: &mut Page<'_>, profile: &Profile) {
    let rows = failed_requests(profile);
    if rows.is_empty() {
        return;
    }
    let rows = rows.iter().map(|row| printable(&row.text()).into_owned());
    page.entry(Style::Faint, "refused", &first_few(rows, REFUSED));
}

/// Marks that are named; the others are counted.
const MARKS: usize = 6;

/// `loaded at 12.0 ms (3.4 MiB live)`, in the order the program set them.
fn write_marks(page: &mut Page<'_>, profile: &Profile) {
    if profile.marks().is_empty() {
        return;
    }
    let marks = profile.marks().iter().map(|mark| {
        let (name, at) = (printable(&mark.name), Nanos(mark.time_ns));
        format!("{name} at {at} ({} live)", Bytes(mark.figures.live_bytes))
    });
    page.entry(Style::Faint, "marks", &first_few(marks, MARKS));
}

/// Snapshots that are listed; the others are counted.
const SNAPSHOTS: usize = 10;

/// `1 (peak): at 92.1 ms, 24.6 MiB live, 98.0 % of the peak`, one line each.
fn write_snapshots(page: &mut Page<'_>, profile: &Profile) {
    let mut heading = "snapshots";
    for at in all_snapshots(profile).take(SNAPSHOTS) {
        let moment = format!("{}: {}", at.name(), at.moment(profile));
        page.entry(Style::Faint, heading, &moment);
        heading = "";
    }
    let rest = profile.snapshots().len().saturating_sub(SNAPSHOTS);
    if rest > 0 {
        page.entry(Style::Faint, "", &format!("{rest} more"));
    }
    let known = all_snapshots(profile).filter(|at| at.snapshot.usable().is_some());
    if let Some(largest) = known.max_by_key(|at| at.snapshot.moment().live_bytes) {
        write_usable(page, largest, &format!(", in snapshot {}", largest.name()));
    }
}

/// Size classes that are listed: those in which the allocator adds most.
const CLASSES: usize = 8;

/// Writes what the allocator gave for the blocks of a snapshot, if it is known; with `explain` also
/// the size classes in which it added most.
pub(super) fn write_usable(page: &mut Page<'_>, at: SnapshotAt<'_>, place: &str) {
    let Some(usable) = at.snapshot.usable() else {
        return;
    };
    let (requested, given) = (usable.requested_bytes(), usable.usable_bytes());
    let added = Share::of(given.saturating_sub(requested), requested);
    let mut said = format!(
        "{} of {} requested (+{added}), by {}{place}",
        Bytes(given),
        Bytes(requested),
        printable(&usable.allocator),
    );
    if usable.large_blocks > 0 {
        said.push_str(&format!(
            "; not known of {} in {} above 64 KiB",
            Bytes(usable.large_bytes),
            counted(usable.large_blocks, "block")
        ));
    }
    page.entry(Style::Faint, "usable", &said);
    if !page.options.explain {
        return;
    }
    let mut classes: Vec<_> = usable.classes.iter().collect();
    classes.sort_by_key(|class| (Reverse(class.rounding_bytes()), class.block_bytes));
    for class in classes.iter().take(CLASSES) {
        let mean = class.requested_bytes as f64 / class.blocks.max(1) as f64;
        let line = format!(
            "{} each: {}, {} requested ({mean:.1} B each), {} added",
            Bytes(class.block_bytes),
            counted(class.blocks, "block"),
            Bytes(class.requested_bytes),
            Bytes(class.rounding_bytes()),
        );
        page.entry(Style::Faint, "", &line);
    }
    let rest = classes.len().saturating_sub(CLASSES);
    if rest > 0 {
        page.entry(Style::Faint, "", &format!("{rest} more sizes"));
    }
}

/// `12 grows, 1 shrink, at most 1.4 MiB copied`, where there were any.
pub(super) fn reallocs(figures: &Figures) -> Option<String> {
    (figures.grows > 0 || figures.shrinks > 0).then(|| {
        format!(
            "{}, {}, at most {} copied",
            figures.number("grows").of("grow"),
            figures.number("shrinks").of("shrink"),
            Bytes(figures.most_copied_bytes())
        )
    })
}

/// Formats the time of the peak and its error bound: `, at 94.5 ms (exact)`.
fn peak(profile: &Profile) -> String {
    let capture = profile.capture();
    if !profile.process().state.is_recorded() {
        return String::new();
    }
    let when = if capture.peak_time_ns > 0 {
        format!(", at {}", Nanos(capture.peak_time_ns))
    } else {
        String::new()
    };
    if capture.sampling.is_some() {
        // Errors of single lanes are far below those of samples.
        return format!("{when} (the largest estimate of live bytes)");
    }
    if capture.peak_error_bytes == 0 && capture.peak_discrepancy_bytes == 0 {
        return format!("{when} (exact)");
    }
    let discrepancy = match capture.peak_discrepancy_bytes {
        0 => String::new(),
        bytes => format!("; measured discrepancy {}", Bytes(bytes)),
    };
    format!(
        "{when} (within {}{discrepancy})",
        Bytes(capture.peak_error_bytes)
    )
}

pub(super) fn state(state: State) -> &'static str {
    match state {
        State::Running => "still running",
        State::Finished => "finished",
        State::Copied => "not finished when it was packed",
        State::Merged => "sums",
        State::NotRecorded => "not recorded",
        State::Ended => {
            "ended without finishing (killed, aborted, left by _exit or replaced by exec; all up to then is here)"
        }
        State::Unknown => "end unknown (recorded elsewhere)",
    }
}

/// Number of threads seen.
pub(super) fn threads(profile: &Profile) -> u64 {
    profile
        .threads()
        .iter()
        .map(|thread| thread.count)
        .fold(0, u64::saturating_add)
}

/// The command line as a shell would read it.
pub(super) fn command(words: &[String]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| quote(word)).collect();
    quoted.join(" ")
}

fn quote(word: &str) -> String {
    let bare = |c: char| c.is_alphanumeric() || "-_./=:,@%+".contains(c);
    if !word.is_empty() && word.chars().all(bare) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_a_shell_would_take_apart_are_quoted() {
        let words = ["a-b_c/1.2=x", "two words", "", "it's", "$HOME", "größe"].map(String::from);
        assert_eq!(
            command(&words),
            r"a-b_c/1.2=x 'two words' '' 'it'\''s' '$HOME' größe"
        );
    }
}
