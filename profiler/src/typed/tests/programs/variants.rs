//! Lists of enums with a rare large variant. Writes its memory to a file. Arguments: the file, the
//! number of values of each list. With `--cfg remedy`, the large variants are boxed.

mod watch;

use std::hint::black_box;
use std::sync::Mutex;

#[global_allocator]
static WATCH: watch::Watch = watch::Watch;

#[cfg(not(remedy))]
type Large<T> = T;
#[cfg(remedy)]
type Large<T> = Box<T>;

/// It has no place for a tag inside.
pub struct Video {
    numbers: [u64; 20],
}

pub enum Message {
    Text(String),
    Seen(u64),
    Video(Large<Video>),
    Nothing,
}

/// It has a name, in whose capacity the tag is hidden.
pub struct Clip {
    name: String,
    numbers: [u64; 17],
}

pub enum Event {
    Clip(Large<Clip>),
    Key(u32, u8),
    Moved([f64; 2]),
}

/// Large and half as large, and both are rare.
pub enum Node {
    Leaf(u32),
    Wide(Large<[u32; 60]>),
    Half(Large<[u32; 30]>),
}

/// Large, and not rare.
pub enum Often {
    Small(u64),
    Large([u64; 20]),
}

/// No variant is larger than the others.
pub enum Even {
    One([u64; 3]),
    Two(String),
    Three(Vec<u8>),
}

static MESSAGES: Mutex<Vec<Message>> = Mutex::new(Vec::new());
static EVENTS: Mutex<Vec<Event>> = Mutex::new(Vec::new());
static NODES: Mutex<Vec<Node>> = Mutex::new(Vec::new());
static MAYBE: Mutex<Vec<Option<Large<[u64; 30]>>>> = Mutex::new(Vec::new());
static OFTEN: Mutex<Vec<Often>> = Mutex::new(Vec::new());
static EVEN: Mutex<Vec<Even>> = Mutex::new(Vec::new());

#[cfg(not(remedy))]
fn large<T>(value: T) -> T {
    value
}
#[cfg(remedy)]
fn large<T>(value: T) -> Box<T> {
    Box::new(value)
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let count: usize = arguments[2].parse().unwrap();
    let full = |count| count + count / 4;
    // A quarter of each block is unused capacity.
    *MESSAGES.lock().unwrap() = Vec::with_capacity(full(count));
    *EVENTS.lock().unwrap() = Vec::with_capacity(full(count));
    *NODES.lock().unwrap() = Vec::with_capacity(full(count));
    *MAYBE.lock().unwrap() = Vec::with_capacity(full(count));
    for number in 0..count {
        let at = number as u64;
        MESSAGES.lock().unwrap().push(match number % 100 {
            0 => Message::Video(large(Video { numbers: [at; 20] })),
            1..40 => Message::Text(format!("message {number}")),
            40..99 => Message::Seen(at),
            _ => Message::Nothing,
        });
        EVENTS.lock().unwrap().push(match number % 50 {
            0 => Event::Clip(large(Clip { name: format!("clip {number}"), numbers: [at; 17] })),
            1..20 => Event::Key(number as u32, 7),
            _ => Event::Moved([0.5, number as f64]),
        });
        NODES.lock().unwrap().push(match number % 100 {
            0 => Node::Wide(large([number as u32; 60])),
            1..3 => Node::Half(large([number as u32; 30])),
            _ => Node::Leaf(number as u32),
        });
        let some = number % 25 == 0;
        MAYBE.lock().unwrap().push(some.then(|| large([at; 30])));
        OFTEN.lock().unwrap().push(if number % 5 == 0 { Often::Large([at; 20]) } else { Often::Small(at) });
        EVEN.lock().unwrap().push(match number % 20 {
            0 => Even::One([at; 3]),
            1 => Even::Two(format!("text {number}")),
            _ => Even::Three(vec![7; 9]),
        });
    }
    println!("messages {}", size_of::<Message>());
    println!("events {}", size_of::<Event>());
    println!("nodes {}", size_of::<Node>());
    watch::dump(&arguments[1]);
    for message in &*MESSAGES.lock().unwrap() {
        match message {
            Message::Text(text) => _ = black_box(text.len()),
            Message::Seen(at) => _ = black_box(*at),
            Message::Video(video) => _ = black_box(video.numbers[0]),
            Message::Nothing => (),
        }
    }
    for event in &*EVENTS.lock().unwrap() {
        match event {
            Event::Clip(clip) => _ = black_box((clip.name.len(), clip.numbers[3])),
            Event::Key(key, more) => _ = black_box((*key, *more)),
            Event::Moved(to) => _ = black_box(to[0]),
        }
    }
    for node in &*NODES.lock().unwrap() {
        match node {
            Node::Leaf(leaf) => _ = black_box(*leaf),
            Node::Wide(wide) => _ = black_box(wide[0]),
            Node::Half(half) => _ = black_box(half[0]),
        }
    }
    for often in &*OFTEN.lock().unwrap() {
        match often {
            Often::Small(small) => _ = black_box(*small),
            Often::Large(large) => _ = black_box(large[0]),
        }
    }
    for even in &*EVEN.lock().unwrap() {
        match even {
            Even::One(one) => _ = black_box(one[0]),
            Even::Two(two) => _ = black_box(two.len()),
            Even::Three(three) => _ = black_box(three.len()),
        }
    }
    black_box(MAYBE.lock().unwrap().iter().flatten().map(|some| some[0]).sum::<u64>());
}
