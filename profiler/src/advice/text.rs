//! Findings as text for people.

use std::io::{self, Write};

use super::finding::{Finding, FromSnapshot, Kind};
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

/// Writes findings with their evidence and remedy, below the losses of the recording. At most
/// [`ReportOptions::top`] are written. `all` says that the findings contain small ones.
///
/// # Errors
/// Returns the errors of `out`.
pub fn write_text(
    profile: &Profile,
    findings: &[Finding],
    all: bool,
    options: &ReportOptions<'_>,
    out: impl Write,
) -> io::Result<()> {
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
    for (at, finding) in findings.iter().take(top).enumerate() {
        let texts = Texts::of(profile, finding);
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
        if let Some(snapshot) = findings
            .iter()
            .find_map(|finding| finding.snapshot.as_ref())
        {
            page.wrap(Style::Faint, "", &moment(profile, snapshot));
        }
        let more = findings.len().saturating_sub(top);
        let more = if more == 0 {
            String::new()
        } else {
            format!("{} not shown (--top). ", counted(more as u64, "finding"))
        };
        page.wrap(Style::Faint, "", &format!("{more}{OVERLAP}"));
    }
    page.finish(out)
}

/// The texts of a finding, free of control characters.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Texts {
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
            heading: format!("{}: {}", finding.kind.name(), saving(profile, finding)),
            place: type_and_place(finding),
            owner: owner(finding),
            holder: holder.map(|holder| format!("held by {}", printable(holder))),
            remedy: format!("{} {}", finding.why, finding.remedy),
        }
    }
}

/// Writes the first findings, the largest first. Those about bytes that are not live come after all
/// others. Writes nothing if there are none.
///
/// # Errors
/// Returns the errors of `out`.
pub fn write_summary(
    profile: &Profile,
    findings: &[Finding],
    options: &ReportOptions<'_>,
    out: impl Write,
) -> io::Result<()> {
    let mut page = Page::new(options);
    let is_of_live = |finding: &&Finding| finding.kind != Kind::AllocatorRounding;
    let of_live = findings.iter().filter(is_of_live);
    let others = findings.iter().filter(|finding| !is_of_live(finding));
    for (at, finding) in of_live.chain(others).take(IN_SUMMARY).enumerate() {
        let title = if at == 0 { "advice" } else { "" };
        let source = finding.place.source.as_ref();
        let place = printable(source.unwrap_or(&finding.place.owner));
        let saves = if finding.kind.saves_nothing() {
            saving(profile, finding)
        } else if finding.kind.saves_blocks_only() {
            format!("saves {}", counted(finding.saves_blocks, "block"))
        } else {
            let about = finding.confidence.words();
            format!("saves {about}{}", Bytes(finding.saves_bytes))
        };
        let what = format!("  {title:<10}  {saves}: {}", finding.kind.name());
        if what.width() + 2 + place.width() <= page.width {
            page.plain(&format!("{what}  {place}"));
        } else {
            page.plain(&what);
            page.plain(&format!("{BELOW}{place}"));
        }
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

/// `saves at least 1.0 MiB and 12 blocks: 9.5 % of all bytes allocated`
fn saving(profile: &Profile, finding: &Finding) -> String {
    match finding.kind {
        Kind::FailedRequest => return format!("{} refused", Bytes(finding.of_bytes)),
        Kind::Amplification => {
            return format!("{} at {}", Bytes(finding.of_bytes), profile.peak_moment());
        }
        Kind::Growing => {
            return format!(
                "saves {}{} and {}: {} of what it held",
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
    let blocks = if finding.saves_blocks == 0 {
        String::new()
    } else {
        format!(" and {}", counted(finding.saves_blocks, "block"))
    };
    format!(
        "saves {}{}{blocks}: {} of {name}",
        finding.confidence.words(),
        Bytes(finding.saves_bytes),
        Share::of(finding.saves_bytes, finding.whole(profile)),
    )
}

/// `Snapshot peak at 92.1 ms, 24.6 MiB live: ..`
pub(crate) fn moment(profile: &Profile, snapshot: &FromSnapshot) -> String {
    let others = profile.snapshots().len().saturating_sub(1);
    let which = if others == 0 {
        String::new()
    } else {
        format!(", the largest of {}", others + 1)
    };
    format!(
        "Findings with a time are from snapshot {} at {}: {} live, {} of the peak{which}.",
        printable(&snapshot.label),
        Nanos(snapshot.time_ns),
        Bytes(snapshot.live_bytes),
        Share::of(snapshot.live_bytes, profile.totals().peak_bytes),
    )
}

/// `String in [load] Catalog.names[]`
fn type_and_place(finding: &Finding) -> String {
    let place = &finding.place;
    let names = [place.type_name.as_deref(), Some(place.location.as_str())];
    let names = names.into_iter().flatten().filter(|name| !name.is_empty());
    let names: Vec<_> = names.map(printable).collect();
    names.join(" in ")
}

fn owner(finding: &Finding) -> String {
    let place = &finding.place;
    let owner = printable(&place.owner);
    match &place.source {
        Some(source) => format!("{owner}  {}", printable(source)),
        None => owner.into_owned(),
    }
}
