//! Draws the table of threads.

use heapglass_profiler::diff::Identity;
use heapglass_profiler::profile::Thread;
use heapglass_profiler::report::By;
use heapglass_profiler::units::Share;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::Threads;
use crate::model::Context;
use crate::text::clean;
use crate::theme;
use crate::widgets::{Table, bytes, count, slice, write};

/// Lines around the rows: the heading and the note.
pub(super) const AROUND: u16 = 2;

const NOTE: &str =
    "A block freed by another thread is subtracted there: live and peak stop at 0 for each thread.";

pub(super) fn render(view: &Threads, cx: &Context<'_>, area: Rect, buffer: &mut Buffer) {
    let wide = area.width >= 100;
    let value = |thread: &&Thread| cx.measure.of(&thread.figures);
    let table = Table::new()
        .right("share", 7, |row| {
            Share::of(value(row), cx.whole()).to_string()
        })
        .right(cx.measure.name(), 12, |row| cx.measure.amount(value(row)))
        .change(cx, By::Thread, "change", |row: &&Thread| {
            Some(Identity::named(row.key()))
        })
        .right("blocks", 12, |row| count(cx.measure.blocks(&row.figures).0))
        .right_if(wide, "peak", 10, |row| bytes(row.figures.peak_bytes))
        .right_if(wide, "live", 10, |row| bytes(row.figures.live_bytes))
        .right_if(wide, "total", 10, |row| bytes(row.figures.total_bytes))
        .right_if(wide, "temporary", 10, |row| {
            bytes(row.figures.temporary_bytes)
        })
        .right("count", 6, |row| count(row.count))
        .left("thread", 0, |row, _| {
            (clean(row.key()).into_owned(), theme::plain())
        });
    let all = &cx.data.profile.threads;
    let rows: Vec<&Thread> = view.order.iter().filter_map(|at| all.get(*at)).collect();
    let none = rows.is_empty();
    // The last line is the note's.
    let lines = if none {
        area.height
    } else {
        area.height.saturating_sub(1)
    };
    table.render(
        slice(area, 0, lines.max(1)),
        buffer,
        rows.into_iter(),
        (view.cursor, theme::selected()),
        "no threads were recorded",
    );
    if none {
        return;
    }
    if area.height > AROUND {
        write(buffer, slice(area, area.height - 1, 1), NOTE, theme::dim());
    }
}
