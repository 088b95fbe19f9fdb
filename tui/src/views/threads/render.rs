//! Draws the table of threads.

use heapglass_profiler::units::Share;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::Threads;
use crate::text::{clean, figure};
use crate::theme;
use crate::views::Context;
use crate::views::parts::{
    Column, blocks, bytes, count, headings, measure_heading, slice, stretch, table_row, write,
};

/// Lines around the rows: the heading and the note.
pub(super) const AROUND: u16 = 2;

const NOTE: &str =
    "A block freed by another thread is subtracted there: live and peak stop at 0 for each thread.";

pub(super) fn render(view: &Threads, cx: &Context<'_>, area: Rect, buffer: &mut Buffer) {
    let mut columns = vec![
        Column::right("share", 7),
        Column::right(measure_heading(cx.measure), 12),
        Column::right("blocks", 12),
    ];
    if area.width >= 100 {
        columns.extend([
            Column::right("peak", 10),
            Column::right("live", 10),
            Column::right("total", 10),
            Column::right("temporary", 10),
        ]);
    }
    columns.extend([Column::right("count", 6), Column::left("thread", 0)]);
    stretch(&mut columns, area.width as usize);
    headings(buffer, area, &columns);

    let data = cx.data;
    if view.order.is_empty() {
        write(
            buffer,
            slice(area, 1, 1),
            "no threads were recorded",
            theme::dim(),
        );
        return;
    }
    let rows = area.height.saturating_sub(AROUND);
    for (at, index) in view
        .order
        .iter()
        .enumerate()
        .skip(view.cursor.top)
        .take(rows as usize)
    {
        let Some(thread) = data.profile.threads.get(*index) else {
            continue;
        };
        let value = cx.measure.of(&thread.figures);
        let style = if at == view.cursor.selected {
            theme::selected()
        } else {
            theme::plain()
        };
        let mut cells = vec![
            Share::of(value, cx.whole()).to_string(),
            figure(cx.measure, value),
            count(blocks(cx.measure, &thread.figures).0),
        ];
        if area.width >= 100 {
            let f = &thread.figures;
            cells.extend([f.peak_bytes, f.live_bytes, f.total_bytes, f.temporary_bytes].map(bytes));
        }
        cells.extend([count(thread.count), clean(&thread.name).into_owned()]);
        let row = slice(area, 1 + (at - view.cursor.top) as u16, 1);
        table_row(
            buffer,
            row,
            &columns,
            cells.into_iter().map(|c| (c.into(), theme::plain())),
            style,
        );
    }
    if area.height > AROUND {
        write(buffer, slice(area, area.height - 1, 1), NOTE, theme::dim());
    }
}
