//! Entries of maps: fields by their names in the data, other maps by `{key}` and `{value}`, and the
//! buffered entries of a flattened struct.

use super::{Buffer, Seed};
use crate::profiled::enter::At;
use crate::profiled::identifier::{Capture, Identifier, Named, kept_name};
use crate::profiled::known;
use crate::profiled::tree::{Node, Step, TypeOf};
use crate::profiled::visitor::{Kind, STRUCT};
use heapglass_recorder::scopes::{self, ScopeGuard};
use serde::de::{Deserialize, DeserializeSeed, MapAccess};
use std::marker::PhantomData;
use tracking_alloc_recording::scope_kind;

pub(in super::super) struct Map<A, const KIND: Kind> {
    access: A,
    at: At,
    names: &'static [&'static str],
    /// The last key that was read.
    named: Named,
    /// The index of the name that is expected next, because fields usually come in order.
    next: usize,
    /// The scope between entries.
    rest: u32,
    /// `true` if something was buffered here.
    buffered: bool,
}

impl<A, const KIND: Kind> Map<A, KIND> {
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(in super::super) fn new(access: A, at: At, names: &'static [&'static str]) -> Self {
        Map {
            access,
            at,
            names,
            named: Named::Unknown,
            next: 0,
            rest: at.node().scope,
            buffered: false,
        }
    }
}

/// Enters the place of the kept name.
///
/// PERF: never inlined, because the copy of the name must not lie in the stack frame of every
/// deserialized value.
#[inline(never)]
fn enter_kept(node: &'static Node, ty: TypeOf) -> &'static Node {
    let kept = kept_name();
    node.enter(Step::buffered_field(kept.as_str()), ty, true)
}

impl<'de, A: MapAccess<'de>, const KIND: Kind> Map<A, KIND> {
    /// Reads a key and notes its name.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn noted_key<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
        capture: Capture,
    ) -> Result<Option<K::Value>, A::Error> {
        let key = self.access.next_key_seed(Identifier {
            inner: seed,
            capture: &capture,
        })?;
        self.named = capture.named();
        if let Named::Name(index) = self.named {
            self.next = index + 1;
        }
        Ok(key)
    }

    /// Reads the key of a struct with flattened fields, whose buffer gets unknown names.
    fn next_flatten_key<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, A::Error> {
        let at = self.at;
        let key = {
            scopes::set(at.node().buffered().scope);
            let _entered = ScopeGuard { back: self.rest };
            at.checked(|| self.noted_key(seed, Capture::new(None, 0)))?
        };
        if key.is_none() && self.buffered {
            self.rest = at.node().rebuilt().scope;
            scopes::set(self.rest);
        }
        Ok(key)
    }
}

impl<'de, A: MapAccess<'de>, const KIND: Kind> MapAccess<'de> for Map<A, KIND> {
    type Error = A::Error;

    #[inline]
    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, A::Error> {
        let at = self.at;
        if KIND == STRUCT {
            let capture = Capture::new(Some(self.names), self.next);
            return at.checked(|| self.noted_key(seed, capture));
        }
        if known::is_flatten_key::<K::Value>() && !at.is_buffering() {
            return self.next_flatten_key(seed);
        }
        if known::is_field::<K::Value>() && !at.is_buffering() {
            // A struct that gives no names: a variant of an adjacently tagged enum.
            return at.checked(|| self.noted_key(seed, Capture::new(None, 0)));
        }
        let Some(ty) = known::seeded::<K>() else {
            return at.checked(|| self.access.next_key_seed(seed));
        };
        self.access.next_key_seed(Seed {
            seed,
            at,
            back: self.rest,
            enter: move || at.node().enter_only::<{ scope_kind::KEY }>(ty),
        })
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn next_value<T: Deserialize<'de>>(&mut self) -> Result<T, A::Error> {
        // PERF: inlined, as for elements, so that values are moved once less.
        self.next_value_seed(PhantomData)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        let at = self.at;
        let Some(ty) = known::seeded::<S>() else {
            return at.checked(|| self.access.next_value_seed(seed));
        };
        if known::is_buffer::<S::Value>() && !at.is_buffering() {
            let value = self.access.next_value_seed(Buffer { seed, at });
            self.buffered = true;
            // A flattened struct continues to buffer, and its list of entries grows meanwhile. An
            // adjacently tagged enum needs only its tag.
            self.rest = if KIND == STRUCT {
                at.node().rebuilt().scope
            } else {
                at.node().buffered().scope
            };
            scopes::set(self.rest);
            return value;
        }
        let (node, names, named) = (at.node(), self.names, self.named);
        // A type inside itself is counted at its outermost place.
        let fold = !(known::is_content_seed::<S>() && ty().name == node.ty.name);
        self.access.next_value_seed(Seed {
            seed,
            at,
            back: self.rest,
            enter: move || match named {
                Named::Name(index) => {
                    // A captured index is an index of the list.
                    let name = names.get(index).copied().unwrap_or("");
                    if fold {
                        node.enter_field::<true>(index, name, ty)
                    } else {
                        node.enter(Step::Field(name, index), ty, false)
                    }
                }
                Named::Index(index) => node.enter(Step::Index(index, None), ty, true),
                Named::Kept => enter_kept(node, ty),
                Named::Unknown => node.enter_only::<{ scope_kind::VALUE }>(ty),
            },
        })
    }

    #[inline]
    fn size_hint(&self) -> Option<usize> {
        self.access.size_hint()
    }
}
