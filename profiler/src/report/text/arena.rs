//! Arenas as text: a bar of the chunks of each arena, its figures, its contents, advice and leaks.
//!
//! If the parts of an arena do not add up, its figures must never be shown without a warning.

use super::Page;
use crate::profile::arenas::{
    Breakdown, HOW_TO_NAME, Part, Whose, bar, imbalance, instances, last_full, measured_title,
    unscoped,
};
use crate::profile::{Arena, ArenaValue, Measure, Profile, State};
use crate::report::Style;
use crate::report::notes::ARENA_FIGURES;
use crate::report::page::first_few;
use crate::table::NO_STACK;
use crate::table::{ArenaDetail, ArenaLeak, ArenaPart, Detail, Row};
use crate::units::{Bytes, Count, Share, counted, printable};

/// Types and fields that are named; the others are counted.
const PARTS: usize = 4;

/// Cells of the bar, when there is room.
const BAR: usize = 50;

const INDENT: &str = "    ";

/// Returns the name of the figure that orders rows: the arena's figure for the measure, else the
/// allocated bytes.
fn order(measure: Measure) -> String {
    match measured_title(measure) {
        Some(title) => format!("{title} ({})", measure.name()),
        None => format!(
            "bytes used in total (nothing inside an arena is {})",
            measure.name()
        ),
    }
}

pub(super) fn write(page: &mut Page<'_>, profile: &Profile, rows: &[Row]) {
    if rows.is_empty() {
        page.wrap(Style::Heading, "", HOW_TO_NAME[0]);
        page.wrap(Style::Strong, INDENT, HOW_TO_NAME[1]);
        return;
    }
    let heading = format!("Arenas by {}", order(page.options.measure));
    page.line(Style::Heading, &heading);
    let top = page.top();
    for row in rows.iter().take(top) {
        if let Detail::Arena(detail) = &row.detail
            && let Some(arena) = profile.arenas().get(detail.arena)
        {
            write_arena(page, profile, arena, detail);
        }
    }
    if rows.len() > top {
        let mut rest = rows.iter().skip(top);
        let bytes = rest.try_fold(0_u64, |sum, row| match &row.detail {
            Detail::Arena(detail) => Some(sum.saturating_add(detail.measured?)),
            _ => Some(sum),
        });
        let bytes = bytes
            .map(|bytes| format!(", {}", page.options.measure.amount(bytes)))
            .unwrap_or_default();
        let more = counted((rows.len() - top) as u64, "more arena");
        page.line(Style::Faint, &format!("... {more}{bytes} (--top {top})"));
    }
    page.blank();
    let mut shown = rows.iter().take(top).filter_map(|row| match &row.detail {
        Detail::Arena(detail) => profile.arenas().get(detail.arena),
        _ => None,
    });
    if shown.any(|arena| Breakdown::shown(arena).is_some()) {
        let marks = Part::ALL.map(|part| format!("{} {}", part.mark(), part.name()));
        page.wrap(Style::Faint, "  ", &format!("{}.", marks.join(", ")));
    }
    page.wrap(Style::Faint, "  ", ARENA_FIGURES);
}

fn write_arena(page: &mut Page<'_>, profile: &Profile, arena: &Arena, detail: &ArenaDetail) {
    page.blank();
    let live = arena.figures.made.saturating_sub(arena.figures.dropped);
    let still = if profile.process().state == State::Running {
        "live now"
    } else {
        "live at exit"
    };
    let head = format!(
        "{}  {}, {} made, {} {still}",
        printable(&arena.name),
        printable(&arena.krate),
        counted(arena.figures.made, "instance"),
        Count(live)
    );
    page.line(Style::Strong, &head);
    if let Some(sentence) = imbalance(arena) {
        page.warning(&format!("{sentence}."));
    }
    write_chunks(page, arena);
    write_instances(page, arena);
    page.wrap(Style::Faint, INDENT, &ever(&arena.figures));
    for (word, parts) in [("types   ", &detail.types), ("fields  ", &detail.fields)] {
        if !parts.is_empty() {
            page.wrap(Style::Faint, &format!("{INDENT}{word}"), &largest(parts));
        }
    }
    let unscoped = unscoped(arena).total_bytes;
    if unscoped > 0 {
        let bytes = Bytes(unscoped);
        page.warning(&format!(
            "{bytes} of these were used at unknown places: the recording had no room for more."
        ));
    }
    for advice in &detail.advice {
        page.wrap(Style::Strong, "  -> ", &advice.text);
    }
    for leak in &detail.leaks {
        page.warning(&leak_text(leak));
    }
}

/// The bar and the parts it is made of: of the live instances, else of the largest one.
fn write_chunks(page: &mut Page<'_>, arena: &Arena) {
    let figures = &arena.figures;
    let shown = Breakdown::shown(arena);
    if let Some((_, breakdown)) = &shown {
        let cells = BAR.min(page.width.saturating_sub(INDENT.len() + 2));
        let cells: String = bar(breakdown, cells)
            .iter()
            .flat_map(|&(part, cells)| std::iter::repeat_n(part.mark(), cells))
            .collect();
        page.line(Style::Strong, &format!("{INDENT}[{cells}]"));
    }
    let is_live = matches!(shown, Some((Whose::Live, _)));
    for whose in Whose::ALL {
        // One instance is the largest one, and all of those that are live or dropped.
        let is_new = match whose {
            Whose::Live => is_live,
            Whose::Largest => !is_live || figures.made > 1,
            Whose::Dropped => figures.dropped > 0 && figures.made > 1,
        };
        if let Some(breakdown) = Breakdown::of(arena, whose).filter(|_| is_new)
            && breakdown.allocated_bytes > 0
        {
            page.wrap(Style::Faint, INDENT, &parts_text(arena, whose, &breakdown));
        }
    }
    let most = Bytes(figures.most_allocated_bytes);
    let in_one = Bytes(figures.most_instance_bytes);
    if is_live {
        let with_metadata = Bytes(figures.allocated_bytes_including_metadata);
        let occupied = Bytes(figures.most_occupied_bytes);
        let most = format!(
            "{with_metadata} with metadata; at most {most} at once, {in_one} in one instance, {occupied} of it occupied"
        );
        page.wrap(Style::Faint, INDENT, &most);
        return;
    }
    let mut text =
        format!("allocated_bytes 0 now; at most {most} at once, {in_one} in one instance");
    if let Some(last) = last_full(arena) {
        let (occupied, of) = (Bytes(last.occupied_bytes), Bytes(last.allocated_bytes));
        let share = Share::of(last.occupied_bytes, last.allocated_bytes);
        text.push_str(&format!("; the last occupied {occupied} of {of} ({share})"));
    }
    page.wrap(Style::Faint, INDENT, &text);
}

/// `allocated_bytes 6.1 MiB in 15 chunks: used 5.7 MiB (93.0 %), unused tail 440.0 KiB (7.0 %)`;
/// `largest instance: allocated_bytes 64.0 KiB: ..`; `100 dropped instances: ..`
fn parts_text(arena: &Arena, whose: Whose, breakdown: &Breakdown) -> String {
    let parts: Vec<String> = Part::ALL
        .into_iter()
        .filter(|part| part.of(breakdown) > 0)
        .map(|part| {
            let bytes = part.of(breakdown);
            let share = Share::of(bytes, breakdown.allocated_bytes);
            format!("{} {} ({share})", part.name(), Bytes(bytes))
        })
        .collect();
    let (before, after) = match whose {
        Whose::Live => {
            let chunks = counted(arena.figures.chunks, "chunk");
            (String::new(), format!(" in {chunks}"))
        }
        Whose::Largest => ("largest instance: ".to_owned(), String::new()),
        Whose::Dropped => {
            let dropped = counted(arena.figures.dropped, "dropped instance");
            (format!("{dropped}: "), String::new())
        }
    };
    format!(
        "{before}allocated_bytes {}{after}: {}",
        Bytes(breakdown.allocated_bytes),
        parts.join(", ")
    )
}

/// The sizes of several instances: `instances: smallest 4.0 KiB, median 64.0 KiB, largest 1.0 MiB;
/// the first: #1 64.0 KiB, #2 4.0 KiB`
fn write_instances(page: &mut Page<'_>, arena: &Arena) {
    let Some(of) = instances(arena).filter(|of| of.known > 1) else {
        return;
    };
    let known = if of.known < arena.figures.made {
        format!(" ({} in the history)", Count(of.known))
    } else {
        String::new()
    };
    let [min, median, most] = [
        of.min_allocated_bytes,
        of.median_allocated_bytes,
        of.most_allocated_bytes,
    ]
    .map(Bytes);
    let first: Vec<String> = of
        .first
        .iter()
        .take(PARTS)
        .map(|one| format!("#{} {}", one.instance, Bytes(one.allocated_bytes)))
        .collect();
    let text = format!(
        "instances{known}: smallest {min}, median {median}, largest {most}; the first: {}",
        first.join(", ")
    );
    page.wrap(Style::Faint, INDENT, &text);
}

/// `in total 5.7 MiB used by 177,000 pieces, from 15 chunks of 6.1 MiB; 9,000 grows: 4,400 in
/// place, 1.1 MiB copied by ..`
fn ever(figures: &ArenaValue) -> String {
    let mut text = format!(
        "in total {} used by {}, from {} of {}",
        Bytes(figures.total_used_bytes),
        counted(figures.total_used_blocks, "piece"),
        counted(figures.total_chunks, "chunk"),
        Bytes(figures.total_allocated_bytes),
    );
    if figures.grows > 0 {
        text.push_str(&format!(
            "; {}: {} in place, {} copied by the others",
            counted(figures.grows, "grow"),
            Count(figures.grows_in_place),
            Bytes(figures.copied_bytes)
        ));
    }
    if figures.resets > 0 {
        text.push_str(&format!("; {}", counted(figures.resets, "reset")));
    }
    if figures.limit_reached > 0 {
        let times = counted(figures.limit_reached, "time");
        text.push_str(&format!("; limit reached {times}"));
    }
    text
}

/// `Vec<Citizen> 4.4 MiB, &str 984.4 KiB, 2 more`
fn largest(parts: &[ArenaPart]) -> String {
    let named = parts.iter().map(|part| {
        let (total, bypassed) = (part.inside.total_bytes, part.inside.bypassed_bytes);
        let bytes = match (total, bypassed) {
            (_, 0) => Bytes(total).to_string(),
            (0, _) => format!("{} bypassed the handle", Bytes(bypassed)),
            _ => format!(
                "{} (and {} bypassed the handle)",
                Bytes(total),
                Bytes(bypassed)
            ),
        };
        format!("{} {bytes}", printable(&part.key))
    });
    first_few(named, PARTS)
}

fn leak_text(leak: &ArenaLeak) -> String {
    match leak.site.as_str() {
        NO_STACK => format!("{}.", leak.text),
        site => format!("{}. Site: {}", leak.text, printable(site)),
    }
}
