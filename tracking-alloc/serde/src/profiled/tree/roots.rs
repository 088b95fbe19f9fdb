//! The roots of trees: one for each type, enclosing scope and recording.

use super::label::Label;
use super::write_lock::WriteLock;
use super::{Node, Step, Type};
use heapglass_recorder::leaked::{self, Link};
use heapglass_recorder::scopes;
use heapglass_recorder::scopes::Added;
use std::sync::atomic::Ordering::*;
use tracking_alloc_recording::{scope_flags, scope_kind};

const BUCKETS: usize = 1024;

static ROOTS: [Link<Root>; BUCKETS] = [const { Link::new() }; BUCKETS];

/// The key that distinguishes roots of one type.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Key {
    /// The enclosing scope.
    outer: u32,
    /// The root's recording.
    generation: u32,
    /// `true` if the values are built in an arena.
    in_arena: bool,
}

struct Root {
    key: Key,
    node: &'static Node,
    next: Option<&'static Root>,
}

/// Returns the root for values of `ty` deserialized while the thread is in `outer`. Values built in
/// an arena, and values overwritten in place, have a root of their own. Returns `None` if the root
/// cannot be made now.
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
    let key = Key {
        outer,
        generation,
        in_arena,
    };
    // PERF: equal names are usually the same constant.
    let is_name = |name: &str| std::ptr::eq(name, ty.name) || name == ty.name;
    let find = || {
        std::iter::successors(bucket.get(), |root| root.next)
            .find(|root| {
                let known = root.node.ty;
                root.key == key && known.is_in_place == ty.is_in_place && is_name(known.name)
            })
            .map(|root| root.node)
    };
    find().or_else(|| {
        let _lock = WriteLock::acquire()?;
        find().or_else(|| {
            let node = make(ty, key)?;
            bucket.set(leaked::leak(Root {
                key,
                node,
                next: bucket.get(),
            })?);
            Some(node)
        })
    })
}

fn make(ty: Type, key: Key) -> Option<&'static Node> {
    let mut node = Node::new(None, Label::of(&Step::Single(scope_kind::ROOT))?, ty);
    node.scope = key.outer;
    if key.generation != 0 {
        match node.add_scope(ty) {
            Added::Scope(scope) if key.in_arena => {
                scopes::flag(scope, scope_flags::IN_ARENA);
            }
            Added::Scope(_) => {}
            Added::NotNow => return None,
            Added::Deep | Added::Full => {
                if key.outer != 0 {
                    scopes::flag(key.outer, scope_flags::FOLDED);
                }
                node.flags_set.store(scope_flags::FOLDED, Relaxed);
            }
        }
    }
    leaked::leak(node)
}
