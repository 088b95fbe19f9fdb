//! Arenas as text: for each a bar of what its chunks hold, its figures, what is inside, advice and leaks.
//!
//! Must never show figures of an arena whose parts do not add up without saying so.

use std::io::{self, Write};

use super::Page;
use crate::profile::arenas::{HOW_TO_NAME, Part, bar, last_full, measured_title};
use crate::profile::{Arena, Measure, Profile, State};
use crate::report::notes::ARENA_FIGURES;
use crate::report::{ArenaDetail, ArenaLeak, ArenaPart, DEFAULT_TOP, Detail, Options, Row, Style};
use crate::table::place;
use crate::units::{Bytes, Count, Share, counted, printable};

/// Types and fields that are named; the others are counted.
const PARTS: usize = 4;

/// Cells of the bar, when there is room.
const BAR: usize = 50;

const INDENT: &str = "    ";

/// What rows are ordered by: the figure that arenas have of the measure, else what was handed out.
fn order(measure: Measure) -> String {
    match measured_title(measure) {
        Some(title) => format!("{title} ({})", measure.name()),
        None => format!(
            "bytes handed out (nothing inside an arena is {})",
            measure.name()
        ),
    }
}

pub(super) fn write<W: Write>(
    page: &mut Page<'_, W>,
    profile: &Profile,
    options: &Options<'_>,
    rows: &[Row],
) -> io::Result<()> {
    if rows.is_empty() {
        page.wrap(Style::Heading, "", HOW_TO_NAME[0])?;
        return page.wrap(Style::Strong, INDENT, HOW_TO_NAME[1]);
    }
    let heading = format!("Arenas by {}", order(options.measure));
    page.line(Style::Heading, &heading)?;
    let top = options.top.unwrap_or(DEFAULT_TOP);
    for row in rows.iter().take(top) {
        if let Detail::Arena(detail) = &row.detail
            && let Some(arena) = profile.arenas.get(detail.arena)
        {
            write_arena(page, profile, arena, detail)?;
        }
    }
    if rows.len() > top {
        let bytes = rows
            .iter()
            .skip(top)
            .try_fold(0_u64, |sum, row| match &row.detail {
                Detail::Arena(detail) => Some(sum.saturating_add(detail.measured?)),
                _ => Some(sum),
            });
        let bytes = bytes.map_or(String::new(), |bytes| {
            format!(", {}", options.measure.amount(bytes))
        });
        let more = format!(
            "... {}{bytes} (--top {top})",
            counted((rows.len() - top) as u64, "more arena"),
        );
        page.line(Style::Faint, &more)?;
    }
    page.blank()?;
    let marks: Vec<String> = Part::ALL
        .iter()
        .map(|part| format!("{} {}", part.mark(), part.name()))
        .collect();
    page.wrap(Style::Faint, "  ", &format!("{}.", marks.join(", ")))?;
    page.wrap(Style::Faint, "  ", ARENA_FIGURES)
}

fn write_arena<W: Write>(
    page: &mut Page<'_, W>,
    profile: &Profile,
    arena: &Arena,
    detail: &ArenaDetail,
) -> io::Result<()> {
    page.blank()?;
    let live = arena.made.saturating_sub(arena.dropped);
    let still = if profile.process.state == State::Running {
        "live now"
    } else {
        "live at the end"
    };
    let head = format!(
        "{}  {}, {} made, {} {still}",
        printable(&arena.name),
        printable(&arena.krate),
        counted(arena.made, "instance"),
        Count(live)
    );
    page.line(Style::Strong, &head)?;
    if let Some(sentence) = &detail.imbalance {
        page.wrap(Style::Warning, "  ! ", &format!("{sentence}."))?;
    }
    write_chunks(page, arena)?;
    page.wrap(Style::Faint, INDENT, &ever(arena))?;
    for (word, parts) in [("types   ", &detail.types), ("fields  ", &detail.fields)] {
        if !parts.is_empty() {
            page.wrap(Style::Faint, &format!("{INDENT}{word}"), &largest(parts))?;
        }
    }
    if detail.unscoped.total_bytes > 0 {
        page.wrap(
            Style::Warning,
            "  ! ",
            &format!(
                "{} of these were handed out in places that nothing tells: the recording had no room.",
                Bytes(detail.unscoped.total_bytes)
            ),
        )?;
    }
    for advice in &detail.advice {
        page.wrap(Style::Strong, "  -> ", &advice.text)?;
    }
    for leak in &detail.leaks {
        page.wrap(Style::Warning, "  ! ", &leak_text(profile, leak))?;
    }
    Ok(())
}

/// The bar and the parts it is made of; of an arena without live instances what the last one was.
fn write_chunks<W: Write>(page: &mut Page<'_, W>, arena: &Arena) -> io::Result<()> {
    if arena.chunk_bytes == 0 {
        let mut text = format!(
            "allocated_bytes 0 now; at most {} at once, {} in one instance",
            Bytes(arena.most_chunk_bytes),
            Bytes(arena.most_instance_bytes)
        );
        if let Some(last) = last_full(arena) {
            text.push_str(&format!(
                "; the last used {} of {} ({})",
                Bytes(last.used_bytes),
                Bytes(last.chunk_bytes),
                Share::of(last.used_bytes, last.chunk_bytes)
            ));
        }
        return page.wrap(Style::Faint, INDENT, &text);
    }
    let cells = BAR.min(page.width.saturating_sub(INDENT.len() + 2));
    let cells: String = bar(arena, cells)
        .iter()
        .flat_map(|&(part, cells)| std::iter::repeat_n(part.mark(), cells))
        .collect();
    page.line(Style::Strong, &format!("{INDENT}[{cells}]"))?;
    let parts: Vec<String> = Part::ALL
        .iter()
        .filter(|part| part.of(arena) > 0)
        .map(|part| {
            let bytes = part.of(arena);
            let share = Share::of(bytes, arena.chunk_bytes);
            format!("{} {} ({share})", part.name(), Bytes(bytes))
        })
        .collect();
    page.wrap(
        Style::Faint,
        INDENT,
        &format!(
            "allocated_bytes {} in {}: {}",
            Bytes(arena.chunk_bytes),
            counted(arena.chunks, "chunk"),
            parts.join(", ")
        ),
    )?;
    page.wrap(
        Style::Faint,
        INDENT,
        &format!(
            "{} with metadata; at most {} at once, {} in one instance, {} of it used",
            Bytes(arena.chunk_bytes_with_metadata),
            Bytes(arena.most_chunk_bytes),
            Bytes(arena.most_instance_bytes),
            Bytes(arena.most_used_bytes)
        ),
    )
}

/// `handed out 5.7 MiB in 177,000 pieces, from 15 chunks of 6.1 MiB; 9,000 grows: 4,400 in place, 1.1 MiB copied by ..`
fn ever(arena: &Arena) -> String {
    let mut text = format!(
        "in all {} handed out in {}, from {} of {}",
        Bytes(arena.total_handed_bytes),
        counted(arena.total_handed_blocks, "piece"),
        counted(arena.total_chunks, "chunk"),
        Bytes(arena.total_chunk_bytes),
    );
    if arena.grows > 0 {
        text.push_str(&format!(
            "; {}: {} in place, {} copied by the others",
            counted(arena.grows, "grow"),
            Count(arena.grows_in_place),
            Bytes(arena.copied_bytes)
        ));
    }
    if arena.resets > 0 {
        text.push_str(&format!("; {}", counted(arena.resets, "reset")));
    }
    if arena.limit_reached > 0 {
        text.push_str(&format!(
            "; limit reached {}",
            counted(arena.limit_reached, "time")
        ));
    }
    text
}

/// `Vec<Citizen> 4.4 MiB, &str 984.4 KiB, 2 more`
fn largest(parts: &[ArenaPart]) -> String {
    let mut named: Vec<String> = parts
        .iter()
        .take(PARTS)
        .map(|part| {
            let (total, past) = (part.handed.total_bytes, part.handed.past_bytes);
            let bytes = match (total, past) {
                (_, 0) => Bytes(total).to_string(),
                (0, _) => format!("{} past the handle", Bytes(past)),
                _ => format!("{} (and {} past the handle)", Bytes(total), Bytes(past)),
            };
            format!("{} {bytes}", printable(&part.key))
        })
        .collect();
    if parts.len() > PARTS {
        named.push(format!("{} more", parts.len() - PARTS));
    }
    named.join(", ")
}

fn leak_text(profile: &Profile, leak: &ArenaLeak) -> String {
    let site = profile.sites.get(leak.leak.site);
    match site.and_then(|site| site.owner) {
        Some(frame) => format!("{}. Site: {}", leak.text, printable(&place(profile, frame))),
        None => format!("{}.", leak.text),
    }
}
