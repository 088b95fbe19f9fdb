//! Overview: totals with the peak's exactness, live and resident bytes over time, the functions that own most.

mod chart;
mod render;

use crate::model::keys::{Binding, ENTER, bindings, char};
use heapglass_profiler::profile::Frames;
use heapglass_profiler::report::By;

use crate::model::{Command, Context, Jump, Outcome, Rows, ViewId};
use crate::views::View;
use crate::widgets::Cursor;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

/// The keys of this view.
pub(crate) const BINDINGS: &[Binding] = bindings! {
    ENTER => Enter, "its sites", "sites charged to it";
    [char('o'), char('#')] => Follow, "in flamegraph", "in the flamegraph";
};

/// Owners by the measure, and which one is selected.
#[derive(Debug, Default)]
pub(crate) struct Overview {
    owners: Rows,
    cursor: Cursor,
}

impl View for Overview {
    fn refresh(&mut self, cx: &Context<'_>) {
        let kept = self
            .owners
            .all()
            .get(self.cursor.selected)
            .filter(|_| self.cursor.selected > 0)
            .map(|row| row.key.clone());
        self.owners
            .refresh(cx.data, By::Owner, cx.measure, Frames::Folded);
        let at = kept.and_then(|kept| self.owners.all().iter().position(|row| row.key == kept));
        self.cursor.selected = at.unwrap_or(self.cursor.selected);
        self.cursor
            .clamp(self.owners.all().len(), render::owner_rows(cx));
    }

    fn command(&mut self, command: Command, cx: &Context<'_>) -> Outcome {
        if self
            .cursor
            .command(command, self.owners.all().len(), render::owner_rows(cx))
        {
            return Outcome::Done;
        }
        let Some(row) = self.owners.all().get(self.cursor.selected) else {
            return Outcome::Done;
        };
        match (command, cx.data.charged(row)) {
            (Command::Enter, _) => {
                Outcome::Goto(ViewId::Sites, Jump::Group(By::Owner, row.key.clone()))
            }
            (Command::Follow, Some(charged)) => {
                Outcome::Goto(ViewId::Flamegraph, Jump::Function(charged))
            }
            _ => Outcome::Done,
        }
    }

    fn rows_by(&self) -> Option<By> {
        Some(By::Owner)
    }

    fn render(&self, cx: &Context<'_>, area: Rect, buffer: &mut Buffer) {
        render::render(self, cx, area, buffer);
    }
}
