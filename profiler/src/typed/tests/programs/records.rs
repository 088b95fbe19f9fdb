//! Tables of records, of which many are equal. Their padding and unused capacity are full of other
//! bytes. Writes its memory to a file. Arguments: the file, the number of tables. With
//! `--cfg remedy`, equal tables are shared.

mod watch;

use std::cell::Cell;
use std::collections::HashMap;
use std::hint::black_box;
use std::mem::MaybeUninit;
use std::sync::{Arc, Mutex};

#[global_allocator]
static WATCH: watch::Watch = watch::Watch;

/// Tables that are different.
const DISTINCT: usize = 7;

/// With padding behind the last two, and with dead bytes where there is no limit.
#[repr(C)]
pub struct Row {
    number: u64,
    name: String,
    state: State,
    limit: Option<u32>,
    is_new: bool,
}

pub enum State {
    Open,
    Half(u8),
    Done(u64),
    Failed(String),
}

/// Counted by code that shares it.
pub struct Counted {
    seen: Cell<u64>,
    more: [u64; 6],
}

/// One of two, and nothing says which.
pub struct Either {
    value: MaybeUninit<[u64; 5]>,
    number: u64,
}

/// A table with lists inside.
pub struct Page {
    number: u64,
    rows: Vec<Row>,
}

struct Shared<T>(T);
// SAFETY: there is one thread.
unsafe impl<T> Sync for Shared<T> {}

#[cfg(not(remedy))]
static TABLES: Mutex<Vec<Vec<Row>>> = Mutex::new(Vec::new());
#[cfg(remedy)]
static TABLES: Mutex<Vec<Arc<[Row]>>> = Mutex::new(Vec::new());
static OTHERS: Mutex<Vec<Vec<Row>>> = Mutex::new(Vec::new());
static PAGES: Mutex<Vec<Vec<Page>>> = Mutex::new(Vec::new());
static ZEROS: Mutex<Vec<Vec<[u64; 3]>>> = Mutex::new(Vec::new());
static BLANK: Mutex<Vec<Vec<(u64, u64)>>> = Mutex::new(Vec::new());
static NUMBERS: Mutex<Vec<Vec<u64>>> = Mutex::new(Vec::new());
static COUNTED: Shared<Mutex<Vec<Vec<Counted>>>> = Shared(Mutex::new(Vec::new()));
static EITHER: Mutex<Vec<Vec<Either>>> = Mutex::new(Vec::new());

/// Returns a list in whose block all bytes that no value has are `dirt`.
fn list<T>(capacity: usize, dirt: u8, values: impl Iterator<Item = T>, write: fn(*mut T, T)) -> Vec<T> {
    let mut list: Vec<T> = Vec::with_capacity(capacity);
    // SAFETY: so many values have room in the block.
    unsafe { list.as_mut_ptr().write_bytes(dirt, capacity) };
    for (at, value) in values.enumerate() {
        assert!(at < capacity);
        // SAFETY: there is room for it, as above.
        write(unsafe { list.as_mut_ptr().add(at) }, value);
        // SAFETY: all values up to here are written.
        unsafe { list.set_len(at + 1) };
    }
    list
}

/// Writes each field alone, and no padding.
fn write_row(to: *mut Row, row: Row) {
    let Row { number, name, state, limit, is_new } = row;
    // SAFETY: `to` is valid for writes.
    unsafe {
        (&raw mut (*to).number).write(number);
        (&raw mut (*to).name).write(name);
        (&raw mut (*to).is_new).write(is_new);
        match limit {
            // The discriminant lies before the number.
            None => (&raw mut (*to).limit).cast::<u32>().write(0),
            some => (&raw mut (*to).limit).write(some),
        }
    }
    // SAFETY: `to` is valid for writes.
    let state_at = unsafe { &raw mut (*to).state };
    match state {
        State::Half(part) => {
            let whole = State::Half(part);
            // SAFETY: both are as large. What the padding has of the other one stays.
            unsafe {
                let dirt = state_at.cast::<[u8; size_of::<State>()]>().read();
                state_at.write(whole);
                let State::Half(place) = &mut *state_at else { unreachable!() };
                let place = (&raw mut *place) as usize - state_at as usize;
                for at in place + 1..8 {
                    state_at.cast::<u8>().add(at).write(dirt[at]);
                }
            }
        }
        // SAFETY: `to` is valid for writes.
        state => unsafe { state_at.write(state) },
    }
}

fn write<T>(to: *mut T, value: T) {
    // SAFETY: `to` is valid for writes.
    unsafe { to.write(value) }
}

fn rows(kind: usize) -> impl Iterator<Item = Row> {
    (0..20 + kind).map(move |at| Row {
        number: (kind * 1000 + at) as u64,
        name: format!("the row {at} of the tables of kind {kind}"),
        state: match at % 4 {
            0 => State::Open,
            1 => State::Half(at as u8),
            2 => State::Done(at as u64),
            _ => State::Failed(format!("why {at} of {kind} failed")),
        },
        limit: (at % 3 == 0).then_some(at as u32),
        is_new: at % 2 == 0,
    })
}

fn table(number: usize) -> Vec<Row> {
    let kind = number % DISTINCT;
    // The first of each kind have no unused capacity.
    let spare = if number < DISTINCT { 0 } else { number % 5 };
    list(20 + kind + spare, number as u8 | 1, rows(kind), write_row)
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let count: usize = arguments[2].parse().unwrap();
    #[cfg(not(remedy))]
    {
        *TABLES.lock().unwrap() = Vec::with_capacity(count);
        for number in 0..count {
            TABLES.lock().unwrap().push(table(number));
        }
    }
    #[cfg(remedy)]
    {
        let mut known: HashMap<usize, Arc<[Row]>> = HashMap::new();
        *TABLES.lock().unwrap() = Vec::with_capacity(count);
        for number in 0..count {
            let shared = known.entry(number % DISTINCT).or_insert_with(|| table(number).into());
            TABLES.lock().unwrap().push(Arc::clone(shared));
        }
    }
    for number in 0..count {
        // Equal but for the last field of the last row, and for one row more.
        let mut other: Vec<Row> = rows(number % 3).collect();
        let last = other.len() - 1;
        other[last].limit = Some(1 << 20 | number as u32);
        OTHERS.lock().unwrap().push(other);
        let extra = (0..number).map(|at| Row { number: 77, name: String::new(), state: State::Open, limit: Some(at as u32), is_new: true });
        OTHERS.lock().unwrap().push(rows(8).take(20).chain(extra).collect());
        // Nothing but zeros, numbers, and values that may change.
        BLANK.lock().unwrap().push(vec![(0, 0); 40]);
        ZEROS.lock().unwrap().push(vec![[0; 3]; 41]);
        NUMBERS.lock().unwrap().push(vec![5; 42]);
        COUNTED.0.lock().unwrap().push((0..43).map(|at| Counted { seen: Cell::new(at), more: [5; 6] }).collect());
        EITHER.lock().unwrap().push((0..44).map(|at| Either { value: MaybeUninit::new([at; 5]), number: 3 }).collect());
    }
    // Lists in equal lists count once.
    for number in 0..count {
        let page = |at: usize| Page { number: at as u64, rows: rows(30 + at).collect() };
        let pages = (0..2 + number % 2).map(page);
        PAGES.lock().unwrap().push(list(4, number as u8, pages, write));
    }
    println!("row {}", size_of::<Row>());
    println!("page {}", size_of::<Page>());
    watch::dump(&arguments[1]);
    black_box((&TABLES, &OTHERS, &PAGES, &BLANK, &ZEROS, &NUMBERS, &COUNTED, &EITHER));
    let tables = TABLES.lock().unwrap();
    let used = |row: &Row| {
        let state = match &row.state {
            State::Open => 0,
            State::Half(part) => u64::from(*part),
            State::Done(number) => *number,
            State::Failed(why) => why.len() as u64,
        };
        state + row.number + row.name.len() as u64 + u64::from(row.limit.unwrap_or(0)) + u64::from(row.is_new)
    };
    black_box(tables.iter().flat_map(|rows| rows.iter()).map(used).sum::<u64>());
    let counted = COUNTED.0.lock().unwrap();
    black_box(counted.iter().flatten().map(|counted| counted.seen.get() + counted.more[0]).sum::<u64>());
    let either = EITHER.lock().unwrap();
    // SAFETY: all are written.
    black_box(either.iter().flatten().map(|either| unsafe { either.value.assume_init()[0] } + either.number).sum::<u64>());
    let pages = PAGES.lock().unwrap();
    black_box(pages.iter().flatten().map(|page| page.number + page.rows.len() as u64).sum::<u64>());
    black_box(HashMap::from([(1, Arc::new(2))]));
}
