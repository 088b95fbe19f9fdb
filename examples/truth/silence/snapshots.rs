//! Kinds that snapshots show.

use super::Near;

pub(super) const ALL: &[Near] = &[
    (
        "unused_capacity",
        &[
            (
                "full lists in a full list",
                "",
                "let mut v: Vec<Vec<u64>> = (0..$n).map(|i| vec![i; $m]).collect(); run(|turn| v[3][0] += turn); black_box(&v);",
            ),
            (
                "maps in a full list",
                "",
                "let mut v: Vec<HashMap<u32, u64>> = (0..$n).map(|k| (0..20).map(|i| (i, k)).collect()).collect(); run(|turn| for m in v.iter_mut() { m.insert(1, turn); }); println!(\"{}\", v.len());",
            ),
            (
                "lists that were shrunk",
                "",
                "let mut v: Vec<Vec<u64>> = (0..$n).map(|i| { let mut x = Vec::with_capacity(900); x.extend(0..$m); x.push(i); x.shrink_to_fit(); x }).collect(); run(|turn| v[3][0] += turn); black_box(&v);",
            ),
            (
                "a pool whose buffers are in use",
                "",
                "let mut pool: Vec<Vec<u8>> = (0..$n).map(|i| vec![i as u8; 512]).collect(); run(|turn| { let at = turn as usize % pool.len(); let mut x = std::mem::take(&mut pool[at]); x[0] = turn as u8; pool[at] = x; }); black_box(&pool);",
            ),
            (
                "lists in the fields of a local",
                "struct App { names: Vec<String>, numbers: VecDeque<u64>, first: Option<Vec<u32>> }",
                "let mut app = App { names: (0..$n).map(|i| text(1, i, 33)).collect(), numbers: (0..$n).collect(), first: Some(vec![7; $n]) }; run(|turn| { app.numbers[3] += turn; black_box(app.names.len()); }); println!(\"{}\", app.first.unwrap().len());",
            ),
        ],
    ),
    (
        "empty_container",
        &[
            (
                "lists that never had a block",
                "",
                "let v: Vec<(Vec<u64>, Box<u64>)> = (0..$n).map(|i| (Vec::new(), Box::new(i))).collect(); run(|_| { black_box(&v); }); black_box(&v);",
            ),
            (
                "lists of one element",
                "",
                "let mut v: Vec<Vec<u64>> = (0..$n).map(|i| vec![i]).collect(); run(|turn| v[3][0] += turn); black_box(&v);",
            ),
            (
                "lists whose block was taken",
                "",
                "let mut v: Vec<Vec<u64>> = (0..$n).map(|i| vec![i; $m]).collect(); for x in v.iter_mut().step_by(2) { drop(std::mem::take(x)); } run(|turn| v[1][0] += turn); black_box(&v);",
            ),
            (
                "a queue that is filled while it is read",
                "",
                "let mut v: VecDeque<String> = (0..$n).map(|i| text(1, i, 40)).collect(); run(|_| { let x = v.pop_front().unwrap(); v.push_back(x); }); println!(\"{}\", v.len());",
            ),
            (
                "a list in a local whose length is in a register",
                "",
                "let mut v = Vec::with_capacity($n); for i in 0..$n { v.push(Box::new([i; 20])); } run(|turn| for x in v.iter_mut() { x[0] += turn; }); println!(\"{}\", v.len());",
            ),
        ],
    ),
    (
        "duplicate_content",
        &[
            (
                "atomics that are equal now",
                "struct C { hits: AtomicU64, limit: u64, more: [u64; 6] }",
                "let v: Vec<Arc<C>> = (0..$n).map(|_| Arc::new(C { hits: AtomicU64::new(0), limit: 9, more: [3; 6] })).collect(); run(|turn| { v[turn as usize % v.len()].hits.store(0, Relaxed); }); black_box((v[1].limit, v[2].more));",
            ),
            (
                "a mutex in an Arc",
                "",
                "let v: Vec<Arc<Mutex<[u64; 8]>>> = (0..$n).map(|_| Arc::new(Mutex::new([5; 8]))).collect(); run(|_| { v[3].lock().unwrap()[0] = 5; }); black_box(&v);",
            ),
            (
                "a Cell in an Rc",
                "struct C { last: Cell<u64>, name: [u8; 40] }",
                "let v: Vec<Rc<C>> = (0..$n).map(|_| Rc::new(C { last: Cell::new(1), name: [65; 40] })).collect(); run(|_| { v[3].last.set(1); }); black_box(v[0].name);",
            ),
            (
                "one text that is shared",
                "",
                "let one: Arc<str> = text(1, 1, 60).into(); let v: Vec<(Arc<str>, Box<u64>)> = (0..$n).map(|i| (one.clone(), Box::new(i))).collect(); run(|_| { black_box(&v); }); black_box(&v);",
            ),
            (
                "texts that are all different",
                "",
                "let v: Vec<String> = (0..$n).map(|i| text(1, i, 60)).collect(); run(|_| { black_box(&v); }); black_box(&v);",
            ),
            (
                "lists of equal numbers",
                "",
                "let mut v: Vec<Vec<u64>> = (0..$n).map(|_| vec![7; 60]).collect(); run(|turn| v[3][0] = turn); black_box(&v);",
            ),
            (
                "lists of structs of zeros",
                "struct R { a: u64, b: u64, c: f64 }",
                "let mut v: Vec<Vec<R>> = (0..$n).map(|_| (0..$m).map(|_| R { a: 0, b: 0, c: 0.0 }).collect()).collect(); run(|turn| { v[3][0].a = turn; v[3][0].a = 0; }); black_box((v[1][1].b, v[1][2].c));",
            ),
            (
                "lists of structs that differ in one field",
                "struct R { number: u64, of: Option<u32>, last: u8 }",
                "let v: Vec<Vec<R>> = (0..$n).map(|i| (0..$m as u64).map(|number| R { number, of: (number > 0).then_some(7), last: if number == 0 { i as u8 } else if number == 1 { (i >> 8) as u8 } else { 3 } }).collect()).collect(); run(|_| { black_box(&v); }); black_box((v[1][1].of, v[1][2].last, v[1][3].number));",
            ),
            (
                "lists of structs that count in a Cell",
                "struct R { hits: Cell<u64>, more: [u64; 4] }",
                "let v: Vec<Vec<R>> = (0..$n).map(|_| (0..$m).map(|j| R { hits: Cell::new(0), more: [j; 4] }).collect()).collect(); run(|_| { v[3][1].hits.set(0); }); black_box(v[1][1].more);",
            ),
            (
                "lists of structs that are shared",
                "struct R { name: String, number: u64 }",
                "let one: Rc<Vec<R>> = Rc::new((0..$m as u64).map(|number| R { name: text(1, number as usize, 30), number }).collect()); let v: Vec<(Rc<Vec<R>>, Box<u64>)> = (0..$n).map(|i| (one.clone(), Box::new(i))).collect(); run(|_| { black_box(&v); }); black_box((v[1].0[1].number, v[1].0[2].name.len()));",
            ),
        ],
    ),
    (
        "held_by_small_part",
        &[
            (
                "a text beside the texts that were made of it",
                "",
                "let input: String = (0..$n).map(|i| text(1, i, 40)).collect(); let v: Vec<String> = (0..$n).step_by(9).map(|i| input[i * 40..i * 40 + 40].to_owned()).collect(); run(|_| { black_box(v.len()); }); println!(\"{} {}\", input.len(), v.len());",
            ),
            (
                "slices of a whole text",
                "",
                "let input: &'static str = Box::leak((0..$n).map(|i| text(1, i, 40)).collect::<String>().into_boxed_str()); let v: Vec<&str> = (0..$n).map(|i| &input[i * 40..i * 40 + 40]).collect(); run(|_| { black_box(&v); }); black_box(&v);",
            ),
            (
                "a few slices of a text that its owner holds",
                "",
                "let input = Arc::new((0..$n).map(|i| text(1, i, 40)).collect::<String>()); let v: Vec<(Arc<String>, usize)> = (0..9).map(|i| (input.clone(), i * 40)).collect(); run(|_| { black_box(&v); }); black_box((&v, input.as_str()));",
            ),
            (
                "a list that is read from its middle",
                "",
                "let v: Vec<u64> = (0..100 * $n).collect(); let mut middle = v[7 * $n..].iter(); run(|_| { black_box(middle.next()); }); black_box(v.len());",
            ),
            (
                "a box and a pointer into it",
                "",
                // SAFETY: the box is alive, and the pointer leads into it.
                "let mut v: Vec<Box<[u64]>> = (0..9).map(|i| vec![i; 40 * $n].into_boxed_slice()).collect(); let at: *mut u64 = &mut v[3][20]; run(|turn| unsafe { *at += turn }); black_box(&v);",
            ),
        ],
    ),
    (
        "kept_by_weak",
        &[
            (
                "weak pointers to values that live",
                "",
                "let v: Vec<Arc<[u64; 20]>> = (0..$n).map(|i| Arc::new([i; 20])).collect(); let w: Vec<_> = v.iter().map(Arc::downgrade).collect(); run(|_| { black_box(w[3].upgrade()); }); black_box((&v, &w));",
            ),
            (
                "weak pointers that were purged",
                "",
                "let v: Vec<Rc<[u64; 20]>> = (0..$n).map(|i| Rc::new([i; 20])).collect(); let mut w: Vec<_> = v.iter().map(Rc::downgrade).collect(); drop(v); w.retain(|w| w.strong_count() > 0); run(|_| { black_box(&w); }); black_box(&w);",
            ),
            (
                "lists that begin with a zero and a one",
                "",
                "let v: Vec<Arc<Vec<u64>>> = (0..$n).map(|i| Arc::new(vec![0, 1, i, i, i, i])).collect(); run(|_| { black_box(&v); }); black_box(&v);",
            ),
            (
                "weak pointers that never had a value",
                "",
                "let v: Vec<(std::sync::Weak<[u64; 20]>, Box<[u64; 20]>)> = (0..$n).map(|i| (std::sync::Weak::new(), Box::new([i; 20]))).collect(); run(|_| { black_box(&v); }); black_box(&v);",
            ),
            (
                "children that know their parent",
                "struct P { children: RefCell<Vec<Rc<C>>> } struct C { parent: Weak<P>, state: [u64; 12] }",
                "let v: Vec<Rc<P>> = (0..$n).map(|i| { let p = Rc::new(P { children: RefCell::default() }); for _ in 0..3 { p.children.borrow_mut().push(Rc::new(C { parent: Rc::downgrade(&p), state: [i; 12] })); } p }).collect(); run(|_| { black_box(&v); }); black_box((v[0].children.borrow()[0].state, v[0].children.borrow()[0].parent.strong_count()));",
            ),
        ],
    ),
    (
        "input_kept",
        &[
            (
                "a text that was dropped",
                "",
                "let input: String = (0..$n).map(|i| text(1, i, 40)).collect(); let v: Vec<String> = (0..$n).map(|i| input[i * 40..i * 40 + 40].to_owned()).collect(); drop(input); run(|_| { black_box(&v); }); black_box(&v);",
            ),
            (
                "a text that its values borrow",
                "",
                "let input: String = (0..$n).map(|i| text(1, i, 40)).collect(); let v: Vec<&str> = (0..$n).map(|i| &input[i * 40..i * 40 + 40]).collect(); run(|_| { black_box(&v); }); black_box(&v);",
            ),
            (
                "numbers that were read from a text",
                "",
                "let input: String = (0..$n).map(|i| text(1, i, 40)).collect(); let v: Vec<u64> = (0..$n).map(|i| input[i * 40 + 10..i * 40 + 40].trim().parse().unwrap()).collect(); run(|_| { black_box(&v); }); println!(\"{} {}\", input.len(), v.len());",
            ),
            (
                "texts that are not in the text",
                "",
                "let input: String = (0..$n).map(|i| text(1, i, 40)).collect(); let v: Vec<String> = (0..$n).map(|i| text(2, i, 40)).collect(); run(|_| { black_box(&v); }); println!(\"{} {}\", input.len(), v.len());",
            ),
            (
                "texts that are older than the text",
                "",
                "let v: Vec<String> = (0..$n).map(|i| text(1, i, 40)).collect(); let input = v.concat(); run(|_| { black_box(&v); }); println!(\"{} {}\", input.len(), v.len());",
            ),
        ],
    ),
    (
        "could_borrow",
        &[
            (
                "a text that was dropped",
                "",
                "let input: String = (0..$n).map(|i| text(1, i, 40)).collect(); let v: Vec<String> = (0..$n).map(|i| input[i * 40..i * 40 + 40].to_owned()).collect(); drop(input); run(|_| { black_box(&v); }); black_box(&v);",
            ),
            (
                "texts that were changed",
                "",
                "let input: String = (0..$n).map(|i| text(1, i, 40)).collect(); let v: Vec<String> = (0..$n).map(|i| input[i * 40..i * 40 + 40].replace(' ', \"_\")).collect(); run(|_| { black_box(&v); }); println!(\"{} {}\", input.len(), v.len());",
            ),
            (
                "texts that are borrowed",
                "",
                "let input: String = (0..$n).map(|i| text(1, i, 40)).collect(); let v: Vec<Cow<str>> = (0..$n).map(|i| Cow::Borrowed(&input[i * 40..i * 40 + 40])).collect(); run(|_| { black_box(&v); }); black_box(&v);",
            ),
            (
                "texts joined from two places",
                "",
                "let input: String = (0..$n).map(|i| text(1, i, 40)).collect(); let v: Vec<String> = (1..$n).map(|i| format!(\"{}/{}\", &input[i * 40..i * 40 + 20], &input[i * 40 - 20..i * 40])).collect(); run(|_| { black_box(&v); }); println!(\"{} {}\", input.len(), v.len());",
            ),
            (
                "texts that are older than the text",
                "",
                "let v: Vec<String> = (0..$n).map(|i| text(1, i, 40)).collect(); let input = v.concat(); run(|_| { black_box(&v); }); println!(\"{} {}\", input.len(), v.len());",
            ),
        ],
    ),
    (
        "untouched",
        &[
            (
                "a large list that is full",
                "",
                "let mut v = vec![1u64; 1000 * $n]; run(|turn| v[3] += turn); black_box(&v);",
            ),
            (
                "zeroed blocks that were filled",
                "",
                "let mut v = vec![0u64; 1000 * $n]; for (i, x) in v.iter_mut().enumerate() { *x = i as u64; } run(|turn| v[3] += turn); black_box(&v);",
            ),
            (
                "a byte of each page",
                "",
                "let mut v = vec![0u8; 8000 * $n]; for i in (0..v.len()).step_by(512) { v[i] = 1; } run(|turn| v[3] = turn as u8); black_box(&v);",
            ),
            (
                "capacity of a list in a field",
                "struct List { values: Vec<u64> }",
                "let mut v = Box::new(List { values: Vec::with_capacity(1000 * $n) }); v.values.extend(0..100 * $n); run(|turn| v.values[3] += turn); black_box(&v);",
            ),
            (
                "many small blocks",
                "",
                "let mut v: Vec<Box<[u8]>> = (0..$n).map(|_| vec![0u8; 6000].into()).collect(); run(|turn| v[3][0] = turn as u8); black_box(&v);",
            ),
        ],
    ),
    (
        "unreachable",
        &[
            (
                "atomic pointers in a static",
                "static ALL: [AtomicPtr<[u64; 40]>; 64] = [const { AtomicPtr::new(std::ptr::null_mut()) }; 64];",
                // SAFETY: each pointer is that of a box that is never freed.
                "for (i, x) in ALL.iter().enumerate() { x.store(Box::into_raw(Box::new([i as u64; 40])), Relaxed); } run(|turn| unsafe { (*ALL[turn as usize % 64].load(Relaxed))[0] += turn });",
            ),
            (
                "pointers with a tag in the low bits",
                "",
                // SAFETY: without its tag, the number is the address of a box that is never freed.
                "let v: Vec<usize> = (0..$n).map(|i| Box::into_raw(Box::new([i as u64; $m])) as usize | i % 8).collect(); run(|turn| unsafe { (*((v[3] & !7) as *mut [u64; $m]))[0] += turn }); black_box(&v);",
            ),
            (
                "pointers to the middle",
                "",
                // SAFETY: the fifth element is inside of a box that is never freed.
                "let mut v: Vec<*mut u64> = (0..$n).map(|i| unsafe { (Box::into_raw(Box::new([i as u64; $m])) as *mut u64).add(5) }).collect(); run(|turn| unsafe { *v[3] += turn }); black_box(&v);",
            ),
            (
                "pointers at odd offsets",
                "#[repr(C, packed)] struct P { tag: u8, name: Box<[u64; $m]>, more: u16, text: String }",
                "let mut v: Vec<P> = (0..$n).map(|i| P { tag: 1, name: Box::new([i as u64; $m]), more: 2, text: text(1, i, 40) }).collect(); run(|turn| v[3].tag = turn as u8); black_box(v.iter().map(|x| x.more as usize).sum::<usize>());",
            ),
            (
                "a list in a local that is full",
                "",
                "let mut v: Vec<HashMap<u32, u64>> = (0..$n).map(|k| (0..20).map(|i| (i, k)).collect()).collect(); run(|turn| for m in v.iter_mut() { m.insert(1, turn); }); println!(\"{}\", v.len());",
            ),
        ],
    ),
    (
        "cycle",
        &[
            (
                "a ring that a local holds",
                "struct K { name: String, next: RefCell<Option<Rc<K>>> }",
                "let first = Rc::new(K { name: text(1, 0, 40), next: RefCell::new(None) }); let mut last = first.clone(); for i in 1..$n { let x = Rc::new(K { name: text(1, i, 40), next: RefCell::new(None) }); *last.next.borrow_mut() = Some(x.clone()); last = x; } *last.next.borrow_mut() = Some(first.clone()); drop(last); run(|_| { black_box(first.name.len()); }); black_box(&first);",
            ),
            (
                "children with weak parents",
                "struct T { name: String, parent: RefCell<Weak<T>>, children: RefCell<Vec<Rc<T>>> }",
                "let root = Rc::new(T { name: text(1, 0, 40), parent: RefCell::new(Weak::new()), children: RefCell::new(Vec::with_capacity($n)) }); for i in 0..$n { root.children.borrow_mut().push(Rc::new(T { name: text(2, i, 40), parent: RefCell::new(Rc::downgrade(&root)), children: RefCell::default() })); } run(|_| { black_box(root.children.borrow().len()); }); black_box(&root);",
            ),
            (
                "boxes with raw pointers to each other",
                "struct B { name: String, other: *const B }",
                // SAFETY: the box that the pointer leads to is alive.
                "let mut v: Vec<Box<B>> = (0..$n).map(|i| Box::new(B { name: text(1, i, 40), other: std::ptr::null() })).collect(); for i in 0..v.len() { let to: *const B = &*v[(i + 1) % v.len()]; v[i].other = to; } run(|_| { black_box(unsafe { v[3].other.as_ref().unwrap().name.len() }); }); black_box(&v);",
            ),
            (
                "a doubly linked list of std",
                "",
                "let mut v: LinkedList<String> = (0..$n).map(|i| text(1, i, 40)).collect(); run(|_| { let x = v.pop_front().unwrap(); v.push_back(x); }); println!(\"{}\", v.len());",
            ),
            (
                "a ring that a static holds",
                "struct K { number: u64, next: Mutex<Option<Arc<K>>> } static FIRST: OnceLock<Arc<K>> = OnceLock::new();",
                "let v: Vec<Arc<K>> = (0..$n).map(|number| Arc::new(K { number, next: Mutex::new(None) })).collect(); for i in 0..v.len() { *v[i].next.lock().unwrap() = Some(v[(i + 1) % v.len()].clone()); } assert!(FIRST.set(v[0].clone()).is_ok()); drop(v); run(|_| { black_box(FIRST.get().unwrap().number); });",
            ),
        ],
    ),
    (
        "small_map",
        &[
            (
                "maps of a hundred entries",
                "",
                "let mut v: Vec<HashMap<u64, u64>> = (0..$n).map(|k| (0..100).map(|i| (i, k)).collect()).collect(); run(|turn| { v[3].insert(1, turn); }); println!(\"{}\", v.len());",
            ),
            (
                "maps of nine entries",
                "",
                "let mut v: Vec<HashMap<u64, u64>> = (0..$n).map(|k| (0..9).map(|i| (i, k)).collect()).collect(); run(|turn| { v[3].insert(1, turn); }); println!(\"{}\", v.len());",
            ),
            (
                "maps that are empty",
                "",
                "let v: Vec<(HashMap<u64, u64>, Box<u64>)> = (0..$n).map(|i| (HashMap::new(), Box::new(i))).collect(); run(|_| { black_box(&v); }); black_box(&v);",
            ),
            (
                "trees of forty entries",
                "",
                "let mut v: Vec<BTreeMap<u64, u64>> = (0..$n).map(|k| (0..40).map(|i| (i, k)).collect()).collect(); run(|turn| { v[3].insert(1, turn); }); println!(\"{}\", v.len());",
            ),
            (
                "lists of pairs",
                "",
                "let mut v: Vec<Vec<(u64, u64)>> = (0..$n).map(|k| (0..4).map(|i| (i, k)).collect()).collect(); run(|turn| { v[3][0].1 = turn; }); println!(\"{}\", v.len());",
            ),
        ],
    ),
    (
        "large_future",
        &[
            (
                "a buffer that is dropped before the await",
                ONCE,
                "let v = tasks((0..$n).map(|i| async move { { let buffer = [i as u8; 3000]; black_box(&buffer); } Once(false).await; i })); run(|_| { black_box(&v); }); black_box(&v);",
            ),
            (
                "a buffer in a box",
                ONCE,
                "let v = tasks((0..$n).map(|i| async move { let buffer = vec![i as u8; 3000]; Once(false).await; buffer.len() })); run(|_| { black_box(&v); }); black_box(&v);",
            ),
            (
                "a small local",
                ONCE,
                "let v = tasks((0..$n).map(|i| async move { let small = [i as u8; 90]; Once(false).await; black_box(&small)[3] as usize })); run(|_| { black_box(&v); }); black_box(&v);",
            ),
            (
                "a buffer made after the await",
                ONCE,
                "let v = tasks((0..$n).map(|i| async move { Once(false).await; let buffer = [i as u8; 3000]; black_box(&buffer)[3] as usize })); run(|_| { black_box(&v); }); black_box(&v);",
            ),
            (
                "no locals",
                ONCE,
                "let v = tasks((0..$n).map(|i| async move { Once(false).await; i })); run(|_| { black_box(&v); }); black_box(&v);",
            ),
        ],
    ),
    (
        "large_variant",
        &[
            (
                "large variants that are usual",
                "enum E { Small(u64), Large([u64; 20]) }",
                "let mut v: Vec<E> = (0..20 * $n as u64).map(|i| if i % 4 == 0 { E::Large([i; 20]) } else { E::Small(i) }).collect(); run(|turn| v[3] = E::Small(turn)); black_box(v.iter().map(|e| match e { E::Small(x) => *x, E::Large(x) => x[3] }).sum::<u64>());",
            ),
            (
                "variants of one size",
                "enum E { One(String), Two([u64; 3]), Three(Vec<u8>) }",
                "let mut v: Vec<E> = (0..20 * $n as u64).map(|i| match i % 20 { 0 => E::Two([i; 3]), 1 => E::Three(vec![1; 9]), _ => E::One(text(1, i as usize, 30)) }).collect(); run(|turn| v[3] = E::Two([turn; 3])); black_box(v.iter().map(|e| match e { E::One(x) => x.len(), E::Two(x) => x[1] as usize, E::Three(x) => x.len() }).sum::<usize>());",
            ),
            (
                "a large variant in a box",
                "enum E { Small(u64), Large(Box<[u64; 20]>) }",
                "let mut v: Vec<E> = (0..20 * $n as u64).map(|i| if i % 50 == 0 { E::Large(Box::new([i; 20])) } else { E::Small(i) }).collect(); run(|turn| v[3] = E::Small(turn)); black_box(v.iter().map(|e| match e { E::Small(x) => *x, E::Large(x) => x[3] }).sum::<u64>());",
            ),
            (
                "a large variant of few values",
                "enum E { Small(u64), Large([u64; 20]) }",
                "let mut v: Vec<Vec<E>> = (0..$n as u64).map(|i| vec![E::Large([i; 20]), E::Small(i)]).collect(); run(|turn| v[3][1] = E::Small(turn)); black_box(v.iter().flatten().map(|e| match e { E::Small(x) => *x, E::Large(x) => x[3] }).sum::<u64>());",
            ),
            (
                "structs and numbers",
                "struct S { kind: u8, of: [u64; 20] }",
                "let mut v: Vec<S> = (0..20 * $n as u64).map(|i| S { kind: (i % 50 == 0) as u8, of: [i; 20] }).collect(); run(|turn| v[3].of[0] = turn); black_box(v.iter().map(|s| s.of[3] + s.kind as u64).sum::<u64>());",
            ),
        ],
    ),
    (
        "pinned_pages",
        &[
            (
                "small blocks that all stay",
                "",
                "let mut v: Vec<Box<[u64; 6]>> = (0..20 * $n as u64).map(|i| Box::new([i; 6])).collect(); run(|turn| v[3][0] += turn); black_box(&v);",
            ),
            (
                "every second block stays",
                "",
                "let mut v: Vec<Option<Box<[u64; 6]>>> = (0..20 * $n as u64).map(|i| Some(Box::new([i; 6]))).collect(); for x in v.iter_mut().step_by(2) { *x = None; } run(|turn| v[3].as_mut().unwrap()[0] += turn); black_box(&v);",
            ),
            (
                "large blocks",
                "",
                "let mut v: Vec<Box<[u64]>> = (0..20).map(|i| vec![i; 100 * $n].into()).collect(); run(|turn| v[3][0] += turn); black_box(&v);",
            ),
            (
                "all blocks of a page go",
                "",
                "let mut v: Vec<Box<[u64; 6]>> = (0..20 * $n as u64).map(|i| Box::new([i; 6])).collect(); v.truncate(10 * $n); run(|turn| v[3][0] += turn); black_box(&v);",
            ),
            (
                "freed places that are used again",
                "",
                "let mut v: Vec<Box<[u64; 6]>> = (0..20 * $n as u64).map(|i| Box::new([i; 6])).collect(); run(|turn| { let at = turn as usize * 7 % v.len(); v[at] = Box::new([turn; 6]); }); black_box(&v);",
            ),
        ],
    ),
    (
        "allocator_rounding",
        &[
            (
                "blocks of 24 bytes",
                "",
                "let mut v: Vec<Box<[u64; 3]>> = (0..20 * $n as u64).map(|i| Box::new([i; 3])).collect(); run(|turn| v[3][0] += turn); black_box(&v);",
            ),
            (
                "blocks of 40 bytes",
                "",
                "let mut v: Vec<Box<[u64; 5]>> = (0..20 * $n as u64).map(|i| Box::new([i; 5])).collect(); run(|turn| v[3][0] += turn); black_box(&v);",
            ),
            (
                "blocks of 104 bytes",
                "",
                "let mut v: Vec<Box<[u64; 13]>> = (0..20 * $n as u64).map(|i| Box::new([i; 13])).collect(); run(|turn| v[3][0] += turn); black_box(&v);",
            ),
            (
                "blocks of 1000 bytes",
                "",
                "let mut v: Vec<Box<[u8; 1000]>> = (0..20 * $n).map(|i| Box::new([i as u8; 1000])).collect(); run(|turn| v[3][0] = turn as u8); black_box(&v);",
            ),
            (
                "one large block",
                "",
                "let mut v = vec![1u64; 100 * $n]; run(|turn| v[3] += turn); black_box(&v);",
            ),
        ],
    ),
];

/// Tasks that wait at their only await.
const ONCE: &str = "struct Once(bool);
impl Future for Once { type Output = (); fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> { if self.0 { Poll::Ready(()) } else { self.0 = true; Poll::Pending } } }
fn tasks<F: Future<Output = usize>>(all: impl Iterator<Item = F>) -> Vec<Pin<Box<F>>> {
    let mut all: Vec<Pin<Box<F>>> = all.map(Box::pin).collect();
    let mut context = Context::from_waker(Waker::noop());
    for task in &mut all { assert!(task.as_mut().poll(&mut context).is_pending()); }
    all
}";
