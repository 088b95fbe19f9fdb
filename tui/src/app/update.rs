//! `update`: the only function that changes the model in response to a message. Never draws and
//! never waits for the loader.

use std::sync::Arc;

use heapglass_profiler::calltree::Levels;
use heapglass_profiler::flamegraph::measure_of_arenas;
use heapglass_profiler::profile::{Frames, Measure, State};
use ratatui::layout::Position;

use super::{App, Request, areas};
use crate::Error;
use crate::export::Export;
use crate::model::{
    Action, Command, Context, Edit, Format, Message, Order, Outcome, Pattern, Pointer, Prompt,
    SourceLine, ViewId,
};
use crate::pages::Page;
use crate::pages::menu::Menu;
use crate::views::{View, WHEEL};
use crate::widgets::List;

/// Applies `message` to `app`.
pub(crate) fn update(app: &mut App, message: Message) {
    match message {
        Message::Command(command) => {
            app.notice = None;
            act(app, command);
        }
        Message::Typed(text) => typed(app, &text),
        Message::Pointed(pointer) => {
            app.notice = None;
            pointed(app, pointer);
        }
        Message::Notice(text) => app.notice = Some(text),
        Message::Written(texts) => {
            app.notice = None;
            app.written = texts;
            app.page = Some((Page::Written, 0));
        }
        Message::Resized(size) => {
            app.size = size;
            app.fresh.clear();
        }
        Message::Progress(text) => app.progress = Some(text),
        // While live, keep the previous profile: it already has names.
        Message::Early(_) if app.data.is_some() => {}
        Message::Early(data) => {
            app.live = data.profile.process().state == State::Running;
            app.data = Some(data);
            app.fresh.clear();
        }
        Message::Loaded { data, live, title } => {
            app.title = title;
            app.data = Some(data);
            app.live = live;
            app.progress = None;
            app.trouble = None;
            app.fresh.clear();
        }
        Message::LoadFailed(text) if app.data.as_ref().is_none_or(|data| data.is_early) => {
            app.exit = Some(Err(Error::load(text)));
        }
        Message::LoadFailed(text) => {
            app.progress = None;
            app.trouble = Some(text);
        }
        Message::Snapshot(text) => app.notice = Some(text),
        Message::Computed => app.fresh.clear(),
        Message::LoaderPanicked(text) => {
            app.exit = Some(Err(Error::panicked("loading the profile", text)));
        }
        Message::ComputingPanicked(text) => {
            app.exit = Some(Err(Error::panicked("computing a view", text)));
        }
        Message::Tick => app.ticks += 1,
    }
    refresh(app);
    // Compute the rows now if necessary, because drawing must not.
    with_view(app, |view, cx| view.rows_by().and_then(|by| cx.beside(by)));
    let options = app.tree_options();
    if options != app.tree_asked {
        app.tree_asked = options;
        app.requests.push(Request::Load(Order::Tree(options)));
    }
}

/// Updates the visible view with all that changed since it was last visible.
fn refresh(app: &mut App) {
    if app.data.is_none() || app.fresh.contains(&app.view) {
        return;
    }
    with_view(app, |view, cx| view.refresh(cx));
    app.fresh.push(app.view);
}

/// Calls `f` with the visible view and the data it may read.
fn with_view<R>(app: &mut App, f: impl FnOnce(&mut dyn View, &Context<'_>) -> R) -> Option<R> {
    // Take the views out of the model during the call, so that one part can be read while the other
    // changes.
    let mut views = std::mem::take(&mut app.views);
    let result = app.context().map(|cx| f(views.get_mut(app.view), &cx));
    app.views = views;
    result
}

fn act(app: &mut App, command: Command) {
    match command {
        Command::Quit => app.exit = Some(Ok(())),
        Command::Suspend => app.requests.push(Request::Suspend),
        Command::Edit(edit) if app.menu.is_some() => {
            app.menu.iter_mut().for_each(|menu| menu.edit(edit));
        }
        Command::Edit(edit) => edited(app, edit),
        _ if app.menu.is_some() => choose(app, command),
        Command::Help => app.page = Some((Page::Help, 0)),
        Command::About => app.page = Some((Page::About, 0)),
        _ if app.page.is_some() => turn(app, command),
        Command::Show(view) => go(app, view),
        Command::NextView => go(app, app.view.step(1)),
        Command::PreviousView => go(app, app.view.step(ViewId::ALL.len() - 1)),
        Command::Measures => app.menu = Some(Menu::of_measures(app.measure)),
        Command::PreviousMeasure => change_measure(app, app.measure_before),
        Command::Measure(measure) => change_measure(app, measure),
        Command::Palette => app.menu = Some(Menu::of_commands(app.focus_of_view())),
        Command::Formats => app.menu = Some(Menu::of_formats()),
        Command::Write(format) => write(app, format),
        Command::OpenEditor => open_editor(app),
        Command::CopyPlace => copy_place(app),
        Command::Theme => {
            app.options.light = !app.options.light;
            let theme = if app.options.light { "light" } else { "dark" };
            app.notice = Some(format!("colours for a {theme} background"));
        }
        Command::Zoom => zoom(app, !app.is_zoomed),
        Command::Back if app.is_zoomed => zoom(app, false),
        Command::AllFrames if app.frames == Frames::All => change_frames(app, Frames::Folded),
        Command::AllFrames => change_frames(app, Frames::All),
        Command::NextFrames => {
            let mut choices = Frames::ALL.into_iter().cycle();
            choices.find(|choice| *choice == app.frames);
            change_frames(app, choices.next().unwrap_or_default());
        }
        Command::Pause => pause(app),
        Command::Reload => {
            app.requests.push(Request::Load(Order::Reload));
            app.notice = Some("reloading".to_owned());
        }
        Command::Snapshot if app.live => {
            app.requests.push(Request::Load(Order::Snapshot));
            app.notice = Some("taking a snapshot of the heap".to_owned());
        }
        Command::Snapshot => {
            app.notice = Some("no snapshot: the program has ended".to_owned());
        }
        Command::BaseIsNow if app.live => {
            app.requests.push(Request::Load(Order::BaseIsNow));
            app.notice = Some("tables show the changes from now on".to_owned());
        }
        Command::BaseIsNow => {
            let text = "nothing will change: the program has ended; compare with --base FILE";
            app.notice = Some(text.to_owned());
        }
        Command::Search => {
            let searched = with_view(app, |view, _| view.searched()).flatten();
            match searched {
                Some((label, pattern)) => app.prompt = Some(Prompt::new(label, pattern)),
                None => app.notice = Some("there is nothing to search here".to_owned()),
            }
        }
        _ => {
            let outcome =
                with_view(app, |view, cx| view.command(command, cx)).unwrap_or(Outcome::Done);
            follow(app, outcome);
        }
    }
}

fn change_frames(app: &mut App, frames: Frames) {
    app.frames = frames;
    app.fresh.clear();
    let notice = match frames {
        Frames::Folded => "frames outside your crates are folded",
        Frames::Own => "only frames of your crates",
        Frames::All => "all frames, including start-up and the allocator's internals",
        Frames::Trimmed => "all frames except start-up and the allocator's internals",
        other => other.name(),
    };
    app.notice = Some(notice.to_owned());
}

fn follow(app: &mut App, outcome: Outcome) {
    match outcome {
        Outcome::Done => {}
        Outcome::Notice(text) => app.notice = Some(text),
        Outcome::Out => {
            if let Some(view) = app.trail.pop() {
                show(app, view);
            }
        }
        Outcome::Goto(view, jump) => {
            // A view is on the trail at most once, so that going in circles does not make the way
            // back longer.
            let before = app.trail.iter().position(|v| *v == app.view || *v == view);
            app.trail.truncate(before.unwrap_or(app.trail.len()));
            app.trail.push(app.view);
            show(app, view);
            refresh(app);
            let outcome = with_view(app, |view, cx| view.jump(&jump, cx)).unwrap_or(Outcome::Done);
            // A jump may return a notice. It never leads to another view.
            if let Outcome::Notice(text) = outcome {
                app.notice = Some(text);
            }
        }
    }
}

/// Shows a view that the user selected by name. Esc does not go back from there.
fn go(app: &mut App, view: ViewId) {
    app.trail.clear();
    show(app, view);
}

fn show(app: &mut App, view: ViewId) {
    app.view = view;
    app.page = None;
}

fn change_measure(app: &mut App, measure: Measure) {
    if measure != app.measure {
        app.measure_before = std::mem::replace(&mut app.measure, measure);
        app.fresh.clear();
    }
}

/// Gives the whole screen to the pane that receives keys, or takes it back.
fn zoom(app: &mut App, is_zoomed: bool) {
    app.is_zoomed = is_zoomed;
    app.fresh.clear();
}

/// Returns the source line of the selection.
fn source_line(app: &mut App) -> Option<SourceLine> {
    let line = with_view(app, |view, cx| view.source_line(cx)).flatten();
    if line.is_none() {
        app.notice = Some("no source line is known for the selection".to_owned());
    }
    line
}

fn open_editor(app: &mut App) {
    let Some(line) = source_line(app) else { return };
    match line.resolve(&app.options.source_roots) {
        Ok(path) => app.requests.push(Request::Edit(path, line.line())),
        Err(text) => app.notice = Some(text),
    }
}

fn copy_place(app: &mut App) {
    let Some(line) = source_line(app) else { return };
    let label = line.label();
    app.notice = Some(format!("copied {label}"));
    app.requests.push(Request::Copy(label));
}

fn write(app: &mut App, format: Format) {
    let Some(data) = &app.data else { return };
    // These views are of other moments than the rows that can be written.
    let printed_by = match app.view {
        ViewId::Time => Some("heapglass report FILE --from T --to T"),
        ViewId::Leaks => Some("heapglass report FILE --measure live"),
        ViewId::Heap => Some("heapglass report FILE --by holder"),
        ViewId::Advice => Some("heapglass advise FILE"),
        _ => None,
    };
    if let Some(command) = printed_by.filter(|_| format != Format::Html) {
        app.notice = Some(format!(
            "this view cannot be written in this format; run `{command}`"
        ));
        return;
    }
    let (mut tree, by) = app.views.picture(app.view, app.tree_options());
    if tree.levels == Levels::Arena && format == Format::Svg {
        tree.measure = measure_of_arenas(&data.profile, None, tree.measure);
    }
    let export = Export {
        data: Arc::clone(data),
        format,
        recording: app.title.clone(),
        view: app.view.short_title().to_lowercase(),
        tree,
        by,
    };
    app.notice = Some("writing".to_owned());
    app.requests.push(Request::Write(Box::new(export)));
}

/// Handles the mouse, on the screen.
fn pointed(app: &mut App, pointer: Pointer) {
    let body = areas::place(app);
    let wheel = match pointer.action {
        Action::WheelUp => Some(Command::Up),
        Action::WheelDown => Some(Command::Down),
        Action::Press | Action::Drag => None,
    };
    if let Some(menu) = &mut app.menu {
        match wheel {
            Some(command) => menu.command(command),
            None if pointer.action == Action::Drag => {}
            None if menu.select_at(pointer.at, body) => choose(app, Command::Enter),
            None => app.menu = None,
        }
    } else if app.page.is_some() {
        for command in wheel.into_iter().cycle().take(WHEEL) {
            turn(app, command);
        }
    } else if app.prompt.is_none() && body.contains(pointer.at) {
        let at = Position::new(pointer.at.x - body.x, pointer.at.y - body.y);
        let inside = Pointer { at, ..pointer };
        let outcome = with_view(app, |view, cx| view.pointed(inside, cx));
        follow(app, outcome.unwrap_or(Outcome::Done));
    }
}

/// Handles a command while a list is open.
fn choose(app: &mut App, command: Command) {
    let Some(menu) = &mut app.menu else { return };
    match command {
        Command::Enter => {
            let chosen = menu.chosen();
            app.menu = None;
            if let Some(command) = chosen {
                act(app, command);
            }
        }
        Command::Back => app.menu = None,
        _ => menu.command(command),
    }
}

fn pause(app: &mut App) {
    if app.live || app.paused {
        app.paused = !app.paused;
        let order = Order::Pause(app.paused);
        app.requests.push(Request::Load(order));
    } else {
        app.notice = Some("nothing to pause: the recording is complete".to_owned());
    }
}

/// Scrolls or closes the open page.
fn turn(app: &mut App, command: Command) {
    let Some((page, at)) = app.page else { return };
    if command == Command::Back {
        app.page = None;
        return;
    }
    let height = usize::from(areas::body(app).height.max(1));
    let lines = app.lines(page).len();
    // Treat the possible first lines as a list, so that scrolling works as in every other list.
    let mut firsts = List {
        rows: vec![(); lines.saturating_sub(height) + 1],
        height,
        ..List::default()
    };
    firsts.cursor.selected = at;
    firsts.command(command);
    app.page = Some((page, firsts.cursor.selected));
}

fn typed(app: &mut App, text: &str) {
    if let Some(menu) = &mut app.menu {
        menu.insert(text);
    } else if let Some(prompt) = &mut app.prompt {
        text.chars().for_each(|c| prompt.insert(c));
        preview(app);
    }
}

fn edited(app: &mut App, edit: Edit) {
    let Some(prompt) = &mut app.prompt else {
        return;
    };
    match edit {
        Edit::Cancel => {
            let before = prompt.before.take();
            app.prompt = None;
            with_view(app, |view, cx| view.search(before, cx));
        }
        Edit::Accept if prompt.error.is_some() => {}
        Edit::Accept => app.prompt = None,
        _ => {
            prompt.edit(edit);
            preview(app);
        }
    }
}

/// Searches while the user types. An invalid regex leaves the last result in place.
fn preview(app: &mut App) {
    let Some(prompt) = &mut app.prompt else {
        return;
    };
    let pattern = match prompt.text() {
        text if text.is_empty() => Ok(None),
        text => Pattern::new(&text).map(Some),
    };
    match pattern {
        Ok(pattern) => {
            prompt.error = None;
            with_view(app, |view, cx| view.search(pattern, cx));
        }
        Err(error) => prompt.error = Some(error),
    }
}
