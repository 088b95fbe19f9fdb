//! Reads a fleet from JSON in the phase `load`, and prints the bytes that each type requests. The
//! test `tests/recorded/types.rs` builds this program with several levels of debug information and
//! compares the types found in stacks with this output. The output must follow from the values and
//! from the rules of the containers, never from a count of allocator calls.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::mem::size_of;

#[global_allocator]
static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();

const STRING: &str = "alloc::string::String";

#[derive(Serialize, Deserialize)]
struct Fleet {
    name: String,
    vessels: Vec<Vessel>,
}

#[derive(Serialize, Deserialize)]
struct Vessel {
    name: String,
    crew: Vec<Sailor>,
    captain: Box<Officer>,
    cargo: BTreeMap<String, u32>,
    tags: HashMap<String, u64>,
    route: VecDeque<[f64; 2]>,
    log: Vec<Vec<u32>>,
    motto: Option<Box<str>>,
    #[serde(default)]
    orders: Vec<Order>,
}

#[derive(Serialize, Deserialize)]
struct Sailor {
    first: String,
    age: u8,
    letters: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct Officer {
    first: String,
    medals: [u16; 5],
}

#[derive(Serialize, Deserialize)]
enum Order {
    Sail { to: String, days: u16 },
    Wait(Vec<u16>),
    Return,
}

fn fleet(vessels: usize) -> Fleet {
    let text = |what: &str, n: usize| format!("{what} number {n}");
    let vessel = |n: usize| Vessel {
        name: text("vessel", n),
        crew: (0..n % 7)
            .map(|at| Sailor {
                first: text("sailor", at),
                age: 30,
                letters: (0..at).map(|letter| text("letter", letter)).collect(),
            })
            .collect(),
        captain: Box::new(Officer {
            first: text("officer", n),
            medals: [1; 5],
        }),
        cargo: (0..n % 11).map(|at| (text("cargo", at), 7)).collect(),
        tags: (0..n % 40).map(|at| (text("tag", at), 9)).collect(),
        route: (0..n % 30).map(|at| [at as f64 + 0.5, 0.25]).collect(),
        log: (0..n % 5).map(|at| vec![3; at * 3]).collect(),
        motto: n.is_multiple_of(3).then(|| text("motto", n).into()),
        orders: (0..n % 4)
            .map(|at| match at {
                0 => Order::Sail {
                    to: text("port", at),
                    days: 3,
                },
                1 => Order::Wait(vec![5; n % 9]),
                _ => Order::Return,
            })
            .collect(),
    };
    Fleet {
        name: text("fleet", vessels),
        vessels: (0..vessels).map(vessel).collect(),
    }
}

/// Returns the total bytes that a buffer requests while it grows by single elements.
fn grown<T>(count: usize) -> usize {
    let mut capacity = if size_of::<T>() == 1 { 8 } else { 4 };
    let mut bytes = 0;
    if count == 0 {
        return 0;
    }
    loop {
        bytes += capacity * size_of::<T>();
        if capacity >= count {
            return bytes;
        }
        capacity *= 2;
    }
}

/// Returns the total bytes that a hash table requests while it grows by single entries.
fn hashed<T>(count: usize) -> usize {
    let mut buckets = 4;
    let mut bytes = 0;
    if count == 0 {
        return 0;
    }
    loop {
        bytes += (buckets * size_of::<T>()).next_multiple_of(16) + buckets + 16;
        let room = if buckets < 8 {
            buckets - 1
        } else {
            buckets / 8 * 7
        };
        if room >= count {
            return bytes;
        }
        buckets *= 2;
    }
}

/// Returns the bytes of the only leaf of a small B-tree: parent, eleven keys and values, two
/// indexes.
fn leaf<K, V>(count: usize) -> usize {
    let bytes = 8 + 11 * (size_of::<K>() + size_of::<V>()) + 4;
    if count > 0 {
        bytes.next_multiple_of(8)
    } else {
        0
    }
}

/// Bytes by the container that requests them, and by the type that was being read.
#[derive(Default, Serialize)]
struct Expected {
    types: BTreeMap<&'static str, usize>,
    owners: BTreeMap<&'static str, usize>,
}

impl Expected {
    fn add(&mut self, owner: &'static str, container: &'static str, bytes: usize) {
        if bytes > 0 {
            *self.types.entry(container).or_default() += bytes;
            *self.owners.entry(owner).or_default() += bytes;
        }
    }

    fn of(fleet: &Fleet) -> Expected {
        let mut this = Expected::default();
        let vessels = grown::<Vessel>(fleet.vessels.len());
        this.add("Fleet", STRING, fleet.name.len());
        this.add("Fleet", "alloc::vec::Vec<types_load::Vessel>", vessels);
        for vessel in &fleet.vessels {
            this.vessel(vessel);
        }
        this
    }

    fn vessel(&mut self, vessel: &Vessel) {
        let mut add = |container, bytes| self.add("Vessel", container, bytes);
        let keys = vessel.cargo.keys().chain(vessel.tags.keys());
        add(
            STRING,
            vessel.name.len() + keys.map(String::len).sum::<usize>(),
        );
        // Read as a string of that length. Its block then moves to another type.
        add(STRING, vessel.motto.as_deref().map_or(0, str::len));
        add(
            "alloc::vec::Vec<types_load::Sailor>",
            grown::<Sailor>(vessel.crew.len()),
        );
        add(
            "alloc::boxed::Box<types_load::Officer>",
            size_of::<Officer>(),
        );
        add(
            "alloc::collections::btree::map::BTreeMap<alloc::string::String, u32>",
            leaf::<String, u32>(vessel.cargo.len()),
        );
        add(
            "std::collections::hash::map::HashMap<alloc::string::String, u64>",
            hashed::<(String, u64)>(vessel.tags.len()),
        );
        add(
            "alloc::collections::vec_deque::VecDeque<[f64; 2]>",
            grown::<[f64; 2]>(vessel.route.len()),
        );
        add(
            "alloc::vec::Vec<alloc::vec::Vec<u32>>",
            grown::<Vec<u32>>(vessel.log.len()),
        );
        let lines = vessel.log.iter().map(|line| grown::<u32>(line.len()));
        add("alloc::vec::Vec<u32>", lines.sum());
        add(
            "alloc::vec::Vec<types_load::Order>",
            grown::<Order>(vessel.orders.len()),
        );
        self.add("Officer", STRING, vessel.captain.first.len());
        for sailor in &vessel.crew {
            let letters: usize = sailor.letters.iter().map(String::len).sum();
            self.add("Sailor", STRING, sailor.first.len() + letters);
            let list = grown::<String>(sailor.letters.len());
            self.add("Sailor", "alloc::vec::Vec<alloc::string::String>", list);
        }
        for order in &vessel.orders {
            match order {
                Order::Sail { to, .. } => self.add("Order", STRING, to.len()),
                Order::Wait(days) => {
                    self.add("Order", "alloc::vec::Vec<u16>", grown::<u16>(days.len()));
                }
                Order::Return => {}
            }
        }
    }
}

fn main() {
    let bytes = serde_json::to_vec(&fleet(200)).expect("JSON");
    let fleet: Fleet = {
        let _phase = tracking_alloc::phase("load");
        serde_json::from_slice(&bytes).expect("a fleet")
    };
    println!(
        "{}",
        serde_json::to_string(&Expected::of(&fleet)).expect("JSON")
    );
}
