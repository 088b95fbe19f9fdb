//! Where trees begin: one root for each type, scope around it and recording.

use super::label::Label;
use super::write_lock::WriteLock;
use super::{FOLDED, Node, Step, Type, memory};
use crate::current_scope::Added;
use crate::profiled::register;
use std::sync::atomic::{AtomicPtr, Ordering::*};
use tracking_alloc_recording::scope_flags;

const BUCKETS: usize = 1024;

static ROOTS: [AtomicPtr<Root>; BUCKETS] =
    [const { AtomicPtr::new(std::ptr::null_mut()) }; BUCKETS];

struct Root {
    in_arena: bool,
    outer: u32,
    generation: u32,
    ty: &'static str,
    node: &'static Node,
    next: *const Root,
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
    let same = |root: &&Root, same_type: fn(&str, &str) -> bool| {
        (root.outer, root.generation, root.in_arena) == (outer, generation, in_arena)
            && same_type(root.ty, ty.name)
    };
    list(bucket)
        .find(|root| same(root, |one, other| std::ptr::eq(one, other)))
        .or_else(|| list(bucket).find(|root| same(root, |one, other| one == other)))
        .map(|root| root.node)
        .or_else(|| {
            let _lock = WriteLock::acquire()?;
            if let Some(root) = list(bucket).find(|root| same(root, |one, other| one == other)) {
                return Some(root.node);
            }
            let node = make(ty, outer, generation, in_arena)?;
            let root = memory::keep(Root {
                in_arena,
                outer,
                generation,
                ty: ty.name,
                node,
                next: bucket.load(Relaxed),
            })?;
            bucket.store(std::ptr::from_ref(root).cast_mut(), Release);
            Some(node)
        })
}

fn list(bucket: &AtomicPtr<Root>) -> impl Iterator<Item = &'static Root> {
    // SAFETY: null or a root, which is never given back.
    let first = unsafe { bucket.load(Acquire).as_ref() };
    // SAFETY: likewise.
    std::iter::successors(first, |root| unsafe { root.next.as_ref() })
}

fn make(ty: Type, outer: u32, generation: u32, in_arena: bool) -> Option<&'static Node> {
    let label = Label::of(&Step::Root)?;
    let mut node = Node::new(None, std::ptr::from_ref(label).cast_mut(), ty);
    node.scope = outer;
    if generation != 0 {
        match register::add(outer, label, ty) {
            Added::Scope(scope) => {
                (node.scope, node.visit) = (scope, scope);
                if in_arena {
                    register::flag(scope, scope_flags::IN_ARENA);
                }
            }
            Added::NotNow => return None,
            refused => {
                node.lost = matches!(refused, Added::Full);
                if outer != 0 {
                    register::flag(outer, scope_flags::FOLDED);
                }
                node.flags_set.store(FOLDED, Relaxed);
            }
        }
    }
    memory::keep(node)
}
