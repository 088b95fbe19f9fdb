//! Overview: totals with the error bound of the peak, live and resident bytes over time, and the
//! owners with the most bytes.

mod render;

use std::sync::Arc;

use heapglass_profiler::table::{By, Row};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::model::keys::{Binding, ENTER, bindings, char};
use crate::model::{Command, Context, Jump, Outcome, ViewId};
use crate::views::View;
use crate::widgets::{List, rows_in};

/// The keys of this view.
pub(crate) const BINDINGS: &[Binding] = bindings! {
    ENTER => Enter, "sites", "show its sites";
    [char('o'), char('#')] => Follow, "flamegraph", "show in flamegraph";
};

/// The owners by the measure, with a selection.
#[derive(Debug, Default)]
pub(crate) struct Overview {
    owners: List<Arc<Row>>,
}

impl View for Overview {
    fn refresh(&mut self, cx: &Context<'_>) {
        let key = |row: &Arc<Row>| row.key.clone();
        let [.., owners] = render::panes(cx.area());
        let rows = cx.rows(By::Owner);
        self.owners.replace(rows, key, false, rows_in(owners));
    }

    fn command(&mut self, command: Command, cx: &Context<'_>) -> Outcome {
        if self.owners.command(command) {
            return Outcome::Done;
        }
        let Some(row) = self.owners.selected() else {
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
