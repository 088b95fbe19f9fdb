//! A program whose heap hangs on locals. It writes what its containers have unused, and waits.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::hint::black_box;
use std::sync::Arc;

pub struct Session {
    pub user: String,
    pub roles: Vec<String>,
    pub seen: VecDeque<u64>,
    pub data: Option<Box<Blob>>,
    pub tags: BTreeMap<u32, String>,
}

pub struct Blob {
    pub bytes: Vec<u8>,
    pub kind: u32,
}

pub struct State {
    pub sessions: HashMap<u64, Session>,
    pub names: Vec<Arc<str>>,
}

pub struct Own {
    pub lines: Vec<String>,
}

#[inline(never)]
fn fill(count: u64) -> State {
    let mut sessions = HashMap::new();
    for number in 0..count {
        let mut user = String::with_capacity(48);
        user.push_str(&format!("user-{number}"));
        let roles = (0..number % 4).map(|role| format!("role {role}")).collect();
        let mut seen = VecDeque::with_capacity(16);
        seen.extend(0..number % 11);
        let data = (number % 3 == 0).then(|| {
            let mut bytes = Vec::with_capacity(300);
            bytes.resize(1 + (number % 200) as usize, 7);
            Box::new(Blob { bytes, kind: 1 })
        });
        let tags = (0..number % 5).map(|tag| (tag as u32, format!("tag {tag} of {number}")));
        let tags = tags.collect();
        let session = Session {
            user,
            roles,
            seen,
            data,
            tags,
        };
        sessions.insert(number, session);
    }
    let names = (0..count / 10).map(|name| Arc::from(format!("a name {name}")));
    State {
        sessions,
        names: names.collect(),
    }
}

/// Returns the unused bytes of users, roles, times and data.
fn unused(state: &State) -> [usize; 4] {
    let of = |text: &String| text.capacity() - text.len();
    let mut sums = [0; 4];
    for session in state.sessions.values() {
        let data = session.data.as_ref();
        sums[0] += of(&session.user);
        sums[1] += 24 * (session.roles.capacity() - session.roles.len());
        sums[1] += session.roles.iter().map(of).sum::<usize>();
        sums[2] += 8 * (session.seen.capacity() - session.seen.len());
        sums[3] += data.map_or(0, |data| data.bytes.capacity() - data.bytes.len());
    }
    sums
}

#[inline(never)]
fn wait(own: &Own) {
    loop {
        black_box(own);
        std::thread::sleep(std::time::Duration::from_secs(1000));
    }
}

fn main() {
    let state = Arc::new(fill(3000));
    let shared = state.clone();
    std::thread::spawn(move || {
        let own = Own {
            lines: (0..500).map(|line| format!("a line {line}")).collect(),
        };
        wait(black_box(&own));
        black_box(&shared);
        black_box(&own);
    });
    std::thread::sleep(std::time::Duration::from_millis(200));
    let [users, roles, seen, bytes] = unused(&state);
    println!("{users} {roles} {seen} {bytes}");
    loop {
        black_box(&state);
        std::thread::sleep(std::time::Duration::from_secs(1000));
    }
}
