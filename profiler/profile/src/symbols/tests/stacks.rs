//! Whole stacks of a running program, from its allocator up to `_start`: what is trimmed and what
//! stays.
#![cfg(all(target_os = "linux", target_env = "gnu"))]

use heapglass_limits::Command;
use std::collections::BTreeMap;

use super::programs::*;
use super::*;
use crate::profile::{Function, Origin};

/// Prints the return addresses of the allocation that follows `next("label")`, as
/// `label module offset`.
const STACKS: &str = r#"
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::collections::{BTreeMap, HashMap};
extern "C" { fn backtrace(buffer: *mut usize, size: i32) -> i32; }
struct Watch;
thread_local! { static LABEL: Cell<&'static str> = const { Cell::new("") }; }
#[inline(never)]
fn watch() {
    let label = LABEL.replace("");
    if label.is_empty() { return }
    let mut buffer = [0usize; 128];
    // SAFETY: the buffer has 128 words.
    let depth = unsafe { backtrace(buffer.as_mut_ptr(), 128) } as usize;
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    for address in &buffer[..depth] {
        let mut bases: HashMap<&str, usize> = HashMap::new();
        for line in maps.lines() {
            let mut words = line.split_whitespace();
            let (range, path) = (words.next().unwrap(), words.nth(4).unwrap_or(""));
            let (start, end) = range.split_once('-').unwrap();
            let (start, end) = (usize::from_str_radix(start, 16).unwrap(), usize::from_str_radix(end, 16).unwrap());
            let base = *bases.entry(path).or_insert(start);
            if (start..end).contains(address) { println!("{label} {path} {}", address - base); }
        }
    }
}
unsafe impl GlobalAlloc for Watch {
    // SAFETY: all four pass their arguments on, and what they must satisfy with them.
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 { watch(); unsafe { System.alloc(layout) } }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 { watch(); unsafe { System.alloc_zeroed(layout) } }
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) { unsafe { System.dealloc(block, layout) } }
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 { watch(); unsafe { System.realloc(block, layout, size) } }
}
#[global_allocator]
static WATCH: Watch = Watch;
fn next(label: &'static str) { LABEL.set(label) }
#[derive(Clone)]
struct City { name: String, tags: Vec<u32> }
#[inline(never)]
fn work(text: &str, count: usize) {
    let keep = |value: &dyn std::any::Any| { std::hint::black_box(value as *const _); };
    next("with_capacity"); keep(&Vec::<u64>::with_capacity(count));
    next("boxed"); keep(&Box::new([count; 9]));
    let mut vec = Vec::with_capacity(1);
    vec.push(count);
    next("pushed"); vec.push(count); keep(&vec);
    let string = text.to_owned();
    next("cloned"); keep(&string.clone());
    let city = City { name: string, tags: vec![1, 2] };
    next("derived"); keep(&city.clone());
    next("collected"); keep(&(0..count).map(|i| i * 2).collect::<Vec<_>>());
    let mut map = HashMap::new();
    next("hashed"); map.insert(count, 1u8); keep(&map);
    let mut tree = BTreeMap::new();
    next("tree"); tree.insert(count, 1u8); keep(&tree);
    next("counted"); keep(&std::rc::Rc::new(count));
    next("zeroed"); keep(&vec![0u8; count * 100]);
    next("formatted"); keep(&format!("{text}{count}"));
    next("closure"); (0..count).for_each(|i| if i == 3 { keep(&vec![i; count]) });
}
fn main() {
    let text = std::env::args().next().unwrap();
    println!("== main");
    work(&text, text.len());
    println!("== a thread");
    std::thread::Builder::new().spawn(move || work(&text, text.len())).unwrap().join().unwrap();
    println!("== a scoped thread");
    std::thread::scope(|scope| { scope.spawn(|| work("scoped", 6)); });
}
"#;

/// The stacks of a build by "thread/label", outermost first.
fn stacks(flags: &[&str]) -> BTreeMap<String, Vec<Function>> {
    let folder = tempfile::tempdir().expect("a folder");
    let binary = build(folder.path(), "stacks", STACKS, flags);
    let output = Command::new(&binary).output().expect("running");
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let mut paths: Vec<String> = vec![binary.to_str().expect("UTF-8").to_owned()];
    let mut raw: Vec<(String, (u32, u64))> = Vec::new();
    let mut thread = "";
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("== ") {
            thread = name;
            continue;
        }
        let mut words = line.split(' ');
        let (Some(label), Some(path), Some(offset)) = (words.next(), words.next(), words.next())
        else {
            panic!("{line}")
        };
        let module = paths
            .iter()
            .position(|known| known == path)
            .unwrap_or_else(|| {
                paths.push(path.to_owned());
                paths.len() - 1
            });
        raw.push((
            format!("{thread}/{label}"),
            (
                u32::try_from(module).expect("few"),
                offset.parse().expect("a number"),
            ),
        ));
    }
    let modules: Vec<_> = paths
        .iter()
        .map(|path| ModuleRef {
            path,
            identity: Identity::None,
        })
        .collect();
    let frames: Vec<_> = raw.iter().map(|(_, frame)| *frame).collect();
    let symbols =
        resolve(&modules, &frames, &SymbolOptions::default(), &|_| ()).expect("resolving");
    let classifier = Classifier::new(&symbols);
    let mut stacks: BTreeMap<String, Vec<Function>> = BTreeMap::new();
    for ((label, (module, offset)), chain) in raw.iter().zip(&symbols.frames) {
        let stack = stacks.entry(label.clone()).or_default();
        let path = &paths[*module as usize];
        if chain.is_empty() {
            stack.push(unresolved(path, *offset));
        }
        stack.extend(chain.iter().map(|frame| classifier.function(frame, path)));
    }
    for stack in stacks.values_mut() {
        stack.reverse();
    }
    assert_eq!(stacks.len(), 36, "{:?}", stacks.keys());
    stacks
}

/// The short names of what is shown. `watch` stands where heapglass's own frames would.
fn shown(stack: &[Function]) -> Vec<&str> {
    let hook = stack
        .iter()
        .rposition(|function| function.name == "stacks::watch")
        .expect("the hook");
    let parts: Vec<Part> = stack[..hook].iter().map(Part::of).collect();
    stack[trim(&parts)]
        .iter()
        .map(|function| function.short.as_str())
        .collect()
}

/// The outer end of a stack, by thread.
const OUTER: [(&str, &str); 3] = [
    ("main", "stacks::main"),
    ("a thread", "main::{{closure}}"),
    ("a scoped thread", "main::{{closure}}"),
];

#[test]
fn stacks_are_shown_from_main_to_the_collection_that_allocates() {
    // What `work` calls; stable enough across versions of std to be spelled out.
    let inner: &[(&str, &[&str])] = &[
        (
            "with_capacity",
            &["Vec::with_capacity", "Vec::with_capacity_in"],
        ),
        ("boxed", &["Box::new"]),
        ("pushed", &["Vec::push"]),
        ("cloned", &["String::clone", "Vec::clone"]),
        ("derived", &["City::clone", "String::clone", "Vec::clone"]),
        ("collected", &[]),
        ("hashed", &["HashMap::insert", "HashMap::insert"]),
        ("tree", &["BTreeMap::insert"]),
        ("counted", &["Rc::new", "Box::new"]),
        ("zeroed", &["Vec::from_elem", "u8::from_elem"]),
        ("formatted", &["fmt::format"]),
        ("closure", &[]),
    ];
    for flags in [
        &["-Cdebuginfo=1"][..],
        &["-Cdebuginfo=1", "-Csymbol-mangling-version=v0"],
    ] {
        let stacks = stacks(flags);
        for (thread, outer) in OUTER {
            for (label, inner) in inner {
                let shown = shown(&stacks[&format!("{thread}/{label}")]);
                let expected: Vec<&str> = [outer, "stacks::work"]
                    .iter()
                    .chain(inner.iter())
                    .copied()
                    .collect();
                assert!(
                    shown.starts_with(&expected),
                    "{flags:?} {thread}/{label}: {shown:#?}"
                );
                let last = shown.last().expect("a frame");
                let machinery = [
                    "RawVec", "RawTable", "Global", "alloc::", "__rust", "Watch", "box_new",
                ];
                assert!(
                    !machinery.iter().any(|machinery| last.contains(machinery)),
                    "{flags:?} {thread}/{label}: {shown:#?}"
                );
            }
        }
    }
}

#[test]
fn stacks_with_line_tables_only_are_trimmed_at_the_same_places() {
    let stacks = stacks(&["-Cdebuginfo=line-tables-only"]);
    for (label, stack) in &stacks {
        let shown = shown(stack);
        // Inlined functions have lost their types there, the concrete ones have not.
        assert!(shown[..2].contains(&"stacks::work"), "{label}: {shown:#?}");
        let last = shown.last().expect("a frame");
        assert!(
            !["raw_vec::", "raw::", "alloc::", "__rust", "Watch"]
                .iter()
                .any(|gone| last.contains(gone)),
            "{label}: {shown:#?}"
        );
        assert!(
            shown.len() > 2,
            "{label}: the collection is gone: {shown:#?}"
        );
    }
}

#[test]
fn frames_tell_whose_code_they_are() {
    let stacks = stacks(&["-Cdebuginfo=1"]);
    for function in stacks.values().flatten() {
        let expected = match function.name.as_str() {
            name if name.starts_with("stacks::") || name.starts_with("<stacks::") => {
                (Origin::User, "stacks")
            }
            "main" | "_start" => (Origin::Native, "stacks"),
            name if name.starts_with("alloc::") || name.starts_with("<alloc::") => {
                (Origin::Std, "alloc")
            }
            _ => continue,
        };
        assert_eq!(
            (function.origin, function.krate.as_str()),
            expected,
            "{function:?}"
        );
    }
    let libc = stacks
        .values()
        .flatten()
        .filter(|function| function.krate.starts_with("libc.so"));
    assert!(libc.clone().count() > 0);
    assert!(
        libc.clone()
            .all(|function| matches!(function.origin, Origin::Native | Origin::Unresolved))
    );
}

#[test]
fn without_debug_information_stacks_are_still_trimmed() {
    let stacks = stacks(&["-Cdebuginfo=0"]);
    for (thread, _) in OUTER {
        let shown = shown(&stacks[&format!("{thread}/derived")]);
        let last = shown.last().expect("a frame");
        assert!(
            shown.contains(&"stacks::work") && !last.contains("RawVec"),
            "{thread}: {shown:#?}"
        );
        assert!(
            shown.iter().all(|name| !name.contains("lang_start")),
            "{thread}: {shown:#?}"
        );
        let pushed = &stacks[&format!("{thread}/pushed")];
        assert!(
            pushed
                .iter()
                .any(|function| function.name.contains("grow_one")),
            "{pushed:#?}"
        );
    }
}
