//! The fields as a tree: their nesting, their order, and the matches of a search.

use heapglass_profiler::fields::Field;

use super::render;
use crate::model::{Context, Pattern};
use crate::widgets::{Matches, SearchNode, Shape, Sort, Table, TreeRow};

/// Maximum number of fields of a tree that is open at first.
const SMALL: usize = 200;

/// The fields of a recording, with siblings in the order of a column.
pub(super) struct Fields<'a> {
    cx: &'a Context<'a>,
    table: Table<'a, render::Line<'a>>,
}

impl<'a> Fields<'a> {
    pub(super) fn new(cx: &'a Context<'_>, sort: Sort) -> Self {
        let table = render::table(sort, cx, None);
        Fields { cx, table }
    }

    fn field(&self, node: u32) -> Option<&'a Field> {
        self.cx.data.field(node)
    }

    fn sorted(&self, mut nodes: Vec<u32>) -> Vec<u32> {
        nodes.sort_unstable();
        let line = |node| {
            Some((
                TreeRow {
                    node,
                    ..TreeRow::default()
                },
                self.field(node)?,
            ))
        };
        let mut lines: Vec<_> = nodes.into_iter().filter_map(line).collect();
        self.table.sort(&mut lines);
        lines.into_iter().map(|(row, _)| row.node).collect()
    }
}

impl Shape for Fields<'_> {
    /// "(no field)" is shown next to the roots, which are attached to it.
    fn roots(&self) -> Vec<u32> {
        let roots = self
            .field(0)
            .map(|field| field.children.as_slice())
            .unwrap_or_default()
            .iter()
            .copied();
        self.sorted(roots.chain([0]).collect())
    }

    fn children(&self, node: u32) -> Vec<u32> {
        let field = self.field(node).filter(|_| node != 0);
        self.sorted(field.map_or(Vec::new(), |field| field.children.clone()))
    }

    fn parent(&self, node: u32) -> Option<u32> {
        self.field(node).map(|field| field.parent)
    }

    /// Small trees are open, and so are the first levels of large ones.
    fn is_open_at_first(&self, node: u32) -> bool {
        let around = self.parent(node).unwrap_or(0);
        let is_root = |node| self.parent(node) == Some(0);
        let all = self.cx.data.profile.fields().nodes().len();
        all <= SMALL || is_root(node) || is_root(around)
    }
}

/// Returns the fields whose step or type matches, in the order of the recording.
pub(super) fn find(cx: &Context<'_>, pattern: &Pattern) -> Matches {
    let nodes = cx.data.profile.fields().nodes();
    Matches::of(nodes.iter().map(|field| {
        let name = cx.data.type_name(field.value_type);
        let by_type = name.is_some_and(|name| pattern.is_match(&name.short));
        SearchNode {
            parent: Some(field.parent).filter(|parent| *parent != 0),
            is_match: by_type || pattern.is_match(&field.step),
            value: cx.measure.shown(&field.with_inner),
        }
    }))
}
