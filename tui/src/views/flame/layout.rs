//! Where frames are drawn: one row a depth, one cell at least a frame. Touches only what is visible, never recurses.

use heapglass_profiler::calltree::{CallTree, NodeId};
use heapglass_profiler::profile::Measure;

/// The visible rows.
#[derive(Clone, Debug, Default)]
pub(super) struct Layout {
    pub(super) rows: Vec<Row>,
    /// Whether there are frames below the last row.
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
    /// First column, and how many.
    pub(super) x: u16,
    pub(super) width: u16,
    /// Where it begins, unrounded.
    start: f64,
}

/// Siblings narrower than a cell, drawn as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rest {
    pub(super) x: u16,
    pub(super) width: u16,
    /// Frames right here (what is below them is not counted).
    pub(super) frames: u64,
    /// Their part of the measure.
    pub(super) value: u64,
}

impl Layout {
    /// Rows `top..top + rows` below `zoom`, which fills row 0, on `width` columns.
    pub(super) fn new(
        tree: &CallTree,
        measure: Measure,
        zoom: NodeId,
        width: u16,
        top: u32,
        rows: u16,
    ) -> Self {
        let mut layout = Layout::default();
        let whole = measure.of(tree.total(zoom));
        if whole == 0 || width == 0 {
            return layout;
        }
        let scale = Scale { whole, width };
        let mut row = Row {
            cells: vec![Cell {
                node: zoom,
                x: 0,
                width,
                start: 0.0,
            }],
            rests: Vec::new(),
        };
        let mut depth = 0;
        while !row.cells.is_empty() {
            let next = scale.below(tree, measure, &row);
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
        // The last row may hold nothing but frames too narrow to draw.
        if depth >= top && !row.rests.is_empty() && layout.rows.len() < rows as usize {
            layout.rows.push(row);
        }
        layout
    }

    /// Frames not drawn for want of width, and their part of the measure.
    pub(super) fn elided(&self) -> (u64, u64) {
        let rests = self.rows.iter().flat_map(|row| &row.rests);
        rests.fold((0, 0), |(frames, value), rest| {
            (frames + rest.frames, rest.value.saturating_add(value))
        })
    }
}

/// Bytes to columns.
struct Scale {
    whole: u64,
    width: u16,
}

impl Scale {
    fn columns(&self, value: u64) -> f64 {
        value as f64 * f64::from(self.width) / self.whole as f64
    }

    fn below(&self, tree: &CallTree, measure: Measure, row: &Row) -> Row {
        let mut next = Row::default();
        for cell in &row.cells {
            let end = cell.x + cell.width;
            let mut start = cell.start;
            // Children come largest first, so once one is too narrow, all that follow are.
            let children = tree.children(cell.node);
            for (at, child) in children.iter().enumerate() {
                let value = measure.of(tree.total(*child));
                let columns = self.columns(value);
                if columns < 1.0 {
                    let rest = children.get(at..).unwrap_or_default();
                    self.rest(tree, measure, rest, start, end, &mut next);
                    break;
                }
                let x = (start.round() as u16).min(end);
                let until = ((start + columns).round() as u16).clamp(x, end);
                if until > x {
                    next.cells.push(Cell {
                        node: *child,
                        x,
                        width: until - x,
                        start,
                    });
                }
                start += columns;
            }
        }
        next
    }

    fn rest(
        &self,
        tree: &CallTree,
        measure: Measure,
        rest: &[NodeId],
        start: f64,
        end: u16,
        row: &mut Row,
    ) {
        let mut frames = 0;
        let mut value = 0_u64;
        for part in rest
            .iter()
            .map(|id| measure.of(tree.total(*id)))
            .take_while(|part| *part > 0)
        {
            frames += 1;
            value = value.saturating_add(part);
        }
        if frames > 0 {
            let x = (start.round() as u16).min(end);
            let until = ((start + self.columns(value)).round() as u16).clamp(x, end);
            row.rests.push(Rest {
                x,
                width: until - x,
                frames,
                value,
            });
        }
    }
}

/// Whether `id` is `zoom` or below it.
pub(super) fn is_inside(tree: &CallTree, zoom: NodeId, id: NodeId) -> bool {
    let mut at = id;
    // Parents come before children: the walk ends.
    while at > zoom {
        match tree.node(at).parent {
            Some(parent) => at = parent,
            None => return false,
        }
    }
    at == zoom
}

/// Whether `id` is below `zoom` and at least one of `width` columns wide there.
pub(super) fn is_drawn(
    tree: &CallTree,
    measure: Measure,
    zoom: NodeId,
    id: NodeId,
    width: u16,
) -> bool {
    let whole = measure.of(tree.total(zoom));
    let value = measure.of(tree.total(id));
    whole > 0 && is_inside(tree, zoom, id) && Scale { whole, width }.columns(value) >= 1.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;
    use heapglass_profiler::calltree::Options;

    fn tree() -> CallTree {
        let mut tree = CallTree::build(&sample::profile(), &Options::default());
        tree.sort(Measure::Total);
        tree
    }

    #[test]
    fn frames_of_a_row_do_not_overlap_and_stay_inside_their_parents() {
        let tree = tree();
        for width in [1, 7, 80, 333] {
            let layout = Layout::new(&tree, Measure::Total, NodeId::ROOT, width, 0, 100);
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
        let layout = Layout::new(&tree, Measure::Total, NodeId::ROOT, 20, 0, 100);
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
            let layout = Layout::new(&tree, Measure::Total, NodeId::ROOT, width, 0, 100);
            for id in tree.ids() {
                let drawn = layout
                    .rows
                    .iter()
                    .flat_map(|r| &r.cells)
                    .any(|c| c.node == id);
                assert_eq!(
                    drawn,
                    is_drawn(&tree, Measure::Total, NodeId::ROOT, id, width),
                    "{id:?} at {width}"
                );
            }
        }
    }

    #[test]
    fn a_window_shows_the_same_rows_as_the_whole() {
        let tree = tree();
        let whole = Layout::new(&tree, Measure::Total, NodeId::ROOT, 80, 0, 100);
        let window = Layout::new(&tree, Measure::Total, NodeId::ROOT, 80, 2, 2);
        assert!(window.deeper);
        for (a, b) in window.rows.iter().zip(&whole.rows[2..]) {
            assert_eq!(a.cells, b.cells);
        }
    }
}
