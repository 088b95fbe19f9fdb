//! Layouts by the type of the site: enough for lists, tables and counted pointers, without debug
//! information about types.

use super::heap::{Heap, RootKind};
use super::layout::{Form, Layouts, Source, View, WORD, Words};
use crate::containers::{BlockKind, Header};

/// A capacity with this bit is not one. The words may be another variant of an enum, and the
/// pointer and length behind it are of a value that is gone. Or the word is the end of a neighbour,
/// and the pointer is that of a header in another form: it refers, so that its block is not called
/// unreachable.
const NICHE: u64 = 1 << 63;

/// The knowledge about the blocks of one site.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Shape {
    /// The contents of the blocks. Of `Elements`, `Nodes` and `Parts`, only debug information
    /// knows more: all their words count.
    pub kind: BlockKind,
    /// The size of its elements: 1 for text, `None` if not known.
    pub element_bytes: Option<u64>,
    /// A number for the element type, for equal values. 0 if not known.
    pub value_type: u64,
    /// `true` if code may change the values through a shared reference, as with a `Cell` inside.
    pub may_change: bool,
}

impl Shape {
    /// Returns a shape.
    pub fn new(kind: BlockKind, element_bytes: Option<u64>, value_type: u64) -> Shape {
        Shape {
            kind,
            element_bytes,
            value_type,
            may_change: false,
        }
    }

    /// Returns the shape with values that may change while they are shared, or whose types do not
    /// tell.
    pub fn changing(self) -> Shape {
        Shape {
            may_change: true,
            ..self
        }
    }

    /// Returns `true` if the blocks hold text, or other bytes.
    fn is_text(&self) -> bool {
        matches!(self.kind, BlockKind::List | BlockKind::Slice) && self.element_bytes == Some(1)
    }
}

/// The words of containers' headers in memory, each as its index in the header. The recorded
/// program finds them out: the compiler may choose any order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WordOrders {
    /// `Vec` and `String`: capacity, pointer, length.
    pub list: [u8; 3],
    /// `VecDeque`: capacity, pointer, head, length.
    pub deque: [u8; 4],
    /// `HashMap`: pointer to the control bytes, bucket mask, free slots, items.
    pub table: [u8; 4],
    /// Control bytes that are repeated at the end of a table: 16 with SSE2, 8 elsewhere.
    pub table_group: u64,
}

impl WordOrders {
    /// Returns orders with the words of a list (capacity, pointer, length), of a deque (capacity,
    /// pointer, head, length) and of a table (control bytes, bucket mask, free slots, items).
    pub fn new(list: [u8; 3], deque: [u8; 4], table: [u8; 4], table_group: u64) -> WordOrders {
        WordOrders {
            list,
            deque,
            table,
            table_group,
        }
    }
}

/// [`Layouts`] by the shapes of sites.
#[derive(Clone, Debug)]
pub struct SiteShapes {
    shapes: Vec<Shape>,
    /// The shape of all other sites.
    others: Shape,
    orders: WordOrders,
}

impl SiteShapes {
    /// Returns layouts for the sites with these shapes, by number. Other sites are unknown.
    pub fn new(shapes: Vec<Shape>, orders: WordOrders) -> SiteShapes {
        SiteShapes {
            shapes,
            others: Shape::default(),
            orders,
        }
    }

    /// Returns the layouts with a shape for all other sites.
    pub fn with_others(self, others: Shape) -> SiteShapes {
        SiteShapes { others, ..self }
    }

    /// Returns the number of control bytes that are repeated at the end of a table.
    pub fn table_group(&self) -> u64 {
        self.orders.table_group
    }

    /// Returns `true` if the blocks of a site are boxed slices.
    pub fn is_slice(&self, site: u32) -> bool {
        self.shape(site).kind == BlockKind::Slice
    }

    fn shape(&self, site: u32) -> Shape {
        let shape = self.shapes.get(site as usize);
        shape.copied().unwrap_or(self.others)
    }

    /// Reports a pointer to a list: it owns only from a header that agrees. A capacity that is
    /// larger than the block may be a pointer, which must not be left out.
    fn list(&self, view: &View<'_>, at: u64, to: usize, words: &mut Words) {
        let [capacity, pointer, length] = self.orders.list;
        // A list that became a boxed slice has only its length behind its pointer.
        if let Some(length) = view.word(at.wrapping_add(WORD)) {
            words.slice(at, length);
        }
        let header = words_of(view, at, pointer, [capacity, length]);
        if let Some(([capacity, length], [capacity_at, _])) = header
            && capacity & NICHE == 0
            && length <= capacity
            && capacity <= view.heap.size(to)
        {
            // Equal lists may have different capacities.
            words.skip(capacity_at);
            return words.header(at, to, Header::List { capacity, length });
        }
        words.refers(at, to);
    }

    fn deque(&self, view: &View<'_>, at: u64, to: usize, words: &mut Words) {
        let [capacity, pointer, head, length] = self.orders.deque;
        let header = words_of(view, at, pointer, [capacity, head, length]);
        let Some(([capacity, head, length], [capacity_at, head_at, _])) = header else {
            return words.refers(at, to);
        };
        let agrees = length <= capacity && head < capacity.max(1);
        if capacity & NICHE == 0 && agrees && capacity <= view.heap.size(to) {
            words.skip(capacity_at);
            words.skip(head_at);
            let header = Header::Deque {
                capacity,
                head,
                length,
            };
            words.header(at, to, header);
        } else {
            words.refers(at, to);
        }
    }

    fn table(&self, view: &View<'_>, at: u64, word: u64, to: usize, words: &mut Words) {
        let [pointer, mask, left, items] = self.orders.table;
        let block = view.heap.range(to);
        let header = words_of(view, at, pointer, [mask, left, items]);
        let header = header.and_then(|([mask, left, items], _)| {
            let buckets = mask.checked_add(1)?;
            let control = word - block.start;
            let end = control.checked_add(buckets)?;
            let is_table = buckets.is_power_of_two()
                && buckets > 1
                && items.checked_add(left)? <= buckets
                && end.checked_add(self.orders.table_group)? == block.end - block.start;
            is_table.then_some(Header::Table {
                buckets,
                control,
                items,
            })
        });
        match header {
            Some(header) => words.header(at, to, header),
            None => words.refers(at, to),
        }
    }
}

/// Returns `true` if a header of these blocks cannot be told from other words.
fn is_unknown(kind: BlockKind) -> bool {
    matches!(
        kind,
        BlockKind::Unknown | BlockKind::Elements | BlockKind::Nodes | BlockKind::Parts
    )
}

/// Returns `true` if all references that the counts at the start of a block tell of lie in the
/// block itself: an `Rc` in its own value, a `shared_ptr` in its own object.
///
/// With `strong` and `weak` references, the counts are `strong` and `weak + 1`, so all are inside
/// if `strong + weak` words point to the block's start.
fn holds_itself(view: &View<'_>, block: usize) -> bool {
    let range = view.heap.range(block);
    if view.range() != range {
        return false;
    }
    let start = range.start;
    let own = || view.words().filter(move |(_, word)| *word == start);
    let [first, second, third] = [0, 1, 2].map(|index| view.word(start + index * WORD));
    let (Some(first), Some(second)) = (first, second) else {
        return false;
    };
    let all = own().count() as u64;
    if first > 0 && first.checked_add(second) == Some(all + 1) {
        return true;
    }
    // In C++ the counts follow a table of functions, and the pointer to the block follows the one
    // to the object inside.
    let is_inside = |at: &u64| {
        let before = at.checked_sub(WORD).and_then(|at| view.word(at));
        before.is_some_and(|word| start < word && word < range.end)
    };
    let own = own().filter(|(at, _)| is_inside(at)).count() as u64;
    let has_table = first != 0 && view.heap.find(first).is_none();
    // Two counts of 32 bits in libstdc++; in libc++, two words less 1 each.
    let (strong, weak) = (second & u64::from(u32::MAX), second >> 32);
    let is_whole = strong > 0 && strong + weak == own + 1;
    let sum = third.and_then(|third| second.checked_add(third)?.checked_add(1));
    let is_less_one = sum == Some(own);
    has_table && own > 0 && (is_whole || is_less_one)
}

/// Returns some words of a header, with their addresses, by the address of its pointer.
fn words_of<const COUNT: usize>(
    view: &View<'_>,
    at: u64,
    pointer: u8,
    indexes: [u8; COUNT],
) -> Option<([u64; COUNT], [u64; COUNT])> {
    let start = at.checked_sub(u64::from(pointer) * WORD)?;
    let addresses = indexes.map(|index| start.wrapping_add(u64::from(index) * WORD));
    let mut words = [0; COUNT];
    for (word, &address) in words.iter_mut().zip(&addresses) {
        *word = view.word(address)?;
    }
    Some((words, addresses))
}

impl Layouts for SiteShapes {
    fn needs_header(&self, site: u32) -> bool {
        matches!(
            self.shape(site).kind,
            BlockKind::List | BlockKind::Deque | BlockKind::Table
        )
    }

    fn element_bytes(&self, site: u32) -> Option<u64> {
        self.shape(site).element_bytes
    }

    fn value_type(&self, site: u32) -> u64 {
        self.shape(site).value_type
    }

    fn may_change(&self, heap: &Heap, block: usize) -> bool {
        self.shape(heap.site(block)).may_change
    }

    fn form(&self, heap: &Heap, block: usize) -> Form {
        match self.shape(heap.site(block)).kind {
            kind if is_unknown(kind) => Form::NotKnown,
            BlockKind::List | BlockKind::Deque | BlockKind::Table => Form::Listed,
            _ => Form::Whole,
        }
    }

    fn is_plain(&self, heap: &Heap, block: usize) -> bool {
        self.shape(heap.site(block)).is_text()
    }

    fn walk(&self, view: &View<'_>, words: &mut Words) {
        let mut counts = 0;
        let mut root = None;
        // Known once a block points to its own start.
        let mut is_cycle = None;
        match view.source {
            Source::Block(index) => {
                let shape = self.shape(view.heap.site(index));
                let start = view.heap.range(index).start;
                if shape.kind == BlockKind::Counted {
                    counts = start + 2 * WORD;
                    if view.has_dropped_value(start) {
                        view.words().for_each(|(at, _)| words.skip(at));
                        return words.dropped();
                    }
                }
                if shape.is_text() {
                    return;
                }
            }
            Source::Root(index) => root = Some(view.heap.roots()[index].kind),
        }
        for (at, word) in view.words() {
            if at < counts {
                words.skip(at);
                continue;
            }
            let Some(to) = view.heap.find(word) else {
                continue;
            };
            let is_start = word == view.heap.range(to).start;
            let shape = self.shape(view.heap.site(to));
            if root == Some(RootKind::DeadStack) || view.source == Source::Block(to) {
                let may_count = shape.kind == BlockKind::Counted || is_unknown(shape.kind);
                if root.is_none()
                    && is_start
                    && may_count
                    && *is_cycle.get_or_insert_with(|| holds_itself(view, to))
                {
                    words.owns(at, to);
                } else {
                    words.refers(at, to);
                }
                continue;
            }
            match shape.kind {
                BlockKind::List if is_start => self.list(view, at, to, words),
                BlockKind::Deque if is_start => self.deque(view, at, to, words),
                BlockKind::Table => self.table(view, at, word, to, words),
                BlockKind::Slice if is_start => {
                    let length = view.word(at.wrapping_add(WORD)).unwrap_or(0);
                    let header = Header::List {
                        capacity: length,
                        length,
                    };
                    words.header(at, to, header);
                }
                BlockKind::List | BlockKind::Deque | BlockKind::Slice => words.refers(at, to),
                // A box has one owner, and stacks are full of references to what it holds.
                BlockKind::Boxed if root == Some(RootKind::Stack) => words.refers(at, to),
                BlockKind::Boxed | BlockKind::Counted if !is_start => words.refers(at, to),
                _ => words.owns(at, to),
            }
        }
        // The fields of packed structs lie at any address.
        for (at, word) in view.unaligned() {
            if let Some(to) = view.heap.find(word)
                && word == view.heap.range(to).start
            {
                words.refers(at, to);
            }
        }
    }
}
