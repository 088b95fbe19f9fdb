//! The history of an arena: the allocated bytes of its live instances over time and, as far as it
//! was read, the part in use.

use heapglass_profiler::arenas::Point;
use heapglass_profiler::profile::Arena;
use heapglass_profiler::table::Heading;
use heapglass_profiler::units::Nanos;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::text::width;
use crate::theme;
use crate::widgets::chart::{self, scaled};
use crate::widgets::{columns, last_columns, split, write};

/// Draws the history into `area`, with the time axis in the last line. `end_ns` is the end of the
/// recording.
pub(super) fn render(
    arena: &Arena,
    points: &[Point],
    end_ns: u64,
    area: Rect,
    buffer: &mut Buffer,
) {
    if !chart::fits(area) || points.is_empty() {
        return;
    }
    let [plot, axis] = split(area, [area.height - 1, 1]);
    let axis = chart::beside_axis(axis);
    let last = points.iter().map(|point| point.time_ns).max().unwrap_or(0);
    let end = end_ns.max(last).max(1);
    let history = history(arena, points, end, axis.width as usize);
    let top = history.iter().map(|(chunks, _)| *chunks).max().unwrap_or(0);
    let plot = chart::axis(top, false, plot, buffer);
    for (at, (chunks, used)) in (0..).zip(history) {
        // A value above 0 never disappears.
        let is_something = usize::from(chunks > 0);
        let held = scaled(chunks, top, plot.height as usize).max(is_something);
        let above = |row| (row < held).then(|| ("░", theme::dim()));
        chart::column((used, top), above, columns(plot, at, 1), buffer);
    }
    let text = format!("0   █ occupied   ░ {}", Heading::ALLOCATED_BYTES.title());
    write(buffer, axis, &text, theme::dim());
    let text = Nanos(end).to_string();
    let right = last_columns(axis, width(&text) as u16);
    write(buffer, right, &text, theme::dim());
}

/// Returns allocated bytes and bytes in use, the largest of each stretch of time.
fn history(arena: &Arena, points: &[Point], end: u64, cells: usize) -> Vec<(u64, u64)> {
    let points = points
        .iter()
        .map(|point| (point.time_ns, point.allocated_bytes, point.occupied_bytes));
    // The state at the end is known independently of the history.
    let figures = &arena.figures;
    let used = figures
        .allocated_bytes
        .saturating_sub(figures.unused_tail_bytes);
    let points = points
        .chain([(end, figures.allocated_bytes, used)])
        .map(|(time_ns, chunks, used)| (time_ns, [Some(chunks), Some(used)]));
    let stretches = chart::stretches(points, (end, cells), true).into_iter();
    let known = stretches.map(|values| values.map(Option::unwrap_or_default));
    known.map(|[chunks, used]| (chunks, used)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use heapglass_profiler::profile::ArenaValue;

    fn point(time_ns: u64, allocated_bytes: u64, occupied_bytes: u64) -> Point {
        heapglass_fixture::made!(Point {
            time_ns,
            allocated_bytes,
            occupied_bytes,
        })
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
            history(&arena, &points, 99, 5),
            [(64, 0), (64, 0), (64, 60), (0, 0), (0, 0)]
        );
    }

    #[test]
    fn the_end_is_what_the_arena_says_it_is() {
        let arena = heapglass_fixture::made!(Arena {
            figures: ArenaValue {
                allocated_bytes: 100,
                unused_tail_bytes: 25,
                ..ArenaValue::default()
            },
        });
        assert_eq!(
            history(&arena, &[point(0, 100, 0)], 9, 2),
            [(100, 0), (100, 75)]
        );
    }

    #[test]
    fn absurd_times_stay_on_the_axis() {
        let points = [point(u64::MAX, u64::MAX, u64::MAX)];
        let drawn = history(&Arena::default(), &points, u64::MAX, 3);
        assert_eq!(drawn.len(), 3);
    }
}
