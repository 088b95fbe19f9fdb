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

/// The time axis: its ends, the peak, and the marks by name where they cover neither. The time of the end gives way to
/// a peak that stands where it would be.
fn times(profile: &Profile, end: u64, area: Rect, buffer: &mut Buffer) {
    let cells = area.width as usize;
    let at = |x: usize, width: usize| Rect {
        x: area.x + x as u16,
        width: width.min(cells.saturating_sub(x)) as u16,
        ..area
    };
    let peak = column_of(profile.capture.peak_time_ns, end, cells);
    let last = Nanos(end).to_string();
    let wide = width(&last);
    let stop = match cells.saturating_sub(wide) {
        from if peak >= from => peak.saturating_sub(wide + 1),
        from => from,
    };
    write(buffer, at(0, 1), "0", theme::dim());
    write(buffer, at(stop, wide), &last, theme::dim());
    let mut free = 0;
    for mark in &profile.marks {
        let mut x = column_of(mark.time_ns, end, cells);
        // The peak keeps its place: a mark of the same moment stands behind it.
        x += usize::from(x == peak);
        let room = match peak.min(stop) {
            until if x < until => until - x,
            _ => stop.saturating_sub(x + 1),
        };
        if x < free || room == 0 {
            continue;
        }
        let name = clean(&mark.name);
        let text = fit(&name, 14.min(room - 1)).into_owned();
        write(buffer, at(x, 1), "│", theme::key());
        write(buffer, at(x + 1, room - 1), &text, theme::plain());
        free = x + 2 + width(&text);
    }
    write(buffer, at(peak, 1), "▲", theme::strong());
}

#[cfg(test)]
mod tests {
    use super::*;
    use heapglass_profiler::profile::{Mark, TimelinePoint};

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

    /// The axis of a program of 100 ns that has its peak at one moment and marks at others.
    fn axis_of(peak_time_ns: u64, marks: &[(u64, &str)], cells: u16) -> String {
        let mut profile = Profile::default();
        profile.capture.peak_time_ns = peak_time_ns;
        profile.marks = marks
            .iter()
            .map(|(time_ns, name)| Mark {
                time_ns: *time_ns,
                name: (*name).to_owned(),
                ..Mark::default()
            })
            .collect();
        let area = Rect::new(0, 0, cells, 1);
        let mut buffer = Buffer::empty(area);
        times(&profile, 100, area, &mut buffer);
        let text: String = buffer.content().iter().map(|cell| cell.symbol()).collect();
        text.trim_end().to_owned()
    }

    #[test]
    fn the_peak_covers_neither_the_time_nor_a_mark() {
        let marks = [(0, "load"), (50, "a long name of a mark")];
        let axis = "│load              │a …▲          100 ns";
        assert_eq!(axis_of(60, &marks, 40), axis);
        assert_eq!(
            axis_of(99, &[], 40),
            "0                               100 ns ▲"
        );
        assert_eq!(
            axis_of(97, &[], 40),
            "0                              100 ns ▲"
        );
    }

    #[test]
    fn the_first_mark_has_its_label_and_one_at_the_peak_stands_behind_it() {
        assert_eq!(axis_of(50, &[(1, "load")], 20), "│load    ▲    100 ns");
        assert_eq!(axis_of(50, &[(50, "use")], 20), "0        ▲│u… 100 ns");
    }
}
