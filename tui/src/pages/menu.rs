//! A list over the view to choose a command from: the measures, or all commands of the view, which
//! the user narrows down by typing.

use heapglass_profiler::profile::Measure;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::widgets::{Block, Clear, Widget};

use crate::model::{Command, Edit, Format, Prompt};
use crate::text::{pad, width};
use crate::theme;
use crate::views::focus::Focus;
use crate::widgets::{List, below, slice, write};

/// A row of the list.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub(crate) text: String,
    /// The keys that give the same command, or another note.
    pub(crate) note: String,
    pub(crate) command: Command,
}

/// The open list.
#[derive(Debug)]
pub(crate) struct Menu {
    title: &'static str,
    items: Vec<Item>,
    /// Indices of the items that are shown.
    list: List<usize>,
    /// The words that items must contain; `None` if items are not found by typing.
    typed: Option<Prompt>,
}

/// The most rows of the list on any screen.
const ROWS: u16 = 16;

impl Menu {
    /// Returns a list in which the item at `selected` is selected.
    pub(crate) fn new(title: &'static str, items: Vec<Item>, selected: usize) -> Menu {
        let mut menu = Menu {
            title,
            items,
            list: List::default(),
            typed: None,
        };
        menu.narrow();
        menu.list.select(selected);
        menu
    }

    /// Returns the list of all measures.
    pub(crate) fn of_measures(current: Measure) -> Menu {
        let items = Measure::COUNTED.iter().map(|measure| Item {
            text: measure.title().to_owned(),
            note: measure.name().to_owned(),
            command: Command::Measure(*measure),
        });
        let at = Measure::COUNTED
            .iter()
            .position(|measure| *measure == current);
        Menu::new("Measure", items.collect(), at.unwrap_or(0))
    }

    /// Returns the list of formats in which a view can be written.
    pub(crate) fn of_formats() -> Menu {
        let formats = [
            (Format::Svg, "flamegraph", "SVG"),
            (Format::Html, "page with all views", "HTML"),
            (Format::Csv, "rows", "CSV"),
        ];
        let items = formats.map(|(format, text, note)| Item {
            text: text.to_owned(),
            note: note.to_owned(),
            command: Command::Write(format),
        });
        Menu::new("Write to a file", items.to_vec(), 0)
    }

    /// Returns the list of everything that the keys of `focus` do, except moving.
    pub(crate) fn of_commands(focus: Focus) -> Menu {
        let [own, _, common] = focus.sections();
        let rows = own.into_iter().chain(common);
        let commands = rows.filter(|row| row.command != Command::Palette);
        let keys = commands.map(|row| Item {
            text: row.help.to_owned(),
            note: row.keys.first().map_or_else(String::new, |key| key.label()),
            command: row.command,
        });
        let measures = Measure::COUNTED.iter().map(|measure| Item {
            text: format!("measure: {}", measure.title()),
            note: String::new(),
            command: Command::Measure(*measure),
        });
        Menu {
            typed: Some(Prompt::new("command", None)),
            ..Menu::new("Commands", keys.chain(measures).collect(), 0)
        }
    }

    /// Returns `true` if the user types to find an item.
    pub(crate) fn is_typed(&self) -> bool {
        self.typed.is_some()
    }

    pub(crate) fn insert(&mut self, text: &str) {
        if let Some(typed) = &mut self.typed {
            text.chars().for_each(|c| typed.insert(c));
            self.narrow();
        }
    }

    pub(crate) fn edit(&mut self, edit: Edit) {
        if let Some(typed) = &mut self.typed {
            typed.edit(edit);
            self.narrow();
        }
    }

    /// Moves the selection.
    pub(crate) fn command(&mut self, command: Command) {
        self.list.command(command);
    }

    /// Returns the command of the selected item.
    pub(crate) fn chosen(&self) -> Option<Command> {
        Some(self.items.get(*self.list.selected()?)?.command)
    }

    /// Lists the items that contain every typed word, in upper or lower case.
    fn narrow(&mut self) {
        let typed = self
            .typed
            .as_ref()
            .map(Prompt::text)
            .unwrap_or_default()
            .to_lowercase();
        let is_listed = |item: &Item| {
            let text = item.text.to_lowercase();
            typed.split_whitespace().all(|word| text.contains(word))
        };
        let items = self.items.iter().enumerate();
        let listed = items.filter(|(_, item)| is_listed(item));
        self.list.rows = listed.map(|(at, _)| at).collect();
        self.list.height = ROWS.into();
        self.list.select(0);
    }

    /// Returns the area of the list, in the middle of `area`.
    fn place(&self, area: Rect) -> Rect {
        let cells = |item: &Item| width(&item.text) + width(&item.note) + 6;
        let wide = self.items.iter().map(cells).max().unwrap_or(0).max(24);
        let wide = u16::try_from(wide).unwrap_or(u16::MAX).min(area.width);
        let rows = u16::try_from(self.items.len())
            .unwrap_or(u16::MAX)
            .min(ROWS);
        let high = (rows + 2 + u16::from(self.is_typed())).min(area.height);
        Rect {
            x: area.x + (area.width - wide) / 2,
            y: area.y + (area.height - high) / 3,
            width: wide,
            height: high,
        }
    }

    /// Returns the area of the items inside the border, and the items with the window that fits.
    /// The list may be taller than this screen, so drawing and the mouse find the window here.
    fn window(&self, area: Rect) -> (Rect, List<usize>) {
        let inner = Block::bordered().inner(self.place(area));
        let rows = below(inner, u16::from(self.is_typed()));
        let mut list = List::unselected(self.list.rows.clone(), self.list.cursor.top);
        list.height = rows.height.into();
        list.select(self.list.cursor.selected);
        (rows, list)
    }

    /// Draws the list over `area`. Returns the position of the cursor if the user types.
    pub(crate) fn render(&self, area: Rect, buffer: &mut Buffer) -> Option<Position> {
        let (rows, list) = self.window(area);
        let area = self.place(area);
        Clear.render(area, buffer);
        let block = Block::bordered().title(self.title);
        let inner = block.inner(area);
        block.border_style(theme::heading()).render(area, buffer);
        let mut cursor = None;
        if let Some(typed) = &self.typed {
            write(
                buffer,
                slice(inner, 0, 1),
                &format!(" {}", typed.text()),
                theme::strong(),
            );
            let column = inner.x + 1 + width(&typed.before_cursor()) as u16;
            cursor = (column < inner.right()).then(|| Position::new(column, inner.y));
        }
        if self.list.rows.is_empty() {
            write(buffer, rows, " no such command", theme::dim());
        }
        for ((at, index), row) in list
            .rows
            .iter()
            .enumerate()
            .skip(list.cursor.top)
            .zip(rows.rows())
        {
            let Some(item) = self.items.get(*index) else {
                continue;
            };
            let style = if at == list.cursor.selected {
                theme::selected()
            } else {
                theme::plain()
            };
            let room = (row.width as usize).saturating_sub(width(&item.note) + 3);
            let text = format!(" {} {} ", pad(&item.text, room), item.note);
            write(buffer, row, &text, style);
        }
        cursor
    }

    /// Selects the item at a position on the screen; returns `true` if there is one.
    pub(crate) fn select_at(&mut self, at: Position, area: Rect) -> bool {
        let (rows, list) = self.window(area);
        if !rows.contains(at) {
            return false;
        }
        let index = list.cursor.top + usize::from(at.y - rows.y);
        let exists = index < list.rows.len();
        if exists {
            self.list.select(index);
        }
        exists
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ViewId;

    #[test]
    fn the_mouse_selects_the_row_that_is_drawn_there() {
        // The views on screens of 24 and of 10 lines.
        for area in [Rect::new(0, 2, 80, 21), Rect::new(0, 2, 80, 7)] {
            for moves in [0, 3, 30] {
                let mut found = 0;
                for y in 0..24 {
                    let mut menu = Menu::of_commands(Focus::View(ViewId::Time));
                    (0..moves).for_each(|_| menu.command(Command::Down));
                    let mut buffer = Buffer::empty(Rect::new(0, 0, 80, 24));
                    menu.render(area, &mut buffer);
                    let row = slice(buffer.area, y, 1);
                    let cells = row.positions().map(|at| buffer[at].symbol());
                    let drawn: String = cells.collect();
                    if !menu.select_at(Position::new(40, y), area) {
                        continue;
                    }
                    found += 1;
                    let at = menu.list.selected().copied().unwrap_or_default();
                    let text = &menu.items[at].text;
                    assert!(drawn.contains(text), "{text} at {drawn}");
                }
                let rows = (area.height - 3).min(ROWS);
                assert_eq!(found, rows, "every row and nothing else");
            }
        }
    }
}
