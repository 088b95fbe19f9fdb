//! The choice of what is known of the blocks' contents: the one place where [`Layouts`] are chosen.

use crate::containers::{self, Changes, block_kind};
use crate::image::maps::Images;
use crate::profile::{Contents, Profile};
use crate::snapshot::{Basis, Heap, Layouts, Shape, SiteShapes, WordOrders};
use crate::typed::{self, LoadedModule, Locals, ProgramTypes, SiteType};
use std::collections::HashMap;
use tracking_alloc_recording::{HeaderValue, mode};

/// The layouts of a program's blocks.
pub(super) struct Chosen {
    pub(super) layouts: Box<dyn Layouts>,
    pub(super) basis: Basis,
    /// The reasons why there is no more.
    pub(super) notes: Vec<String>,
}

/// The facts by which layouts are chosen.
pub(super) struct Known<'a> {
    pub(super) profile: &'a Profile,
    pub(super) header: &'a HeaderValue,
    pub(super) types: &'a ProgramTypes,
    pub(super) thread_pointers: &'a [u64],
    pub(super) locals: &'a Locals,
}

/// Chooses layouts: types from debug information, else shapes by the containers of sites, else
/// sizes alone.
pub(super) fn choose(known: &Known<'_>, heap: &Heap) -> Chosen {
    let (profile, header) = (known.profile, known.header);
    let sizes_only = |why: &str| Chosen {
        layouts: Box::new(
            SiteShapes::new(Vec::new(), orders(header).unwrap_or(USUAL))
                .with_others(Shape::default().changing()),
        ),
        basis: Basis::Sizes,
        notes: vec![why.to_owned()],
    };
    if header.mode == mode::COUNT {
        return sizes_only(
            "blocks have no stacks in count mode, so containers are not known; record in exact mode",
        );
    }
    let Some(orders) = orders(header) else {
        return sizes_only("the recorder could not find out how containers lie in memory");
    };
    if profile.sites().iter().all(|site| site.contents.is_none()) {
        return sizes_only(
            "no stack names a container; build Rust code with debug = \"limited\" or more to know how full containers are",
        );
    }
    let shapes = SiteShapes::new(shapes(profile), orders);
    let shapes = shapes.with_others(Shape::default().changing());
    let program = typed::Program {
        types: known.types,
        thread_pointers: known.thread_pointers,
        locals: known.locals,
        sites: &site_types(profile),
        shapes: shapes.clone(),
    };
    let types = typed::layouts(&program, heap);
    if types.has_types() {
        Chosen {
            notes: types.notes().to_vec(),
            layouts: Box::new(types),
            basis: Basis::Types,
        }
    } else {
        Chosen {
            layouts: Box::new(shapes),
            basis: Basis::Shapes,
            notes: vec![
                "field names, B-trees and all other types need a build with debug = 2 (cargo heapglass run --types)".to_owned(),
            ],
        }
    }
}

/// Returns the executable, whose types are read. Libraries of the system have none.
pub(super) fn executable(profile: &Profile, images: &Images) -> Option<LoadedModule> {
    let path = &profile.process().executable;
    let (path, bias) = images.files.iter().find(|(file, _)| file == path)?;
    let mut modules = profile.modules().iter();
    let known = modules.find(|module| module.path == *path);
    Some(LoadedModule {
        path: path.clone(),
        build_id: bytes_of(known.map_or("", |module| &module.build_id)),
        bias: *bias,
    })
}

/// Returns the bytes of a build-id in hex.
fn bytes_of(hex: &str) -> Vec<u8> {
    let (pairs, _) = hex.as_bytes().as_chunks::<2>();
    let pairs = pairs
        .iter()
        .filter_map(|pair| std::str::from_utf8(pair).ok());
    pairs
        .filter_map(|pair| u8::from_str_radix(pair, 16).ok())
        .collect()
}

/// Returns the types of sites, by their number in the recording.
fn site_types(profile: &Profile) -> Vec<Option<SiteType>> {
    let mut types = Vec::new();
    for (number, site) in profile.numbered_sites() {
        types.resize(number as usize, None);
        types.push(SiteType::of(profile, site));
    }
    types
}

/// The order of words today, where none is needed.
const USUAL: WordOrders = WordOrders {
    list: [0, 1, 2],
    deque: [0, 1, 2, 3],
    table: [0, 1, 2, 3],
    table_group: 16,
};

/// Returns the order of words in the program's containers. Returns `None` if it is not known.
fn orders(header: &HeaderValue) -> Option<WordOrders> {
    let list = order(header.vec_order)?;
    // One shape stands for both.
    if order(header.string_order)? != list {
        return None;
    }
    // `hashbrown` repeats as many control bytes as it compares at once.
    let group = if header.arch == tracking_alloc_recording::arch::X86_64 {
        16
    } else {
        8
    };
    let deque = order(header.vec_deque_order)?;
    let table = order(header.hash_map_order)?;
    Some(WordOrders::new(list, deque, table, group))
}

/// Takes an order apart: one byte for each word, which must be a permutation.
fn order<const COUNT: usize>(order: u32) -> Option<[u8; COUNT]> {
    let bytes = order.to_le_bytes();
    let words: [u8; COUNT] = std::array::from_fn(|at| bytes[at]);
    let has_all = (0..COUNT as u8).all(|index| words.contains(&index));
    let ends = bytes[COUNT..].iter().all(|byte| *byte == 0);
    (order != 0 && has_all && ends).then_some(words)
}

/// Returns the shapes of sites, by their number in the recording.
fn shapes(profile: &Profile) -> Vec<Shape> {
    let mut kinds: HashMap<Contents, Shape> = HashMap::new();
    let mut shapes = Vec::new();
    for (number, site) in profile.numbered_sites() {
        let Some(contents) = site.contents else {
            continue;
        };
        let shape = *kinds
            .entry(contents)
            .or_insert_with(|| shape(profile, &contents));
        let number = number as usize;
        if shapes.len() <= number {
            shapes.resize(number + 1, Shape::default().changing());
        }
        shapes[number] = shape;
    }
    shapes
}

fn shape(profile: &Profile, contents: &Contents) -> Shape {
    let name = |of| profile.type_name(of).full.as_str();
    let container = name(contents.container);
    let kind = block_kind(container, contents.allocating.map(name));
    let is_text = containers::holds_bytes(container);
    // A type of which nothing is known has no number.
    let value_type = contents.element.map_or(0, |of| u64::from(of.0) + 1);
    let shape = Shape::new(kind, is_text.then_some(1), value_type);
    if is_fixed(container) {
        shape
    } else {
        shape.changing()
    }
}

/// Types of the standard library, other than containers, whose values do not change while they are
/// shared, unless those of their arguments do.
const FIXED: &[&str] = &[
    "CStr",
    "Cow",
    "Duration",
    "Global",
    "NonZero",
    "Option",
    "OsStr",
    "Path",
    "RandomState",
    "Result",
];

/// Returns `true` if the name of a type alone tells that its values do not change while they are
/// shared. What the fields of other types are is not known without debug information of types.
fn is_fixed(name: &str) -> bool {
    let words = name.split(['<', '>', ',', '(', ')', '[', ']', ';', '&', '*', ' ']);
    let mut words = words.filter(|word| !word.is_empty());
    words.all(|word| match word.split_once("::") {
        _ if let Some(container) = containers::by_path(word) => {
            container.changes != Changes::Always
        }
        Some(("alloc" | "core" | "std" | "hashbrown", rest)) => {
            let own = rest.rsplit("::").next().unwrap_or(rest);
            FIXED.contains(&own)
        }
        Some(_) => false,
        None => {
            let is_number = word.bytes().all(|byte| byte.is_ascii_digit());
            let is_lifetime = word.starts_with('\'');
            is_number || is_lifetime || PRIMITIVES.contains(&word)
        }
    })
}

/// Types of the language, and the words before them.
const PRIMITIVES: &[&str] = &[
    "bool", "char", "const", "f32", "f64", "i128", "i16", "i32", "i64", "i8", "isize", "mut",
    "str", "u128", "u16", "u32", "u64", "u8", "usize",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_a_permutation_or_not_known() {
        assert_eq!(order::<3>(0x0002_0100), Some([0, 1, 2]));
        assert_eq!(order::<4>(0x0302_0001), Some([1, 0, 2, 3]));
        for wrong in [0, 0x0001_0100, 0x0103_0100, 0x0003_0100, u32::MAX] {
            assert_eq!(order::<3>(wrong), None, "{wrong:x}");
        }
    }

    #[test]
    fn without_types_only_values_of_the_standard_library_are_known_not_to_change() {
        let fixed = [
            "alloc::string::String",
            "alloc::rc::Rc<str>",
            "alloc::sync::Arc<[(u8, alloc::string::String); 4]>",
            "alloc::rc::Rc<core::option::Option<alloc::vec::Vec<&'static str>>>",
            "std::collections::hash::map::HashMap<u64, alloc::boxed::Box<[u8]>>",
        ];
        for name in fixed {
            assert!(is_fixed(name), "{name}");
        }
        let others = [
            "alloc::sync::Arc<app::Session>",
            "alloc::rc::Rc<(u64, core::cell::Cell<u64>)>",
            "alloc::sync::Arc<core::sync::atomic::AtomicU64>",
            "alloc::sync::Arc<std::sync::poison::mutex::Mutex<u8>>",
            "alloc::vec::Vec<app::Row>",
            "alloc::sync::Arc<dyn core::any::Any>",
            "alloc::rc::Rc<Session>",
            "one of alloc::vec::Vec<u8>, app::A",
        ];
        for name in others {
            assert!(!is_fixed(name), "{name}");
        }
    }
}
