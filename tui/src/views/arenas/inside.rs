//! Inside one arena: what it handed out, by type, by field, or by the fields of one type.

use heapglass_profiler::arenas::{
    Handed, by_field, by_type, measured_inside, measured_inside_title,
};
use heapglass_profiler::profile::{Arena, Measure, TypeKind};
use heapglass_profiler::units::{Bytes, Count, Share};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::model::{Command, Context, Data, Outcome, type_key};
use crate::text::{clean, fit_end, type_cell, wrap};
use crate::theme;
use crate::widgets::{Cursor, Table, bytes, count, flow, rule, slice, write};

/// Lines below the table.
const DETAILS: u16 = 5;

/// A row: a type or a field.
#[derive(Debug)]
struct Row {
    /// What finds it again after a reload.
    key: Option<String>,
    /// For the cell, clean.
    name: String,
    /// Below the table, clean.
    full: String,
    kind: Option<TypeKind>,
    handed: Handed,
}

/// What rows are.
#[derive(Clone, Debug, PartialEq, Eq)]
enum By {
    Type,
    Field,
    /// The fields of one type, by its full name; with its label.
    FieldOf(Option<String>, String),
}

/// An arena that is open.
#[derive(Debug)]
pub(super) struct Inside {
    arena: String,
    by: By,
    cursor: Cursor,
    /// The cursor among the types, while one of them is open.
    outer: Cursor,
    rows: Vec<Row>,
}

impl Inside {
    /// Opens an arena by type, or by field.
    pub(super) fn open(arena: &Arena, by_field: bool, cx: &Context<'_>) -> Option<Inside> {
        let mut inside = Inside {
            arena: arena.name.clone(),
            by: if by_field { By::Field } else { By::Type },
            cursor: Cursor::default(),
            outer: Cursor::default(),
            rows: Vec::new(),
        };
        inside.refresh(cx).then_some(inside)
    }

    /// Lists the rows again, the same one selected where it is still there; `false` when the arena is gone.
    pub(super) fn refresh(&mut self, cx: &Context<'_>) -> bool {
        let arenas = &cx.data.profile.arenas;
        let Some(arena) = arenas.iter().find(|arena| arena.name == self.arena) else {
            return false;
        };
        let kept = self
            .rows
            .get(self.cursor.selected)
            .filter(|_| self.cursor.selected > 0)
            .map(|row| row.key.clone());
        self.rows = match &self.by {
            By::Type => types(arena, cx.data),
            By::Field => fields(arena, cx.data),
            By::FieldOf(name, _) => fields(&of_type(arena, name.as_ref(), cx.data), cx.data),
        };
        // Where nothing has the figure, the largest comes first all the same.
        self.rows.sort_by_key(|row| {
            let value = measured_inside(&row.handed, cx.measure);
            std::cmp::Reverse(value.unwrap_or(row.handed.total_bytes))
        });
        let at = kept.and_then(|kept| self.rows.iter().position(|row| row.key == kept));
        self.cursor.selected = at.unwrap_or(0);
        self.cursor.clamp(self.rows.len(), list_rows(cx));
        true
    }

    /// One level out; `false` when that is out of the arena.
    pub(super) fn back(&mut self, cx: &Context<'_>) -> bool {
        let By::FieldOf(..) = self.by else {
            return false;
        };
        self.by = By::Type;
        self.rows.clear();
        self.refresh(cx);
        self.cursor = self.outer;
        self.cursor.clamp(self.rows.len(), list_rows(cx));
        true
    }

    pub(super) fn command(&mut self, command: Command, cx: &Context<'_>) -> Outcome {
        if self.cursor.command(command, self.rows.len(), list_rows(cx)) {
            return Outcome::Done;
        }
        match (command, &self.by) {
            (Command::Enter, By::Type) => match self.rows.get(self.cursor.selected) {
                Some(row) => {
                    self.by = By::FieldOf(row.key.clone(), row.name.clone());
                    self.outer = self.cursor;
                    self.again(cx);
                }
                None => {
                    return Outcome::Notice("nothing is selected: nothing was handed out".into());
                }
            },
            (Command::Enter, _) => {
                return Outcome::Notice(
                    "pieces of an arena have no sites of their own: its chunks do".into(),
                );
            }
            (Command::Grouping, by) => {
                self.by = if *by == By::Field {
                    By::Type
                } else {
                    By::Field
                };
                self.again(cx);
            }
            _ => {}
        }
        Outcome::Done
    }

    /// Other rows, from the first on.
    fn again(&mut self, cx: &Context<'_>) {
        self.rows.clear();
        self.cursor = Cursor::default();
        self.refresh(cx);
    }

    /// Where the reader is.
    pub(super) fn breadcrumb(&self) -> String {
        let arena = clean(&self.arena);
        match &self.by {
            By::Type => format!("arenas › {arena} › by type, Enter: its fields, b: by field"),
            By::Field => format!("arenas › {arena} › by field, b: by type"),
            By::FieldOf(_, label) => format!("arenas › {arena} › {label} › by field"),
        }
    }

    pub(super) fn render(&self, cx: &Context<'_>, area: Rect, buffer: &mut Buffer) {
        let details = details_height(area.height);
        let table = slice(area, 0, area.height - details);
        let wide = area.width >= 110;
        let noun = if self.by == By::Type { "type" } else { "field" };
        let whole = self.whole(cx.measure);
        let value = |row: &&Row| measured_inside(&row.handed, cx.measure);
        Table::new()
            .right("of it", 7, |row| {
                let share = value(row).map(|value| Share::of(value, whole).to_string());
                share.unwrap_or("-".to_owned())
            })
            .bars(if wide { 16 } else { 8 }, |row| {
                value(row).map_or((0, 0), |value| (value, whole))
            })
            .right("handed out", 10, |row| bytes(row.handed.total_bytes))
            .right("in use", 10, |row| bytes(row.handed.live_bytes))
            .right("pieces", 11, |row| count(row.handed.total_blocks))
            .right_if(wide, "copied", 10, |row| bytes(row.handed.copied_bytes))
            .right_if(wide, "grows", 9, |row| count(row.handed.grows))
            .right_if(wide, "past", 10, |row| bytes(row.handed.past_bytes))
            .left(noun, 0, |row, cells| {
                if self.by == By::Type {
                    (type_cell(&row.name, cells), theme::kind(row.kind))
                } else {
                    (fit_end(&row.name, cells).into_owned(), theme::plain())
                }
            })
            .render(
                table,
                buffer,
                self.rows.iter(),
                (self.cursor, theme::selected()),
                "nothing was handed out through the handle",
            );
        if let Some(row) = self.rows.get(self.cursor.selected) {
            let rest = slice(area, table.height, details);
            self.details(row, noun, whole, cx.measure, rest, buffer);
        }
    }

    fn whole(&self, measure: Measure) -> u64 {
        self.rows
            .iter()
            .filter_map(|row| measured_inside(&row.handed, measure))
            .fold(0, u64::saturating_add)
    }

    fn details(
        &self,
        row: &Row,
        noun: &str,
        whole: u64,
        measure: Measure,
        area: Rect,
        buffer: &mut Buffer,
    ) {
        if area.is_empty() {
            return;
        }
        let value = measured_inside(&row.handed, measure).zip(measured_inside_title(measure));
        let share = match value {
            Some((value, title)) => format!("{} of {title}", Share::of(value, whole)),
            None => format!("nothing inside an arena is {}", measure.name()),
        };
        let text = format!(
            "{noun} {} of {}: {share}",
            self.cursor.selected + 1,
            self.rows.len(),
        );
        rule(buffer, area, &text);
        let lines = wrap(&row.full, area.width as usize, 2);
        for (at, line) in (1..).zip(&lines) {
            write(buffer, slice(area, at, 1), line, theme::strong());
        }
        let used = 1 + lines.len() as u16;
        let rest = slice(area, used, area.height.saturating_sub(used));
        flow(buffer, rest, &figures(&row.handed), theme::plain());
    }
}

/// Every figure of a row, those that are 0 left out.
fn figures(h: &Handed) -> Vec<String> {
    let mut items = vec![
        format!(
            "handed out {} ({})",
            Bytes(h.total_bytes),
            Count(h.total_blocks)
        ),
        format!("in use {} ({})", Bytes(h.live_bytes), Count(h.live_blocks)),
    ];
    if h.grows > 0 {
        items.push(format!("grows {}", Count(h.grows)));
        items.push(format!("copied {}", Bytes(h.copied_bytes)));
    }
    if h.past_bytes > 0 {
        items.push(format!("past the handle {}", Bytes(h.past_bytes)));
    }
    items
}

fn types(arena: &Arena, data: &Data) -> Vec<Row> {
    let row = |row: heapglass_profiler::arenas::TypeInside| {
        let full = data.type_name(row.type_id);
        Row {
            key: type_key(data, row.type_id),
            name: data.type_label(row.type_id).into_owned(),
            full: full.map_or("handed out outside all fields".into(), |name| {
                clean(&name.full).into_owned()
            }),
            kind: data.type_kind(row.type_id),
            handed: row.handed,
        }
    };
    by_type(&data.profile, arena).into_iter().map(row).collect()
}

fn fields(arena: &Arena, data: &Data) -> Vec<Row> {
    let row = |row: heapglass_profiler::arenas::FieldInside| {
        let path = data
            .field(row.field)
            .map_or("", |field| field.path.as_str());
        let name = clean(path).into_owned();
        Row {
            key: Some(path.to_owned()),
            full: name.clone(),
            name,
            kind: None,
            handed: row.handed,
        }
    };
    by_field(data.profile.fields(), arena)
        .into_iter()
        .map(row)
        .collect()
}

/// The arena with the rows of one type alone.
fn of_type(arena: &Arena, name: Option<&String>, data: &Data) -> Arena {
    let is_it = |row: &&heapglass_profiler::profile::ArenaRow| {
        let scope = data.profile.scopes.get(row.scope.0 as usize);
        let id = scope.and_then(|scope| scope.value_type);
        type_key(data, id).as_ref() == name
    };
    Arena {
        rows: arena.rows.iter().filter(is_it).copied().collect(),
        ..Arena::default()
    }
}

fn details_height(height: u16) -> u16 {
    if height >= 12 { DETAILS } else { 0 }
}

/// Rows of the table on the present screen, below the breadcrumb.
fn list_rows(cx: &Context<'_>) -> usize {
    let height = cx.body.height.saturating_sub(1);
    height.saturating_sub(1 + details_height(height)) as usize
}
