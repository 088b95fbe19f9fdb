//! The first lines: the program, the mode, its state, the losses, and the tabs. Figures have their
//! error bounds.

use std::borrow::Cow;
use std::ops::Range;

use heapglass_profiler::diff::Verdict;
use heapglass_profiler::profile::{Measure, NO_STACKS, State};
use heapglass_profiler::table::By;
use heapglass_profiler::units::{Bytes, counted};
use ratatui::buffer::Buffer;
use ratatui::layout::{Alignment, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use crate::app::App;
use crate::model::{Command, Context, Data, ViewId};
use crate::text::{clean, fit, fit_end, width};
use crate::theme;
use crate::widgets::{change, noun, slice, some, write};

/// Draws as many lines as `area` has, at most two.
pub(crate) fn render(app: &App, data: &Data, area: Rect, buffer: &mut Buffer) {
    title(app, data, slice(area, 0, 1), buffer);
    tabs(app, data, slice(area, 1, 1), buffer);
}

fn title(app: &App, data: &Data, area: Rect, buffer: &mut Buffer) {
    let process = data.profile.process();
    let capture = data.profile.capture();
    let status = status(app, data);
    let room = (area.width as usize).saturating_sub(status.width() + 1);
    let program = match process.program.as_str() {
        "" => &app.title,
        program => program,
    };
    let title = if program == app.title { "" } else { &app.title };
    let state = match process.state {
        State::Running | State::Finished | State::Merged => theme::plain(),
        _ => theme::warning(),
    };
    let parts: [(Cow<'_, str>, Style); 7] = [
        (clean(program), theme::strong()),
        (data.state().into(), state),
        (how_long(data), theme::plain()),
        (clean(&capture.mode), theme::plain()),
        (stacks(data), theme::plain()),
        (
            some(process.pid.into(), |pid| format!("pid {pid}")).into(),
            theme::dim(),
        ),
        (clean(title), theme::dim()),
    ];
    let mut line = Line::default();
    for (text, style) in parts.into_iter().filter(|(text, _)| !text.is_empty()) {
        let is_first = line.spans.is_empty();
        let separator = if is_first { "" } else { " · " };
        let left = room.saturating_sub(line.width() + width(separator));
        // Omit a part that does not fit, but always show something of the program's name.
        if width(&text) > left && !is_first {
            break;
        }
        line.push_span(Span::styled(separator, theme::dim()));
        line.push_span(Span::styled(fit(&text, left).into_owned(), style));
    }
    line.render(area, buffer);
    status.alignment(Alignment::Right).render(area, buffer);
}

/// Returns the duration of the recording, or the architecture if there is no clock.
fn how_long(data: &Data) -> Cow<'_, str> {
    let capture = data.profile.capture();
    match capture.linear_memory {
        Some(_) => clean(&capture.architecture),
        None => Cow::Owned(data.duration()),
    }
}

/// Returns the unwinder, or a note that there are no stacks.
fn stacks(data: &Data) -> Cow<'_, str> {
    let capture = data.profile.capture();
    if capture.has_stacks() {
        clean(&capture.unwinder)
    } else {
        Cow::Borrowed(NO_STACKS)
    }
}

/// Returns the state of the loader, for the right side.
fn status(app: &App, data: &Data) -> Line<'static> {
    if data.is_early {
        let doing = app.progress.as_deref().unwrap_or("reading symbols");
        return Line::styled(clean(doing).into_owned(), theme::warning());
    }
    if data.is_computing() {
        Line::styled("computing", theme::warning())
    } else if app.paused {
        Line::styled("PAUSED", theme::warning())
    } else if app.trouble.is_some() {
        Line::styled("not refreshed", theme::error())
    } else if app.live {
        Line::styled("LIVE", theme::live())
    } else {
        Line::default()
    }
}

/// Returns the command for a click in the line of tabs: the view of the tab, or the list of
/// measures.
pub(super) fn command_at(app: &App, data: &Data, cells: u16, column: u16) -> Option<Command> {
    let (tabs, right) = tab_texts(app, data, cells.into());
    let right = right.map_or(0, |text| width(&text) + 2);
    if usize::from(column) >= usize::from(cells).saturating_sub(right) {
        return Some(Command::Measures);
    }
    let mut end = 0;
    let (view, _) = tabs.into_iter().find(|(_, span)| {
        end += span.width();
        usize::from(column) < end
    })?;
    Some(Command::Show(view))
}

fn tabs(app: &App, data: &Data, area: Rect, buffer: &mut Buffer) {
    let (tabs, right) = tab_texts(app, data, area.width.into());
    let spans = tabs.into_iter().map(|(_, span)| span);
    spans.collect::<Line<'_>>().render(area, buffer);
    if let Some(text) = right {
        let line = Line::from(vec![
            Span::styled("m ", theme::key()),
            Span::styled(text, theme::heading()),
        ]);
        line.alignment(Alignment::Right).render(area, buffer);
    }
}

/// The parts of the line of tabs, each with the view that a click on it shows.
type Tabs = Vec<(ViewId, Span<'static>)>;

fn width_of(tabs: &Tabs) -> usize {
    tabs.iter().map(|(_, span)| span.width()).sum()
}

/// Returns the tabs, and the measure to their right if it fits.
fn tab_texts(app: &App, data: &Data, cells: usize) -> (Tabs, Option<String>) {
    /// Below this width, tabs matter more than the figure.
    const NARROW: usize = 60;
    let measures = measure(app, data);
    let fits = |tabs: &Tabs, text: &String| width_of(tabs) + 3 + width(text) <= cells;
    let shows_figure = |tabs: &Tabs| measures.iter().take(2).any(|text| fits(tabs, text));
    // Prefer shorter tabs, and then fewer, to a measure without its figure or bound.
    let all = 0..ViewId::ALL.len();
    let whole = [false, true].map(|is_tight| some_tabs(app, is_tight, all.clone()));
    let tabs = whole.into_iter().find(shows_figure).unwrap_or_else(|| {
        let figure = measures.get(1).map_or(0, |text| width(text) + 3);
        let figure = if cells < NARROW { 0 } else { figure };
        fitting_tabs(app, cells.saturating_sub(figure))
    });
    let right = measures.into_iter().find(|text| fits(&tabs, text));
    (tabs, right)
}

/// Returns the tab of the current view with as many neighbours as fit into `room`.
fn fitting_tabs(app: &App, room: usize) -> Tabs {
    let current = app.view.index();
    let mut shown = current..current + 1;
    let mut tabs = some_tabs(app, true, shown.clone());
    // Grow to the left first, so that the first tabs stay in place.
    loop {
        let wider = [
            shown.start.saturating_sub(1)..shown.end,
            shown.start..(shown.end + 1).min(ViewId::ALL.len()),
        ];
        let mut wider = wider.into_iter().filter(|wider| *wider != shown);
        let fitting = wider.find_map(|wider| {
            let tabs = some_tabs(app, true, wider.clone());
            (width_of(&tabs) <= room).then_some((wider, tabs))
        });
        let Some((wider, longer)) = fitting else {
            return tabs;
        };
        (shown, tabs) = (wider, longer);
    }
}

/// Returns the tabs of some views, with `‹` and `›` for those that are left out.
fn some_tabs(app: &App, is_tight: bool, shown: Range<usize>) -> Tabs {
    let mark = |at: usize, text| Some((*ViewId::ALL.get(at)?, Span::styled(text, theme::dim())));
    let before = shown.start.checked_sub(1);
    let mut tabs: Tabs = before.and_then(|at| mark(at, "‹ ")).into_iter().collect();
    let views = ViewId::ALL.get(shown.clone()).unwrap_or_default().iter();
    for (at, view) in views.enumerate() {
        let style = if *view == app.view {
            theme::selected()
        } else {
            theme::plain()
        };
        let text = if is_tight {
            format!("{} {}", view.key(), view.short_title())
        } else {
            format!(" {} {} ", view.key(), view.title())
        };
        let gap = if is_tight && at > 0 { " " } else { "" };
        tabs.push((*view, Span::raw(gap)));
        tabs.push((*view, Span::styled(text, style)));
    }
    tabs.extend(mark(shown.end, " ›"));
    tabs
}

/// Returns the measure with its total, from long to short.
fn measure(app: &App, data: &Data) -> [String; 4] {
    let profile = &data.profile;
    let mark = data.mark(app.measure);
    let figure = app.measure.amount(profile.total_of(app.measure));
    let figure = format!("{mark}{figure}");
    let exactness = exactness(app.measure, data);
    let state = profile.process().state;
    let (title, name) = (app.measure.title_in(state), app.measure.name_in(state));
    [
        format!("{title}: {figure}{exactness}"),
        format!("{name} {figure}{exactness}"),
        format!("{name} {figure}"),
        name.to_owned(),
    ]
}

/// Returns `(exact)` or the error bound of the peak, the interval of an estimate, and nothing for
/// other measures.
fn exactness(measure: Measure, data: &Data) -> String {
    let profile = &data.profile;
    if !profile.counts_exactly(measure) && measure.is_bytes() {
        let interval = measure.interval(profile.totals());
        return interval.map_or_else(String::new, |interval| {
            format!(" ({})", measure.ends(interval))
        });
    }
    match (measure, profile.capture().peak_error_bytes) {
        _ if !profile.process().state.is_recorded() => String::new(),
        (Measure::Peak, 0) => " (exact)".to_owned(),
        (Measure::Peak, bound) => format!(" (within {})", Bytes(bound)),
        _ => String::new(),
    }
}

/// Minimum number of cells for the path of the base.
const NAME: usize = 12;

/// Draws one line: the base, its total in the measure, and the rows that only the base has.
pub(crate) fn render_base(cx: &Context<'_>, by: Option<By>, area: Rect, buffer: &mut Buffer) {
    let (Some(base), Some(changed)) = (&cx.data.base, cx.data.change(cx.measure)) else {
        return;
    };
    let measure = cx.measure;
    let before = measure.amount(changed.base.median.value);
    let name = measure.name_in(base.profile.process().state);
    let mut parts = vec![format!("{name} {before}")];
    let percent = changed.percent();
    let text = change(&changed, measure).0;
    parts.push(match (changed.verdict, percent.as_str()) {
        (Verdict::Equal, _) => "no change here".to_owned(),
        (Verdict::WithinBound, _) => "≈ here, within the error bounds".to_owned(),
        (Verdict::NotKnown, _) => "change not known, both are lower bounds".to_owned(),
        (_, "") => format!("{text} here"),
        (_, percent) => format!("{text} ({percent}) here"),
    });
    if let Some((by, removed)) = by.and_then(|by| Some((by, cx.beside(by)?.removed())))
        && removed.rows > 0
    {
        let rows = counted(removed.rows as u64, noun(by));
        parts.push(format!(
            "{rows} only in the base: {}",
            measure.amount(removed.value)
        ));
    }
    if !cx.data.warnings.is_empty() {
        parts.push(format!("▲ {} (!)", cx.data.warnings.len()));
    }
    let figures = parts.join(" · ");
    // The figures have priority over the path, except for the end of the path.
    let room = (area.width as usize)
        .saturating_sub(width(&figures) + 8)
        .max(NAME);
    let name = fit_end(&clean(&base.name), room).into_owned();
    let text = format!("base {name} · {figures}");
    write(buffer, area, &text, theme::dim());
}

/// Draws one line with the losses, or nothing.
pub(crate) fn render_losses(data: &Data, area: Rect, buffer: &mut Buffer) {
    let losses = data.profile.losses();
    let word = match losses.len() {
        0 => return,
        1 => "loss",
        _ => "losses",
    };
    let text = format!("▲ {} {word} (!): {}", losses.len(), losses.join(" "));
    write(buffer, area, &text, theme::warning());
}
