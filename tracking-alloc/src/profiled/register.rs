//! Where the tree meets the recording; without one, everything is "not now".

use super::tree::{Label, Type};
use crate::current_scope::Added;

#[cfg(any(recording, in_memory))]
mod recorded {
    use super::*;
    use crate::current_scope::NewScope;
    use crate::scopes;

    pub(in super::super) fn generation() -> u32 {
        scopes::generation()
    }

    pub(in super::super) fn add(parent: u32, label: &Label, ty: Type) -> Added {
        scopes::add(&NewScope {
            parent,
            kind: label.kind,
            flags: label.flags,
            name: label.name,
            type_name: ty.name,
            value_bytes: ty.bytes as u64,
        })
    }

    pub(in super::super) fn flag(scope: u32, flags: u32) {
        scopes::flag(scope, flags);
    }

    pub(in super::super) fn rename(scope: u32, label: &Label) {
        scopes::rename(scope, label.kind, label.name);
    }

    pub(in super::super) fn retype(scope: u32, ty: Type) {
        scopes::retype(scope, ty.name, ty.bytes as u64);
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(in super::super) fn visit(scope: u32) {
        #[cfg(recording)]
        crate::hook::visit(scope);
        #[cfg(in_memory)]
        scopes::visit(scope);
    }

    /// False: it must be counted by [`visit`].
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(in super::super) fn visit_again(scope: u32) -> bool {
        #[cfg(recording)]
        return crate::hook::visit_again(scope);
        #[cfg(in_memory)]
        {
            scopes::visit(scope);
            true
        }
    }

    pub(in super::super) fn lost() {
        scopes::lost();
    }
}

#[cfg(not(any(recording, in_memory)))]
mod recorded {
    use super::*;

    pub(in super::super) fn generation() -> u32 {
        0
    }

    pub(in super::super) fn add(_parent: u32, _label: &Label, _ty: Type) -> Added {
        Added::NotNow
    }

    pub(in super::super) fn flag(_scope: u32, _flags: u32) {}

    pub(in super::super) fn rename(_scope: u32, _label: &Label) {}

    pub(in super::super) fn retype(_scope: u32, _ty: Type) {}

    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(in super::super) fn visit(_scope: u32) {}

    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(in super::super) fn visit_again(_scope: u32) -> bool {
        true
    }

    pub(in super::super) fn lost() {}
}

pub(super) use recorded::{add, flag, generation, lost, rename, retype, visit, visit_again};
