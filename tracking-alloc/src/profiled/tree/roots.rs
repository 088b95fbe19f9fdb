//! Where trees begin: one root for each type, scope around it and recording.

use super::label::Label;
use super::write_lock::WriteLock;
use super::{Node, Step, Type};
use crate::current_scope::Added;
use crate::leaked::{self, Link};
use crate::scope_records;
use std::sync::atomic::Ordering::*;
use tracking_alloc_recording::scope_flags;

const BUCKETS: usize = 1024;

static ROOTS: [Link<Root>; BUCKETS] = [const { Link::new() }; BUCKETS];

struct Root {
    /// The scope around it, its recording, and whether its values are built in an arena.
    key: (u32, u32, bool),
    node: &'static Node,
    next: Option<&'static Root>,
}

/// The root for values of `ty` deserialized while the thread is in `outer`; those built in an arena have one of their
/// own. `None` when it cannot be made now.
pub(in super::super) fn root(
    ty: Type,
    outer: u32,
    generation: u32,
    in_arena: bool,
) -> Option<&'static Node> {
    let mixed = (outer as usize)
        .wrapping_mul(0x9E37_79B1)
        .wrapping_add(generation as usize)
        .wrapping_add(ty.name.len() * 31);
    let bucket = &ROOTS[mixed % BUCKETS];
    let key = (outer, generation, in_arena);
    let find = || {
        std::iter::successors(bucket.get(), |root| root.next)
            .find(|root| root.key == key && root.node.ty.name == ty.name)
            .map(|root| root.node)
    };
    find().or_else(|| {
        let _lock = WriteLock::acquire()?;
        find().or_else(|| {
            let node = make(ty, outer, generation, in_arena)?;
            bucket.set(leaked::leak(Root {
                key,
                node,
                next: bucket.get(),
            })?);
            Some(node)
        })
    })
}

fn make(ty: Type, outer: u32, generation: u32, in_arena: bool) -> Option<&'static Node> {
    let mut node = Node::new(None, Label::of(&Step::Root)?, ty);
    node.scope = outer;
    if generation != 0 {
        match node.add_scope(outer, ty) {
            Added::Scope(scope) if in_arena => {
                scope_records::flag(scope, scope_flags::IN_ARENA);
            }
            Added::Scope(_) => {}
            Added::NotNow => return None,
            Added::Deep | Added::Full => {
                if outer != 0 {
                    scope_records::flag(outer, scope_flags::FOLDED);
                }
                node.flags_set.store(scope_flags::FOLDED, Relaxed);
            }
        }
    }
    leaked::leak(node)
}
