//! Overview: totals with the peak's exactness, live and resident bytes over time, the functions that own most.

mod chart;
mod render;

use crate::model::keys::{Binding, ENTER, bindings, char};
use heapglass_profiler::profile::Owner;

use crate::model::{Command, Context, Jump, Outcome, ViewId};
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
    owners: Vec<Owner>,
    cursor: Cursor,
}

impl View for Overview {
    fn refresh(&mut self, cx: &Context<'_>) {
        let profile = &cx.data.profile;
        let name = |o: &Owner| o.charged.map(|charged| charged.name(profile).into_owned());
        let kept = self
            .owners
            .get(self.cursor.selected)
            .filter(|_| self.cursor.selected > 0)
            .and_then(name);
        self.owners = profile.owners().to_vec();
        self.owners
            .sort_by_cached_key(|o| (std::cmp::Reverse(cx.measure.of(&o.figures)), name(o)));
        if let Some(kept) = kept
            && let Some(at) = self
                .owners
                .iter()
                .position(|o| name(o).as_ref() == Some(&kept))
        {
            self.cursor.selected = at;
        }
        self.cursor.clamp(self.owners.len(), render::owner_rows(cx));
    }

    fn command(&mut self, command: Command, cx: &Context<'_>) -> Outcome {
        if self
            .cursor
            .command(command, self.owners.len(), render::owner_rows(cx))
        {
            return Outcome::Done;
        }
        let owner = self.owners.get(self.cursor.selected);
        match (command, owner.and_then(|owner| owner.charged)) {
            (Command::Enter, Some(owner)) => Outcome::Goto(ViewId::Sites, Jump::Owner(owner)),
            (Command::Follow, Some(owner)) => {
                Outcome::Goto(ViewId::Flamegraph, Jump::Function(owner))
            }
            _ => Outcome::Done,
        }
    }

    fn render(&self, cx: &Context<'_>, area: Rect, buffer: &mut Buffer) {
        render::render(self, cx, area, buffer);
    }
}
