//! Plans for the values of containers and pointers: what is found by the fields that
//! [`crate::containers`] names.

use super::super::paths::StepId;
use super::super::types::{Kind, Member, Type, TypeId, Types};
use super::{
    COUNTS, Contents, Hold, Item, Mode, Path, Planner, Target, WORD_BYTES, field, fit, inside,
    member, with,
};
use crate::containers::{DeclaredContainer, Walk};

impl Planner<'_> {
    /// Returns the reason why a container that the program declares is not read.
    pub(in crate::typed) fn problem(&self, declared: &DeclaredContainer) -> Option<String> {
        let types = self.types;
        let path = &declared.path;
        let all = (1..types.types.len()).map(|of| of as TypeId);
        let mut found = all.filter(|&of| types.is_at(types.get(of), path));
        let Some(of) = found.next() else {
            return Some(format!(
                "the declared container `{path}` is not in the debug information; give its path \
                 without arguments"
            ));
        };
        let fields = [&declared.pointer, &declared.capacity, &declared.length];
        let name = fields
            .into_iter()
            .find(|name| self.word(of, name).is_none())?;
        Some(format!(
            "the declared container `{path}` is not read: it has no field `{name}` of {WORD_BYTES} bytes"
        ))
    }

    /// Adds what there is to do in a value whose type needs more than its fields tell. Returns
    /// `None` for other types.
    pub(super) fn known(
        &mut self,
        of: TypeId,
        at: u64,
        path: &Path,
        mode: Mode,
        depth: u32,
        out: &mut Vec<Item>,
    ) -> Option<()> {
        let types = self.types;
        let this = types.get(of);
        let offset = |planner: &Self, name: &str| fit(at.checked_add(planner.offset(of, name)?)?);
        let own = types.text(this.name);
        if this.scope == 0 && own.starts_with(['&', '*', 'a']) {
            return self.fat(this, at, path, mode, out);
        }
        let argument = this.argument;
        match types.walk(this)? {
            Walk::List {
                pointer,
                capacity,
                length,
            } => {
                let elements = self.shape(Contents::Elements(argument));
                let word = |name: &str| fit(at.checked_add(self.word(of, name)?)?);
                let (at, capacity, length) = (word(pointer)?, word(capacity)?, word(length)?);
                out.push(Item::List {
                    at,
                    capacity,
                    length,
                    elements,
                    step: self.list_step(path, argument),
                });
            }
            Walk::Deque {
                pointer,
                capacity,
                head,
                length,
            } => {
                let elements = self.shape(Contents::Elements(argument));
                out.push(Item::Deque {
                    at: offset(self, pointer)?,
                    capacity: offset(self, capacity)?,
                    head: offset(self, head)?,
                    length: offset(self, length)?,
                    elements,
                    step: self.list_step(path, argument),
                });
            }
            Walk::Iter {
                pointer,
                capacity,
                first,
                end,
            } => {
                let elements = self.shape(Contents::Elements(argument));
                out.push(Item::Iter {
                    at: offset(self, pointer)?,
                    capacity: offset(self, capacity)?,
                    first: offset(self, first)?,
                    end: offset(self, end)?,
                    elements,
                    step: self.list_step(path, argument),
                });
            }
            Walk::Table {
                control,
                mask,
                left,
                items,
            } => {
                let elements = self.shape(Contents::Table(argument));
                out.push(Item::Table {
                    at: offset(self, control)?,
                    mask: offset(self, mask)?,
                    left: offset(self, left)?,
                    items: offset(self, items)?,
                    elements,
                    step: self.step(path, "{}"),
                });
            }
            Walk::Counted { strong, value } => {
                let strong = offset(self, strong)?;
                let value = any_member(types, this, value)?;
                let size = types.size(value.of)?;
                let mut items = Vec::new();
                let place = inside(types, this, value, at)?;
                self.value(value.of, place, path, mode, depth + 1, &mut items)?;
                out.push(Item::Skip {
                    at: fit(at)?,
                    end: fit(at.checked_add(COUNTS)?)?,
                });
                out.push(Item::Counted {
                    strong,
                    value: fit(place)?,
                    size: fit(size)?,
                    items: items.into(),
                });
            }
            Walk::Tree { root } => {
                let root = member(types, this, root)?;
                let path = with(path, "{}");
                let place = inside(types, this, root, at)?;
                self.value(root.of, place, &path, mode, depth + 1, out)?;
            }
            Walk::Node => self.node(of, at, path, mode, depth, out)?,
            Walk::Small => self.small(of, at, path, mode, depth, out)?,
            Walk::BytesMut {
                pointer,
                length,
                capacity,
                data,
            } => {
                let bytes = types.by_name("u8")?;
                out.push(Item::BytesMut {
                    at: offset(self, pointer)?,
                    length: offset(self, length)?,
                    capacity: offset(self, capacity)?,
                    data: offset(self, data)?,
                    bytes: self.shape(Contents::Elements(bytes)),
                    step: self.step(path, ""),
                });
            }
            Walk::Bytes { pointer, data } => {
                out.push(Item::Pointer {
                    at: offset(self, pointer)?,
                    to: Target::Opaque,
                    hold: Hold::Refers,
                    step: self.step(path, ""),
                });
                out.push(Item::Tagged {
                    at: offset(self, data)?,
                    step: self.step(path, ""),
                });
            }
            Walk::Tagged { pointer } => {
                let mut pointers = pointer.iter();
                out.push(Item::Tagged {
                    at: pointers.find_map(|pointer| offset(self, pointer))?,
                    step: self.step(path, ""),
                });
            }
            Walk::Slot { state, value } => {
                let state = member(types, this, state)?;
                let value = any_member(types, this, value)?;
                self.slot(this, at, (state, value), path, mode, depth, out)?;
            }
        }
        Some(())
    }

    fn list_step(&mut self, path: &Path, element: TypeId) -> StepId {
        let is_text = self.types.text(self.types.get(element).name) == "u8";
        self.step(path, if is_text { "" } else { "[]" })
    }

    /// A place of a queue.
    #[expect(
        clippy::too_many_arguments,
        reason = "all of them differ between the callers"
    )]
    fn slot(
        &mut self,
        this: &Type,
        at: u64,
        (state, place): (&Member, &Member),
        path: &Path,
        mode: Mode,
        depth: u32,
        out: &mut Vec<Item>,
    ) -> Option<()> {
        /// The bits of the state: written, but neither read nor destroyed.
        const IS_THERE: u64 = 1;
        let types = self.types;
        let (start, state) = (
            inside(types, this, place, at)?,
            inside(types, this, state, at)?,
        );
        let cell = types.get(types.get(place.of).argument);
        if !types.is_at(cell, "core::mem::maybe_uninit::MaybeUninit") {
            return None;
        }
        let mut items = Vec::new();
        let path = with(path, &field(types.text(place.name)));
        self.value(cell.argument, start, &path, mode, depth + 1, &mut items)?;
        let end = start.checked_add(types.size(place.of)?)?;
        let taken = Item::Skip {
            at: fit(start)?,
            end: fit(end)?,
        };
        out.push(Item::Choice {
            discriminant: fit(state)?,
            bytes: 8,
            variants: Box::new([(Some(IS_THERE), items.into()), (None, Box::new([taken]))]),
            counters: None,
        });
        Some(())
    }

    /// A pointer with a length or a vtable.
    fn fat(
        &mut self,
        this: &Type,
        at: u64,
        path: &Path,
        mode: Mode,
        out: &mut Vec<Item>,
    ) -> Option<()> {
        let types = self.types;
        let hold = self.hold(this, mode);
        let by = |name: &str| member(types, this, name);
        let place = |member: &Member| fit(inside(types, this, member, at)?);
        let data = by("data_ptr").or_else(|| by("pointer"))?;
        let data_type = types.get(data.of);
        if data_type.kind != Kind::Pointer {
            return None;
        }
        let behind = types.get(data_type.target);
        let counted = is_counted(types, behind);
        if let Some(vtable) = by("vtable") {
            let (at, vtable) = (place(data)?, place(vtable)?);
            out.push(Item::Dynamic {
                at,
                vtable,
                is_counted: counted,
                hold,
                step: self.step(path, ""),
            });
            return Some(());
        }
        let length = place(by("length")?)?;
        let at = place(data)?;
        let (element, contents) = if counted {
            (behind.argument, Contents::CountedElements(behind.argument))
        } else {
            (data_type.target, Contents::Elements(data_type.target))
        };
        out.push(Item::Slice {
            at,
            length,
            elements: self.shape(contents),
            is_counted: counted,
            hold,
            step: self.list_step(path, element),
        });
        Some(())
    }

    /// A node of a B-tree.
    fn node(
        &mut self,
        of: TypeId,
        at: u64,
        path: &Path,
        mode: Mode,
        depth: u32,
        out: &mut Vec<Item>,
    ) -> Option<()> {
        let types = self.types;
        let this = types.get(of);
        let by = |name: &str| member(types, this, name);
        if let (Some(data), Some(edges)) = (by("data"), by("edges")) {
            let start = inside(types, this, data, at)?;
            self.node(data.of, start, path, mode, depth, out)?;
            let length = start.checked_add(self.offset(data.of, "len")?)?;
            let place = inside(types, this, edges, at)?;
            let value = self.places(edges.of)?;
            let first = self.first(edges.of, value, place, (length, 2), path, mode, depth)?;
            if let Some(Item::First {
                at,
                stride,
                count,
                length,
                length_bytes,
                items,
                ..
            }) = first
            {
                out.push(Item::First {
                    at,
                    stride,
                    count,
                    length,
                    length_bytes,
                    more: 1,
                    counts_as_unused: false,
                    items,
                });
            }
            return Some(());
        }
        let length = inside(types, this, by("len")?, at)?;
        let mut has_whole_words = false;
        for name in ["keys", "vals"] {
            let array = by(name)?;
            let place = inside(types, this, array, at)?;
            let value = self.places(array.of)?;
            let path = if name == "keys" {
                with(path, "{key}")
            } else {
                path.clone()
            };
            let first = self.first(array.of, value, place, (length, 2), &path, mode, depth)?;
            if let Some(Item::First {
                at,
                stride,
                count,
                length,
                length_bytes,
                items,
                ..
            }) = first
            {
                has_whole_words |= stride.is_multiple_of(8);
                out.push(Item::First {
                    at,
                    stride,
                    count,
                    length,
                    length_bytes,
                    more: 0,
                    counts_as_unused: true,
                    items,
                });
            }
        }
        let parent = inside(types, this, by("parent")?, at)?;
        out.push(Item::Skip {
            at: fit(parent)?,
            end: fit(parent.checked_add(8)?)?,
        });
        // The place in the parent is no part of the value. The number of entries is, and follows
        // from the words that are left out.
        let index = inside(types, this, by("parent_idx")?, at)?;
        let [index, length] = [index / 8 * 8, length / 8 * 8];
        if has_whole_words && index == length {
            out.push(Item::Skip {
                at: fit(index)?,
                end: fit(index + 8)?,
            });
        }
        Some(())
    }

    fn small(
        &mut self,
        of: TypeId,
        at: u64,
        path: &Path,
        mode: Mode,
        depth: u32,
        out: &mut Vec<Item>,
    ) -> Option<()> {
        let types = self.types;
        let this = types.get(of);
        let array = types.get(this.argument);
        let Kind::Array { count } = array.kind else {
            return None;
        };
        let (data_at, data) = self.find(of, "data")?;
        let within = types.get(data);
        let part = |name: &str| {
            let (offset, of) = self.find(data, name).or_else(|| {
                let mut variants = types.variants(within).iter();
                let upper = [name[..1].to_uppercase(), name[1..].to_owned()].concat();
                let found = variants.find(|variant| types.text(variant.name) == upper)?;
                Some((found.offset, found.of))
            })?;
            Some((offset.checked_add(data_at)?, of))
        };
        let (heap_at, heap) = part("heap")?;
        let (inline_at, inline) = part("inline")?;
        let inline_at = inline_at + self.offset(inline, "__0").unwrap_or(0);
        let pointer = self
            .offset(heap, "ptr")
            .or_else(|| self.offset(heap, "__0"))?;
        let length = self
            .offset(heap, "len")
            .or_else(|| self.offset(heap, "__1"))?;
        let mut items = Vec::new();
        let inside = with(path, "[]");
        self.value(array.target, 0, &inside, mode, depth + 1, &mut items)?;
        let elements = self.shape(Contents::Elements(array.target));
        let step = self.list_step(path, array.target);
        out.push(Item::Small {
            capacity: fit(at.checked_add(self.offset(of, "capacity")?)?)?,
            at: fit(at.checked_add(heap_at)?.checked_add(pointer)?)?,
            length: fit(at.checked_add(heap_at)?.checked_add(length)?)?,
            elements,
            step,
            inline: fit(at.checked_add(inline_at)?)?,
            stride: fit(types.size(array.target)?)?,
            most: fit(count)?,
            items: items.into(),
        });
        Some(())
    }
}

/// Returns `true` for what `Rc` and `Arc` point to.
pub(super) fn is_counted(types: &Types, this: &Type) -> bool {
    matches!(types.walk(this), Some(Walk::Counted { .. }))
}

/// Returns the type of what those who share a block share: the counts of an `Rc` or `Arc` change
/// and are no part of the value.
pub(super) fn value_of(types: &Types, of: TypeId) -> TypeId {
    let this = types.get(of);
    let Some(Walk::Counted { value, .. }) = types.walk(this) else {
        return of;
    };
    any_member(types, this, value).map_or(of, |value| value.of)
}

/// Returns the first of some fields that a type has.
fn any_member<'t>(types: &'t Types, this: &Type, names: &[&str]) -> Option<&'t Member> {
    names.iter().find_map(|name| member(types, this, name))
}
