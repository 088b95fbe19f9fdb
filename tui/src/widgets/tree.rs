//! A tree to open and close, with a selection. Never recurses, because data may be deep.

use std::collections::HashMap;

use super::List;
use crate::model::Command;

/// The structure of a tree. Parents have smaller numbers than their children.
pub(crate) trait Shape {
    /// Returns the outermost nodes, in order.
    fn roots(&self) -> Vec<u32>;

    /// Returns the children of a node, in order.
    fn children(&self, node: u32) -> Vec<u32>;

    fn parent(&self, node: u32) -> Option<u32>;

    /// Returns `true` if a branch is open by default.
    fn is_open_at_first(&self, node: u32) -> bool;
}

/// A visible node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TreeRow {
    pub(crate) node: u32,
    pub(crate) depth: u16,
    /// `true` if its branch is open; `None` if it has no children.
    pub(crate) is_open: Option<bool>,
}

impl TreeRow {
    /// Returns the text before the name, which shows the depth and whether the branch is open. In a
    /// narrow column, depth takes fewer cells.
    pub(crate) fn branch(&self, is_narrow: bool) -> String {
        let indent = if is_narrow { " " } else { "  " };
        let mark = match self.is_open {
            Some(true) => "▾ ",
            Some(false) => "▸ ",
            None => "  ",
        };
        format!("{}{mark}", indent.repeat(usize::from(self.depth)))
    }
}

/// The visible rows of a tree, and its open branches.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    pub(crate) list: List<TreeRow>,
    /// Nodes that the user opened (`true`) or closed (`false`).
    turned: HashMap<u32, bool>,
    /// `true` or `false` if the user opened or closed all other nodes.
    all: Option<bool>,
}

impl Tree {
    pub(crate) fn selected(&self) -> Option<u32> {
        self.list.selected().map(|row| row.node)
    }

    /// Renumbers the nodes that the user opened or closed, for other data.
    pub(crate) fn renumber(&mut self, moved: impl Fn(u32) -> Option<u32>) {
        let turned = std::mem::take(&mut self.turned)
            .into_iter()
            .filter_map(|(node, open)| Some((moved(node)?, open)));
        self.turned = turned.collect();
    }

    fn is_open(&self, shape: &impl Shape, node: u32) -> bool {
        let turned = self.turned.get(&node).copied().or(self.all);
        turned.unwrap_or_else(|| shape.is_open_at_first(node))
    }

    /// Rebuilds the rows and selects `node`, or its nearest visible ancestor.
    pub(crate) fn refresh(&mut self, shape: &impl Shape, node: Option<u32>) {
        let below = |nodes: Vec<u32>, depth| nodes.into_iter().rev().map(move |node| (node, depth));
        let mut open: Vec<(u32, u16)> = below(shape.roots(), 0).collect();
        self.list.rows.clear();
        while let Some((node, depth)) = open.pop() {
            let inner = shape.children(node);
            let is_open = (!inner.is_empty()).then(|| self.is_open(shape, node));
            self.list.rows.push(TreeRow {
                node,
                depth,
                is_open,
            });
            if is_open == Some(true) {
                open.extend(below(inner, depth.saturating_add(1)));
            }
        }
        let mut wanted = node;
        let mut at = None;
        while at.is_none()
            && let Some(node) = wanted
        {
            at = self.list.rows.iter().position(|row| row.node == node);
            wanted = shape.parent(node).filter(|parent| *parent < node);
        }
        self.list.select(at.unwrap_or(0));
    }

    /// Opens the branches around `node` and selects it.
    pub(crate) fn reveal(&mut self, shape: &impl Shape, node: u32) {
        let mut at = node;
        while let Some(parent) = shape.parent(at).filter(|parent| *parent < at) {
            at = parent;
            if !self.is_open(shape, at) {
                self.turned.insert(at, true);
            }
        }
        self.refresh(shape, Some(node));
    }

    /// Moves, opens or closes. Returns `false` for other commands.
    pub(crate) fn command(&mut self, command: Command, shape: &impl Shape) -> bool {
        match command {
            Command::Left | Command::Right => self.sideways(shape, command == Command::Right),
            // If nothing is closed, close everything.
            Command::OpenAll => {
                let open = self.list.rows.iter().any(|row| row.is_open == Some(false));
                self.turned.clear();
                self.all = Some(open);
                self.refresh(shape, self.selected());
            }
            _ => return self.list.command(command),
        }
        true
    }

    /// Opens a branch, then enters it; closes a branch, then leaves it.
    fn sideways(&mut self, shape: &impl Shape, right: bool) {
        let Some(row) = self.list.selected().copied() else {
            return;
        };
        let at = self.list.cursor.selected;
        let to = match (row.is_open, right) {
            (Some(open), _) if open != right => {
                self.turned.insert(row.node, right);
                return self.refresh(shape, Some(row.node));
            }
            (Some(_), true) => at + 1,
            (None, true) => at,
            (_, false) => {
                let above = self.list.rows.get(..at).unwrap_or_default();
                let parent = above.iter().rposition(|above| above.depth < row.depth);
                parent.unwrap_or(at)
            }
        };
        self.list.select(to);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 0 contains 1 and 2, and 1 contains 3. All are closed at first.
    struct Small;

    impl Shape for Small {
        fn roots(&self) -> Vec<u32> {
            vec![0]
        }

        fn children(&self, node: u32) -> Vec<u32> {
            match node {
                0 => vec![2, 1],
                1 => vec![3],
                _ => Vec::new(),
            }
        }

        fn parent(&self, node: u32) -> Option<u32> {
            [None, Some(0), Some(0), Some(1)][node as usize]
        }

        fn is_open_at_first(&self, _: u32) -> bool {
            false
        }
    }

    fn nodes(tree: &Tree) -> Vec<u32> {
        tree.list.rows.iter().map(|row| row.node).collect()
    }

    #[test]
    fn right_opens_then_goes_in_and_left_closes_then_goes_out() {
        let mut tree = Tree::default();
        tree.refresh(&Small, None);
        assert_eq!(nodes(&tree), [0]);
        tree.command(Command::Right, &Small);
        assert_eq!((nodes(&tree), tree.selected()), (vec![0, 2, 1], Some(0)));
        tree.command(Command::Right, &Small);
        assert_eq!(tree.selected(), Some(2));
        tree.command(Command::Left, &Small);
        assert_eq!(tree.selected(), Some(0));
        tree.command(Command::Left, &Small);
        assert_eq!(nodes(&tree), [0]);
    }

    #[test]
    fn what_is_revealed_is_selected_and_what_is_closed_gives_way_to_what_is_around_it() {
        let mut tree = Tree::default();
        tree.reveal(&Small, 3);
        assert_eq!((nodes(&tree), tree.selected()), (vec![0, 2, 1, 3], Some(3)));
        tree.command(Command::OpenAll, &Small);
        assert_eq!((nodes(&tree), tree.selected()), (vec![0], Some(0)));
        tree.command(Command::OpenAll, &Small);
        assert_eq!(nodes(&tree), [0, 2, 1, 3]);
    }
}
