//! The first lines: who was recorded, how, what state it is in, what was lost, and the tabs. Figures with their bound.

use std::borrow::Cow;

use heapglass_profiler::diff::Verdict;
use heapglass_profiler::profile::{NO_STACKS, State};
use heapglass_profiler::report::By;
use heapglass_profiler::units::{Bytes, Nanos, counted};
use ratatui::buffer::Buffer;
use ratatui::layout::{Alignment, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use crate::app::App;
use crate::model::{Context, Data, ViewId};
use crate::text::{clean, fit, fit_end, width};
use crate::theme;
use crate::widgets::change;

/// Draws one or two lines, as many as `area` has.
pub(crate) fn render(app: &App, data: &Data, area: Rect, buffer: &mut Buffer) {
    let mut rows = area.rows();
    if let Some(row) = rows.next() {
        title(app, data, row, buffer);
    }
    if let Some(row) = rows.next() {
        tabs(app, data, row, buffer);
    }
}

fn title(app: &App, data: &Data, area: Rect, buffer: &mut Buffer) {
    let process = &data.profile.process;
    let capture = &data.profile.capture;
    let status = status(app);
    let room = (area.width as usize).saturating_sub(status.width() + 1);
    let program = if process.program.is_empty() {
        app.title.as_str()
    } else {
        &process.program
    };
    let state = match process.state {
        State::Running | State::Finished => theme::plain(),
        State::Ended | State::Unknown => theme::warning(),
    };
    let pid = if process.pid == 0 {
        Cow::Borrowed("")
    } else {
        Cow::Owned(format!("pid {}", process.pid))
    };
    let parts: [(Cow<'_, str>, Style); 7] = [
        (clean(program), theme::strong()),
        (Cow::Borrowed(data.state()), state),
        (how_long(data), theme::plain()),
        (clean(&capture.mode), theme::plain()),
        (stacks(data), theme::plain()),
        (pid, theme::dim()),
        (
            if program == app.title {
                Cow::Borrowed("")
            } else {
                clean(&app.title)
            },
            theme::dim(),
        ),
    ];
    let mut line = Line::default();
    let mut used = 0;
    for (text, style) in parts {
        if text.is_empty() {
            continue;
        }
        let separator = if used == 0 { "" } else { " · " };
        let left = room.saturating_sub(used + width(separator));
        // A part that does not fit is left out whole, but something of the program's name always shows.
        if width(&text) > left && used > 0 {
            break;
        }
        let text = fit(&text, left).into_owned();
        used += width(separator) + width(&text);
        line.push_span(Span::styled(separator, theme::dim()));
        line.push_span(Span::styled(text, style));
    }
    line.render(area, buffer);
    status.alignment(Alignment::Right).render(area, buffer);
}

/// How long it was recorded, or what has no clock.
fn how_long(data: &Data) -> Cow<'_, str> {
    let capture = &data.profile.capture;
    match capture.linear_memory {
        Some(_) => clean(&capture.architecture),
        None => Cow::Owned(Nanos(data.profile.process.duration_ns).to_string()),
    }
}

/// How stacks were walked, or that there are none.
fn stacks(data: &Data) -> Cow<'_, str> {
    let capture = &data.profile.capture;
    if capture.has_stacks() {
        clean(&capture.unwinder)
    } else {
        Cow::Borrowed(NO_STACKS)
    }
}

/// What the loader is about, at the right.
fn status(app: &App) -> Line<'static> {
    if app.is_early {
        let doing = app.progress.as_deref().unwrap_or("reading symbols");
        return Line::styled(clean(doing).into_owned(), theme::warning());
    }
    let (text, style) = if app.paused {
        ("PAUSED", theme::warning())
    } else if app.trouble.is_some() {
        ("not refreshed", theme::error())
    } else if app.live {
        ("LIVE", theme::live())
    } else {
        ("", theme::plain())
    };
    Line::styled(text, style)
}

fn tabs(app: &App, data: &Data, area: Rect, buffer: &mut Buffer) {
    let cells = area.width as usize;
    let measures = measure(app, data);
    let left = |line: &Line<'_>| cells.saturating_sub(line.width() + 3);
    let fits = |line: &Line<'_>, text: &String| width(text) <= left(line);
    // Rather shorter tabs than a measure without its figure or its bound.
    let mut line = tab_line(app, false);
    if measures.iter().take(2).all(|text| !fits(&line, text)) {
        line = tab_line(app, true);
    }
    // Too narrow for all tabs: the one shown, and that there are others.
    if line.width() > cells {
        let at = ViewId::ALL.iter().position(|v| *v == app.view).unwrap_or(0);
        let text = format!(" {}/{} {} ", at + 1, ViewId::ALL.len(), app.view.title());
        line = Line::styled(text, theme::selected());
    }
    let right = measures.into_iter().find(|text| fits(&line, text));
    line.render(area, buffer);
    if let Some(text) = right {
        let line = Line::from(vec![
            Span::styled("m ", theme::key()),
            Span::styled(text, theme::heading()),
        ]);
        line.alignment(Alignment::Right).render(area, buffer);
    }
}

fn tab_line(app: &App, tight: bool) -> Line<'static> {
    let mut line = Line::default();
    for (at, view) in ViewId::ALL.into_iter().enumerate() {
        let style = if view == app.view {
            theme::selected()
        } else {
            theme::plain()
        };
        let text = if tight {
            format!("{} {}", at + 1, view.short_title())
        } else {
            format!(" {} {} ", at + 1, view.title())
        };
        if tight && at > 0 {
            line.push_span(Span::raw(" "));
        }
        line.push_span(Span::styled(text, style));
    }
    line
}

/// The measure and its total, from long to short.
fn measure(app: &App, data: &Data) -> [String; 4] {
    let figure = app.measure.amount(app.measure.of(&data.profile.totals));
    let exactness = exactness(app.measure, data);
    [
        format!("{}: {figure}{exactness}", app.measure.title()),
        format!("{} {figure}{exactness}", app.measure.name()),
        format!("{} {figure}", app.measure.name()),
        app.measure.name().to_owned(),
    ]
}

/// `, exact` or the bound of the peak; nothing for the other measures.
fn exactness(measure: heapglass_profiler::profile::Measure, data: &Data) -> String {
    use heapglass_profiler::profile::Measure;
    match (measure, data.profile.capture.peak_error_bytes) {
        (Measure::Peak, 0) => " (exact)".to_owned(),
        (Measure::Peak, bound) => format!(" (within {})", Bytes(bound)),
        _ => String::new(),
    }
}

/// Cells of the base's path at least.
const NAME: usize = 12;

/// One line: the base, its total by the measure, and the rows that only it has.
pub(crate) fn render_base(cx: &Context<'_>, by: Option<By>, area: Rect, buffer: &mut Buffer) {
    let (Some(base), Some(changed)) = (&cx.data.base, cx.data.change(cx.measure)) else {
        return;
    };
    let measure = cx.measure;
    let mut parts = vec![format!(
        "{} {}",
        measure.name(),
        measure.amount(changed.base.median().value)
    )];
    let percent = changed.percent();
    let text = change(&changed, measure).0;
    parts.push(match (changed.verdict, percent.as_str()) {
        (Verdict::Equal, _) => "no more, no less here".to_owned(),
        (Verdict::WithinBound, _) => "≈ here, within the error bounds".to_owned(),
        (_, "") => format!("{text} here"),
        (_, percent) => format!("{text} ({percent}) here"),
    });
    if let Some((by, removed)) = by.and_then(|by| Some((by, cx.beside(by)?.removed())))
        && removed.rows > 0
    {
        parts.push(format!(
            "{} only there: {}",
            counted(removed.rows as u64, by.name()),
            measure.amount(removed.value)
        ));
    }
    if !cx.data.warnings().is_empty() {
        parts.push(format!("▲ {} (!)", cx.data.warnings().len()));
    }
    let figures = parts.join(" · ");
    // The figures have precedence over the path, but for its end.
    let room = (area.width as usize).saturating_sub(width(&figures) + 8);
    let room = room.max(NAME);
    let name = fit_end(&clean(&base.name), room).into_owned();
    let text = format!("base {name} · {figures}");
    Line::styled(fit(&text, area.width as usize).into_owned(), theme::dim()).render(area, buffer);
}

/// One line naming what was lost, or nothing.
pub(crate) fn render_losses(data: &Data, area: Rect, buffer: &mut Buffer) {
    let losses = data.losses();
    if area.is_empty() || losses.is_empty() {
        return;
    }
    let word = if losses.len() == 1 { "loss" } else { "losses" };
    let text = format!("▲ {} {word} (!): {}", losses.len(), losses.join(" "));
    Line::styled(
        fit(&text, area.width as usize).into_owned(),
        theme::warning(),
    )
    .render(area, buffer);
}
