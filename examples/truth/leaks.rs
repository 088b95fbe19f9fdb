//! Real leaks, as text of programs: a function that leaks the same blocks at each call.

use std::ops::Range;

use heapglass_examples::data::Random;

/// The leak of a program, and its truth.
#[derive(Clone, Debug)]
pub(crate) struct Leak {
    /// The way in which the blocks are lost.
    pub(crate) name: &'static str,
    /// The function that leaks. Its argument is the number of the call.
    pub(crate) items: String,
    pub(crate) calls: usize,
    /// Blocks and bytes that one call leaks.
    pub(crate) blocks: usize,
    pub(crate) bytes: usize,
}

/// The name of the function that leaks.
pub(crate) const FUNCTION: &str = "lose_it";

/// Returns the lines of a program on which the function that leaks is; none if it has no leak.
pub(crate) fn lines(source: &str) -> Range<u64> {
    let head = format!("fn {FUNCTION}(");
    let mut lines = (1..).zip(source.lines());
    let first = lines.find(|(_, line)| line.contains(&head));
    let end = lines.find(|(_, line)| *line == "}");
    match (first, end) {
        (Some((first, _)), Some((end, _))) => first..end,
        _ => 0..0,
    }
}

/// A kind of leak: its name, the types and the body of the function, the blocks and the bytes of
/// one call.
type Kind = (&'static str, &'static str, &'static str, usize, usize);

const KINDS: &[Kind] = &[
    (
        "mem::forget of a list of texts",
        "",
        "let list: Vec<String> = (0..5).map(|k| text(900 + k, i, 40)).collect(); black_box(&list); std::mem::forget(list);",
        6,
        5 * (24 + 40),
    ),
    (
        "Box::leak, and the reference is dropped",
        "",
        "let array: &'static mut [u64; 40] = Box::leak(Box::new([i as u64; 40])); black_box(array);",
        1,
        320,
    ),
    (
        "two Rc that hold each other",
        "struct Ring { name: String, next: RefCell<Option<Rc<Ring>>> }",
        "let one = Rc::new(Ring { name: text(900, i, 30), next: RefCell::new(None) });
    let two = Rc::new(Ring { name: text(901, i, 30), next: RefCell::new(Some(one.clone())) });
    *one.next.borrow_mut() = Some(two.clone()); black_box((one.name.len(), two.name.len()));",
        4,
        2 * (16 + 24 + 16 + 30),
    ),
    (
        "an Rc in itself",
        "struct Ring { name: String, next: RefCell<Option<Rc<Ring>>> }",
        "let one = Rc::new(Ring { name: text(900, i, 30), next: RefCell::new(None) });
    *one.next.borrow_mut() = Some(one.clone()); black_box(one.name.len());",
        2,
        16 + 24 + 16 + 30,
    ),
    (
        "three Arc in a ring",
        "struct Ring { name: String, next: Mutex<Option<Arc<Ring>>> }",
        "let all: Vec<Arc<Ring>> = (0..3).map(|k| Arc::new(Ring { name: text(900 + k, i, 33), next: Mutex::new(None) })).collect();
    for k in 0..3 { *all[k].next.lock().unwrap() = Some(all[(k + 1) % 3].clone()); } black_box(all[0].name.len());",
        6,
        3 * (16 + 24 + 16 + 33),
    ),
    (
        "Box::into_raw of a list",
        "struct Piece { name: String, next: Option<Box<Piece>> }",
        "let mut first: Option<Box<Piece>> = None;
    for k in 0..4 { first = Some(Box::new(Piece { name: text(900 + k, i, 30), next: first })); }
    black_box(Box::into_raw(first.unwrap()));",
        8,
        4 * (24 + 8 + 30),
    ),
    (
        "ManuallyDrop of a map",
        "",
        "let map: HashMap<u32, u64> = (0..20).map(|k| (k, i as u64)).collect(); black_box(&*std::mem::ManuallyDrop::new(map));",
        1,
        32 * 16 + 32 + 16,
    ),
    (
        "a count of an Arc that is never given back",
        "",
        "let one: Arc<[u64; 30]> = Arc::new([i as u64; 30]); std::mem::forget(one.clone()); black_box(one[3]);",
        1,
        16 + 240,
    ),
    (
        "mem::forget of a boxed closure",
        "",
        "let name = text(900, i, 60); let call: Box<dyn Fn() -> usize> = Box::new(move || name.len()); black_box(call()); std::mem::forget(call);",
        2,
        24 + 60,
    ),
];

impl Leak {
    pub(crate) fn any(random: &mut Random) -> Leak {
        let (name, types, body, blocks, bytes) = KINDS[random.below(KINDS.len())];
        Leak {
            name,
            items: format!(
                "{types}\n#[inline(never)] fn {FUNCTION}(i: usize) {{\n    {body}\n}}\n"
            ),
            calls: 60 + random.below(300),
            blocks,
            bytes,
        }
    }
}
