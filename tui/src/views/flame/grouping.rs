//! The choice of frames (stacks, fields or types), and their meaning for the other views.

use heapglass_profiler::calltree::{CallTree, Levels};
use heapglass_profiler::profile::Label;

use super::Flame;
use crate::model::{Context, Outcome, Selection};

impl Flame {
    /// Switches to the next of stack, field and type that the recording has.
    pub(super) fn next_grouping(&mut self, cx: &Context<'_>) -> Outcome {
        let has_fields = !cx.data.profile.fields().is_empty();
        let mut types = cx.data.profile.type_rows().iter();
        let has_types = types.any(|row| row.type_id.is_some());
        self.options.levels = match self.options.levels {
            Levels::Stack if has_fields => Levels::Field,
            Levels::Stack | Levels::Field if has_types => Levels::Type,
            Levels::Stack => return Outcome::notice("no fields or types were recorded"),
            _ => Levels::Stack,
        };
        self.highlight = None;
        self.reshape(cx)
    }

    /// Shows stacks, fields or types, unless they are already shown.
    pub(super) fn group(&mut self, levels: Levels, cx: &Context<'_>) {
        if self.options.levels != levels {
            self.options.levels = levels;
            self.highlight = None;
            self.reshape(cx);
        }
    }

    /// Returns the type and field of the selected frame in a tree by field or type: the innermost
    /// ones around it.
    pub(super) fn selection(&self, cx: &Context<'_>) -> Option<Selection> {
        let tree = self.tree.as_ref()?;
        let (mut id, mut field) = (None, None);
        for step in tree.path(self.selected()) {
            match tree.node(step).label {
                Label::Type(seen) => id = Some(seen),
                // Outermost frames come first, even in an inverted tree.
                Label::Field(node) if self.options.inverted => field = field.or(Some(node)),
                Label::Field(node) | Label::Path(node) => field = Some(node),
                _ => {}
            }
        }
        Selection::new(cx.data, id, field, id.is_none())
    }

    /// Selects the field or type that another view asked for.
    pub(super) fn show_selection(&mut self, selection: &Selection, cx: &Context<'_>) -> Outcome {
        let wanted = match selection.field_in(cx.data) {
            Some(node) => Label::Field(node),
            None => Label::Type(selection.type_in(cx.data)),
        };
        let find = |tree: &CallTree| tree.ids().find(|id| tree.node(*id).label == wanted);
        self.show_found(find, "it has no blocks", cx)
    }
}

/// Returns the levels of the tree that shows a selection.
pub(super) fn levels_of(selection: &Selection, cx: &Context<'_>) -> Levels {
    match selection.field_in(cx.data) {
        Some(_) => Levels::Field,
        None => Levels::Type,
    }
}
