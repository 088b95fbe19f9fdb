//! The choice of what is known of the blocks' contents: the one place where [`Layouts`] are chosen.

use super::maps::Images;
use crate::profile::{Contents, Profile};
use crate::snapshot::{Basis, Heap, Kind, Layouts, Shape, SiteShapes, WordOrders};
use crate::typed::{self, LoadedModule, ProgramTypes, SiteType};
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
}

/// Chooses layouts: types from debug information, else shapes by the containers of sites, else
/// sizes alone.
pub(super) fn choose(known: &Known<'_>, heap: &Heap) -> Chosen {
    let (profile, header) = (known.profile, known.header);
    let sizes_only = |why: &str| Chosen {
        layouts: Box::new(SiteShapes::new(Vec::new(), orders(header).unwrap_or(USUAL))),
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
    let program = typed::Program {
        types: known.types,
        thread_pointers: known.thread_pointers,
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
                "containers are known by the stacks that allocated them; build with debug = 2 (cargo heapglass run --types) for field names, B-trees and all other types".to_owned(),
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
            shapes.resize(number + 1, Shape::default());
        }
        shapes[number] = shape;
    }
    shapes
}

fn shape(profile: &Profile, contents: &Contents) -> Shape {
    let name = |of| profile.type_name(of).full.as_str();
    let container = name(contents.container);
    let mut kind = kind(container);
    // An index is made of a list of entries and of a table.
    if path(container).starts_with("indexmap::") {
        kind = contents
            .allocating
            .map_or(Kind::Unknown, |of| self::kind(name(of)));
    }
    let is_text = match path(container) {
        "alloc::string::String"
        | "std::ffi::os_str::OsString"
        | "std::path::PathBuf"
        | "alloc::ffi::c_str::CString" => true,
        _ => [
            "alloc::boxed::Box<str>",
            "alloc::vec::Vec<u8>",
            "alloc::boxed::Box<[u8]>",
        ]
        .contains(&container),
    };
    // A type of which nothing is known has no number.
    let value_type = contents.element.map_or(0, |of| u64::from(of.0) + 1);
    Shape::new(kind, is_text.then_some(1), value_type)
}

/// Returns the path of a type, without its arguments.
fn path(name: &str) -> &str {
    name.split('<').next().unwrap_or(name)
}

/// Returns the kind of a container by its full name. One of several types has none.
fn kind(name: &str) -> Kind {
    match path(name) {
        "alloc::vec::Vec"
        | "alloc::raw_vec::RawVec"
        | "alloc::string::String"
        | "alloc::collections::binary_heap::BinaryHeap"
        | "std::ffi::os_str::OsString"
        | "std::path::PathBuf" => Kind::List,
        "alloc::collections::vec_deque::VecDeque" => Kind::Deque,
        "std::collections::hash::map::HashMap"
        | "std::collections::hash::set::HashSet"
        | "hashbrown::map::HashMap"
        | "hashbrown::set::HashSet"
        | "hashbrown::table::HashTable" => Kind::Table,
        "alloc::ffi::c_str::CString" => Kind::Slice,
        "alloc::boxed::Box" if is_slice(name) => Kind::Slice,
        "alloc::boxed::Box" => Kind::Boxed,
        "alloc::rc::Rc" | "alloc::sync::Arc" => Kind::Counted,
        _ => Kind::Unknown,
    }
}

/// Returns `true` for `Box<[T]>` and `Box<str>`, whose pointers have a length beside them.
fn is_slice(name: &str) -> bool {
    let held = name.strip_prefix("alloc::boxed::Box<").unwrap_or_default();
    let held = held.strip_suffix('>').unwrap_or(held);
    let is_array = || {
        held.rsplit_once("; ").is_some_and(|(_, length)| {
            let digits = length.strip_suffix(']').unwrap_or_default();
            !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
        })
    };
    matches!(
        held,
        "str" | "std::path::Path" | "std::ffi::os_str::OsStr" | "core::ffi::c_str::CStr"
    ) || held.starts_with('[') && held.ends_with(']') && !is_array()
}

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
    fn containers_are_known_by_their_paths() {
        let cases = [
            ("alloc::vec::Vec<app::A>", Kind::List),
            ("alloc::boxed::Box<[u8]>", Kind::Slice),
            ("alloc::boxed::Box<[u8; 4]>", Kind::Boxed),
            ("alloc::boxed::Box<[[u8; 4]]>", Kind::Slice),
            ("alloc::boxed::Box<dyn app::Trait>", Kind::Boxed),
            ("alloc::boxed::Box<str>", Kind::Slice),
            ("alloc::sync::Arc<[u8]>", Kind::Counted),
            ("hashbrown::table::HashTable<usize>", Kind::Table),
            ("smallvec::SmallVec<[u8; 4]>", Kind::Unknown),
            (
                "one of alloc::vec::Vec<u8>, alloc::vec::Vec<i8>",
                Kind::Unknown,
            ),
            (
                "alloc::collections::btree::map::BTreeMap<u8, u8>",
                Kind::Unknown,
            ),
        ];
        for (name, expected) in cases {
            assert_eq!(kind(name), expected, "{name}");
        }
    }
}
