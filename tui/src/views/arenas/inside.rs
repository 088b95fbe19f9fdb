//! The inside of one arena: its allocations by type, by field, or by the fields of one type.

use std::borrow::Cow;
use std::cmp::Reverse;

use heapglass_profiler::arenas::{
    ArenaFigures, by_field, by_type, measured_inside, measured_inside_title,
};
use heapglass_profiler::profile::{Arena, ArenaRow, Number, TypeId};
use heapglass_profiler::table::Heading;
use heapglass_profiler::units::{Bytes, Count, Share};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use crate::model::{Command, Context, Data, Outcome, type_key};
use crate::text::{clean, fit_end, fit_types};
use crate::theme;
use crate::widgets::{Cursor, Lines, List, Table, amount, below, rows_in, with_details};

/// A row: a type or a field.
#[derive(Debug)]
struct Row {
    /// Key that finds the row again after a reload.
    key: Option<String>,
    /// Name for the cell, escaped.
    name: String,
    /// Name below the table, escaped.
    full: String,
    style: Style,
    inside: ArenaFigures,
}

/// The kind of rows.
#[derive(Clone, Debug, PartialEq, Eq)]
enum By {
    Type,
    Field,
    /// The fields of one type, with the full name and the label of the type.
    FieldOf(Option<String>, String),
}

/// An arena that is open.
#[derive(Debug)]
pub(super) struct Inside {
    arena: String,
    by: By,
    list: List<Row>,
    /// The cursor in the list of types, while one of them is open.
    outer: Cursor,
}

/// Lines of the details below the table.
const DETAILS: u16 = 5;

impl Inside {
    /// Opens an arena by type or by field.
    pub(super) fn open(arena: &Arena, by_field: bool, cx: &Context<'_>) -> Option<Inside> {
        let mut inside = Inside {
            arena: arena.name.clone(),
            by: if by_field { By::Field } else { By::Type },
            list: List::default(),
            outer: Cursor::default(),
        };
        inside.refresh(cx).then_some(inside)
    }

    /// Rebuilds the rows and keeps the selection if its row still exists. Returns `false` if the
    /// arena is gone.
    pub(super) fn refresh(&mut self, cx: &Context<'_>) -> bool {
        let mut arenas = cx.data.profile.arenas().iter();
        let Some(arena) = arenas.find(|arena| arena.name == self.arena) else {
            return false;
        };
        let mut rows = match &self.by {
            By::Type => types(arena, cx.data),
            By::Field => fields(arena, cx.data),
            By::FieldOf(name, _) => fields(&of_type(arena, name.as_ref(), cx.data), cx.data),
        };
        // If no row has the figure, sort by size.
        rows.sort_by_key(|row| {
            let value = measured_inside(&row.inside, cx.measure);
            Reverse(value.unwrap_or(row.inside.total_bytes))
        });
        let key = |row: &Row| row.key.clone();
        // Below the breadcrumb.
        let [table, _] = with_details(below(cx.area(), 1), cx.lines_below(DETAILS));
        self.list.replace(rows, key, false, rows_in(table));
        true
    }

    /// Goes one level out. Returns `false` if that leaves the arena.
    pub(super) fn back(&mut self, cx: &Context<'_>) -> bool {
        let By::FieldOf(..) = self.by else {
            return false;
        };
        self.show(By::Type, cx);
        self.list.cursor = self.outer;
        self.list.clamp();
        true
    }

    pub(super) fn command(&mut self, command: Command, cx: &Context<'_>) -> Outcome {
        if self.list.command(command) {
            return Outcome::Done;
        }
        match (command, &self.by) {
            (Command::Enter, By::Type) => match self.list.selected() {
                Some(row) => {
                    self.outer = self.list.cursor;
                    self.show(By::FieldOf(row.key.clone(), row.name.clone()), cx);
                }
                None => return Outcome::notice("nothing to select: nothing was allocated"),
            },
            (Command::Enter, _) => {
                let text = "the pieces of an arena have no sites; only its chunks have";
                return Outcome::notice(text);
            }
            (Command::Grouping, By::Field) => self.show(By::Type, cx),
            (Command::Grouping, _) => self.show(By::Field, cx),
            _ => {}
        }
        Outcome::Done
    }

    /// Switches to other rows and selects the first one.
    fn show(&mut self, by: By, cx: &Context<'_>) {
        self.by = by;
        self.list = List::default();
        self.refresh(cx);
    }

    /// Returns the breadcrumb.
    pub(super) fn breadcrumb(&self) -> String {
        let arena = clean(&self.arena);
        match &self.by {
            By::Type => format!("arenas › {arena} › by type, Enter: fields, b: by field"),
            By::Field => format!("arenas › {arena} › by field, b: by type"),
            By::FieldOf(_, label) => format!("arenas › {arena} › {label} › by field"),
        }
    }

    pub(super) fn render(&self, cx: &Context<'_>, area: Rect, buffer: &mut Buffer) {
        let [body, details] = with_details(area, cx.lines_below(DETAILS));
        let wide = area.width >= 110;
        let (noun, is_type) = match self.by {
            By::Type => ("type", true),
            _ => ("field", false),
        };
        let value = |row: &Row| measured_inside(&row.inside, cx.measure);
        let values = self.list.rows.iter().filter_map(value);
        let whole = values.fold(0, u64::saturating_add);
        let share = |row: &Row| value(row).map(|value| Share::of(value, whole));
        let empty = "nothing was allocated through the handle";
        let table = Table::new(cx)
            .right(Heading::SHARE_OF_IT, |row| {
                share(row).map_or("-".to_owned(), |share| share.to_string())
            })
            .bars(
                if wide { 16 } else { 8 },
                |row| value(row).unwrap_or(0),
                whole,
            )
            .figure(Heading::TOTAL_USED, |row| row.inside.total_bytes)
            .figure(Heading::USED_NOW, |row| row.inside.live_bytes)
            .figure(Heading::PIECES, |row| row.inside.total_blocks)
            .figure(Heading::COPIED, |row| row.inside.copied_bytes)
            .only_if(wide)
            .figure(Heading::GROWS, |row| row.inside.grows)
            .only_if(wide)
            .figure(Heading::BYPASSED, |row| row.inside.bypassed_bytes)
            .only_if(wide)
            .left(noun, 0, |row, _| (row.name.clone(), row.style));
        let table = if is_type {
            table.shortened_together(fit_types)
        } else {
            table.shortened(fit_end)
        };
        table.render(body, buffer, &self.list, empty);
        let Some(row) = self.list.selected() else {
            return;
        };
        let share = match share(row).zip(measured_inside_title(cx.measure)) {
            Some((share, title)) => format!("{share} of {title}"),
            None => format!("{} is not measured inside arenas", cx.measure.name()),
        };
        let title = format!("{}: {share}", self.list.place(noun));
        let name = (row.full.as_str(), 2, theme::strong());
        let mut lines = Lines::details(details, buffer, &title, name);
        lines.flow(&figures(&row.inside), theme::plain());
    }
}

/// Returns every figure of a row that is not 0.
fn figures(h: &ArenaFigures) -> Vec<String> {
    let mut items = vec![
        amount("total used", h.total_bytes, Number::exact(h.total_blocks)),
        amount("used now", h.live_bytes, Number::exact(h.live_blocks)),
    ];
    if h.grows > 0 {
        items.push(format!("grows {}", Count(h.grows)));
        items.push(format!("copied {}", Bytes(h.copied_bytes)));
    }
    if h.bypassed_bytes > 0 {
        items.push(format!("bypassed the handle {}", Bytes(h.bypassed_bytes)));
    }
    items
}

fn types(arena: &Arena, data: &Data) -> Vec<Row> {
    let row = |(type_id, inside): (Option<TypeId>, ArenaFigures)| {
        let full = data.full_type_name(type_id);
        Row {
            key: type_key(data, type_id),
            name: data.type_label(type_id).into_owned(),
            full: full.map_or("allocated outside all fields".into(), Cow::into_owned),
            style: theme::kind(data.type_kind(type_id)),
            inside,
        }
    };
    by_type(&data.profile, arena).into_iter().map(row).collect()
}

fn fields(arena: &Arena, data: &Data) -> Vec<Row> {
    let row = |(field, inside): (u32, ArenaFigures)| {
        let name = data.field_label(field).into_owned();
        Row {
            key: data.field(field).map(|field| field.path.clone()),
            full: name.clone(),
            name,
            style: theme::plain(),
            inside,
        }
    };
    let rows = by_field(data.profile.fields(), arena);
    rows.into_iter().map(row).collect()
}

/// Returns the arena with only the rows of one type.
fn of_type(arena: &Arena, name: Option<&String>, data: &Data) -> Arena {
    let is_of_type = |row: &&ArenaRow| {
        let scope = data.profile.scopes().get(row.scope.0 as usize);
        let id = scope.and_then(|scope| scope.value_type);
        type_key(data, id).as_ref() == name
    };
    let mut only = Arena::default();
    only.rows = arena.rows.iter().filter(is_of_type).copied().collect();
    only
}
