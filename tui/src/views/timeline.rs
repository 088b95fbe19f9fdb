//! The timeline: live bytes as an area, resident bytes as a line, the phases that ended, and the
//! peak and the program's marks on the time axis.

use heapglass_profiler::profile::{PhaseSpan, Profile};
use heapglass_profiler::units::{Bytes, Nanos};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::model::{Context, Data};
use crate::text::{clean, fit, width};
use crate::theme;
use crate::widgets::chart::{self, Values, column_of, scaled};
use crate::widgets::{columns, right_of, split, write};

/// The additions of a view to the timeline.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Overlay {
    /// The moment that the mouse is at, in nanoseconds after the start.
    pub(super) moment: Option<u64>,
    /// The moment of the cursor.
    pub(super) cursor: Option<u64>,
    /// The moment that others are compared with.
    pub(super) anchor: Option<u64>,
    /// `true` to draw phases.
    pub(super) has_phases: bool,
}

/// Returns the height of the timeline above the rows of a view.
pub(super) fn height(cx: &Context<'_>, area: Rect) -> u16 {
    match area.height {
        _ if cx.is_zoomed => 0,
        0..12 => 0,
        height => (height * 2 / 5).min(16),
    }
}

pub(super) fn render(data: &Data, overlay: Overlay, area: Rect, buffer: &mut Buffer) {
    if !chart::fits(area) {
        return;
    }
    let profile = &data.profile;
    if profile.timeline().is_empty() {
        return write(buffer, area, "no timeline was recorded", theme::dim());
    }
    let spans = if overlay.has_phases && area.height >= 5 {
        data.phase_spans()
    } else {
        &[]
    };
    let lane = u16::from(!spans.is_empty());
    let [top_line, plot, phases, axis] = split(area, [1, area.height - 2 - lane, lane, 1]);
    let moment = overlay.moment;
    let axis = chart::beside_axis(axis);
    let end = last_moment(profile);
    match moment {
        Some(moment) => reading(profile, moment, top_line, buffer),
        None => legend(profile, top_line, buffer),
    }
    let stretches = stretches(profile, end, axis.width as usize);
    let top = stretches
        .iter()
        .flatten()
        .flatten()
        .max()
        .copied()
        .unwrap_or(0)
        .max(1);
    let plot = chart::axis(top, true, plot, buffer);
    for (at, [live, resident]) in (0..).zip(stretches) {
        let rows = plot.height as usize;
        let line = resident.map(|resident| scaled(resident, top, rows).min(rows.saturating_sub(1)));
        let above = |row| (line == Some(row)).then(|| ("─", theme::resident()));
        let place = columns(plot, at, 1);
        chart::column((live.unwrap_or(0), top), above, place, buffer);
    }
    draw_phases(spans, end, chart::beside_axis(phases), buffer);
    if let Some(moment) = moment {
        let at = column_of(moment, end, axis.width as usize) as u16;
        for row in columns(plot, at, 1).rows() {
            buffer.set_style(row, theme::selected());
        }
    }
    times(profile, end, axis, buffer);
    let column = |time_ns| {
        let at = column_of(time_ns, end, axis.width as usize);
        columns(plot, at as u16, 1)
    };
    for (time_ns, line) in [(overlay.anchor, "│"), (overlay.cursor, "┃")] {
        if let Some(place) = time_ns.map(column) {
            for row in place.rows() {
                write(buffer, row, line, theme::key());
            }
            let below = Rect {
                y: axis.y,
                height: 1,
                ..place
            };
            buffer.set_style(below, theme::selected());
        }
    }
}

/// Draws the phases that ended: `├load───┤` from begin to end, `load┤` if only the end is known.
/// Those that would cover an earlier one are left out.
fn draw_phases(spans: &[PhaseSpan], end: u64, area: Rect, buffer: &mut Buffer) {
    let cells = area.width as usize;
    let mut free = 0;
    for span in spans {
        let last = column_of(span.end_ns, end, cells);
        let begin = span
            .begin_ns
            .map(|begin_ns| column_of(begin_ns, end, cells));
        let name = clean(&span.name);
        let first = begin.unwrap_or(last.saturating_sub(width(&name))).max(free);
        if last < first {
            continue;
        }
        let place = |from: usize, to: usize| columns(area, from as u16, (to - from) as u16);
        if begin == Some(first) && last > first {
            write(
                buffer,
                place(first, last),
                &"─".repeat(last - first),
                theme::dim(),
            );
            write(buffer, place(first, last), "├", theme::key());
            let room = (last - first).saturating_sub(1);
            write(
                buffer,
                place(first + 1, last),
                &fit(&name, room),
                theme::plain(),
            );
        } else {
            write(
                buffer,
                place(first, last),
                &fit(&name, last - first),
                theme::plain(),
            );
        }
        write(buffer, place(last, last + 1), "┤", theme::key());
        free = last + 1;
    }
}

/// Returns the moment at a position in the chart in `area`; `None` if the position is not in it.
pub(super) fn moment_at(profile: &Profile, area: Rect, at: Position) -> Option<u64> {
    let plot = chart::beside_axis(area);
    if !plot.contains(at) || !chart::fits(area) || profile.timeline().is_empty() {
        return None;
    }
    let end = u128::from(last_moment(profile)) + 1;
    // The first moment of the column.
    let moment = (u128::from(at.x - plot.x) * end).div_ceil(plot.width.into());
    u64::try_from(moment).ok()
}

/// Writes what was live and resident at a moment.
fn reading(profile: &Profile, moment: u64, area: Rect, buffer: &mut Buffer) {
    let known = profile
        .timeline()
        .iter()
        .filter(|point| point.time_ns <= moment);
    let text = match known.max_by_key(|point| point.time_ns) {
        None => format!("at {}: nothing was read before", Nanos(moment)),
        Some(point) => {
            let resident = match point.rss_bytes {
                0 => String::new(),
                bytes => format!(", {} resident", Bytes(bytes)),
            };
            let (when, live) = (Nanos(point.time_ns), Bytes(point.live_bytes));
            format!(
                "at {}: {live} live{resident}, read at {when}; Esc ends",
                Nanos(moment)
            )
        }
    };
    write(buffer, area, &text, theme::strong());
}

fn last_moment(profile: &Profile) -> u64 {
    let last = profile
        .timeline()
        .iter()
        .map(|point| point.time_ns)
        .max()
        .unwrap_or(0)
        .max(profile.process().duration_ns);
    last.max(profile.capture().peak_time_ns).max(1)
}

/// Returns live and resident bytes for each stretch of time.
fn stretches(profile: &Profile, end: u64, cells: usize) -> Vec<Values<2>> {
    let points = profile.timeline().iter().map(|point| {
        let resident = (point.rss_bytes > 0).then_some(point.rss_bytes);
        (point.time_ns, [Some(point.live_bytes), resident])
    });
    let mut stretches = chart::stretches(points, (end, cells), false);
    // The peak may lie between two points, but its value is known.
    let peak = column_of(profile.capture().peak_time_ns, end, cells);
    if let Some([live, _]) = stretches.get_mut(peak) {
        *live = (*live).max(Some(profile.totals().peak_bytes));
    }
    stretches
}

fn legend(profile: &Profile, area: Rect, buffer: &mut Buffer) {
    let mut rest = area;
    let mut part = |text: &str, style| {
        write(buffer, rest, text, style);
        rest = right_of(rest, width(text) as u16);
    };
    part("█", theme::bar());
    part(" live bytes   ", theme::plain());
    if profile.timeline().iter().any(|p| p.rss_bytes > 0) {
        part("─", theme::resident());
        part(" resident set (above live)   ", theme::plain());
    }
    part("▲", theme::strong());
    part(" peak", theme::plain());
    if !profile.marks().is_empty() {
        part("   │", theme::key());
        part(" marks", theme::plain());
    }
}

/// Draws the time axis: its ends, the peak, and the names of marks that cover neither. If the peak
/// is at the end, the time of the end moves left.
fn times(profile: &Profile, end: u64, area: Rect, buffer: &mut Buffer) {
    let cells = area.width as usize;
    let at = |x: usize, width: usize| columns(area, x as u16, width as u16);
    let peak = column_of(profile.capture().peak_time_ns, end, cells);
    let last = Nanos(end).to_string();
    let wide = width(&last);
    let stop = match cells.saturating_sub(wide) {
        from if peak >= from => peak.saturating_sub(wide + 1),
        from => from,
    };
    write(buffer, at(0, 1), "0", theme::dim());
    write(buffer, at(stop, wide), &last, theme::dim());
    let mut free = 0;
    for mark in profile.marks() {
        let mut x = column_of(mark.time_ns, end, cells);
        // The peak keeps its place, so draw a mark of the same moment after it.
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
    use heapglass_fixture as fixture;
    use heapglass_profiler::profile::{Mark, TimelinePoint};

    fn profile(points: &[(u64, u64)]) -> Profile {
        let timeline = points
            .iter()
            .map(|(time_ns, live_bytes)| {
                fixture::made!(TimelinePoint {
                    time_ns: *time_ns,
                    live_bytes: *live_bytes,
                })
            })
            .collect();
        fixture::filled(|parts| *parts.timeline = timeline)
    }

    #[test]
    fn a_column_shows_the_largest_value_of_its_stretch() {
        let columns = stretches(&profile(&[(0, 1), (4, 9), (5, 2), (9, 3)]), 9, 2);
        assert_eq!(
            columns.iter().map(|c| c[0]).collect::<Vec<_>>(),
            [Some(9), Some(3)]
        );
    }

    #[test]
    fn a_peak_between_two_points_is_drawn_all_the_same() {
        let mut profile = profile(&[(0, 1), (9, 1)]);
        profile.parts().capture.peak_time_ns = 5;
        profile.parts().totals.peak_bytes = 1_000;
        let columns = stretches(&profile, 9, 10);
        assert_eq!(columns[5][0], Some(1_000));
        assert_eq!(
            [columns[4][0], columns[6][0]],
            [Some(1), Some(1)],
            "around it the last point stands"
        );
    }

    #[test]
    fn absurd_times_stay_on_the_axis() {
        assert_eq!(column_of(u64::MAX, u64::MAX, 80), 79);
        assert_eq!(column_of(0, u64::MAX, 80), 0);
        assert_eq!(column_of(5, 1, 1), 0);
    }

    /// Draws the axis of a program of 100 ns with its peak at one moment and marks at others.
    fn axis_of(peak_time_ns: u64, marks: &[(u64, &str)], cells: u16) -> String {
        let mut profile = Profile::default();
        profile.parts().capture.peak_time_ns = peak_time_ns;
        *profile.parts().marks = marks
            .iter()
            .map(|(time_ns, name)| {
                fixture::made!(Mark {
                    time_ns: *time_ns,
                    name: (*name).to_owned(),
                })
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
