//! A part of a profile: the blocks of one type, of one field, or of both. Identified by names, so
//! that it survives a reload that changes ids. Never holds figures.

use heapglass_profiler::profile::TypeId;

use super::data::Data;
use crate::text::clean;

/// A field, identified by its path and the full name of its type, because the path may not be
/// unique.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FieldKey {
    path: String,
    type_name: Option<String>,
}

impl FieldKey {
    pub(crate) fn of(data: &Data, node: u32) -> Option<FieldKey> {
        let field = data.field(node)?;
        Some(FieldKey {
            path: field.path.clone(),
            type_name: type_key(data, field.value_type),
        })
    }

    /// Returns the field with this key in `data`, even if the key was made from other data.
    pub(crate) fn find(&self, data: &Data) -> Option<u32> {
        let mut nodes = (0..).zip(data.profile.fields().nodes());
        let is_same = |node| FieldKey::of(data, node).as_ref() == Some(self);
        let found = nodes.find(|(node, field)| field.path == self.path && is_same(*node));
        found.map(|(node, _)| node)
    }
}

/// Returns the full name of a type; `None` for a type without a name.
pub(crate) fn type_key(data: &Data, id: Option<TypeId>) -> Option<String> {
    data.type_name(id).map(|name| name.full.clone())
}

/// The blocks of a type, in a field, or both.
#[derive(Clone, Debug)]
pub(crate) struct Selection {
    /// The full name of the type; `Some(None)` for blocks without a type.
    type_name: Option<Option<String>>,
    field: Option<FieldKey>,
    /// `true` if the fields inside the field belong to it too.
    inner: bool,
    /// Description for people, escaped.
    pub(crate) label: String,
}

impl Selection {
    /// Selects the blocks of type `id` (`Some(None)` for blocks without a type) in field `node` (0
    /// for outside all fields). With `inner`, includes the fields inside it. `None` admits any type
    /// or any field; at least one must be given.
    pub(crate) fn new(
        data: &Data,
        id: Option<Option<TypeId>>,
        node: Option<u32>,
        inner: bool,
    ) -> Option<Selection> {
        let field = match node {
            Some(node) => Some(FieldKey::of(data, node)?),
            None => None,
        };
        // Other fields are not inside "(no field)".
        let inner = inner && node != Some(0);
        let mut words = Vec::new();
        words.extend(id.map(|id| data.type_label(id).into_owned()));
        words.extend(field.as_ref().map(|field| match (node, inner) {
            (Some(0), _) => "outside fields".to_owned(),
            (_, true) => format!("in {} and inner fields", clean(&field.path)),
            (_, false) => format!("in {}", clean(&field.path)),
        }));
        (!words.is_empty()).then(|| Selection {
            label: words.join(" "),
            type_name: id.map(|id| type_key(data, id)),
            field,
            inner,
        })
    }

    /// Returns the field in `data`.
    pub(crate) fn field_in(&self, data: &Data) -> Option<u32> {
        self.field.as_ref()?.find(data)
    }

    /// Returns the type in `data`; `None` if it has no name or is not there.
    pub(crate) fn type_in(&self, data: &Data) -> Option<TypeId> {
        let name = self.type_name.as_ref()?.as_ref()?;
        let at = data.profile.types().iter().position(|t| t.full == *name)?;
        u32::try_from(at).ok().map(TypeId)
    }

    /// Returns for each site of `data` whether it is selected; `None` if the type or field is not
    /// there.
    pub(crate) fn sites(&self, data: &Data) -> Option<Vec<bool>> {
        let mut met = vec![true; data.profile.sites().len()];
        if let Some(name) = &self.type_name {
            let mut rows = data.profile.type_rows().iter();
            let row = rows.find(|row| type_key(data, row.type_id) == *name)?;
            keep(&mut met, &row.sites);
        }
        if let Some(field) = &self.field {
            let nodes = inside(data, field.find(data)?, self.inner);
            let fields = nodes.into_iter().filter_map(|node| data.field(node));
            let sites: Vec<usize> = fields.flat_map(|field| &field.sites).copied().collect();
            keep(&mut met, &sites);
        }
        Some(met)
    }
}

/// Clears all entries except those of `sites`.
fn keep(met: &mut Vec<bool>, sites: &[usize]) {
    let mut kept = vec![false; met.len()];
    for site in sites {
        if let (Some(kept), Some(met)) = (kept.get_mut(*site), met.get(*site)) {
            *kept = *met;
        }
    }
    *met = kept;
}

/// Returns the field and, with `inner`, all fields inside it.
fn inside(data: &Data, node: u32, inner: bool) -> Vec<u32> {
    let mut nodes = vec![node];
    let mut at = 0;
    // Children come after their parents, so each node is visited once, even in a damaged recording.
    while inner
        && node != 0
        && let Some(next) = nodes.get(at).copied()
    {
        let children = data.field(next).map(|field| field.children.as_slice());
        nodes.extend(children.unwrap_or_default());
        at += 1;
    }
    nodes
}
