//! Threads: one row for all threads of a name, and for numbered ones; by what they allocated.

use std::sync::Arc;

use heapglass_profiler::diff::Identity;
use heapglass_profiler::profile::Measure;
use heapglass_profiler::report::{By, Detail, Row};
use heapglass_profiler::table::Heading;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::model::{Command, Context, Outcome};
use crate::theme;
use crate::views::View;
use crate::widgets::{List, Table, below, slice, write};

/// Lines around the rows: the heading and the note.
const AROUND: u16 = 2;

const NOTE: &str = "Any thread may free a block: live bytes belong to none. freed: by this thread.";

/// The threads, and which one is selected.
#[derive(Debug, Default)]
pub(crate) struct Threads {
    list: List<Arc<Row>>,
}

impl View for Threads {
    fn refresh(&mut self, cx: &Context<'_>) {
        let height = cx.body.height.saturating_sub(AROUND).into();
        let key = |row: &Arc<Row>| row.key.clone();
        self.list.replace(cx.rows(By::Thread), key, false, height);
    }

    fn command(&mut self, command: Command, _cx: &Context<'_>) -> Outcome {
        self.list.command(command);
        Outcome::Done
    }

    fn rows_by(&self) -> Option<By> {
        Some(By::Thread)
    }

    fn render(&self, cx: &Context<'_>, area: Rect, buffer: &mut Buffer) {
        let own = By::Thread.measure(cx.measure);
        let value = |row: &Arc<Row>| own.of(&row.figures);
        let whole = own.of(&cx.data.profile.totals);
        let mut table = Table::new(cx)
            .share(Heading::SHARE, value, whole)
            .figure(Heading::of(own), value)
            .change(By::Thread, Heading::CHANGE, |row| {
                Some(Identity::named(&row.key))
            })
            .figure(Heading::FREED, |row| row.figures.freed_bytes)
            .figure(Heading::blocks_of(own), |row| own.blocks(&row.figures).0);
        let others = [Measure::Total, Measure::Temporary];
        for measure in others.into_iter().filter(|other| *other != own) {
            let value = move |row: &Arc<Row>| measure.of(&row.figures);
            let column = table.figure(Heading::of(measure), value);
            table = column.only_if(area.width >= 100);
        }
        table = table
            .known(Heading::THREADS, |row| match row.detail {
                Detail::Thread(ref detail) => Some(detail.count),
                _ => None,
            })
            .left("thread", 0, |row, _| (row.key.clone(), theme::plain()));
        // The last line is the note's.
        let note = u16::from(area.height > AROUND && !self.list.rows.is_empty());
        let lines = slice(area, 0, area.height - note);
        let empty = "no threads were recorded";
        table.render(lines, buffer, &self.list, empty);
        write(buffer, below(area, area.height - note), NOTE, theme::dim());
    }
}
