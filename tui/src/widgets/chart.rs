//! A chart over time: an axis of bytes on the left, and one column per stretch of time. A column
//! shows the largest values of its stretch, so the drawn maximum is never below the real one.

use heapglass_profiler::units::Bytes;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::area::{columns, right_of, slice};
use super::write;
use crate::theme;

/// Width of the axis of bytes.
const AXIS: u16 = 11;

/// Returns `true` if a chart fits into `area`.
pub(crate) fn fits(area: Rect) -> bool {
    area.height >= 3 && area.width >= AXIS + 8
}

/// Returns the part of `area` to the right of the axis of bytes.
pub(crate) fn beside_axis(area: Rect) -> Rect {
    right_of(area, AXIS)
}

/// Draws the axis of bytes from `top` down to 0, with `top / 2` in the middle if `has_middle` and
/// the area is high enough. Returns the area of the plot next to it.
pub(crate) fn axis(top: u64, has_middle: bool, area: Rect, buffer: &mut Buffer) -> Rect {
    let mut label = |row: u16, value: u64| {
        let text = format!("{:>9} ", Bytes(value).to_string());
        let place = columns(slice(area, row, 1), 0, AXIS - 1);
        write(buffer, place, &text, theme::dim());
    };
    label(0, top);
    if has_middle && area.height >= 5 {
        label(area.height / 2, top / 2);
    }
    if area.height >= 2 {
        label(area.height - 1, 0);
    }
    for row in columns(area, AXIS - 1, 1).rows() {
        write(buffer, row, "│", theme::dim());
    }
    beside_axis(area)
}

/// Returns the column of a moment among `cells` columns.
pub(crate) fn column_of(time_ns: u64, end: u64, cells: usize) -> usize {
    let at = u128::from(time_ns.min(end)) * cells as u128 / (u128::from(end) + 1);
    (at as usize).min(cells.saturating_sub(1))
}

/// `N` values at one moment; `None` for values that were not read.
pub(crate) type Values<const N: usize> = [Option<u64>; N];

/// Returns the largest values in each of `cells` stretches of time. A value is valid until the next
/// one of its kind. With `standing`, the value at the start of a stretch belongs to the stretch;
/// else it is used only if the stretch has no value of its own.
pub(crate) fn stretches<const N: usize>(
    points: impl Iterator<Item = (u64, Values<N>)>,
    (end, cells): (u64, usize),
    standing: bool,
) -> Vec<Values<N>> {
    let mut most = vec![[None; N]; cells];
    let mut last = most.clone();
    for (time_ns, values) in points {
        let at = column_of(time_ns, end, cells);
        if let (Some(most), Some(last)) = (most.get_mut(at), last.get_mut(at)) {
            for ((most, last), value) in most.iter_mut().zip(last).zip(values) {
                *most = (*most).max(value);
                *last = value.or(*last);
            }
        }
    }
    let mut before = [None; N];
    for (most, last) in most.iter_mut().zip(last) {
        for ((most, last), before) in most.iter_mut().zip(last).zip(&mut before) {
            if standing || most.is_none() {
                *most = (*most).max(*before);
            }
            *before = last.or(*before);
        }
    }
    most
}

/// Scales `value` of `top` to steps.
pub(crate) fn scaled(value: u64, top: u64, steps: usize) -> usize {
    (u128::from(value) * steps as u128 / u128::from(top.max(1))) as usize
}

/// Draws one column: `filled` of `top` as an area, in eighths of a cell. `above` returns the
/// content of the rows above it, which are counted from the bottom.
pub(crate) fn column(
    (filled, top): (u64, u64),
    above: impl Fn(usize) -> Option<(&'static str, Style)>,
    area: Rect,
    buffer: &mut Buffer,
) {
    const EIGHTHS: [&str; 9] = ["", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];
    let is_something = usize::from(filled > 0);
    let filled = scaled(filled, top, area.height as usize * 8).max(is_something);
    for (row, place) in area.rows().rev().enumerate() {
        let eighths = filled.saturating_sub(row * 8).min(8);
        let drawn = match EIGHTHS.get(eighths) {
            Some(symbol) if eighths > 0 => Some((*symbol, theme::bar())),
            _ => above(row),
        };
        if let Some((symbol, style)) = drawn {
            write(buffer, place, symbol, style);
        }
    }
}
