//! Ordinary ways to hold data, as text of programs.
//!
//! Every value that a shape makes is held until the end of its program. Texts of two shapes or of
//! two elements are never equal.

use heapglass_examples::data::Random;

/// One variable of a program.
pub(crate) struct Shape {
    /// The shape's name, for verdicts.
    pub(crate) name: &'static str,
    /// Types, functions and statics.
    pub(crate) items: String,
    /// The type of the variable.
    pub(crate) of: String,
    /// The expression that makes the value.
    pub(crate) make: String,
    /// Statements that read or change it. `$v` is the variable.
    pub(crate) uses: Vec<String>,
    /// Capacity that holds nothing, in bytes, at most.
    pub(crate) unused: usize,
    /// Kinds of findings that are true of it.
    pub(crate) kinds: &'static [&'static str],
    /// `true` if a thread-local of the program holds it.
    pub(crate) is_thread_local: bool,
}

impl Shape {
    fn new(name: &'static str, of: impl Into<String>, make: impl Into<String>) -> Shape {
        Shape {
            name,
            items: String::new(),
            of: of.into(),
            make: make.into(),
            uses: vec!["acc += black_box(&mut $v) as *mut _ as usize & 1;".into()],
            unused: 0,
            kinds: &[],
            is_thread_local: false,
        }
    }

    fn items(mut self, items: impl Into<String>) -> Shape {
        self.items = items.into();
        self
    }

    fn uses(mut self, text: impl Into<String>) -> Shape {
        self.uses.push(text.into());
        self
    }

    fn unused(mut self, bytes: usize) -> Shape {
        self.unused = bytes;
        self
    }

    fn kinds(mut self, kinds: &'static [&'static str]) -> Shape {
        self.kinds = kinds;
        self
    }
}

/// Makes a shape: random numbers, and the number of the variable.
pub(crate) type Make = fn(&mut Random, usize) -> Shape;

/// The containers of every first program.
pub(crate) const ORDINARY: &[Make] = &[
    strings,
    boxed_arrays,
    maps,
    records,
    deque,
    tree_map,
    lists,
    text_map,
];

/// More of them.
pub(crate) const WIDE: &[Make] = &[
    map_of_boxes,
    tree_map_of_boxes,
    weak_parents,
    raw_parents,
    channel,
    bounded_channel,
    slab,
    futures,
    once_lock,
    lazy_map,
    mutex_static,
    thread_locals,
    packed,
    rc_graph,
    arc_graph,
    linked_list,
    heap,
    hash_set,
    cows,
    trait_objects,
    options,
    enums,
    boxed_slices,
    arc_texts,
    rc_keys,
    wrapped_deque,
    nested_maps,
    tree_set,
    cells,
    mutexes,
    counters,
    workers,
    arrays,
    tuples,
    half_read,
    closures,
    own_list,
    grown,
    grown_texts,
];

fn count(random: &mut Random) -> usize {
    const COUNTS: [usize; 7] = [37, 100, 128, 250, 333, 500, 1000];
    COUNTS[random.below(COUNTS.len())]
}

/// The capacity of a list of so many elements that grew by `push`.
fn grown_to(count: usize) -> usize {
    count.next_power_of_two().max(4)
}

// ---------------------------------------------------------------- of every first program

fn strings(random: &mut Random, at: usize) -> Shape {
    let n = count(random);
    let new = format!("(0..{n}).map(|i| text({at}, i, 40)).collect()");
    Shape::new("Vec<String>", "Vec<String>", new)
        .uses("acc += $v.len();")
        .uses("if let Some(x) = $v.iter().nth((turn % 30) as usize) { acc += x.len(); }")
        .uses("for x in $v.iter_mut() { x.as_mut_str().make_ascii_uppercase(); }")
}

fn boxed_arrays(random: &mut Random, at: usize) -> Shape {
    let (n, size) = (count(random), 5 + random.below(35));
    let new = format!(
        "{{ let mut list = Vec::with_capacity({n}); for i in 0..{n}u64 {{ list.push(Box::new([i + {at}0000; {size}])); }} list }}"
    );
    Shape::new(
        "Vec<Box<[u64; N]>>",
        format!("Vec<Box<[u64; {size}]>>"),
        new,
    )
    .uses("acc += $v.len();")
    .uses("for x in $v.iter_mut() { x[0] += turn; }")
}

fn maps(random: &mut Random, _: usize) -> Shape {
    let n = count(random);
    let new = format!("(0..{n}u64).map(|k| (0..20).map(|i| (i, k)).collect()).collect()");
    Shape::new("Vec<HashMap>", "Vec<HashMap<u32, u64>>", new)
        .uses("acc += $v.len();")
        .uses("for m in $v.iter_mut() { m.insert(1, turn); }")
        .uses("acc += $v[(turn % 30) as usize][&3] as usize;")
}

fn records(random: &mut Random, at: usize) -> Shape {
    let n = count(random);
    let items =
        format!("#[derive(Clone)] struct Rec{at} {{ id: u64, name: String, tags: Vec<String> }}");
    let new = format!(
        "(0..{n}).map(|i| Rec{at} {{ id: i as u64, name: text({at}, i, 33), tags: (0..3).map(|t| text({at}00 + t, i, 26)).collect() }}).collect()"
    );
    Shape::new("Vec<Record>", format!("Vec<Rec{at}>"), new)
        .items(items)
        .uses("acc += $v.len();")
        .uses("for x in $v.iter_mut() { x.id += turn; acc += x.tags.len() + x.name.len(); }")
}

fn deque(random: &mut Random, at: usize) -> Shape {
    let n = count(random);
    let new = format!("(0..{n}).map(|i| text({at}, i, 44)).collect()");
    Shape::new("VecDeque<String>", "VecDeque<String>", new)
        .uses("acc += $v.len();")
        .uses("if let Some(x) = $v.iter().nth((turn % 30) as usize) { acc += x.len(); }")
}

fn tree_map(random: &mut Random, at: usize) -> Shape {
    let n = count(random);
    let new = format!("(0..{n}).map(|i| (i as u64, text({at}, i, 35))).collect()");
    Shape::new("BTreeMap<u64, String>", "BTreeMap<u64, String>", new)
        .uses("acc += $v.len();")
        .uses("acc += $v.range(3..9).count();")
}

fn lists(random: &mut Random, at: usize) -> Shape {
    let n = count(random);
    let new = format!("(0..{n}).map(|i| vec![i + {at}0000; 30]).collect()");
    Shape::new("Vec<Vec<u32>>", "Vec<Vec<u32>>", new)
        .uses("acc += $v.len();")
        .uses("acc += $v.iter().map(|x| x[0] as usize).sum::<usize>();")
        .uses("for x in $v.iter_mut() { x[29] += turn as u32; }")
}

fn text_map(random: &mut Random, at: usize) -> Shape {
    let n = count(random);
    let new = format!("(0..{n}).map(|i| (text({at}, i, 45), vec![i as u8; 70])).collect()");
    Shape::new("HashMap<String, Vec<u8>>", "HashMap<String, Vec<u8>>", new)
        .uses("acc += $v.len();")
        .uses("acc += $v.values().map(|x| x.len()).sum::<usize>();")
}

// ---------------------------------------------------------------- maps of boxes

fn map_of_boxes(random: &mut Random, at: usize) -> Shape {
    let n = count(random);
    let items = format!("struct Node{at} {{ name: String, values: [u64; 6] }}");
    let new = format!(
        "(0..{n}).map(|i| (i as u64, Box::new(Node{at} {{ name: text({at}, i, 31), values: [i as u64; 6] }}))).collect()"
    );
    Shape::new(
        "HashMap<u64, Box<Node>>",
        format!("HashMap<u64, Box<Node{at}>>"),
        new,
    )
    .items(items)
    .uses("for x in $v.values_mut() { x.values[0] += turn; acc += x.name.len(); }")
    .uses("acc += $v[&7].name.len();")
}

fn tree_map_of_boxes(random: &mut Random, at: usize) -> Shape {
    let (n, size) = (count(random), 30 + random.below(100));
    let new = format!(
        "(0..{n}).map(|i| (text({at}, i, 29), vec![i as u8; {size}].into_boxed_slice())).collect()"
    );
    Shape::new(
        "BTreeMap<String, Box<[u8]>>",
        "BTreeMap<String, Box<[u8]>>",
        new,
    )
    .uses("for x in $v.values_mut() { x[0] = turn as u8; }")
    .uses("acc += $v.values().map(|x| x[0] as usize).sum::<usize>();")
}

// ---------------------------------------------------------------- trees and graphs

fn weak_parents(random: &mut Random, at: usize) -> Shape {
    let n = count(random) / 4;
    let items = format!(
        "struct Tree{at} {{ name: String, parent: RefCell<Weak<Tree{at}>>, children: RefCell<Vec<Rc<Tree{at}>>> }}
fn tree{at}() -> Rc<Tree{at}> {{
    let leaf = |name| Rc::new(Tree{at} {{ name, parent: RefCell::new(Weak::new()), children: RefCell::new(Vec::new()) }});
    let root = leaf(text({at}, 999_999, 30));
    for i in 0..{n} {{
        let branch = leaf(text({at}, i, 30));
        let leaves: Vec<_> = (0..4).map(|k| leaf(text({at}00 + k, i, 30))).collect();
        for each in &leaves {{ *each.parent.borrow_mut() = Rc::downgrade(&branch); }}
        *branch.children.borrow_mut() = leaves;
        *branch.parent.borrow_mut() = Rc::downgrade(&root);
        root.children.borrow_mut().push(branch);
    }}
    root.children.borrow_mut().shrink_to_fit();
    root
}}"
    );
    Shape::new("tree with Weak parents", format!("Rc<Tree{at}>"), format!("tree{at}()"))
        .items(items)
        .uses("acc += $v.children.borrow().len();")
        .uses("let last = $v.children.borrow().last().unwrap().clone(); acc += last.parent.borrow().upgrade().unwrap().name.len();")
        // The root's list grows.
        .kinds(&["missing_capacity"])
}

fn raw_parents(random: &mut Random, at: usize) -> Shape {
    let n = count(random) / 4;
    let items = format!(
        "struct Raw{at} {{ name: String, parent: *const Raw{at}, children: Vec<Box<Raw{at}>> }} unsafe impl Send for Raw{at} {{}}
fn raw{at}() -> Box<Raw{at}> {{
    let mut root = Box::new(Raw{at} {{ name: text({at}, 999_999, 30), parent: std::ptr::null(), children: Vec::with_capacity({n}) }});
    for i in 0..{n} {{
        let parent: *const Raw{at} = &*root;
        let mut branch = Box::new(Raw{at} {{ name: text({at}, i, 30), parent, children: Vec::with_capacity(3) }});
        for k in 0..3 {{
            let parent: *const Raw{at} = &*branch;
            branch.children.push(Box::new(Raw{at} {{ name: text({at}00 + k, i, 30), parent, children: Vec::new() }}));
        }}
        root.children.push(branch);
    }}
    root
}}"
    );
    Shape::new("tree with raw parents", format!("Box<Raw{at}>"), format!("raw{at}()"))
        .items(items)
        .uses("acc += $v.children.len();")
        // SAFETY: the parent of a leaf is a box that the root holds.
        .uses("let leaf = &$v.children[3].children[1]; acc += unsafe { (*leaf.parent).parent.as_ref().unwrap().name.len() };")
}

fn rc_graph(random: &mut Random, at: usize) -> Shape {
    let n = count(random);
    let items = format!(
        "struct Knot{at} {{ name: String, to: Vec<Rc<Knot{at}>> }}
fn knots{at}() -> Vec<Rc<Knot{at}>> {{
    let mut all: Vec<Rc<Knot{at}>> = Vec::with_capacity({n});
    for i in 0..{n} {{
        let to = if i < 3 {{ Vec::new() }} else {{ vec![all[i - 1].clone(), all[i / 2].clone(), all[i / 3].clone()] }};
        all.push(Rc::new(Knot{at} {{ name: text({at}, i, 34), to }}));
    }}
    all
}}"
    );
    let held = random.below(2) == 0;
    let (of, make) = if held {
        (format!("Vec<Rc<Knot{at}>>"), format!("knots{at}()"))
    } else {
        (
            format!("Rc<Knot{at}>"),
            format!("knots{at}().pop().unwrap()"),
        )
    };
    let first = if held { "$v[9]" } else { "$v" };
    Shape::new("graph of Rc", of, make)
        .items(items)
        .uses(format!(
            "acc += {first}.to[1].name.len() + Rc::strong_count(&{first}.to[0]);"
        ))
}

fn arc_graph(random: &mut Random, at: usize) -> Shape {
    let n = count(random);
    let items = format!(
        "struct Link{at} {{ name: Box<str>, to: Mutex<Vec<Arc<Link{at}>>> }}
fn links{at}() -> HashMap<usize, Arc<Link{at}>> {{
    let all: HashMap<usize, Arc<Link{at}>> = (0..{n}).map(|i| (i, Arc::new(Link{at} {{ name: text({at}, i, 38).into(), to: Mutex::new(Vec::new()) }}))).collect();
    for i in 2..{n} {{ *all[&i].to.lock().unwrap() = vec![all[&(i - 1)].clone(), all[&(i / 2)].clone()]; }}
    all
}}"
    );
    Shape::new(
        "graph of Arc",
        format!("HashMap<usize, Arc<Link{at}>>"),
        format!("links{at}()"),
    )
    .items(items)
    .uses("acc += $v[&5].to.lock().unwrap()[0].name.len();")
    .uses("acc += $v.values().map(|x| Arc::strong_count(x)).sum::<usize>();")
}

fn own_list(random: &mut Random, at: usize) -> Shape {
    let n = count(random);
    let items = format!(
        "struct Item{at} {{ name: String, next: Option<Box<Item{at}>> }}
fn items{at}() -> Option<Box<Item{at}>> {{
    let mut first = None;
    for i in 0..{n} {{ first = Some(Box::new(Item{at} {{ name: text({at}, i, 30), next: first }})); }}
    first
}}"
    );
    Shape::new("list of Option<Box>", format!("Option<Box<Item{at}>>"), format!("items{at}()"))
        .items(items)
        .uses("let mut here = &$v; while let Some(item) = here { acc += item.name.len(); here = &item.next; }")
        .uses("acc += $v.as_ref().unwrap().name.len();")
}

// ---------------------------------------------------------------- channels, slabs, futures

fn channel(random: &mut Random, at: usize) -> Shape {
    let n = count(random);
    let of = "(mpsc::Sender<(u64, String)>, mpsc::Receiver<(u64, String)>)";
    let new = format!(
        "{{ let pair = mpsc::channel(); for i in 0..{n} {{ pair.0.send((i as u64, text({at}, i, 37))).unwrap(); }} pair }}"
    );
    Shape::new("mpsc::channel", of, new)
        .uses("let (n, name) = $v.1.recv().unwrap(); acc += name.len(); $v.0.send((n, name)).unwrap();")
        // The queue has blocks of 31 messages.
        .unused(32 * 40)
}

fn bounded_channel(random: &mut Random, at: usize) -> Shape {
    let n = count(random);
    let of = "(mpsc::SyncSender<Box<[u64; 9]>>, mpsc::Receiver<Box<[u64; 9]>>)";
    let new = format!(
        "{{ let pair = mpsc::sync_channel({n}); for i in 0..{n}u64 {{ pair.0.send(Box::new([i + {at}0000; 9])).unwrap(); }} pair }}"
    );
    Shape::new("mpsc::sync_channel", of, new)
        .uses("let mut x = $v.1.recv().unwrap(); x[0] += turn; $v.0.send(x).unwrap();")
}

fn slab(random: &mut Random, at: usize) -> Shape {
    let n = count(random);
    let items = format!(
        "enum Entry{at} {{ Vacant(usize), Full(String) }}
struct Slab{at} {{ entries: Vec<Entry{at}>, next: usize }}
fn slab{at}() -> Slab{at} {{
    let mut slab = Slab{at} {{ entries: (0..{n}).map(|i| Entry{at}::Full(text({at}, i, 36))).collect(), next: usize::MAX }};
    for i in (0..{n}).step_by(7) {{ slab.entries[i] = Entry{at}::Vacant(slab.next); slab.next = i; }}
    slab
}}"
    );
    Shape::new("slab", format!("Slab{at}"), format!("slab{at}()"))
        .items(items)
        .uses(format!("for x in &$v.entries {{ acc += match x {{ Entry{at}::Full(name) => name.len(), Entry{at}::Vacant(next) => *next & 1 }}; }}"))
        .uses("acc += $v.next;")
}

fn futures(random: &mut Random, at: usize) -> Shape {
    let n = count(random);
    let items = format!(
        "struct Once{at}(bool);
impl Future for Once{at} {{ type Output = (); fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {{ if self.0 {{ Poll::Ready(()) }} else {{ self.0 = true; Poll::Pending }} }} }}
async fn task{at}(i: usize) -> usize {{
    let name = text({at}, i, 39);
    let values = vec![i as u32 + {at}0000; 9];
    Once{at}(false).await;
    name.len() + values.len()
}}
fn tasks{at}() -> Vec<Pin<Box<dyn Future<Output = usize> + Send>>> {{
    let mut all: Vec<Pin<Box<dyn Future<Output = usize> + Send>>> = Vec::with_capacity({n});
    for i in 0..{n} {{ all.push(Box::pin(task{at}(i))); }}
    let mut context = Context::from_waker(Waker::noop());
    for task in &mut all {{ assert!(task.as_mut().poll(&mut context).is_pending()); }}
    all
}}"
    );
    Shape::new(
        "boxed futures",
        "Vec<Pin<Box<dyn Future<Output = usize> + Send>>>",
        format!("tasks{at}()"),
    )
    .items(items)
    .uses("acc += $v.len();")
}

// ---------------------------------------------------------------- statics and thread-locals

fn once_lock(random: &mut Random, at: usize) -> Shape {
    let n = count(random);
    let items = format!("static TABLE{at}: OnceLock<Vec<String>> = OnceLock::new();");
    let new =
        format!("{{ TABLE{at}.set((0..{n}).map(|i| text({at}, i, 42)).collect()).unwrap(); 0 }}");
    Shape::new("static OnceLock", "usize", new)
        .items(items)
        .uses(format!("acc += TABLE{at}.get().unwrap().len();"))
        .uses(format!(
            "$v = TABLE{at}.get().unwrap()[(turn % 30) as usize].len();"
        ))
}

fn lazy_map(random: &mut Random, at: usize) -> Shape {
    let n = count(random);
    let items = format!(
        "static LAZY{at}: LazyLock<HashMap<String, Box<[u32]>>> = LazyLock::new(|| (0..{n}).map(|i| (text({at}, i, 32), vec![i as u32; 12].into())).collect());"
    );
    Shape::new("static LazyLock", "usize", format!("LAZY{at}.len()"))
        .items(items)
        .uses(format!("acc += LAZY{at}.len();"))
        .uses(format!("$v += LAZY{at}.values().next().unwrap().len();"))
}

fn mutex_static(random: &mut Random, at: usize) -> Shape {
    let n = count(random);
    let (of, new, add) = match random.below(3) {
        0 => (
            "Vec<String>",
            "Vec::new()",
            format!("*all = (0..{n}).map(|i| text({at}, i, 43)).collect()"),
        ),
        1 => (
            "BTreeMap<u64, Box<[u64; 5]>>",
            "BTreeMap::new()",
            format!("for i in 0..{n}u64 {{ all.insert(i, Box::new([i; 5])); }}"),
        ),
        _ => (
            "Option<Box<HashMap<u64, String>>>",
            "None",
            format!(
                "*all = Some(Box::new((0..{n}).map(|i| (i as u64, text({at}, i, 47))).collect()))"
            ),
        ),
    };
    let items = format!("static STORE{at}: Mutex<{of}> = Mutex::new({new});");
    Shape::new(
        "static Mutex",
        "usize",
        format!("{{ let mut all = STORE{at}.lock().unwrap(); {add}; 1 }}"),
    )
    .items(items)
    .uses(format!("acc += STORE{at}.lock().is_ok() as usize + $v;"))
}

fn thread_locals(random: &mut Random, at: usize) -> Shape {
    let n = count(random);
    let items = format!(
        "thread_local! {{ static LOCAL{at}: RefCell<Vec<String>> = const {{ RefCell::new(Vec::new()) }}; static NAMES{at}: RefCell<HashMap<u32, Vec<u32>>> = RefCell::default(); }}"
    );
    let new = format!(
        "{{ LOCAL{at}.with(|all| *all.borrow_mut() = (0..{n}).map(|i| text({at}, i, 48)).collect()); NAMES{at}.with(|all| *all.borrow_mut() = (0..{n}).map(|i| (i, vec![i; 11])).collect()); 1 }}"
    );
    let mut shape = Shape::new("thread-locals", "usize", new)
        .items(items)
        .uses(format!("acc += LOCAL{at}.with(|all| all.borrow().len()) + NAMES{at}.with(|all| all.borrow().len()) + $v;"));
    shape.is_thread_local = true;
    shape
}

// ---------------------------------------------------------------- fields in unusual places

fn packed(random: &mut Random, at: usize) -> Shape {
    let (n, size) = (count(random), 4 + random.below(20));
    let items = format!(
        "#[repr(C, packed)] struct Packed{at} {{ tag: u8, name: Box<[u64; {size}]>, number: u16, list: Vec<u32>, text: Box<str> }}"
    );
    let new = format!(
        "(0..{n}).map(|i| Packed{at} {{ tag: 1, name: Box::new([i as u64 + {at}0000; {size}]), number: 7, list: vec![i as u32 + {at}0000; 8], text: text({at}, i, 30).into() }}).collect()"
    );
    Shape::new("packed structs", format!("Vec<Packed{at}>"), new)
        .items(items)
        .uses("acc += $v.iter().map(|x| x.number as usize + x.tag as usize).sum::<usize>();")
        .uses("for x in $v.iter_mut() { x.number = turn as u16; }")
}

fn options(random: &mut Random, at: usize) -> Shape {
    let (n, size) = (count(random), 5 + random.below(20));
    let new = format!(
        "(0..{n}u64).map(|i| (i % 3 != 0).then(|| Box::new([i + {at}0000; {size}]))).collect()"
    );
    Shape::new(
        "Vec<Option<Box>>",
        format!("Vec<Option<Box<[u64; {size}]>>>"),
        new,
    )
    .uses("acc += $v.iter().flatten().map(|x| x[0] as usize).sum::<usize>();")
    .uses("for x in $v.iter_mut().flatten() { x[1] = turn; }")
}

fn enums(random: &mut Random, at: usize) -> Shape {
    let n = count(random);
    let items = format!(
        "enum Value{at} {{ Nil, Text(String), List(Vec<u32>), Pair(Box<(u64, u64, u64, u64)>), Number(u64), Many(Vec<Value{at}>) }}
fn value{at}(i: usize) -> Value{at} {{ match i % 6 {{ 0 => Value{at}::Nil, 1 => Value{at}::Text(text({at}, i, 35)), 2 => Value{at}::List(vec![i as u32; 14]), 3 => Value{at}::Pair(Box::new((i as u64, 1, 2, 3))), 4 => Value{at}::Number(i as u64), _ => Value{at}::Many(vec![Value{at}::Text(text({at}1, i, 34)), Value{at}::Number(i as u64)]) }} }}
fn size{at}(value: &Value{at}) -> usize {{ match value {{ Value{at}::Nil => 0, Value{at}::Text(x) => x.len(), Value{at}::List(x) => x.len(), Value{at}::Pair(x) => x.0 as usize, Value{at}::Number(x) => *x as usize, Value{at}::Many(x) => x.iter().map(size{at}).sum() }} }}"
    );
    Shape::new(
        "enums with niches",
        format!("Vec<Value{at}>"),
        format!("(0..{n}).map(value{at}).collect()"),
    )
    .items(items)
    .uses(format!("acc += $v.iter().map(size{at}).sum::<usize>();"))
    .uses(format!(
        "for x in $v.iter_mut() {{ if let Value{at}::Number(x) = x {{ *x += turn; }} }}"
    ))
}

fn cells(random: &mut Random, at: usize) -> Shape {
    let n = count(random);
    let items = format!(
        "struct Cells{at} {{ names: RefCell<Vec<String>>, by_number: RefCell<HashMap<u32, String>>, last: Cell<Option<Box<[u64; 4]>>> }}"
    );
    let new = format!(
        "Cells{at} {{ names: RefCell::new((0..{n}).map(|i| text({at}, i, 46)).collect()), by_number: RefCell::new((0..{n}).map(|i| (i as u32, text({at}1, i, 31))).collect()), last: Cell::new(Some(Box::new([1; 4]))) }}"
    );
    Shape::new("RefCell fields", format!("Cells{at}"), new)
        .items(items)
        .uses("acc += $v.names.borrow().len() + $v.by_number.borrow()[&3].len();")
        .uses("let mut last = $v.last.take(); if let Some(x) = &mut last { x[0] = turn; } $v.last.set(last);")
}

fn mutexes(random: &mut Random, at: usize) -> Shape {
    let n = count(random);
    let items = format!(
        "struct Shared{at} {{ list: Mutex<Vec<(u64, String)>>, map: RwLock<BTreeMap<u32, Vec<u32>>>, once: OnceLock<Box<[u64]>> }}"
    );
    let new = format!(
        "Arc::new(Shared{at} {{ list: Mutex::new((0..{n}).map(|i| (i as u64, text({at}, i, 33))).collect()), map: RwLock::new((0..{n}).map(|i| (i, vec![i; 7])).collect()), once: OnceLock::from(vec![3u64; {n}].into_boxed_slice()) }})"
    );
    Shape::new("Mutex and RwLock fields", format!("Arc<Shared{at}>"), new)
        .items(items)
        .uses("acc += $v.list.lock().unwrap().len() + $v.map.read().unwrap().len() + $v.once.get().unwrap().len();")
        .uses("$v.list.lock().unwrap()[1].0 += turn;")
}

fn counters(random: &mut Random, at: usize) -> Shape {
    let n = count(random);
    let items = format!(
        "struct Counter{at} {{ hits: AtomicU64, names: Mutex<Vec<u32>>, limit: u64, more: [u64; 6] }}"
    );
    let new = format!(
        "(0..{n}).map(|i| Arc::new(Counter{at} {{ hits: AtomicU64::new(0), names: Mutex::new(vec![i as u32; 3]), limit: 9, more: [5; 6] }})).collect()"
    );
    Shape::new("counters in Arc", format!("Vec<Arc<Counter{at}>>"), new)
        .items(items)
        .uses("acc += $v.iter().map(|x| (x.limit + x.more[0]) as usize + x.names.lock().unwrap().len()).sum::<usize>();")
        .uses("$v[(turn % 30) as usize].hits.fetch_add(1, Relaxed);")
}

// ---------------------------------------------------------------- more of std's containers

fn linked_list(random: &mut Random, at: usize) -> Shape {
    let n = count(random);
    Shape::new(
        "LinkedList<String>",
        "LinkedList<String>",
        format!("(0..{n}).map(|i| text({at}, i, 41)).collect()"),
    )
    .uses("acc += $v.iter().map(|x| x.len()).sum::<usize>();")
    .uses("let x = $v.pop_front().unwrap(); $v.push_back(x);")
}

fn heap(random: &mut Random, at: usize) -> Shape {
    let (n, size) = (count(random), 30 + random.below(90));
    let new = format!(
        "BinaryHeap::from((0..{n}).map(|i| (i as u64 * 7919 % 1000, vec![i as u8 ^ {at}; {size}].into_boxed_slice())).collect::<Vec<_>>())"
    );
    Shape::new("BinaryHeap", "BinaryHeap<(u64, Box<[u8]>)>", new)
        .uses("acc += $v.peek().unwrap().1.len();")
        .uses("let mut top = $v.pop().unwrap(); top.0 = (top.0 + turn) % 1000; $v.push(top);")
}

fn hash_set(random: &mut Random, at: usize) -> Shape {
    let n = count(random);
    Shape::new(
        "HashSet<String>",
        "HashSet<String>",
        format!("(0..{n}).map(|i| text({at}, i, 49)).collect()"),
    )
    .uses("acc += $v.len();")
    .uses("acc += $v.iter().map(|x| x.len()).sum::<usize>();")
}

fn tree_set(random: &mut Random, at: usize) -> Shape {
    let n = count(random);
    Shape::new(
        "BTreeSet<String>",
        "BTreeSet<String>",
        format!("(0..{n}).map(|i| text({at}, i, 50)).collect()"),
    )
    .uses("acc += $v.first().unwrap().len();")
    .uses("acc += $v.iter().map(|x| x.len()).sum::<usize>();")
}

fn cows(random: &mut Random, at: usize) -> Shape {
    let n = count(random);
    let new = format!(
        "(0..{n}).map(|i| if i % 2 == 0 {{ Cow::Owned(text({at}, i, 51)) }} else {{ Cow::Borrowed(\"a text of the program's own\") }}).collect()"
    );
    Shape::new("Vec<Cow<str>>", "Vec<Cow<'static, str>>", new)
        .uses("acc += $v.iter().map(|x| x.len()).sum::<usize>();")
}

fn trait_objects(random: &mut Random, at: usize) -> Shape {
    let n = count(random);
    let items = format!(
        "trait Size{at}: Send {{ fn size(&self) -> usize; }}
struct Named{at}(String, u64); struct Listed{at} {{ list: Vec<u64>, one: Box<u64> }}
impl Size{at} for Named{at} {{ fn size(&self) -> usize {{ self.0.len() + self.1 as usize }} }}
impl Size{at} for Listed{at} {{ fn size(&self) -> usize {{ self.list.len() + *self.one as usize }} }}"
    );
    let new = format!(
        "(0..{n}).map(|i| -> Box<dyn Size{at}> {{ if i % 2 == 0 {{ Box::new(Named{at}(text({at}, i, 31), 3)) }} else {{ Box::new(Listed{at} {{ list: vec![i as u64; 6], one: Box::new(i as u64) }}) }} }}).collect()"
    );
    Shape::new(
        "Vec<Box<dyn Trait>>",
        format!("Vec<Box<dyn Size{at}>>"),
        new,
    )
    .items(items)
    .uses("acc += $v.iter().map(|x| x.size()).sum::<usize>();")
}

fn closures(random: &mut Random, at: usize) -> Shape {
    let n = count(random);
    let new = format!(
        "(0..{n}).map(|i| -> Box<dyn Fn(usize) -> usize + Send> {{ let name = text({at}, i, 36); let list = vec![i as u64; 5]; Box::new(move |by| name.len() + list[by % 5] as usize) }}).collect()"
    );
    Shape::new(
        "boxed closures",
        "Vec<Box<dyn Fn(usize) -> usize + Send>>",
        new,
    )
    .uses("acc += $v.iter().map(|x| x(turn as usize)).sum::<usize>();")
    .uses("acc += $v[5](2);")
}

fn boxed_slices(random: &mut Random, at: usize) -> Shape {
    let (n, size) = (count(random), 6 + random.below(30));
    let new =
        format!("(0..{n}).map(|i| vec![i as u64 + {at}0000; {size}].into_boxed_slice()).collect()");
    Shape::new("Box<[Box<[u64]>]>", "Box<[Box<[u64]>]>", new)
        .uses("for x in $v.iter_mut() { x[0] += turn; }")
        .uses("acc += $v[3].len();")
}

fn arc_texts(random: &mut Random, at: usize) -> Shape {
    let n = count(random);
    let new = format!("(0..{n}).map(|i| Arc::from(text({at}, i, 40))).collect()");
    Shape::new("Vec<Arc<str>>", "Vec<Arc<str>>", new)
        .uses("acc += $v.iter().map(|x| x.len()).sum::<usize>();")
        .uses("acc += Arc::strong_count(&$v[1]);")
}

fn rc_keys(random: &mut Random, at: usize) -> Shape {
    let n = count(random);
    let new = format!(
        "{{ let names: Vec<Rc<str>> = (0..{n}).map(|i| Rc::from(text({at}, i, 37))).collect(); let by_name = names.iter().enumerate().map(|(i, x)| (x.clone(), i)).collect(); (names, by_name) }}"
    );
    Shape::new(
        "Rc<str> as keys",
        "(Vec<Rc<str>>, HashMap<Rc<str>, usize>)",
        new,
    )
    .uses("acc += $v.1[&$v.0[2]];")
    .uses("for x in $v.1.values_mut() { *x += 1; }")
}

fn wrapped_deque(random: &mut Random, at: usize) -> Shape {
    let n = count(random);
    let new = format!(
        "{{ let mut all: VecDeque<String> = (0..{n}).map(|i| text({at}, i, 45)).collect(); for _ in 0..{n} / 3 {{ let x = all.pop_front().unwrap(); all.push_back(x); }} all }}"
    );
    Shape::new("VecDeque that wraps", "VecDeque<String>", new)
        .uses("acc += $v.front().unwrap().len();")
        .uses("let x = $v.pop_front().unwrap(); $v.push_back(x);")
}

fn nested_maps(random: &mut Random, at: usize) -> Shape {
    let n = count(random) / 8;
    let new = format!(
        "(0..{n}).map(|i| (i as u32, (0..20).map(|k| (k, text({at}00 + k as usize, i, 34))).collect())).collect()"
    );
    Shape::new(
        "HashMap of HashMap",
        "HashMap<u32, HashMap<u32, String>>",
        new,
    )
    .uses("acc += $v[&2][&7].len();")
    .uses("acc += $v.values().map(|x| x.len()).sum::<usize>();")
}

fn arrays(random: &mut Random, at: usize) -> Shape {
    let n = count(random);
    let of = "([Vec<u32>; 8], Box<[Option<String>; 16]>)";
    let new = format!(
        "(std::array::from_fn(|i| vec![i as u32 + {at}0000; {n}]), Box::new(std::array::from_fn(|i| (i % 3 != 1).then(|| text({at}, i, 90)))))"
    );
    Shape::new("arrays of Vec", of, new)
        .uses("for x in $v.0.iter_mut() { x[0] += turn as u32; }")
        .uses("acc += $v.1.iter().flatten().map(|x| x.len()).sum::<usize>() + $v.0[7].len();")
}

fn tuples(random: &mut Random, at: usize) -> Shape {
    let n = count(random);
    let new = format!(
        "(0..{n}).map(|i| (text({at}, i, 32), vec![i as u32; 15].into_boxed_slice(), i as u8)).collect()"
    );
    Shape::new("tuples", "Vec<(String, Box<[u32]>, u8)>", new)
        .uses("acc += $v.iter().map(|x| x.0.len() + x.1.len()).sum::<usize>();")
        .uses("for x in $v.iter_mut() { x.2 = turn as u8; x.1[0] += 1; }")
}

fn half_read(random: &mut Random, at: usize) -> Shape {
    let n = count(random);
    let new = format!(
        "{{ let mut rest = (0..{n}).map(|i| text({at}, i, 52)).collect::<Vec<_>>().into_iter(); rest.by_ref().take(9).count(); rest }}"
    );
    Shape::new(
        "an iterator with the rest",
        "std::vec::IntoIter<String>",
        new,
    )
    .uses("acc += $v.len();")
    .uses("acc += $v.as_slice()[3].len();")
    // Nine places were read.
    .unused(9 * 24)
}

fn grown(random: &mut Random, at: usize) -> Shape {
    let n = count(random);
    let new = format!(
        "{{ let mut all = Vec::new(); for i in 0..{n} {{ all.push((i as u64, text({at}, i, 53))); }} all }}"
    );
    Shape::new("a list that grew", "Vec<(u64, String)>", new)
        .uses("acc += $v.len();")
        .uses("for x in $v.iter_mut() { x.0 += turn; }")
        .unused((grown_to(n) - n) * 32)
        .kinds(&["missing_capacity"])
}

fn grown_texts(random: &mut Random, at: usize) -> Shape {
    let n = count(random);
    let new = format!("(0..{n}).map(|i| format!(\"{at}:{{i:>60}}\")).collect()");
    Shape::new("texts that grew", "Vec<String>", new)
        .uses("acc += $v.iter().map(|x| x.len()).sum::<usize>();")
        .unused(n * 65)
        .kinds(&["missing_capacity"])
}

// ---------------------------------------------------------------- threads

fn workers(random: &mut Random, at: usize) -> Shape {
    let n = count(random);
    let items = format!(
        "fn worker{at}(number: usize, stop: mpsc::Receiver<()>) -> usize {{
    let list: Vec<String> = (0..{n}).map(|i| text({at}00 + number, i, 39)).collect();
    let mut map: HashMap<u64, Box<[u64; 6]>> = (0..{n}).map(|i| (i as u64, Box::new([i as u64; 6]))).collect();
    let mut turn = 0;
    while stop.recv_timeout(Duration::from_millis(7)) == Err(mpsc::RecvTimeoutError::Timeout) {{
        turn += 1;
        map.get_mut(&(turn % 30)).unwrap()[0] += turn;
        drop(black_box(vec![number as u8; 90]));
    }}
    list.len() + map.len()
}}
struct Workers{at} {{ stop: Vec<mpsc::Sender<()>>, threads: Vec<std::thread::JoinHandle<usize>> }}
fn workers{at}() -> Workers{at} {{
    let mut all = Workers{at} {{ stop: Vec::with_capacity(3), threads: Vec::with_capacity(3) }};
    for number in 0..3 {{
        let (stop, stopped) = mpsc::channel();
        all.stop.push(stop);
        all.threads.push(std::thread::Builder::new().name(format!(\"worker-{{number}}\")).spawn(move || worker{at}(number, stopped)).unwrap());
    }}
    // The workers have their lists before the first turn.
    std::thread::sleep(Duration::from_millis(50));
    all
}}"
    );
    Shape::new(
        "worker threads",
        format!("Workers{at}"),
        format!("workers{at}()"),
    )
    .items(items)
    .uses("acc += $v.threads.len() + $v.stop.len();")
}
