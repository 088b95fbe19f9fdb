//! A part of a profile: blocks of one type, of one field, or of both. By name, so that it survives a reload in which
//! ids change. Never holds figures.

use heapglass_profiler::profile::TypeId;

use crate::app::Data;
use crate::text::clean;

/// A field by its path and the full name of its type: the path alone need not be unique.
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

    /// The field of that key in `data`, which need not be the data the key was made of.
    pub(crate) fn find(&self, data: &Data) -> Option<u32> {
        let is_it = |node: &u32| FieldKey::of(data, *node).as_ref() == Some(self);
        let named = |(node, field): (u32, &heapglass_profiler::fields::Field)| {
            (field.path == self.path).then_some(node)
        };
        (0..).zip(&data.fields.nodes).filter_map(named).find(is_it)
    }
}

/// The full name of a type, `None` for what has none.
pub(crate) fn type_key(data: &Data, id: Option<TypeId>) -> Option<String> {
    data.type_name(id).map(|name| name.full.clone())
}

/// Blocks of a type in a field.
#[derive(Clone, Debug)]
pub(crate) struct Within {
    type_name: Option<String>,
    field: FieldKey,
    /// The places inside the field belong to it too.
    inner: bool,
    /// For people, clean.
    pub(crate) label: String,
}

impl Within {
    /// The blocks of type `id` (`None` = those without a type) in field `node` (0 = outside all fields), those of the
    /// places inside it included with `inner`.
    pub(crate) fn new(data: &Data, id: Option<TypeId>, node: u32, inner: bool) -> Option<Within> {
        let field = FieldKey::of(data, node)?;
        // Other fields are not inside "(no field)".
        let inner = inner && node != 0;
        let place = if node == 0 {
            "outside fields".to_owned()
        } else if inner {
            format!("in {} and inside", clean(&field.path))
        } else {
            format!("in {}", clean(&field.path))
        };
        Some(Within {
            label: format!("{} {place}", data.type_label(id)),
            type_name: type_key(data, id),
            field,
            inner,
        })
    }

    /// For each site of `data`, whether it is one of them; `None` when type or field are not there.
    pub(crate) fn sites(&self, data: &Data) -> Option<Vec<bool>> {
        let typed = data
            .types
            .iter()
            .find(|row| type_key(data, row.type_id) == self.type_name)?;
        let node = self.field.find(data)?;
        let mut in_field = vec![false; data.profile.sites.len()];
        for node in inside(data, node, self.inner) {
            let sites = data.field(node).map(|field| field.sites.as_slice());
            for site in sites.unwrap_or_default() {
                if let Some(flag) = in_field.get_mut(*site) {
                    *flag = true;
                }
            }
        }
        let mut both = vec![false; in_field.len()];
        for site in &typed.sites {
            if let (Some(flag), Some(is_in)) = (both.get_mut(*site), in_field.get(*site)) {
                *flag = *is_in;
            }
        }
        Some(both)
    }
}

/// The field and, with `inner`, all places inside it.
pub(crate) fn inside(data: &Data, node: u32, inner: bool) -> Vec<u32> {
    let mut nodes = vec![node];
    let mut at = 0;
    // Children come after their parents: each node is met once, in a damaged recording too.
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
