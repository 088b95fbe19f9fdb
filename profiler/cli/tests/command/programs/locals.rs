//! A program whose heap hangs on locals while its largest moment comes. It writes the bytes that
//! its texts, its times and its lines have unused.

use std::collections::{HashMap, VecDeque};
use std::hint::black_box;

pub struct Session {
    pub user: String,
    pub seen: VecDeque<u64>,
}

pub struct State {
    pub sessions: HashMap<u64, Session>,
    pub names: Vec<Box<str>>,
}

pub struct Work {
    pub lines: Vec<String>,
}

#[inline(never)]
fn fill(count: u64) -> State {
    let session = |number: u64| {
        let mut user = String::with_capacity(48);
        user.push_str(&format!("user-{number}"));
        let mut seen = VecDeque::with_capacity(16);
        seen.extend(0..number % 11);
        (number, Session { user, seen })
    };
    State {
        sessions: (0..count).map(session).collect(),
        names: (0..count / 10).map(|name| format!("a name {name}").into()).collect(),
    }
}

/// A function that is inlined, with a local of its own.
#[inline(always)]
fn inlined(state: &State) -> usize {
    let work = Work {
        lines: (0..500).map(|line| format!("line {line:>20}")).collect(),
    };
    black_box(&work);
    largest(state) + black_box(&work).lines.len()
}

/// Frees the largest block of the program, so that here is its largest moment.
#[inline(never)]
fn largest(state: &State) -> usize {
    let large: Vec<u8> = Vec::with_capacity(64 << 20);
    drop(black_box(large));
    black_box(state).names.len()
}

fn main() {
    // It is dropped before its block is used again, and its words stay on the stack.
    let dead: Vec<Box<u64>> = (0..300).map(Box::new).collect();
    black_box(&dead);
    drop(dead);
    let again: Vec<Box<u64>> = (0..300).map(Box::new).collect();
    black_box(&again);
    let state = fill(2000);
    black_box(&state);
    let sessions = state.sessions.values();
    let users = sessions.clone().map(|of| of.user.capacity() - of.user.len());
    let seen = sessions.map(|of| 8 * (of.seen.capacity() - of.seen.len()));
    println!("{} {}", users.sum::<usize>(), seen.sum::<usize>());
    println!("{}", inlined(&state) + again.len());
    black_box((&state, &again));
}
