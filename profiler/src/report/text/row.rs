//! One row of a table: its figures, its name, and further facts below it.

use std::cmp::Reverse;

use unicode_width::UnicodeWidthStr;

use super::Page;
use crate::profile::fields::NO_FIELD;
use crate::profile::{Estimated, FrameId, Measure, Profile, dominant_block_text};
use crate::report::Style;
use crate::report::header::reallocs;
use crate::report::page::first_few;
use crate::table::{By, shortened_types, without_arguments, without_folders, without_modules};
use crate::table::{Column, Heading, SHARE_WIDTH, ThreadDetail, mark_names};
use crate::table::{Detail, FunctionDetail, Part, PhaseDetail, Row, SiteDetail, TypeDetail};
use crate::units::{Bytes, Nanos, counted, printable};

/// Parts of a row that are named; the others are counted.
const PARTS: usize = 3;

/// Returns the whole names of rows, free of control characters, and what the page has room for.
pub(super) fn names(page: &Page<'_>, rows: &[&Row], used: usize) -> Vec<[String; 2]> {
    let whole = |row: &&Row| match &row.detail {
        // The row of a group has no threads.
        Detail::Thread(detail) if detail.count > 1 => {
            let threads = counted(detail.count, "thread");
            format!("{} ({threads})", printable(&row.key))
        }
        _ => printable(&row.key).into_owned(),
    };
    let whole: Vec<String> = rows.iter().map(whole).collect();
    let room = page.room(used, 0);
    let short: Vec<String> = match page.options.by {
        By::Type => shortened_types(&whole.iter().map(String::as_str).collect::<Vec<_>>(), room),
        By::Module => (whole.iter())
            .map(|name| without_folders(name, room).into_owned())
            .collect(),
        By::Owner | By::Function => (whole.iter())
            .map(|name| without_modules(name, room).into_owned())
            .collect(),
        _ => whole.clone(),
    };
    whole
        .into_iter()
        .zip(short)
        .map(<[String; 2]>::from)
        .collect()
}

pub(super) fn write_row(
    page: &mut Page<'_>,
    profile: &Profile,
    (row, [name, short]): (&Row, &[String; 2]),
    columns: &[Column<Row>],
    measure: Measure,
) {
    let used = page.figures(columns, row);
    page.place(used, 0, short);
    let more = match &row.detail {
        Detail::Owner { owner, sites } => {
            let of_owner = of_owner(profile, *owner, sites.len());
            match profile.dominant_block(sites, &row.figures, measure) {
                Some(bytes) => format!("{of_owner}, {}", dominant_block_text(&bytes)),
                None => of_owner,
            }
        }
        Detail::Function(detail) => of_function(detail, measure),
        Detail::Code { sites } => counted(*sites, "site"),
        Detail::Type(detail) => of_type(detail, measure),
        Detail::Phase(detail) => of_phase(detail, row, measure, columns),
        Detail::Site(_) | Detail::Field(_) => String::new(),
        Detail::Thread(detail) => of_threads(detail, measure),
        Detail::Arena(_) => String::new(),
    };
    let indent = " ".repeat(SHARE_WIDTH + 1);
    // A name of hundreds of characters takes no more than two lines.
    let most = 2 * page.width.saturating_sub(indent.width());
    let whole = (name.width() > page.room(used, 0)).then(|| match page.options.by {
        By::Type => without_arguments(name, most),
        _ => name.clone(),
    });
    let more = Some(more).filter(|more| !more.is_empty());
    let more = whole.into_iter().chain(more).collect::<Vec<_>>().join("; ");
    if !more.is_empty() {
        page.wrap(Style::Faint, &indent, &more);
    }
}

/// Writes the further facts about a row by site: the stack, sizes, lifetimes, growth.
pub(super) fn site_details(page: &mut Page<'_>, profile: &Profile, row: &Row) {
    let Detail::Site(detail) = &row.detail else {
        return;
    };
    let indent = " ".repeat(SHARE_WIDTH + 1);
    page.wrap(Style::Faint, &indent, &of_site(profile, detail));
    let mut blocks = profile.block_details(&detail.sites, &row.figures);
    blocks.extend(reallocs(&row.figures));
    if blocks.is_empty() {
        return;
    }
    page.wrap(Style::Faint, &indent, &blocks.join("; "));
}

/// `src/model.rs:20, 3 sites`
fn of_owner(profile: &Profile, owner: Option<FrameId>, sites: usize) -> String {
    let source = owner.and_then(|owner| profile.source_of(owner));
    let sites = counted(sites as u64, "site");
    match source {
        Some(source) => format!("{}, {sites}", printable(&source)),
        None => sites,
    }
}

/// `from shop::parse 1.2 MiB; calls serde_json::from_str 1.0 MiB`
fn of_function(detail: &FunctionDetail, measure: Measure) -> String {
    let mut said = vec![match detail.krate.as_str() {
        "" => String::new(),
        krate => format!("of {}", printable(krate)),
    }];
    said.extend(largest("called by", &detail.callers, measure));
    said.extend(largest("calls", &detail.callees, measure));
    said.retain(|said| !said.is_empty());
    said.join("; ")
}

/// `String::clone <- City::visit_name <- .. <- main`
fn of_site(profile: &Profile, detail: &SiteDetail) -> String {
    let mut text = match detail.place {
        Some(charged) => printable(&charged.short_name(profile)).into_owned(),
        None => short_stack(profile, &detail.stack),
    };
    for mark in mark_names(detail.marks) {
        text.push_str(&format!(" <- [{mark}]"));
    }
    text
}

/// `in Fleet.vessels[].crew 1.2 MiB, 2 more; of Vessel; type from the stack; slack 437.5 KiB in
/// footprint fleet`
fn of_type(detail: &TypeDetail, measure: Measure) -> String {
    let mut said = Vec::from_iter(detail.note.map(str::to_owned));
    if detail.fields.iter().any(|part| part.key != NO_FIELD) {
        said.extend(largest("in", &detail.fields, measure));
    }
    said.extend(largest("for", &detail.owners, measure));
    match detail.from {
        Some("field") => said.push("type told by the field alone".to_owned()),
        Some("mixed") => said.push("type told by stacks and fields".to_owned()),
        _ => {}
    }
    said.extend(detail.dominant_block.as_ref().map(dominant_block_text));
    if let Some(slack) = &detail.slack {
        let (bytes, label) = (Bytes(slack.bytes), printable(&slack.footprint));
        said.push(format!("slack {bytes} in footprint {label}"));
    }
    said.extend(detail.estimated.as_ref().map(Estimated::text));
    said.join("; ")
}

/// The first few parts that hold any of the measure, the others counted.
fn largest(word: &str, parts: &[Part], measure: Measure) -> Option<String> {
    let mut some: Vec<&Part> = parts
        .iter()
        .filter(|part| measure.of(&part.figures) > 0)
        .collect();
    some.sort_by_key(|part| Reverse(measure.shown(&part.figures)));
    let named = some.iter().map(|part| {
        let amount = measure.text(&part.figures);
        format!("{} {amount}", printable(&part.key))
    });
    (named.len() > 0).then(|| format!("{word} {}", first_few(named, PARTS)))
}

/// The threads of names that differ in their numbers, the largest first.
fn of_threads(detail: &ThreadDetail, measure: Measure) -> String {
    if detail.members.len() < 2 {
        return String::new();
    }
    let mut members: Vec<_> = detail.members.iter().collect();
    members.sort_by_key(|thread| Reverse(measure.shown(&thread.figures)));
    let named = members.into_iter().map(|thread| {
        let amount = measure.text(&thread.figures);
        format!("{} {amount}", printable(thread.key()))
    });
    first_few(named, PARTS)
}

fn of_phase(detail: &PhaseDetail, row: &Row, measure: Measure, columns: &[Column<Row>]) -> String {
    // What stands in columns already is not said again.
    let column = |title| columns.iter().any(|column| column.heading.title() == title);
    let mut said = Vec::new();
    if detail.entered > 0 {
        said.push(format!("entered {}", counted(detail.entered, "time")));
    }
    if let Some(elapsed_ns) = detail
        .elapsed_ns
        .filter(|_| !column(Heading::ELAPSED.title()))
    {
        said.push(Nanos(elapsed_ns).to_string());
    }
    let has_speed = |heading: Heading| column(heading.title());
    said.extend(detail.input_text(!has_speed(Heading::BYTES_PER_SECOND)));
    said.extend(detail.records_text(!has_speed(Heading::RECORDS_PER_SECOND)));
    if detail.entered > 0 && detail.with_inner != row.figures {
        let value = measure.text(&detail.with_inner);
        said.push(format!("with the phases inside it {value}"));
    }
    if let Some(bytes @ ..0) = detail.stayed_bytes {
        let given_back = Bytes(bytes.unsigned_abs());
        let each = if detail.entered > 1 {
            " in each entry, on average"
        } else {
            ""
        };
        said.push(format!("freed {given_back} more than it allocated{each}"));
    }
    let mut text = said.join(", ");
    let per_byte = detail.per_input_byte_text();
    let per_record = detail.per_record_text();
    for each in [
        per_byte.filter(|_| !column("peak/in")),
        per_record.filter(|_| !column("peak/rec")),
    ] {
        text.extend(each.map(|each| format!("; {each}")));
    }
    text
}

/// Innermost first, as a reader asks "who called that":
/// `String::clone <- City::visit_name <- .. <- main`.
fn short_stack(profile: &Profile, frames: &[FrameId]) -> String {
    /// More frames than these are left out in the middle.
    const INNER: usize = 6;
    const OUTER: usize = 2;
    let name = |&id: &FrameId| {
        let name = profile.lookup(id).map_or("[unnamed]", |(_, function)| {
            if function.short.is_empty() {
                &function.name
            } else {
                &function.short
            }
        });
        printable(name).into_owned()
    };
    let mut names: Vec<String> = Vec::new();
    if frames.len() > INNER + OUTER + 1 {
        names.extend(frames.iter().rev().take(INNER).map(name));
        names.push(format!("({} frames)", frames.len() - INNER - OUTER));
        names.extend(frames.iter().take(OUTER).rev().map(name));
    } else {
        names.extend(frames.iter().rev().map(name));
    }
    names.join(" <- ")
}
