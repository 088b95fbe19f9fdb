//! Findings as text for people.

use std::io::{self, Write};

use super::Advice;
use super::finding::{Finding, FromSnapshot, Kind, Place, SavesOf};
use super::growing::Grown;
use crate::profile::{Measure, Profile};
use crate::report::page::Page;
use crate::report::{ReportOptions, Style};
use crate::units::{Bytes, Nanos, Share, counted, printable};
use serde::Serialize;
use unicode_width::UnicodeWidthStr;

/// Warns that findings are not independent.
pub const OVERLAP: &str = "Savings may overlap, so never add them up.";

/// The indentation of what is below a finding in the summary.
const BELOW: &str = "              ";

/// Findings in the summary of a run.
const IN_SUMMARY: usize = 3;

/// Writes findings with their evidence and remedy, below the losses of the recording, then what
/// grew and was freed. At most [`ReportOptions::top`] of each are written. `all` says that the
/// advice contains small ones.
///
/// # Errors
/// Returns the errors of `out`.
pub fn write_text(
    profile: &Profile,
    advice: &Advice,
    all: bool,
    options: &ReportOptions<'_>,
    out: impl Write,
) -> io::Result<()> {
    let Advice { findings, grew } = advice;
    let mut page = Page::new(options);
    for loss in profile.losses() {
        page.warning(loss);
    }
    if !profile.capture().has_stacks() {
        page.warning(
            "No stacks were recorded. Most advice needs them: record in mode exact, on Linux.",
        );
    }
    if profile.capture().sampling.is_some() {
        page.warning(&format!("No advice from estimates: {}.", super::SAMPLED));
    }
    let top = page.top();
    let mut list = None;
    for (at, finding) in findings.iter().take(top).enumerate() {
        let texts = Texts::of(profile, finding);
        if texts.list != list {
            list = texts.list;
            if at > 0 {
                page.blank();
            }
            if let Some(list) = list {
                page.line(Style::Heading, list);
            }
        }
        page.wrap(Style::Heading, &format!("{:>2}. ", at + 1), &texts.heading);
        page.part(Style::Strong, "    ");
        page.parts_after(Style::Strong, "    ", &[&texts.place, &texts.owner]);
        if let Some(holder) = &texts.holder {
            page.wrap(Style::Strong, "    ", holder);
        }
        page.wrap(Style::Faint, "    ", &texts.remedy);
    }
    if findings.is_empty() {
        // The warning above says why a recording with samples has none.
        if profile.capture().sampling.is_none() {
            page.plain(if all {
                "No findings."
            } else {
                "No findings. --all also lists small ones."
            });
        }
    } else {
        page.blank();
        for moment in moments(profile, findings) {
            page.wrap(Style::Faint, "", &moment);
        }
        let more = findings.len().saturating_sub(top);
        let more = if more == 0 {
            String::new()
        } else {
            format!("{} not shown (--top). ", counted(more as u64, "finding"))
        };
        page.wrap(Style::Faint, "", &format!("{more}{OVERLAP}"));
    }
    if !grew.is_empty() {
        page.blank();
        page.line(
            Style::Heading,
            "Grew steadily until the program stopped, then freed: no finding",
        );
        for grew in grew.iter().take(top) {
            page.wrap(Style::Strong, "    ", &grown(grew));
            page.parts_after(
                Style::Faint,
                "    ",
                &[&type_and_place(&grew.place), &owner(&grew.place)],
            );
        }
    }
    page.finish(out)
}

/// The texts of a finding, free of control characters.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Texts {
    /// The heading of the list that the finding belongs to, if it saves anything.
    pub list: Option<&'static str>,
    /// The kind and the saving.
    pub heading: String,
    /// The type and the place in the data or the call.
    pub place: String,
    /// The owner and its line.
    pub owner: String,
    /// The holder of most of the blocks.
    pub holder: Option<String>,
    /// The evidence and the change to make.
    pub remedy: String,
}

impl Texts {
    /// Returns the texts of a finding.
    pub fn of(profile: &Profile, finding: &Finding) -> Texts {
        let holder = finding.holder.as_deref();
        Texts {
            list: finding.saves_of().map(SavesOf::heading),
            heading: format!("{}: {}", finding.kind.name(), saving(profile, finding)),
            place: type_and_place(&finding.place),
            owner: owner(&finding.place),
            holder: holder.map(|holder| format!("held by {}", printable(holder))),
            remedy: format!("{} {}", finding.why, finding.remedy),
        }
    }
}

/// Writes the largest finding of each [list](SavesOf), in the order of the lists. If there are few
/// lists, writes the next ones of the first lists too. Writes nothing if there are none.
///
/// # Errors
/// Returns the errors of `out`.
pub fn write_summary(
    profile: &Profile,
    advice: &Advice,
    options: &ReportOptions<'_>,
    out: impl Write,
) -> io::Result<()> {
    let Advice { findings, grew } = advice;
    let mut page = Page::new(options);
    if let Some(largest) = grew.first() {
        let more = match grew.len() - 1 {
            0 => String::new(),
            more => format!(" ({more} more in `heapglass advise`)"),
        };
        let what = format!("  {:<10}  {}{more}", "grew", grown(largest));
        summary_line(&mut page, &what, &largest.place);
    }
    for (at, finding) in first_of_lists(findings, IN_SUMMARY).into_iter().enumerate() {
        let title = if at == 0 { "advice" } else { "" };
        let saves = if finding.kind.saves_nothing() {
            saving(profile, finding)
        } else if finding.kind.saves_blocks_only() {
            format!("saves {} allocated", counted(finding.saves_blocks, "block"))
        } else {
            let about = finding.confidence.words();
            let of = finding.saves_of().map_or("", SavesOf::words);
            format!("saves {about}{} {of}", Bytes(finding.saves_bytes))
        };
        let what = format!("  {title:<10}  {saves}: {}", finding.kind.name());
        summary_line(&mut page, &what, &finding.place);
        // What a snapshot shows is no row above.
        let text = match &finding.snapshot {
            Some(snapshot) => format!("At {}: {}", Nanos(snapshot.time_ns), finding.why),
            None if !profile.snapshots().is_empty() => finding.why.clone(),
            None => continue,
        };
        page.wrap(Style::Faint, BELOW, &text);
    }
    page.finish(out)
}

/// Writes a line of the summary with its place, which gets a line of its own if it does not fit.
fn summary_line(page: &mut Page<'_>, what: &str, place: &Place) {
    let names = [&place.owner, &place.location];
    let name = names.into_iter().find(|name| !name.is_empty());
    let place = place.source.as_ref().or(name);
    let place = place.map_or_else(String::new, |place| printable(place).into_owned());
    if what.width() + 2 + place.width() <= page.width {
        page.plain(&format!("{what}  {place}"));
    } else {
        page.plain(what);
        page.plain(&format!("{BELOW}{place}"));
    }
}

/// `12.3 MiB of Vec<Row> until 1.65 s, then freed`
fn grown(grown: &Grown) -> String {
    let type_name = grown.place.type_name.as_deref();
    format!(
        "{}{} until {}, then freed",
        Bytes(grown.until_bytes.saturating_sub(grown.from_bytes)),
        type_name.map_or_else(String::new, |name| format!(" of {}", printable(name))),
        Nanos(grown.until_ns),
    )
}

/// Returns at most so many findings, in their order: the first of each list, then the second of
/// each. Bytes that are allocated and freed again cost no memory, so their list is one behind.
fn first_of_lists(findings: &[Finding], most: usize) -> Vec<&Finding> {
    let mut ranked: Vec<(usize, usize, &Finding)> = Vec::new();
    for list in findings.chunk_by(|one, other| one.list() == other.list()) {
        for (rank, finding) in list.iter().enumerate() {
            let behind = usize::from(finding.saves_of() == Some(SavesOf::Allocated));
            ranked.push((rank + behind, ranked.len(), finding));
        }
    }
    ranked.sort_unstable_by_key(|&(rank, at, _)| (rank, at));
    ranked.truncate(most);
    ranked.sort_unstable_by_key(|&(_, at, _)| at);
    ranked.into_iter().map(|(_, _, finding)| finding).collect()
}

/// `saves at least 1.0 MiB and 12 blocks: 9.5 % of all bytes allocated`
fn saving(profile: &Profile, finding: &Finding) -> String {
    match finding.kind {
        Kind::FailedRequest => return format!("{} refused", Bytes(finding.of_bytes)),
        Kind::Amplification => {
            return format!("{} at {}", Bytes(finding.of_bytes), profile.peak_moment());
        }
        Kind::Growing => {
            return format!(
                "saves {}{} of live bytes and {}: {} of what it held",
                finding.confidence.words(),
                Bytes(finding.saves_bytes),
                counted(finding.saves_blocks, "block"),
                Share::of(finding.saves_bytes, finding.of_bytes),
            );
        }
        kind if kind.saves_blocks_only() => {
            return format!(
                "saves {}: {} of all blocks allocated",
                counted(finding.saves_blocks, "block"),
                Share::of(finding.saves_blocks, profile.totals().total_blocks),
            );
        }
        _ => {}
    }
    let blocks = if finding.saves_blocks == 0 {
        String::new()
    } else {
        format!(" and {}", counted(finding.saves_blocks, "block"))
    };
    let about = finding.confidence.words();
    let saves = Bytes(finding.saves_bytes);
    // The resident memory of the process is not known to a snapshot.
    if let (Some(SavesOf::Resident), Some(snapshot)) = (finding.saves_of(), &finding.snapshot) {
        return format!(
            "saves {about}{saves}{blocks} of resident memory at {}",
            Nanos(snapshot.time_ns)
        );
    }
    let name = match (&finding.snapshot, finding.measure) {
        (Some(snapshot), _) => format!(
            "{} live at {}",
            Bytes(snapshot.live_bytes),
            Nanos(snapshot.time_ns)
        ),
        (None, Measure::Total) => "all bytes allocated".to_owned(),
        (None, Measure::Live) => "all live bytes".to_owned(),
        (None, _) => profile.the_peak().to_owned(),
    };
    format!(
        "saves {about}{saves}{blocks}: {} of {name}",
        Share::of(finding.saves_bytes, finding.whole(profile)),
    )
}

/// Returns a sentence for each snapshot that findings are from, in the order of findings.
pub(crate) fn moments(profile: &Profile, findings: &[Finding]) -> Vec<String> {
    let mut snapshots: Vec<&FromSnapshot> = Vec::new();
    for finding in findings {
        let new = finding.snapshot.as_ref();
        snapshots.extend(new.filter(|new| !snapshots.contains(new)));
    }
    snapshots
        .into_iter()
        .map(|snapshot| {
            format!(
                "Findings at {} are from snapshot {}: {} live, {} of the peak.",
                Nanos(snapshot.time_ns),
                printable(&snapshot.label),
                Bytes(snapshot.live_bytes),
                Share::of(snapshot.live_bytes, profile.totals().peak_bytes),
            )
        })
        .collect()
}

/// `String in [load] Catalog.names[]`
fn type_and_place(place: &Place) -> String {
    let names = [place.type_name.as_deref(), Some(place.location.as_str())];
    let names = names.into_iter().flatten().filter(|name| !name.is_empty());
    let names: Vec<_> = names.map(printable).collect();
    names.join(" in ")
}

fn owner(place: &Place) -> String {
    let owner = printable(&place.owner);
    match &place.source {
        Some(source) => format!("{owner}  {}", printable(source)),
        None => owner.into_owned(),
    }
}
