//! Between stacks, fields and types: which of them the frames are, and what a frame means to the other views.

use heapglass_profiler::calltree::{By, Label, NodeId};

use super::{Flame, nothing};
use crate::model::{Context, Outcome, Within};

impl Flame {
    /// What the frames are: the next of stack, field and type that the recording tells of.
    pub(super) fn next_grouping(&mut self, cx: &Context<'_>) -> Outcome {
        let fields = !cx.data.profile.fields().is_empty();
        let types = cx
            .data
            .profile
            .type_rows()
            .iter()
            .any(|row| row.type_id.is_some());
        self.spec.by = match self.spec.by {
            By::Stack if fields => By::Field,
            By::Stack | By::Field if types => By::Type,
            By::Stack => {
                return Outcome::Notice("neither fields nor types were recorded".to_owned());
            }
            By::Field | By::Type | By::Arena => By::Stack,
        };
        self.highlight = None;
        self.reshape(cx)
    }

    /// Shows stacks, fields or types, unless it does.
    pub(super) fn group(&mut self, by: By, cx: &Context<'_>) {
        if self.spec.by != by {
            self.spec.by = by;
            self.highlight = None;
            self.reshape(cx);
        }
    }

    /// The type and field of the selected frame of a grouped graph: of the frames around it the innermost ones.
    pub(super) fn within(&self, cx: &Context<'_>) -> Option<Within> {
        let tree = self.tree.as_ref()?;
        let (mut id, mut field) = (None, None);
        for step in tree.path(self.selected()) {
            match tree.node(step).label {
                Label::Type(seen) => id = Some(seen),
                // Outermost frames come first, in an inverted graph too.
                Label::Field(node) if self.spec.inverted => field = field.or(Some(node)),
                Label::Field(node) | Label::Path(node) => field = Some(node),
                _ => {}
            }
        }
        Within::new(cx.data, id, field, id.is_none())
    }

    /// Selects the field or the type that another view asked for.
    pub(super) fn show_within(&mut self, within: &Within, cx: &Context<'_>) -> Outcome {
        let field = within.field_in(cx.data);
        let wanted = match field {
            Some(node) => Label::Field(node),
            None => Label::Type(within.type_in(cx.data)),
        };
        self.group(if field.is_some() { By::Field } else { By::Type }, cx);
        let found = self.tree.as_ref().and_then(|tree| {
            let is_it = |id: &NodeId| tree.node(*id).label == wanted;
            let found = tree.ids().find(is_it)?;
            Some((found, cx.measure.of(tree.total(found))))
        });
        match found {
            Some((_, 0)) => Outcome::Notice(nothing(cx.measure)),
            Some((id, _)) => {
                self.show(id, cx);
                Outcome::Done
            }
            None => Outcome::Notice("it has no blocks".to_owned()),
        }
    }
}
