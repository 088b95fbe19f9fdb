//! Threads: one row for all threads of a name, by the measure. A block freed elsewhere is subtracted there.

mod render;

use crate::model::{Command, Context, Data, Outcome};
use crate::views::View;
use crate::widgets::Cursor;
use heapglass_profiler::report::By;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

/// Which thread is selected, in which order they stand.
#[derive(Debug, Default)]
pub(crate) struct Threads {
    cursor: Cursor,
    /// Indices into the profile's threads, largest first.
    order: Vec<usize>,
}

impl Threads {
    fn rows(cx: &Context<'_>) -> usize {
        cx.body.height.saturating_sub(render::AROUND) as usize
    }

    fn sort(&mut self, data: &Data, cx: &Context<'_>) {
        let value = |i: &usize| {
            data.profile
                .threads
                .get(*i)
                .map_or(0, |t| cx.measure.of(&t.figures))
        };
        self.order = (0..data.profile.threads.len()).collect();
        self.order.sort_by_key(|i| std::cmp::Reverse(value(i)));
    }
}

impl View for Threads {
    fn refresh(&mut self, cx: &Context<'_>) {
        self.sort(cx.data, cx);
        self.cursor.clamp(self.order.len(), Self::rows(cx));
    }

    fn command(&mut self, command: Command, cx: &Context<'_>) -> Outcome {
        self.cursor
            .command(command, self.order.len(), Self::rows(cx));
        Outcome::Done
    }

    fn rows_by(&self) -> Option<By> {
        Some(By::Thread)
    }

    fn render(&self, cx: &Context<'_>, area: Rect, buffer: &mut Buffer) {
        render::render(self, cx, area, buffer);
    }
}
