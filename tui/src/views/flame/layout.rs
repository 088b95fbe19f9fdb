//! The positions of frames: one row per depth, at least one cell per frame. Visits only visible
//! frames and never recurses.

use heapglass_profiler::calltree::{CallTree, NodeId};
use heapglass_profiler::profile::Measure;

/// The visible rows.
#[derive(Clone, Debug, Default)]
pub(super) struct Layout {
    pub(super) rows: Vec<Row>,
    /// `true` if there are frames below the last row.
    pub(super) deeper: bool,
}

/// The frames of one depth, from left to right.
#[derive(Clone, Debug, Default)]
pub(super) struct Row {
    pub(super) cells: Vec<Cell>,
    pub(super) rests: Vec<Rest>,
}

/// A frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Cell {
    pub(super) node: NodeId,
    /// First column, and number of columns.
    pub(super) x: u16,
    pub(super) width: u16,
    /// Start of the frame, unrounded.
    start: f64,
}

/// Siblings narrower than a cell, drawn as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rest {
    pub(super) x: u16,
    pub(super) width: u16,
    /// Number of these siblings, without the frames below them.
    pub(super) frames: u64,
    /// Their value in the measure.
    pub(super) value: u64,
}

impl Layout {
    /// Returns the number of frames that are too narrow to draw, with their value in the measure.
    pub(super) fn elided(&self) -> (u64, u64) {
        let rests = self.rows.iter().flat_map(|row| &row.rests);
        rests.fold((0, 0), |(frames, value), rest| {
            (frames + rest.frames, rest.value.saturating_add(value))
        })
    }
}

/// A tree as it is drawn: `zoom` fills row 0, and its descendants are below it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Icicle<'a> {
    pub(super) tree: &'a CallTree,
    pub(super) measure: Measure,
    pub(super) zoom: NodeId,
    pub(super) width: u16,
}

impl Icicle<'_> {
    fn value(self, id: NodeId) -> u64 {
        self.measure.of(self.tree.total(id))
    }

    /// Converts a value to columns. Valid only if there is something to draw.
    fn columns(self, value: u64) -> f64 {
        value as f64 * f64::from(self.width) / self.value(self.zoom) as f64
    }

    /// Returns `true` if `id` is the zoomed frame or below it.
    pub(super) fn is_inside(self, id: NodeId) -> bool {
        let mut at = id;
        // Parents come before children, so this loop ends.
        while at > self.zoom {
            match self.tree.node(at).parent {
                Some(parent) => at = parent,
                None => return false,
            }
        }
        at == self.zoom
    }

    /// Returns `true` if `id` is below the zoomed frame and at least one column wide.
    pub(super) fn is_drawn(self, id: NodeId) -> bool {
        self.value(self.zoom) > 0 && self.is_inside(id) && self.columns(self.value(id)) >= 1.0
    }

    /// Returns the rows `top..top + rows`.
    pub(super) fn layout(self, top: u32, rows: u16) -> Layout {
        let mut layout = Layout::default();
        if self.value(self.zoom) == 0 || self.width == 0 {
            return layout;
        }
        let mut row = Row::default();
        row.cells.push(Cell {
            node: self.zoom,
            x: 0,
            width: self.width,
            start: 0.0,
        });
        let mut depth = 0;
        while !row.cells.is_empty() {
            let next = self.below(&row);
            if depth >= top {
                layout.rows.push(row);
                if layout.rows.len() >= rows as usize {
                    layout.deeper = !next.cells.is_empty() || !next.rests.is_empty();
                    return layout;
                }
            }
            depth += 1;
            row = next;
        }
        // The last row may contain only frames that are too narrow to draw.
        if depth >= top && !row.rests.is_empty() && layout.rows.len() < rows as usize {
            layout.rows.push(row);
        }
        layout
    }

    fn below(self, row: &Row) -> Row {
        let mut next = Row::default();
        for cell in &row.cells {
            let end = cell.x + cell.width;
            let mut start = cell.start;
            // Children are sorted by size, so after one that is too narrow, all others are too.
            let children = self.tree.children(cell.node);
            for (at, child) in children.iter().enumerate() {
                let columns = self.columns(self.value(*child));
                if columns < 1.0 {
                    let rest = children.get(at..).unwrap_or_default();
                    next.rests.extend(self.rest(rest, start, end));
                    break;
                }
                let (x, width) = cells(start, columns, end);
                if width > 0 {
                    let node = *child;
                    next.cells.push(Cell {
                        node,
                        x,
                        width,
                        start,
                    });
                }
                start += columns;
            }
        }
        next
    }

    fn rest(self, rest: &[NodeId], start: f64, end: u16) -> Option<Rest> {
        let values = rest
            .iter()
            .map(|id| self.value(*id))
            .take_while(|value| *value > 0);
        let frames = values.clone().count() as u64;
        let value = values.fold(0, u64::saturating_add);
        let (x, width) = cells(start, self.columns(value), end);
        (frames > 0).then_some(Rest {
            x,
            width,
            frames,
            value,
        })
    }
}

/// Returns the first cell and the number of cells of a frame that starts at `start` and is
/// `columns` wide.
fn cells(start: f64, columns: f64, end: u16) -> (u16, u16) {
    let x = (start.round() as u16).min(end);
    let until = ((start + columns).round() as u16).clamp(x, end);
    (x, until - x)
}

#[cfg(test)]
mod tests {
    use super::*;
    use heapglass_fixture as fixture;
    use heapglass_profiler::calltree::CallTreeOptions;

    fn tree() -> CallTree {
        let mut tree = CallTree::build(&fixture::profile(), &CallTreeOptions::default());
        tree.sort(Measure::Total);
        tree
    }

    fn icicle(tree: &CallTree, width: u16) -> Icicle<'_> {
        Icicle {
            tree,
            measure: Measure::Total,
            zoom: NodeId::ROOT,
            width,
        }
    }

    #[test]
    fn frames_of_a_row_do_not_overlap_and_stay_inside_their_parents() {
        let tree = tree();
        for width in [1, 7, 80, 333] {
            let layout = icicle(&tree, width).layout(0, 100);
            for pair in layout.rows.windows(2) {
                let mut free = 0;
                for cell in &pair[1].cells {
                    assert!(
                        cell.x >= free && cell.width > 0,
                        "{cell:?} at width {width}"
                    );
                    free = cell.x + cell.width;
                    let parent = tree.node(cell.node).parent.expect("not the root");
                    let around = pair[0]
                        .cells
                        .iter()
                        .find(|c| c.node == parent)
                        .expect("the parent is drawn");
                    assert!(
                        cell.x >= around.x && free <= around.x + around.width,
                        "{cell:?} leaves {around:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn every_child_is_drawn_or_counted_as_elided() {
        let tree = tree();
        let layout = icicle(&tree, 20).layout(0, 100);
        for pair in layout.rows.windows(2) {
            let (cells, rests) = (&pair[1].cells, &pair[1].rests);
            let drawn: u64 = cells
                .iter()
                .map(|c| Measure::Total.of(tree.total(c.node)))
                .sum();
            let elided: u64 = rests.iter().map(|r| r.value).sum();
            let children: u64 = pair[0]
                .cells
                .iter()
                .flat_map(|c| tree.children(c.node))
                .map(|c| Measure::Total.of(tree.total(*c)))
                .sum();
            assert_eq!(drawn + elided, children);
        }
        assert!(
            layout.elided().0 > 0,
            "twenty columns cannot show forty sites"
        );
    }

    #[test]
    fn what_is_said_to_be_drawn_is_drawn() {
        let tree = tree();
        for width in [3, 40, 200] {
            let layout = icicle(&tree, width).layout(0, 100);
            for id in tree.ids() {
                let drawn = layout
                    .rows
                    .iter()
                    .flat_map(|r| &r.cells)
                    .any(|c| c.node == id);
                assert_eq!(
                    drawn,
                    icicle(&tree, width).is_drawn(id),
                    "{id:?} at {width}"
                );
            }
        }
    }

    #[test]
    fn a_window_shows_the_same_rows_as_the_whole() {
        let tree = tree();
        let whole = icicle(&tree, 80).layout(0, 100);
        let window = icicle(&tree, 80).layout(2, 2);
        assert!(window.deeper);
        for (a, b) in window.rows.iter().zip(&whole.rows[2..]) {
            assert_eq!(a.cells, b.cells);
        }
    }
}
