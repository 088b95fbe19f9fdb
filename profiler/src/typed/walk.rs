//! Walks blocks by their types.

use super::plan::{COUNTS, Contents, Hold, Item, ShapeId, Target, is_plain};
use super::{LocalPlace, SiteKind, TypedLayouts};
use crate::snapshot::{
    Form, FutureState, Header, Heap, LargeLocal, LargeVariants, Layouts, Mark, RootKind, Source,
    View, Words,
};
use rustc_hash::FxHashMap;
use std::ops::Range;
use std::sync::PoisonError;
use std::sync::atomic::Ordering::Relaxed;

/// A capacity with this bit is not one.
const NICHE: u64 = 1 << 63;
/// Bits of a `BytesMut` that point into its block, and the place of the bytes before it.
const VEC_BIT: u64 = 1;
const VEC_SHIFT: u32 = 5;

/// A note: the shape of a block and the step to it.
fn note(shape: ShapeId, step: u32) -> u64 {
    u64::from(shape) << 32 | u64::from(step)
}

/// The walk of one value.
struct Walk<'a> {
    all: &'a TypedLayouts,
    view: &'a View<'a>,
    own: Option<usize>,
    /// The value begins in this view, which therefore counts it.
    is_first: bool,
    /// Values may not be there.
    is_uncertain: bool,
}

impl Walk<'_> {
    fn heap(&self) -> &Heap {
        self.view.heap
    }

    fn items(&mut self, items: &[Item], base: u64, words: &mut Words) {
        for item in items {
            self.item(item, base, words);
        }
    }

    fn item(&mut self, item: &Item, base: u64, words: &mut Words) {
        let place = |at: u32| base.wrapping_add(u64::from(at));
        let word = |at: u32| self.view.word(place(at));
        match *item {
            Item::Pointer { at, to, hold, step } => self.pointer(place(at), to, hold, step, words),
            Item::Slice {
                at,
                length,
                elements,
                is_counted,
                hold,
                step,
            } => {
                let holds_itself = is_counted && hold != Hold::Refers;
                let Some(length) = word(length) else { return };
                let Some(to) = self.start_of(place(at), holds_itself, words) else {
                    if length > 0 && hold == Hold::Owns {
                        self.no_value(words);
                    }
                    return;
                };
                if hold == Hold::Refers || self.is_uncertain && is_counted {
                    words.refers(place(at), to);
                    return self.weak(place(at), if is_counted { elements } else { 0 }, words);
                }
                if is_counted {
                    words.owns(place(at), to);
                    return words.held_as(place(at), note(elements, step));
                }
                let header = Header::List {
                    capacity: length,
                    length,
                };
                self.header(place(at), to, elements, header, step, words);
            }
            Item::Dynamic {
                at,
                vtable,
                is_counted,
                hold,
                step,
            } => {
                let holds_itself = is_counted && hold != Hold::Refers;
                let Some(to) = self.start_of(place(at), holds_itself, words) else {
                    return;
                };
                let vtable = word(vtable).and_then(|vtable| self.all.vtables.get(&vtable));
                let shape = vtable.map_or(
                    0,
                    |&(value, counted)| {
                        if is_counted { counted } else { value }
                    },
                );
                let fits = shape != 0 && self.all.fits(shape, self.heap(), to);
                let shape = if fits { shape } else { 0 };
                if hold == Hold::Refers || self.is_uncertain {
                    words.refers(place(at), to);
                    return self.weak(place(at), if is_counted { shape } else { 0 }, words);
                }
                words.owns(place(at), to);
                words.held_as(place(at), note(shape, step));
            }
            Item::List {
                at,
                capacity,
                length,
                elements,
                step,
            } => {
                let (Some(room), Some(length)) = (word(capacity), word(length)) else {
                    return;
                };
                if room == 0 || room & NICHE != 0 {
                    return self.no_block(place(at), room, words);
                }
                if let Some(to) = self.start(place(at), words) {
                    words.skip(place(capacity));
                    let header = Header::List {
                        capacity: room,
                        length,
                    };
                    self.header(place(at), to, elements, header, step, words);
                }
            }
            Item::Deque {
                at,
                capacity,
                head,
                length,
                elements,
                step,
            } => {
                let (Some(room), Some(first), Some(length)) =
                    (word(capacity), word(head), word(length))
                else {
                    return;
                };
                if room == 0 || room & NICHE != 0 {
                    return self.no_block(place(at), room, words);
                }
                if let Some(to) = self.start(place(at), words) {
                    words.skip(place(capacity));
                    words.skip(place(head));
                    let header = Header::Deque {
                        capacity: room,
                        head: first,
                        length,
                    };
                    self.header(place(at), to, elements, header, step, words);
                }
            }
            Item::Iter {
                at,
                capacity,
                first,
                end,
                elements,
                step,
            } => {
                let (Some(room), Some(from), Some(until)) =
                    (word(capacity), word(first), word(end))
                else {
                    return;
                };
                let size = self.all.size(elements);
                if room == 0 || size == 0 {
                    return;
                }
                let Some(to) = self.start(place(at), words) else {
                    return;
                };
                let start = self.heap().range(to).start;
                let length = until.checked_sub(from).map(|bytes| bytes / size);
                let head = from.checked_sub(start).map(|bytes| bytes / size);
                let (Some(length), Some(head)) = (length, head) else {
                    return words.refers(place(at), to);
                };
                let header = Header::Deque {
                    capacity: room,
                    head: if length == 0 { 0 } else { head },
                    length,
                };
                self.header(place(at), to, elements, header, step, words);
            }
            Item::Table {
                at,
                mask,
                left,
                items,
                elements,
                step,
            } => {
                let (mask_at, left_at) = (place(mask), place(left));
                let (Some(mask), Some(left), Some(items)) = (word(mask), word(left), word(items))
                else {
                    return;
                };
                let agrees = self.table(place(at), [mask, left, items], elements, step, words);
                if agrees {
                    words.skip(mask_at);
                    words.skip(left_at);
                }
            }
            Item::Small {
                capacity,
                at,
                length,
                elements,
                step,
                inline,
                stride,
                most,
                ref items,
            } => {
                let Some(room) = word(capacity) else { return };
                if room <= u64::from(most) {
                    for index in 0..room {
                        let at = place(inline).wrapping_add(index * u64::from(stride));
                        self.items(items, at, words);
                    }
                    return;
                }
                let (Some(to), Some(length)) = (self.start(place(at), words), word(length)) else {
                    return;
                };
                words.skip(place(capacity));
                let header = Header::List {
                    capacity: room,
                    length,
                };
                self.header(place(at), to, elements, header, step, words);
            }
            Item::BytesMut {
                at,
                length,
                capacity,
                data,
                bytes,
                step,
            } => {
                let all = (word(at), word(length), word(capacity), word(data));
                let (Some(pointer), Some(length), Some(room), Some(shared)) = all else {
                    return;
                };
                if shared & VEC_BIT == 0 {
                    let Some(to) = self.start(place(data), words) else {
                        return;
                    };
                    words.owns(place(data), to);
                    return words.held_as(place(data), note(0, step));
                }
                let before = shared >> VEC_SHIFT;
                let block = self.heap().find(pointer);
                if let Some(to) = block
                    && pointer.checked_sub(before) == Some(self.heap().range(to).start)
                {
                    let header = Header::List {
                        capacity: room.saturating_add(before),
                        length: length.saturating_add(before),
                    };
                    self.header(place(at), to, bytes, header, step, words);
                }
            }
            Item::Tagged { at, step } => {
                let Some(pointer) = word(at) else { return };
                if let Some(to) = self.heap().find(pointer) {
                    if pointer & !1 == self.heap().range(to).start && Some(to) != self.own {
                        words.owns(place(at), to);
                        words.held_as(place(at), note(0, step));
                    } else {
                        words.refers(place(at), to);
                    }
                }
            }
            Item::Address { at } => {
                let to = word(at).and_then(|word| self.heap().find(word));
                if let Some(to) = to
                    && Some(to) != self.own
                    && !self.view.is_probe()
                {
                    words.refers(place(at), to);
                }
            }
            Item::Many {
                at,
                stride,
                count,
                ref items,
            } => self.many(items, place(at), stride, 0..count, words),
            Item::First {
                at,
                stride,
                count,
                length,
                length_bytes,
                more,
                counts_as_unused,
                ref items,
            } => {
                let number = self.view.number(place(length), length_bytes.into());
                let Some(number) = number else { return };
                let used = u64::from(count).min(number.saturating_add(more.into())) as u32;
                self.many(items, place(at), stride, 0..used, words);
                let size = u64::from(stride) * u64::from(count - used);
                let end = place(at) + u64::from(stride) * u64::from(count);
                self.skip(end - size..end, words);
                if counts_as_unused && self.is_first {
                    words.unused(size);
                }
            }
            Item::Choice {
                discriminant,
                bytes,
                ref variants,
                counters,
            } => {
                let Some(value) = self.view.number(place(discriminant), bytes.into()) else {
                    return;
                };
                let by = |wanted| variants.iter().position(|(value, _)| *value == wanted);
                let Some(index) = by(Some(value)).or_else(|| by(None)) else {
                    return self.no_value(words);
                };
                if let Some(first) = counters
                    && self.is_first
                    && let Some(counter) = self.all.counters.get(first as usize + index)
                {
                    counter.fetch_add(1, Relaxed);
                }
                self.items(&variants[index].1, base, words);
            }
            Item::Counted {
                strong,
                value,
                size,
                ref items,
            } => {
                if self.own.is_some() && self.view.has_dropped_value(base) {
                    words.dropped();
                }
                if word(strong) == Some(0) {
                    let start = place(value);
                    self.skip(start..start.wrapping_add(size.into()), words);
                } else {
                    self.items(items, base, words);
                }
            }
            Item::Uncertain(ref items) => {
                let before = std::mem::replace(&mut self.is_uncertain, true);
                self.items(items, base, words);
                self.is_uncertain = before;
            }
            Item::Skip { at, end } => self.skip(place(at)..place(end), words),
        }
    }

    fn many(&mut self, items: &[Item], at: u64, stride: u32, range: Range<u32>, words: &mut Words) {
        if items.is_empty() {
            return;
        }
        let whole = self.view.range();
        for index in range {
            let start = at.wrapping_add(u64::from(index) * u64::from(stride));
            if start >= whole.end {
                break;
            }
            // The values before the part to walk are those of another view.
            if start + u64::from(stride) > whole.start {
                self.items(items, start, words);
            }
        }
    }

    fn skip(&self, range: Range<u64>, words: &mut Words) {
        let all = self.view.range();
        let (start, end) = (range.start.max(all.start), range.end.min(all.end));
        if start < end {
            words.skip_bytes(start..end);
        }
    }

    /// Returns the block that the word at an address points to the start of. Other pointers refer
    /// to their block.
    fn start(&self, at: u64, words: &mut Words) -> Option<usize> {
        self.start_of(at, false, words)
    }

    /// Returns the block that the word at an address points to the start of, which may be the block
    /// itself if `holds_itself`: an `Rc` in its own value is a cycle. Other pointers refer to their
    /// block.
    fn start_of(&self, at: u64, holds_itself: bool, words: &mut Words) -> Option<usize> {
        let word = self.view.word(at)?;
        let to = self.heap().find(word)?;
        if word == self.heap().range(to).start && (holds_itself || Some(to) != self.own) {
            return Some(to);
        }
        words.refers(at, to);
        None
    }

    fn pointer(&self, at: u64, to: Target, hold: Hold, step: u32, words: &mut Words) {
        let counts = matches!(to, Target::Value(shape) if self.all.is_counted(shape));
        let holds_itself = counts && hold != Hold::Refers;
        let Some(block) = self.start_of(at, holds_itself, words) else {
            let is_null = self.view.word(at) == Some(0);
            if hold == Hold::Owns && to != Target::Opaque && !is_null {
                self.no_value(words);
            }
            return;
        };
        let heap = self.heap();
        let shape = match to {
            Target::Opaque => 0,
            Target::Value(shape) => shape,
            Target::Node { leaf, inner } if !heap.holds(block, self.all.size(leaf)) => inner,
            Target::Node { leaf, .. } => leaf,
        };
        let fits = self.all.fits(shape, heap, block);
        if hold == Hold::Refers || self.is_uncertain {
            words.refers(at, block);
            return self.weak(at, if counts && fits { shape } else { 0 }, words);
        }
        if !fits && hold == Hold::Owns && to != Target::Opaque {
            self.no_value(words);
        }
        let shape = if fits { shape } else { 0 };
        // A raw pointer to the first element of a list is no header of it.
        if shape == 0 && hold == Hold::Raw && self.all.is_list(self.heap(), block) {
            return words.refers(at, block);
        }
        words.owns(at, block);
        words.held_as(at, note(shape, step));
    }

    /// Says what a `Weak` that was reported tells of its block. Its place is not that of the block.
    fn weak(&self, at: u64, shape: ShapeId, words: &mut Words) {
        if shape != 0 && !self.is_uncertain {
            words.held_as(at, note(shape, 0));
        }
    }

    /// Reports a header if it agrees with the size of its block.
    fn header(
        &self,
        at: u64,
        to: usize,
        elements: ShapeId,
        header: Header,
        step: u32,
        words: &mut Words,
    ) {
        let (Header::List { capacity, length }
        | Header::Deque {
            capacity, length, ..
        }) = header
        else {
            return;
        };
        let bytes = capacity.checked_mul(self.all.size(elements));
        let agrees = bytes.is_some_and(|bytes| self.heap().holds(to, bytes));
        if agrees && length <= capacity {
            words.header(at, to, header);
            words.held_as(at, note(elements, step));
        } else {
            words.refers(at, to);
            self.no_value(words);
        }
    }

    /// Reports a list whose words lead to no block. One without capacity has none.
    fn no_block(&self, at: u64, capacity: u64, words: &mut Words) {
        let pointer = self.view.word(at);
        if capacity != 0 || pointer == Some(0) {
            self.no_value(words);
        }
    }

    /// Reports that the words are no value of the type.
    fn no_value(&self, words: &mut Words) {
        if !self.is_uncertain {
            words.no_value();
        }
    }

    fn table(
        &self,
        at: u64,
        [mask, left, items]: [u64; 3],
        elements: ShapeId,
        step: u32,
        words: &mut Words,
    ) -> bool {
        let Some(pointer) = self.view.word(at) else {
            return false;
        };
        let Some(to) = self.heap().find(pointer).filter(|to| Some(*to) != self.own) else {
            // A table without buckets has a mask of 0, and points to control bytes of the program.
            if mask != 0 || pointer == 0 {
                self.no_value(words);
            }
            return false;
        };
        let block = self.heap().range(to);
        let control = pointer - block.start;
        let buckets = mask.wrapping_add(1);
        let agrees = self.all.table(self.heap(), to, elements) == Some((buckets, control))
            && items.checked_add(left).is_some_and(|all| all <= buckets);
        if !agrees {
            words.refers(at, to);
            self.no_value(words);
            return false;
        }
        let header = Header::Table {
            buckets,
            control,
            items,
        };
        words.header(at, to, header);
        words.held_as(at, note(elements, step));
        true
    }
}

impl TypedLayouts {
    pub(super) fn size(&self, shape: ShapeId) -> u64 {
        self.plans.shapes.get(shape as usize).map_or(0, |s| s.size)
    }

    /// Returns `true` if a block can hold the one value of a shape.
    pub(super) fn fits(&self, shape: ShapeId, heap: &Heap, block: usize) -> bool {
        self.bytes_of_value(shape, heap, block).is_some()
    }

    /// Returns the bytes that a block was requested with if it holds the one value of a shape.
    fn bytes_of_value(&self, shape: ShapeId, heap: &Heap, block: usize) -> Option<u64> {
        let shape = self.plans.shapes.get(shape as usize)?;
        let sizes = match shape.contents {
            Contents::Value(of) if of != 0 => [shape.size, shape.size],
            Contents::CountedValue(_) => {
                let end = COUNTS + shape.size;
                [end.next_multiple_of(8), end.next_multiple_of(16)]
            }
            _ => return None,
        };
        sizes.into_iter().find(|&bytes| heap.holds(block, bytes))
    }

    /// Returns the buckets of a table in a block, and where its control bytes begin.
    fn table(&self, heap: &Heap, block: usize, elements: ShapeId) -> Option<(u64, u64)> {
        let bucket = self.size(elements);
        let group = self.table_group;
        (1..48).find_map(|bits| {
            let buckets = 1_u64 << bits;
            let control = buckets
                .checked_mul(bucket)?
                .checked_next_multiple_of(group)?;
            let end = control.checked_add(buckets)?.checked_add(group)?;
            heap.holds(block, end).then_some((buckets, control))
        })
    }

    /// Returns the shape that a block has by its site.
    fn shape_of_site(&self, heap: &Heap, block: usize) -> ShapeId {
        let size = heap.size(block);
        let by = self.sites.get(heap.site(block) as usize);
        match by.copied().unwrap_or_default() {
            SiteKind::Unknown => 0,
            SiteKind::Value(shape) => {
                if self.fits(shape, heap, block) {
                    shape
                } else {
                    0
                }
            }
            SiteKind::Node { leaf, inner } => {
                let mut all = [leaf, inner].into_iter();
                all.find(|&shape| self.fits(shape, heap, block))
                    .unwrap_or(0)
            }
            SiteKind::Elements(shape) => {
                let element = self.size(shape);
                let is_whole = element > 0 && size.is_multiple_of(element);
                if is_whole { shape } else { 0 }
            }
            SiteKind::CountedElements(shape) => shape,
            SiteKind::Table(shape) => {
                if self.table(heap, block, shape).is_some() {
                    shape
                } else {
                    0
                }
            }
        }
    }

    /// Returns the shape of a block. 0 is not known.
    pub(super) fn shape_of(&self, heap: &Heap, block: usize) -> ShapeId {
        let known = self
            .shapes
            .get(block)
            .map_or(0, |shape| shape.load(Relaxed));
        if known != 0 {
            return known;
        }
        self.shape_of_site(heap, block)
    }

    /// Returns `true` for the shape of what an `Rc` or `Arc` points to.
    fn is_counted(&self, shape: ShapeId) -> bool {
        let shape = self.plans.shapes.get(shape as usize);
        shape.is_some_and(|shape| shape.is_counted)
    }

    fn contents(&self, shape: ShapeId) -> Option<Contents> {
        let shape = self.plans.shapes.get(shape as usize)?;
        (shape.contents != Contents::Value(0)).then_some(shape.contents)
    }

    fn is_list(&self, heap: &Heap, block: usize) -> bool {
        matches!(
            self.contents(self.shape_of(heap, block)),
            Some(Contents::Elements(_) | Contents::Table(_) | Contents::CountedElements(_))
        )
    }

    /// Walks memory of which only the sites of blocks say something.
    fn untyped(&self, view: &View<'_>, words: &mut Words) {
        self.by_site.walk(view, words);
        let owns = words.marks.iter().filter_map(|(at, mark)| {
            let Mark::Owns(_) = mark else { return None };
            Some((*at, note(0, 0)))
        });
        words.notes.extend(owns);
    }

    fn block(&self, block: usize, view: &View<'_>, words: &mut Words) {
        let number = self.shape_of(view.heap, block);
        let shape = &self.plans.shapes[number as usize];
        let Some(items) = shape.items.as_deref().filter(|_| number != 0) else {
            return self.untyped(view, words);
        };
        let all = view.heap.range(block);
        let range = view.range();
        let mut walk = Walk {
            all: self,
            view,
            own: Some(block),
            is_first: !view.is_probe(),
            is_uncertain: false,
        };
        let (start, is_many) = match shape.contents {
            Contents::Value(_) | Contents::Static(_) | Contents::Local(_) => (all.start, false),
            Contents::Elements(_) => (all.start, true),
            Contents::CountedValue(_) => (all.start + COUNTS, false),
            Contents::CountedElements(_) => (all.start + COUNTS, true),
            Contents::Table(_) => {
                let table = self.table(view.heap, block, number);
                let control = table.map_or(0, |(_, control)| control);
                let padding = control.checked_rem(shape.size).unwrap_or(0);
                (all.start + padding, true)
            }
        };
        if matches!(
            shape.contents,
            Contents::CountedValue(_) | Contents::CountedElements(_)
        ) {
            walk.skip(all.start..start, words);
            if view.has_dropped_value(all.start) {
                walk.skip(start..all.end, words);
                return words.dropped();
            }
        }
        if items.is_empty() {
            return;
        }
        if !is_many {
            walk.is_first = range.contains(&start);
            return walk.items(items, start, words);
        }
        if shape.size == 0 {
            return;
        }
        let skipped = range.start.saturating_sub(start) / shape.size;
        let mut at = start + skipped * shape.size;
        while at < range.end && at + shape.size <= all.end {
            walk.is_first = range.contains(&at) && !view.is_probe();
            walk.items(items, at, words);
            at += shape.size;
        }
    }

    /// Walks a stack: locals by their types, the rest word by word. A local counts if all of its
    /// words agree with its type and it owns a block. Of locals at the same place, the first counts.
    ///
    /// Memory does not tell whether a value was moved away. So where two locals of the program own
    /// one block, it is not known which of them does, and neither is named. Those of the standard
    /// library are copies then, and have no name that people know.
    fn stack(&self, view: &View<'_>, words: &mut Words) {
        self.untyped(view, words);
        let range = view.range();
        let mut typed: Vec<Range<u64>> = Vec::new();
        let mut found: Vec<(&LocalPlace, Words)> = Vec::new();
        let mut owners: FxHashMap<u32, u32> = FxHashMap::default();
        for local in &self.locals {
            let place = &local.range;
            let is_inside = range.start <= place.start && place.end <= range.end;
            let mut others = typed.iter();
            if !is_inside || others.any(|of| of.start < place.end && place.start < of.end) {
                continue;
            }
            let own = self.local(view, place, local.named);
            let mut owned = owned(&own).peekable();
            if own.has_no_value() || owned.peek().is_none() {
                continue;
            }
            if local.is_std && owned.clone().any(|block| owners.contains_key(&block)) {
                continue;
            }
            for block in owned {
                *owners.entry(block).or_default() += 1;
            }
            typed.push(place.clone());
            found.push((local, own));
        }
        let mut of_locals = Words::default();
        for (local, own) in found {
            let is_sure = owned(&own).all(|block| owners.get(&block) == Some(&1));
            let own = if is_sure && !local.is_std {
                own
            } else {
                self.local(view, &local.range, local.nameless)
            };
            of_locals.marks.extend(own.marks);
            of_locals.notes.extend(own.notes);
            of_locals.headers.extend(own.headers);
        }
        let is_typed = |at: u64| typed.iter().any(|of| of.contains(&at));
        words.marks.retain(|(at, _)| !is_typed(*at));
        words.notes.retain(|(at, _)| !is_typed(*at));
        words.headers.retain(|(at, _)| !is_typed(*at));
        words.marks.extend(of_locals.marks);
        words.notes.extend(of_locals.notes);
        words.headers.extend(of_locals.headers);
    }

    /// Walks a local as a value of a shape.
    fn local(&self, view: &View<'_>, place: &Range<u64>, shape: ShapeId) -> Words {
        let items = self.plans.shapes[shape as usize].items.as_deref();
        let mut walk = Walk {
            all: self,
            view,
            own: None,
            is_first: false,
            is_uncertain: false,
        };
        let mut words = Words::default();
        walk.items(items.unwrap_or_default(), place.start, &mut words);
        words
    }

    /// Walks a segment or thread-local values: statics by their types, the rest word by word.
    fn segment(&self, view: &View<'_>, words: &mut Words) {
        self.untyped(view, words);
        let range = view.range();
        let first = (self.statics).partition_point(|(place, _)| place.end <= range.start);
        let statics = &self.statics[first..];
        let last = statics.partition_point(|(place, _)| place.start < range.end);
        let statics = &statics[..last];
        let is_typed = |at: u64| {
            let after = statics.partition_point(|(place, _)| place.start <= at);
            after > 0 && statics[after - 1].0.contains(&at)
        };
        words.marks.retain(|(at, _)| !is_typed(*at));
        words.notes.retain(|(at, _)| !is_typed(*at));
        words.headers.retain(|(at, _)| !is_typed(*at));
        for (place, shape) in statics {
            let items = self.plans.shapes[*shape as usize].items.as_deref();
            let mut walk = Walk {
                all: self,
                view,
                own: None,
                is_first: range.contains(&place.start),
                is_uncertain: false,
            };
            walk.items(items.unwrap_or_default(), place.start, words);
        }
    }
}

/// Returns the blocks that words own.
fn owned(words: &Words) -> impl Iterator<Item = u32> + Clone {
    words.marks.iter().filter_map(|(_, mark)| match mark {
        Mark::Owns(block) => Some(*block),
        _ => None,
    })
}

impl Layouts for TypedLayouts {
    fn needs_header(&self, _: u32) -> bool {
        true
    }

    fn element_bytes(&self, site: u32) -> Option<u64> {
        self.by_site.element_bytes(site)
    }

    fn value_type(&self, site: u32) -> u64 {
        self.by_site.value_type(site)
    }

    fn value_bytes(&self, heap: &Heap, block: usize) -> Option<u64> {
        self.bytes_of_value(self.shape_of(heap, block), heap, block)
    }

    fn has_type(&self, heap: &Heap, block: usize) -> bool {
        self.shape_of(heap, block) != 0
    }

    fn element_bytes_of(&self, heap: &Heap, block: usize) -> Option<u64> {
        let shape = self.shape_of(heap, block);
        match self.contents(shape) {
            None => self.by_site.element_bytes(heap.site(block)),
            Some(Contents::Elements(_) | Contents::Table(_)) => Some(self.size(shape)),
            Some(_) => None,
        }
    }

    fn value_type_of(&self, heap: &Heap, block: usize) -> u64 {
        let shape = self.shape_of(heap, block);
        if shape == 0 {
            return self.by_site.value_type(heap.site(block)) << 1;
        }
        self.plans.shapes[shape as usize].value_type
    }

    fn may_change(&self, heap: &Heap, block: usize) -> bool {
        let shape = self.shape_of(heap, block);
        if shape == 0 {
            return self.by_site.may_change(heap, block);
        }
        self.plans.shapes[shape as usize].may_change
    }

    fn holds_records(&self, heap: &Heap, block: usize) -> bool {
        let shape = &self.plans.shapes[self.shape_of(heap, block) as usize];
        shape.is_record && !shape.may_change
    }

    fn form(&self, heap: &Heap, block: usize) -> Form {
        match self.contents(self.shape_of(heap, block)) {
            None => self.by_site.form(heap, block),
            // A boxed slice is full, whatever points to it.
            Some(Contents::Elements(_)) if self.by_site.is_slice(heap.site(block)) => Form::Whole,
            Some(Contents::Elements(_) | Contents::Table(_)) => Form::Listed,
            Some(_) => Form::Whole,
        }
    }

    fn is_plain(&self, heap: &Heap, block: usize) -> bool {
        let number = self.shape_of(heap, block);
        let shape = &self.plans.shapes[number as usize];
        match shape.items.as_deref() {
            Some(items) if number != 0 => is_plain(items),
            _ => self.by_site.is_plain(heap, block),
        }
    }

    fn is_whole(&self, site: u32) -> bool {
        matches!(
            self.sites.get(site as usize),
            Some(SiteKind::Value(_) | SiteKind::Node { .. } | SiteKind::CountedElements(_))
        )
    }

    fn span(&self, source: Source) -> u64 {
        match source {
            Source::Block(block) => {
                let shape = self
                    .shapes
                    .get(block)
                    .map_or(0, |shape| shape.load(Relaxed));
                self.size(shape)
            }
            Source::Root(_) => self.largest_static,
        }
    }

    fn futures(&self) -> Vec<FutureState> {
        self.futures_by_await()
    }

    fn large_locals(&self, heap: &Heap) -> Vec<LargeLocal> {
        self.locals_in_blocks(heap)
    }

    fn large_variants(&self, heap: &Heap) -> Vec<LargeVariants> {
        self.large_variants_in_blocks(heap)
    }

    fn walk(&self, view: &View<'_>, words: &mut Words) {
        match view.source {
            Source::Block(block) => self.block(block, view, words),
            Source::Root(root) => match view.heap.roots()[root].kind {
                RootKind::Stack => self.stack(view, words),
                RootKind::DeadStack => self.untyped(view, words),
                RootKind::Segment | RootKind::ThreadLocals => self.segment(view, words),
            },
        }
    }

    fn held(&self, holder: Source, block: usize, note: u64) -> bool {
        let (shape, step) = ((note >> 32) as ShapeId, note as u32);
        let Some(known) = self.shapes.get(block) else {
            return true;
        };
        if shape != 0 && known.load(Relaxed) == 0 {
            known.store(shape, Relaxed);
        }
        let label = &self.labels[block];
        if step != 0 && label.load(Relaxed) == 0 {
            let before = match holder {
                Source::Block(holder) => self.labels[holder].load(Relaxed),
                Source::Root(_) => 0,
            };
            let mut paths = self.paths.lock().unwrap_or_else(PoisonError::into_inner);
            label.store(paths.after(&self.plans.steps, before, step), Relaxed);
        }
        true
    }

    fn label(&self, block: usize) -> u32 {
        self.labels
            .get(block)
            .map_or(0, |label| label.load(Relaxed))
    }

    fn label_text(&self, label: u32) -> String {
        let paths = self.paths.lock().unwrap_or_else(PoisonError::into_inner);
        paths.text(&self.plans.steps, label)
    }
}
