//! Layouts by the type of the site: enough for lists, tables and counted pointers, without debug
//! information about types.

use super::heap::RootKind;
use super::layout::{Header, Layouts, Source, View, WORD, Words};

/// A capacity with this bit is not one: the words are another variant of an enum, and the pointer
/// and length behind it are of a value that is gone.
const NICHE: u64 = 1 << 63;

/// The container that allocated the blocks of a site.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// Not known: every word that points into a block owns it.
    #[default]
    Unknown,
    /// `Vec`, `String`, `BinaryHeap`, `OsString`, `PathBuf`.
    List,
    /// `Box<[T]>`, `Box<str>`: a pointer and a length, without spare capacity.
    Slice,
    /// `VecDeque`.
    Deque,
    /// `HashMap`, `HashSet`.
    Table,
    /// `Box`.
    Boxed,
    /// `Rc`, `Arc`: two counts before the value.
    Counted,
}

/// The knowledge about the blocks of one site.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Shape {
    /// The container.
    pub kind: Kind,
    /// The size of its elements: 1 for text, `None` if not known.
    pub element_bytes: Option<u64>,
    /// A number for the element type, for equal values. 0 if not known.
    pub value_type: u64,
}

impl Shape {
    /// Returns a shape.
    pub fn new(kind: Kind, element_bytes: Option<u64>, value_type: u64) -> Shape {
        Shape {
            kind,
            element_bytes,
            value_type,
        }
    }
}

/// The words of containers' headers in memory, each as its index in the header. The recorded
/// program finds them out: the compiler may choose any order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
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
    orders: WordOrders,
}

impl SiteShapes {
    /// Returns layouts for the sites with these shapes, by number. Other sites are unknown.
    pub fn new(shapes: Vec<Shape>, orders: WordOrders) -> SiteShapes {
        SiteShapes { shapes, orders }
    }

    pub(crate) fn table_group(&self) -> u64 {
        self.orders.table_group
    }

    fn shape(&self, site: u32) -> Shape {
        self.shapes.get(site as usize).copied().unwrap_or_default()
    }

    /// Reports a pointer to a list: it owns only from a header that agrees.
    fn list(&self, view: &View<'_>, at: u64, to: usize, words: &mut Words) {
        let [capacity, pointer, length] = self.orders.list;
        let header = words_of(view, at, pointer, [capacity, length]);
        let Some(([capacity, length], [capacity_at, length_at])) = header else {
            return words.refers(at, to);
        };
        if capacity & NICHE != 0 {
            words.skip(at);
            words.skip(length_at);
        } else if length <= capacity {
            // Equal lists may have different capacities.
            words.skip(capacity_at);
            words.header(at, to, Header::List { capacity, length });
        } else {
            words.refers(at, to);
        }
    }

    fn deque(&self, view: &View<'_>, at: u64, to: usize, words: &mut Words) {
        let [capacity, pointer, head, length] = self.orders.deque;
        let header = words_of(view, at, pointer, [capacity, head, length]);
        let Some(([capacity, head, length], [capacity_at, head_at, length_at])) = header else {
            return words.refers(at, to);
        };
        if capacity & NICHE != 0 {
            words.skip(at);
            words.skip(head_at);
            words.skip(length_at);
        } else if length <= capacity && head < capacity.max(1) {
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
            Kind::List | Kind::Deque | Kind::Table
        )
    }

    fn element_bytes(&self, site: u32) -> Option<u64> {
        self.shape(site).element_bytes
    }

    fn value_type(&self, site: u32) -> u64 {
        self.shape(site).value_type
    }

    fn walk(&self, view: &View<'_>, words: &mut Words) {
        let mut counts = 0;
        let mut root = None;
        match view.source {
            Source::Block(index) => {
                let shape = self.shape(view.heap.site(index));
                let start = view.heap.range(index).start;
                if shape.kind == Kind::Counted {
                    counts = start + 2 * WORD;
                }
                if matches!(shape.kind, Kind::List | Kind::Slice) && shape.element_bytes == Some(1)
                {
                    // Text.
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
            if root == Some(RootKind::DeadStack) || view.source == Source::Block(to) {
                words.refers(at, to);
                continue;
            }
            let is_start = word == view.heap.range(to).start;
            let shape = self.shape(view.heap.site(to));
            match shape.kind {
                Kind::List if is_start => self.list(view, at, to, words),
                Kind::Deque if is_start => self.deque(view, at, to, words),
                Kind::Table => self.table(view, at, word, to, words),
                Kind::Slice if is_start => {
                    let length = view.word(at.wrapping_add(WORD)).unwrap_or(0);
                    let header = Header::List {
                        capacity: length,
                        length,
                    };
                    words.header(at, to, header);
                }
                Kind::List | Kind::Deque | Kind::Slice => words.refers(at, to),
                // A box has one owner, and stacks are full of references to what it holds.
                Kind::Boxed if root == Some(RootKind::Stack) => words.refers(at, to),
                Kind::Boxed | Kind::Counted if !is_start => words.refers(at, to),
                Kind::Boxed | Kind::Counted | Kind::Unknown => words.owns(at, to),
            }
        }
    }
}
