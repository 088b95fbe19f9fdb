//! Programs in which everything is held, at moments when the length of a list is not where its
//! header says.

use super::hold;
use std::collections::HashMap;
use std::hint::black_box;
use std::mem::ManuallyDrop;

/// Runs the case of a kind.
///
/// # Panics
/// If there is no case of that kind.
pub(super) fn run(kind: &str) {
    match kind {
        "words-apart" => words_apart(),
        "emptied-local" => emptied(&mut entries()),
        "emptied-field" => {
            let mut queue = Box::new(Queue { entries: entries() });
            emptied(&mut queue.entries);
        }
        "collected" => collected(),
        "extended" => extended(),
        "text" => text(),
        _ => panic!("no case of kind {kind:?}"),
    }
}

/// Lists that hold nothing, which is found beside all others.
fn idle() -> Vec<Vec<u64>> {
    (0..200).map(|_| Vec::with_capacity(1024)).collect()
}

/// Optimised code keeps the words of a local list apart. Here another number lies beside the
/// capacity and the pointer of a full list, many times.
fn words_apart() {
    let idle = idle();
    let map = |_| (0..100_u32).map(|key| (key, 1_u64)).collect();
    let maps: Vec<HashMap<u32, u64>> = (0..500).map(map).collect();
    let mut maps = ManuallyDrop::new(maps);
    let header = [maps.capacity(), maps.as_mut_ptr() as usize, 64];
    let length = black_box(!maps.len());
    beside([header; 64]);
    // SAFETY: the parts of the list above, which is not dropped there.
    let maps = unsafe { Vec::from_raw_parts(maps.as_mut_ptr(), !length, maps.capacity()) };
    black_box((&maps, &idle));
}

#[inline(never)]
fn beside(headers: [[usize; 3]; 64]) {
    let headers = black_box(headers);
    hold(());
    black_box(&headers);
}

struct Queue {
    entries: Vec<Entry>,
}

/// Holds the program when it is dropped.
struct Entry {
    text: String,
    is_last: bool,
}

impl Drop for Entry {
    fn drop(&mut self) {
        if self.is_last {
            hold(());
        }
    }
}

fn entries() -> Vec<Entry> {
    let entry = |number: usize| Entry {
        text: format!("entry {number:>120}"),
        is_last: number == 300,
    };
    let mut entries = Vec::with_capacity(1024);
    entries.extend((0..1000).map(entry));
    entries
}

/// `clear` sets the length to 0 before it drops the elements.
fn emptied(entries: &mut Vec<Entry>) {
    let idle = idle();
    black_box(entries.iter().map(|entry| entry.text.len()).sum::<usize>());
    entries.clear();
    black_box(&idle);
}

struct Row {
    _header: [u8; 256],
    name: String,
}

fn row(number: usize) -> Row {
    if number == 350 {
        hold(());
    }
    Row {
        _header: [7; 256],
        name: format!("row {number:>100}"),
    }
}

/// `collect` keeps the length in a register until it is done.
fn collected() {
    let idle = idle();
    let rows: Vec<Row> = (0..400).map(row).collect();
    black_box((rows.iter().map(|row| row.name.len()).sum::<usize>(), &idle));
}

/// So does `extend`, whose list lies in the heap.
fn extended() {
    let idle = idle();
    let mut rows = Box::new(vec![row(0)]);
    rows.reserve(500);
    rows.extend((1..400).map(row));
    black_box((rows.iter().map(|row| row.name.len()).sum::<usize>(), &idle));
}

/// A text that is read, and the words in it.
fn text() {
    let idle = idle();
    let mut text = String::with_capacity(1 << 20);
    while text.len() < 1 << 20 {
        text.push_str("a word, ");
    }
    let words: Vec<String> = text.split(',').map(str::to_owned).collect();
    beside([[text.capacity(), text.as_ptr() as usize, 9]; 64]);
    black_box((&text, &words, &idle));
}
