//! The timeline: live bytes as an area, resident bytes as a line, the peak and the program's marks along the time axis.
//! A column shows the largest value of its stretch of time, so the drawn maximum is never below the real one.

use heapglass_profiler::profile::Profile;
use heapglass_profiler::units::{Bytes, Nanos};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::model::Data;
use crate::text::{clean, fit, width};
use crate::theme;
use crate::widgets::{slice, write};

const AXIS: u16 = 11;

/// The values of one column; `None` where nothing was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Stretch {
    live: Option<u64>,
    resident: Option<u64>,
}

pub(super) fn render(data: &Data, area: Rect, buffer: &mut Buffer) {
    if area.height < 3 || area.width < AXIS + 8 {
        return;
    }
    let profile = &data.profile;
    if profile.timeline.is_empty() {
        write(
            buffer,
            slice(area, 0, 1),
            "no timeline was recorded",
            theme::dim(),
        );
        return;
    }
    let end = last_moment(profile);
    let columns = stretches(profile, end, (area.width - AXIS) as usize);
    let top = columns
        .iter()
        .flat_map(|c| [c.live, c.resident])
        .flatten()
        .max()
        .unwrap_or(0)
        .max(1);

    legend(profile, slice(area, 0, 1), buffer);
    let plot = slice(area, 1, area.height - 2);
    axis(top, plot, buffer);
    let plot = Rect {
        x: area.x + AXIS,
        width: area.width - AXIS,
        ..plot
    };
    for (at, column) in columns.iter().enumerate() {
        draw(
            *column,
            top,
            Rect {
                x: plot.x + at as u16,
                width: 1,
                ..plot
            },
            buffer,
        );
    }
    times(
        profile,
        end,
        Rect {
            x: plot.x,
            width: plot.width,
            ..slice(area, area.height - 1, 1)
        },
        buffer,
    );
}

fn last_moment(profile: &Profile) -> u64 {
    let last = profile
        .timeline
        .iter()
        .map(|p| p.time_ns)
        .max()
        .unwrap_or(0);
    last.max(profile.process.duration_ns)
        .max(profile.capture.peak_time_ns)
        .max(1)
}

/// Where a moment is among `cells` columns.
fn column_of(time_ns: u64, end: u64, cells: usize) -> usize {
    ((u128::from(time_ns.min(end)) * cells as u128 / (u128::from(end) + 1)) as usize)
        .min(cells.saturating_sub(1))
}

fn stretches(profile: &Profile, end: u64, cells: usize) -> Vec<Stretch> {
    let mut columns = vec![Stretch::default(); cells];
    // What the last look of each column said: it stands until the next look.
    let mut looks = vec![Stretch::default(); cells];
    for point in &profile.timeline {
        let at = column_of(point.time_ns, end, cells);
        let resident = (point.rss_bytes > 0).then_some(point.rss_bytes);
        if let (Some(column), Some(look)) = (columns.get_mut(at), looks.get_mut(at)) {
            column.live = column.live.max(Some(point.live_bytes));
            column.resident = column.resident.max(resident);
            *look = Stretch {
                live: Some(point.live_bytes),
                resident: resident.or(look.resident),
            };
        }
    }
    let mut last = Stretch::default();
    for (column, look) in columns.iter_mut().zip(looks) {
        column.live = column.live.or(last.live);
        column.resident = column.resident.or(last.resident);
        last = Stretch {
            live: look.live.or(last.live),
            resident: look.resident.or(last.resident),
        };
    }
    // The looks may have missed the very maximum; it is known all the same.
    if let Some(column) = columns.get_mut(column_of(profile.capture.peak_time_ns, end, cells)) {
        column.live = column.live.max(Some(profile.totals.peak_bytes));
    }
    columns
}

fn draw(column: Stretch, top: u64, area: Rect, buffer: &mut Buffer) {
    const EIGHTHS: [&str; 9] = [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];
    let rows = area.height as usize;
    let scaled =
        |value: u64, steps: usize| (u128::from(value) * steps as u128 / u128::from(top)) as usize;
    let mut filled = column.live.map_or(0, |live| scaled(live, rows * 8));
    if filled == 0 && column.live.is_some_and(|live| live > 0) {
        filled = 1;
    }
    let line = column
        .resident
        .map(|resident| scaled(resident, rows).min(rows.saturating_sub(1)));
    for row in 0..rows {
        // Rows are counted from the bottom.
        let y = area.y + (rows - 1 - row) as u16;
        let eighths = filled.saturating_sub(row * 8).min(8);
        let symbol = EIGHTHS.get(eighths).copied().unwrap_or(" ");
        buffer.set_string(area.x, y, symbol, theme::bar());
        if line == Some(row) && eighths == 0 {
            buffer.set_string(area.x, y, "─", theme::resident());
        }
    }
}

fn legend(profile: &Profile, area: Rect, buffer: &mut Buffer) {
    let mut x = area.x;
    let mut part = |text: &str, style| {
        let left = (area.x + area.width).saturating_sub(x);
        write(
            buffer,
            Rect {
                x,
                width: left,
                ..area
            },
            text,
            style,
        );
        x = x
            .saturating_add(width(text) as u16)
            .min(area.x + area.width);
    };
    part("█", theme::bar());
    part(" live bytes   ", theme::plain());
    if profile.timeline.iter().any(|p| p.rss_bytes > 0) {
        part("─", theme::resident());
        part(" resident set (above live)   ", theme::plain());
    }
    part("▲", theme::strong());
    part(" peak", theme::plain());
    if !profile.marks.is_empty() {
        part("   │", theme::key());
        part(" marks", theme::plain());
    }
}

fn axis(top: u64, area: Rect, buffer: &mut Buffer) {
    let label = |value: u64| format!("{:>9} ", Bytes(value).to_string());
    let axis = Rect {
        width: AXIS - 1,
        ..area
    };
    write(buffer, slice(axis, 0, 1), &label(top), theme::dim());
    if area.height >= 5 {
        write(
            buffer,
            slice(axis, area.height / 2, 1),
            &label(top / 2),
            theme::dim(),
        );
    }
    if area.height >= 2 {
        write(
            buffer,
            slice(axis, area.height - 1, 1),
            &label(0),
            theme::dim(),
        );
    }
    for row in area.rows() {
        write(
            buffer,
            Rect {
                x: row.x + AXIS - 1,
                width: 1,
                ..row
            },
            "│",
            theme::dim(),
        );
    }
}

/// The time axis: its ends, the marks by name where they do not cover each other, the peak over all.
fn times(profile: &Profile, end: u64, area: Rect, buffer: &mut Buffer) {
    let last = Nanos(end).to_string();
    write(buffer, area, "0", theme::dim());
    let from = area.width.saturating_sub(width(&last) as u16);
    write(
        buffer,
        Rect {
            x: area.x + from,
            width: area.width - from,
            ..area
        },
        &last,
        theme::dim(),
    );
    let mut free = area.x + 2;
    let stop = area.x + from;
    for mark in &profile.marks {
        let x = area.x + column_of(mark.time_ns, end, area.width as usize) as u16;
        if x < free || x + 1 >= stop {
            continue;
        }
        let name = clean(&mark.name);
        let text = fit(&name, 14).into_owned();
        write(
            buffer,
            Rect {
                x,
                width: 1,
                ..area
            },
            "│",
            theme::key(),
        );
        write(
            buffer,
            Rect {
                x: x + 1,
                width: (stop - x - 1).min(14),
                ..area
            },
            &text,
            theme::plain(),
        );
        free = x + 2 + width(&text) as u16;
    }
    let x = area.x + column_of(profile.capture.peak_time_ns, end, area.width as usize) as u16;
    write(
        buffer,
        Rect {
            x,
            width: 1,
            ..area
        },
        "▲",
        theme::strong(),
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use heapglass_profiler::profile::TimelinePoint;

    fn profile(points: &[(u64, u64)]) -> Profile {
        let timeline = points
            .iter()
            .map(|(time_ns, live_bytes)| TimelinePoint {
                time_ns: *time_ns,
                live_bytes: *live_bytes,
                ..TimelinePoint::default()
            })
            .collect();
        Profile {
            timeline,
            ..Profile::default()
        }
    }

    #[test]
    fn a_column_shows_the_largest_value_of_its_stretch() {
        let columns = stretches(&profile(&[(0, 1), (4, 9), (5, 2), (9, 3)]), 9, 2);
        assert_eq!(
            columns.iter().map(|c| c.live).collect::<Vec<_>>(),
            [Some(9), Some(3)]
        );
    }

    #[test]
    fn a_peak_between_two_looks_is_drawn_all_the_same() {
        let mut profile = profile(&[(0, 1), (9, 1)]);
        profile.capture.peak_time_ns = 5;
        profile.totals.peak_bytes = 1_000;
        let columns = stretches(&profile, 9, 10);
        assert_eq!(columns[5].live, Some(1_000));
        assert_eq!(
            [columns[4].live, columns[6].live],
            [Some(1), Some(1)],
            "around it the last look stands"
        );
    }

    #[test]
    fn absurd_times_stay_on_the_axis() {
        assert_eq!(column_of(u64::MAX, u64::MAX, 80), 79);
        assert_eq!(column_of(0, u64::MAX, 80), 0);
        assert_eq!(column_of(5, 1, 1), 0);
    }
}
