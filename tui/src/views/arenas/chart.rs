//! The history of an arena: the chunk bytes of its live instances over time, and what of them was in use, as far as
//! it was read. A column shows the largest values of its stretch of time.

use heapglass_profiler::arenas::Point;
use heapglass_profiler::profile::Arena;
use heapglass_profiler::units::{Bytes, Nanos};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::text::width;
use crate::theme;
use crate::widgets::{slice, write};

use super::render::ALLOCATED;

const AXIS: u16 = 11;

/// Draws the history into `area`, its last line the axis of time; `end_ns` is the end of the recording.
pub(super) fn render(
    arena: &Arena,
    points: &[Point],
    end_ns: u64,
    area: Rect,
    buffer: &mut Buffer,
) {
    if area.height < 3 || area.width < AXIS + 8 || points.is_empty() {
        return;
    }
    let last = points.iter().map(|point| point.time_ns).max().unwrap_or(0);
    let end = end_ns.max(last).max(1);
    let cells = (area.width - AXIS) as usize;
    let columns = columns(arena, points, end, cells);
    let top = columns.iter().map(|(chunks, _)| *chunks).max().unwrap_or(0);
    let plot = slice(area, 0, area.height - 1);
    let label = |value: u64| format!("{:>9} ", Bytes(value).to_string());
    write(buffer, slice(plot, 0, 1), &label(top), theme::dim());
    let ground = slice(plot, plot.height - 1, 1);
    write(buffer, ground, &label(0), theme::dim());
    for y in plot.y..plot.y + plot.height {
        buffer.set_string(area.x + AXIS - 1, y, "│", theme::dim());
    }
    for (at, (chunks, used)) in columns.iter().enumerate() {
        let x = area.x + AXIS + at as u16;
        draw(
            *chunks,
            *used,
            top.max(1),
            Rect {
                x,
                width: 1,
                ..plot
            },
            buffer,
        );
    }
    let axis = Rect {
        x: area.x + AXIS,
        width: area.width - AXIS,
        ..slice(area, area.height - 1, 1)
    };
    let axis_text = format!("0   █ in use   ░ {ALLOCATED}");
    write(buffer, axis, &axis_text, theme::dim());
    let text = Nanos(end).to_string();
    let from = axis.width.saturating_sub(width(&text) as u16);
    let right = Rect {
        x: axis.x + from,
        width: axis.width - from,
        ..axis
    };
    write(buffer, right, &text, theme::dim());
}

/// Chunk bytes and bytes in use, the largest of each stretch of time.
fn columns(arena: &Arena, points: &[Point], end: u64, cells: usize) -> Vec<(u64, u64)> {
    let mut most: Vec<Option<(u64, u64)>> = vec![None; cells];
    let mut last_of: Vec<Option<(u64, u64)>> = vec![None; cells];
    let mut put = |time_ns: u64, value: (u64, u64)| {
        let at = u128::from(time_ns.min(end)) * cells as u128 / (u128::from(end) + 1);
        if let (Some(most), Some(last)) = (most.get_mut(at as usize), last_of.get_mut(at as usize))
        {
            let (chunks, used) = most.unwrap_or_default();
            *most = Some((chunks.max(value.0), used.max(value.1)));
            *last = Some(value);
        }
    };
    for point in points {
        put(point.time_ns, (point.chunk_bytes, point.used_bytes));
    }
    // How it stood at the end is known apart from the history.
    let used = arena.chunk_bytes.saturating_sub(arena.tail_bytes);
    put(end, (arena.chunk_bytes, used));
    let mut before = (0, 0);
    most.into_iter()
        .zip(last_of)
        .map(|(most, last)| {
            // What stood when the stretch began belongs to it too.
            let drawn = most.map_or(before, |(chunks, used)| {
                (chunks.max(before.0), used.max(before.1))
            });
            before = last.unwrap_or(before);
            drawn
        })
        .collect()
}

fn draw(chunks: u64, used: u64, top: u64, area: Rect, buffer: &mut Buffer) {
    const EIGHTHS: [&str; 8] = [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇"];
    let rows = area.height as usize;
    let scaled = |value: u64, steps: usize| {
        let cells = (u128::from(value) * steps as u128 / u128::from(top)) as usize;
        // Something is never drawn as nothing.
        cells.max(usize::from(value > 0))
    };
    let (filled, held) = (scaled(used, rows * 8), scaled(chunks, rows));
    for row in 0..rows {
        // Rows are counted from the bottom.
        let y = area.y + (rows - 1 - row) as u16;
        match filled.saturating_sub(row * 8) {
            0 if row < held => buffer.set_string(area.x, y, "░", theme::dim()),
            0 => {}
            8.. => buffer.set_string(area.x, y, "█", theme::bar()),
            part => {
                let symbol = EIGHTHS.get(part).copied().unwrap_or(" ");
                buffer.set_string(area.x, y, symbol, theme::bar());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(time_ns: u64, chunk_bytes: u64, used_bytes: u64) -> Point {
        Point {
            time_ns,
            chunk_bytes,
            used_bytes,
        }
    }

    #[test]
    fn a_column_shows_the_largest_of_its_stretch_and_what_stood_before() {
        let points = [
            point(10, 0, 0),
            point(10, 64, 0),
            point(45, 64, 60),
            point(45, 0, 0),
        ];
        let arena = Arena::default();
        assert_eq!(
            columns(&arena, &points, 99, 5),
            [(64, 0), (64, 0), (64, 60), (0, 0), (0, 0)]
        );
    }

    #[test]
    fn the_end_is_what_the_arena_says_it_is() {
        let arena = Arena {
            chunk_bytes: 100,
            tail_bytes: 25,
            ..Arena::default()
        };
        assert_eq!(
            columns(&arena, &[point(0, 100, 0)], 9, 2),
            [(100, 0), (100, 75)]
        );
    }

    #[test]
    fn absurd_times_stay_on_the_axis() {
        let points = [point(u64::MAX, u64::MAX, u64::MAX)];
        let drawn = columns(&Arena::default(), &points, u64::MAX, 3);
        assert_eq!(drawn.len(), 3);
    }
}
