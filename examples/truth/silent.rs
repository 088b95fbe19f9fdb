//! Programs about which the kinds that concern libraries must be silent: `silent KIND NUMBER`, or
//! `silent KIND NUMBER MILLISECONDS` to run for a while. `silence.rs` says what each of them is.

use serde_derive::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::hint::black_box;
use std::time::{Duration, Instant};
use tracking_alloc::{Profiled, TrackingAlloc, phase};

#[global_allocator]
static ALLOC: TrackingAlloc = TrackingAlloc::system();

#[derive(Debug, Serialize, Deserialize)]
struct City {
    name: String,
    people: u64,
    rivers: Vec<String>,
    mayor: Option<Box<str>>,
}

#[derive(Debug, Deserialize)]
enum Event {
    Arrived { who: String, at: u64 },
    Left(String),
    Nothing,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "kind", content = "of")]
enum Tagged {
    City(City),
    Number(u64),
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize| words.get(at).and_then(|word| word.parse::<u64>().ok());
    let kind = words.first().map_or("", String::as_str);
    let which = number(1).expect("usage: silent KIND NUMBER [MILLISECONDS]");
    let count = if which < 5 { 300 } else { 2_000 };
    let time = Duration::from_millis(number(2).unwrap_or(0));
    match kind {
        "buffered" => buffered(which % 5, count, time),
        "value_tree" => value_tree(which % 5, count, time),
        "in_place_fell_back" => in_place(which % 5, time),
        "amplification" => amplification(which % 5, count, time),
        _ => panic!("unknown kind {kind:?}"),
    }
}

/// Keeps a value for a while, and allocates beside it.
fn keep(value: impl Sized, time: Duration) {
    let value = black_box(value);
    let begin = Instant::now();
    while begin.elapsed() < time {
        for _ in 0..200 {
            drop(black_box(Box::new([1u8; 400])));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    black_box(&value);
}

/// Returns a list of texts that `each` writes, as JSON.
fn list(count: usize, each: impl Fn(&mut String, usize)) -> String {
    let mut text = String::with_capacity(count * 200);
    text.push('[');
    for number in 0..count {
        if number > 0 {
            text.push(',');
        }
        each(&mut text, number);
    }
    text.push(']');
    text
}

fn cities(count: usize) -> String {
    list(count, |text, number| {
        let _ = write!(
            text,
            r#"{{"name":"the city with the number {number:>9}","people":{number},"rivers":["the river {number:>20} of it"],"mayor":"its mayor is {number:>20}"}}"#
        );
    })
}

fn read<T: serde::de::DeserializeOwned>(text: &str) -> T {
    let _load = phase("load");
    serde_json::from_str(text).expect("JSON")
}

fn buffered(which: u64, count: usize, time: Duration) {
    match which {
        0 => keep(read::<Vec<City>>(&cities(count)), time),
        1 => {
            let text = list(count, |text, number| {
                let _ = match number % 3 {
                    0 => write!(
                        text,
                        r#"{{"Arrived":{{"who":"somebody {number:>20}","at":3}}}}"#
                    ),
                    1 => write!(text, r#"{{"Left":"somebody else {number:>20}"}}"#),
                    _ => write!(text, "\"Nothing\""),
                };
            });
            let events = read::<Vec<Event>>(&text);
            let size = |event: &Event| match event {
                Event::Arrived { who, at } => who.len() + *at as usize,
                Event::Left(who) => who.len(),
                Event::Nothing => 0,
            };
            black_box(events.iter().map(size).sum::<usize>());
            keep(events, time);
        }
        2 => {
            let mut text = String::from("{");
            for number in 0..count {
                let comma = if number == 0 { "" } else { "," };
                let _ = write!(
                    text,
                    r#"{comma}"key {number:>30}":{{"name":"a name {number:>30}","people":1,"rivers":[],"mayor":null}}"#
                );
            }
            text.push('}');
            keep(read::<BTreeMap<String, City>>(&text), time);
        }
        3 => keep(read::<Vec<Option<City>>>(&cities(count)), time),
        _ => {
            let text = list(count, |text, number| {
                let _ = if number % 2 == 0 {
                    write!(text, r#"{{"kind":"Number","of":{number}}}"#)
                } else {
                    write!(
                        text,
                        r#"{{"kind":"City","of":{{"name":"a name {number:>30}","people":1,"rivers":[],"mayor":null}}}}"#
                    )
                };
            });
            let all = read::<Vec<Tagged>>(&text);
            let size = |tagged: &Tagged| match tagged {
                Tagged::City(city) => city.name.len(),
                Tagged::Number(number) => *number as usize,
            };
            black_box(all.iter().map(size).sum::<usize>());
            keep(all, time);
        }
    }
}

fn value_tree(which: u64, count: usize, time: Duration) {
    match which {
        0 => keep(read::<Vec<City>>(&cities(count)), time),
        1 => {
            let mut text = String::from("{");
            for number in 0..count {
                let comma = if number == 0 { "" } else { "," };
                let _ = write!(text, r#"{comma}"key {number:>30}":{number}"#);
            }
            text.push('}');
            keep(read::<BTreeMap<String, u64>>(&text), time);
        }
        2 => {
            let text = list(count, |text, number| {
                let _ = write!(text, r#"["a text of {number:>30}",{number},true]"#);
            });
            keep(read::<serde_json::Value>(&text), time);
        }
        3 => {
            drop(black_box(read::<serde_json::Value>(&cities(8))));
            keep(read::<Vec<City>>(&cities(20 * count)), time);
        }
        _ => keep(
            read::<Vec<Box<serde_json::value::RawValue>>>(&cities(count)),
            time,
        ),
    }
}

/// Reads a value again and again into the same place.
fn again<T: serde::de::DeserializeOwned>(mut place: T, texts: &[&str]) -> T {
    let mut profiled = Profiled(place);
    for turn in 0..4_000 {
        let mut input = serde_json::Deserializer::from_str(texts[turn % texts.len()]);
        serde::Deserialize::deserialize_in_place(&mut input, &mut profiled).expect("JSON");
    }
    place = profiled.0;
    place
}

fn in_place(which: u64, time: Duration) {
    match which {
        0 => {
            let texts = [r#"["a text of more than a few bytes","another text"]"#];
            keep(again(vec![String::new(), String::new()], &texts), time);
        }
        1 => keep(again((0u64, 0.5f64), &["[7,1.25]"]), time),
        2 => keep(again(vec![0u64; 9], &["[1,2,3,4,5,6,7,8,9]"]), time),
        3 => {
            // A new value each time, which nothing fills in place.
            let text = cities(3);
            for _ in 0..2_000 {
                black_box(serde_json::from_str::<Profiled<Vec<City>>>(&text).expect("JSON"));
            }
            keep(text, time);
        }
        _ => {
            let texts = ["[1,2]", "[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16]"];
            keep(again(Vec::<u64>::new(), &texts), time);
        }
    }
}

fn amplification(which: u64, count: usize, time: Duration) {
    let input: Vec<u8> = (0..count * 1_000).map(|at| at as u8).collect();
    match which {
        0 => {
            let _load = phase("load").input_bytes(input.len() as u64);
            keep(input.to_vec(), time);
        }
        1 => {
            let _load = phase("load").input_bytes(input.len() as u64);
            keep([input.to_vec(), input.to_vec(), input.to_vec()], time);
        }
        2 => {
            let _load = phase("load");
            keep(vec![input.clone(); 9], time);
        }
        3 => {
            let large = vec![input.clone(); 20];
            {
                let _load = phase("load").input_bytes(input.len() as u64);
                black_box(input.to_vec());
            }
            keep(large, time);
        }
        _ => {
            let large = vec![input.clone(); 20];
            let _load = phase("load").input_bytes(input.len() as u64);
            keep((large, input.to_vec()), time);
        }
    }
}
