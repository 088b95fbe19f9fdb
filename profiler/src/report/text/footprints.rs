//! The values a program had measured: one table a label, exact figures with the estimate beside them, and the places
//! of the newest.

use std::collections::HashMap;
use std::io::{self, Write};

use super::Page;
use crate::profile::{Measured, Profile};
use crate::report::{DEFAULT_TOP, Options, Style};
use crate::table::{preorder, weighty};
use crate::units::{Bytes, Count, Nanos, counted, printable, signed_bytes};

/// Footprints of one label that are shown; the newest ones.
const MOMENTS: usize = 10;

pub(super) fn write<W: Write>(
    page: &mut Page<'_, W>,
    profile: &Profile,
    options: &Options<'_>,
) -> io::Result<()> {
    let all = profile.measured();
    let mut labels: Vec<(&str, Vec<&Measured>)> = Vec::new();
    let mut known: HashMap<&str, usize> = HashMap::new();
    for measured in all {
        let label = measured.footprint.label.as_str();
        let at = *known.entry(label).or_insert(labels.len());
        match labels.get_mut(at) {
            Some((_, of_label)) => of_label.push(measured),
            None => labels.push((label, vec![measured])),
        }
    }
    let top = options.top.unwrap_or(DEFAULT_TOP);
    for (label, of_label) in labels.iter().take(top) {
        let (estimates, exact): (Vec<&Measured>, Vec<&Measured>) = of_label
            .iter()
            .partition(|measured| measured.footprint.estimate);
        page.blank()?;
        let newest = exact.last().or(estimates.last());
        let name = newest.and_then(|newest| {
            profile
                .named_type(newest.footprint.value_type)
                .map(|name| name.short.as_str())
        });
        let name = name
            .map(|name| format!(": {}", printable(name)))
            .unwrap_or_default();
        page.line(
            Style::Heading,
            &format!("Footprint {}{name}", printable(label)),
        )?;
        write_moments(page, &exact)?;
        write_estimates(page, &exact, &estimates)?;
        if let Some(newest) = exact.last() {
            write_places(page, profile, options, newest)?;
        }
    }
    if all.is_empty() {
        return Ok(());
    }
    page.blank()?;
    let cut = labels.len().saturating_sub(top);
    if cut > 0 {
        let more = counted(cut as u64, "more label");
        page.line(Style::Faint, &format!("  ... {more} (report --json)"))?;
    }
    page.wrap(
        Style::Faint,
        "  ",
        "exact: heap bytes of the blocks found at the addresses of the value's parts, each block once; slack: bytes of \
         them that no value was in (spare capacity, and what containers keep); shared: met again; estimate: what the \
         crate deepsize says.",
    )
}

/// A cell of the table of moments and how wide its column is.
type Cell = (&'static str, usize, fn(&Measured) -> String);

const CELLS: [Cell; 7] = [
    ("time", 10, |m| Nanos(m.footprint.time_ns).to_string()),
    ("exact", 10, |m| Bytes(m.bytes).to_string()),
    ("estimate", 10, |m| {
        m.estimate
            .map_or_else(dash, |estimate| Bytes(estimate.bytes).to_string())
    }),
    ("difference", 10, |m| {
        m.estimate
            .and_then(|estimate| estimate.difference)
            .map_or_else(dash, |part| format!("{:+.1} %", part * 100.0))
    }),
    ("blocks", 11, |m| Count(m.blocks).to_string()),
    ("slack", 10, |m| Bytes(m.slack_bytes).to_string()),
    ("change", 10, |m| {
        m.change_bytes.map_or_else(dash, |bytes| {
            let sign = if bytes > 0 { "+" } else { "" };
            format!("{sign}{}", signed_bytes(bytes))
        })
    }),
];

fn dash() -> String {
    "-".to_owned()
}

fn write_moments<W: Write>(page: &mut Page<'_, W>, exact: &[&Measured]) -> io::Result<()> {
    let some_estimate = exact.iter().any(|measured| measured.estimate.is_some());
    let series = exact.len() > 1;
    let mut used = 0;
    let cells: Vec<&Cell> = CELLS
        .iter()
        .filter(|(title, ..)| match *title {
            "estimate" | "difference" => some_estimate,
            "change" => series,
            _ => true,
        })
        .take_while(|(_, width, _)| {
            used += width + 1;
            used <= page.width
        })
        .collect();
    if exact.is_empty() {
        return Ok(());
    }
    let line = |text: fn(&Cell, &Measured) -> String, measured: &Measured| {
        let cell = |cell: &&Cell| format!(" {:>1$}", text(cell, measured), cell.1);
        cells.iter().map(cell).collect::<String>()
    };
    let cut = exact.len().saturating_sub(MOMENTS);
    page.line(
        Style::Heading,
        &line(|cell, _| cell.0.to_owned(), exact[cut]),
    )?;
    for measured in exact.iter().skip(cut) {
        page.plain(&line(|cell, measured| (cell.2)(measured), measured))?;
    }
    if cut > 0 {
        page.line(
            Style::Faint,
            &format!("  ... {} (report --json)", counted(cut as u64, "older one")),
        )?;
    }
    if let Some(newest) = exact.last() {
        let mut said = vec![format!(
            "{} the value's own size",
            Bytes(newest.inline_bytes)
        )];
        if let Some(usable) = newest.usable_bytes {
            said.push(format!("{} usable in its blocks", Bytes(usable)));
        }
        if newest.shared_blocks > 0 {
            said.push(format!(
                "shared blocks met again {}, {}",
                counted(newest.shared_blocks, "time"),
                Bytes(newest.shared_bytes)
            ));
        }
        said.push(format!(
            "{} live in the process then",
            Bytes(newest.footprint.live_bytes)
        ));
        if newest.footprint.folded > 0 {
            said.push(format!(
                "{} counted at the place around it",
                counted(newest.footprint.folded, "place")
            ));
        }
        page.wrap(Style::Faint, "  newest: ", &said.join("; "))?;
        let hidden = newest.footprint.hidden_values;
        if hidden > 0 {
            let said = format!(
                "{} could not be looked into: the figures are a lower bound",
                counted(hidden, "value")
            );
            page.wrap(Style::Warning, "  newest: ", &said)?;
        }
    }
    Ok(())
}

/// Estimates without an exact figure of their label.
fn write_estimates<W: Write>(
    page: &mut Page<'_, W>,
    exact: &[&Measured],
    estimates: &[&Measured],
) -> io::Result<()> {
    if !exact.is_empty() {
        return Ok(());
    }
    let cut = estimates.len().saturating_sub(MOMENTS);
    for measured in estimates.iter().skip(cut) {
        page.plain(&format!(
            " {:>10} {:>10} estimated; nothing exact: footprint(\"{}\", &value) measures it",
            Nanos(measured.footprint.time_ns).to_string(),
            Bytes(measured.bytes).to_string(),
            printable(&measured.footprint.label)
        ))?;
    }
    Ok(())
}

fn write_places<W: Write>(
    page: &mut Page<'_, W>,
    profile: &Profile,
    options: &Options<'_>,
    measured: &Measured,
) -> io::Result<()> {
    let parents: Vec<Option<usize>> = measured.places.iter().map(|place| place.parent).collect();
    let weights: Vec<u64> = measured
        .places
        .iter()
        .map(|place| place.with_inner_bytes)
        .collect();
    let top = options.top.unwrap_or(DEFAULT_TOP).min(weighty(&weights));
    let places = preorder(&parents, &weights, top);
    if places.is_empty() {
        return Ok(());
    }
    let wide = page.width >= 80;
    let head = |own: &str, inner: &str, slack: &str, blocks: &str, values: &str| {
        let narrow = format!(" {inner:>10} {own:>10} {slack:>10}");
        if wide {
            format!("{narrow} {blocks:>11} {values:>9}  ")
        } else {
            format!("{narrow}  ")
        }
    };
    let title = head("own", "exact", "slack", "blocks", "values");
    page.line(Style::Heading, &format!("{title}place"))?;
    for (index, depth) in &places {
        let place = &measured.places[*index];
        let start = head(
            &Bytes(place.node.block_bytes).to_string(),
            &Bytes(place.with_inner_bytes).to_string(),
            &Bytes(place.slack_bytes).to_string(),
            &Count(place.node.blocks).to_string(),
            &Count(place.node.count).to_string(),
        );
        page.part(Style::Faint, &start)?;
        let indent = (2 * depth).min(page.width.saturating_sub(start.len()) / 2);
        let mut name = format!("{}{}", " ".repeat(indent), printable(&place.step));
        if *index > 0
            && let Some(of_type) = profile
                .named_type(place.node.value_type)
                .map(|name| name.short.as_str())
        {
            name.push_str("  ");
            name.push_str(&printable(of_type));
        }
        page.end(&name, start.len())?;
    }
    let rest = measured.places.len() - places.len();
    if rest > 0 {
        page.line(
            Style::Faint,
            &format!(
                "  ... {} (report --json)",
                counted(rest as u64, "more place")
            ),
        )?;
    }
    Ok(())
}
