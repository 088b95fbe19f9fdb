//! Kinds that events show.

use super::Near;

pub(super) const ALL: &[Near] = &[
    (
        "failed_request",
        &[
            (
                "reservations that are granted",
                "",
                "let mut v: Vec<u64> = Vec::new(); v.try_reserve($n).unwrap(); v.resize($n, 7); run(|turn| v[3] += turn); black_box(&v);",
            ),
            (
                "a capacity that no request could have",
                "",
                "let mut v: Vec<u64> = vec![1; $n]; assert!(v.try_reserve(usize::MAX).is_err()); run(|turn| v[3] += turn); black_box(&v);",
            ),
            (
                "growth by realloc",
                "",
                "let mut v: Vec<u64> = Vec::with_capacity(4); for i in 0..$n { v.push(i); } run(|turn| v[3] += turn); black_box(&v);",
            ),
            (
                "lists that shrink",
                "",
                "let mut v: Vec<Vec<u8>> = (0..$n).map(|i| { let mut x = vec![i as u8; 900]; x.truncate($m); x.shrink_to_fit(); x }).collect(); run(|turn| v[3][0] = turn as u8); black_box(&v);",
            ),
            (
                "zeroed blocks",
                "",
                "let mut v: Vec<Box<[u64]>> = (0..$n).map(|_| vec![0u64; $m].into_boxed_slice()).collect(); run(|turn| v[3][0] = turn); black_box(&v);",
            ),
        ],
    ),
    (
        "missing_capacity",
        &[
            (
                "lists with a capacity",
                "",
                "let mut all = Vec::with_capacity($n); for i in 0..$n { let mut x = Vec::with_capacity($m); for k in 0..$m { x.push(i * k); } all.push(x); } run(|turn| all[3][0] += turn); black_box(&all);",
            ),
            (
                "iterators that know their length",
                "",
                "let mut all: Vec<Vec<u64>> = (0..$n).map(|i| (0..$m).map(|k| i * k).collect()).collect(); run(|turn| all[3][0] += turn); black_box(&all);",
            ),
            (
                "texts with a capacity",
                "",
                "let all: Vec<String> = (0..$n).map(|i| text(1, i, 60)).collect(); run(|_| { black_box(&all); }); black_box(&all);",
            ),
            (
                "lists of at most four",
                "",
                "let mut all: Vec<Vec<u64>> = Vec::with_capacity($n); for i in 0..$n { let mut x = Vec::new(); for k in 0..i % 4 { x.push(k); } all.push(x); } run(|_| { black_box(&mut all); }); black_box(&all);",
            ),
            (
                "reserved once",
                "",
                "let mut all: Vec<Vec<u64>> = (0..$n).map(|_| Vec::new()).collect(); for x in &mut all { x.reserve_exact($m); x.extend(0..$m); } run(|turn| all[3][0] += turn); black_box(&all);",
            ),
        ],
    ),
    (
        "temporary",
        &[
            (
                "one buffer for all turns",
                "",
                "let mut buffer = Vec::with_capacity($n); run(|turn| { for _ in 0..50 { buffer.clear(); buffer.extend(0..turn.min($n)); black_box(&buffer); } });",
            ),
            (
                "lists that stay",
                "",
                "let mut all: Vec<Vec<u64>> = Vec::with_capacity($n); for i in 0..$n { all.push(vec![i; $m]); } run(|turn| all[3][0] += turn); black_box(&all);",
            ),
            (
                "lists that live for a turn",
                "",
                "let mut last: Vec<Vec<u64>> = Vec::new(); run(|turn| { let next: Vec<Vec<u64>> = (0..20).map(|i| vec![i + turn; $m]).collect(); last = next; black_box(&last); });",
            ),
            (
                "boxes of one value",
                "",
                "run(|turn| { for i in 0..$n { drop(black_box(Box::new(turn + i))); } });",
            ),
            (
                "a few lists at the start",
                "",
                "for i in 0..3 { drop(black_box(vec![i; 30])); } let mut v = vec![1u64; $n]; run(|turn| v[3] += turn); black_box(&v);",
            ),
        ],
    ),
    (
        "growing",
        &[
            (
                "a steady list",
                "",
                "let mut v: Vec<Box<[u64]>> = (0..$n).map(|i| vec![i; $m].into()).collect(); run(|turn| { let at = turn as usize % v.len(); v[at] = vec![turn; $m].into(); }); black_box(&v);",
            ),
            (
                "a list that is cleared again and again",
                "",
                "let mut v: Vec<Box<[u64]>> = Vec::with_capacity($n); run(|turn| { if v.len() == 20 { v.clear(); } v.push(vec![turn; 1000].into()); }); black_box(&v);",
            ),
            (
                "a queue of a bounded length",
                "",
                "let mut v: VecDeque<Box<[u64]>> = VecDeque::with_capacity(33); run(|turn| { v.push_back(vec![turn; 900].into()); if v.len() > 32 { v.pop_front(); } }); black_box(&v);",
            ),
            (
                "a cache that is full early",
                "",
                "let mut v: HashMap<u64, Box<[u64]>> = HashMap::with_capacity(40); run(|turn| { v.insert(turn % 30, vec![turn; 500].into()); }); black_box(&v);",
            ),
            (
                "a list that shrinks",
                "",
                "let mut v: Vec<Box<[u64]>> = (0..3000).map(|i| vec![i; $m].into()).collect(); run(|_| { v.pop(); }); black_box(&v);",
            ),
        ],
    ),
    (
        "small_strings",
        &[
            (
                "texts of forty bytes",
                "",
                "let v: Vec<String> = (0..$n).map(|i| text(1, i, 40)).collect(); run(|_| { black_box(&v); }); black_box(&v);",
            ),
            (
                "texts that grow by push",
                "",
                "let v: Vec<String> = (0..$n).map(|i| { let mut x = String::new(); for k in text(1, i, 40).chars() { x.push(k); } x }).collect(); run(|_| { black_box(&v); }); black_box(&v);",
            ),
            (
                "short texts in an array",
                "",
                "let v: Vec<[u8; 16]> = (0..$n).map(|i| (i as u128).to_le_bytes()).collect(); run(|_| { black_box(&v); }); black_box(&v);",
            ),
            (
                "empty texts",
                "",
                "let v: Vec<(String, Box<[u64]>)> = (0..$n).map(|i| (String::new(), vec![i; 5].into())).collect(); run(|_| { black_box(&v); }); black_box(&v);",
            ),
            (
                "short texts of the program",
                "",
                "let v: Vec<(&'static str, Box<u64>)> = (0..$n).map(|i| (if i % 2 == 0 { \"even\" } else { \"odd\" }, Box::new(i))).collect(); run(|_| { black_box(&v); }); black_box(&v);",
            ),
        ],
    ),
    (
        "freed_together",
        &[
            (
                "fewer than a thousand",
                "",
                "let v: Vec<Box<[u64]>> = (0..900).map(|i| vec![i; $m].into()).collect(); run(|_| { black_box(&v); }); drop(v);",
            ),
            (
                "blocks that are reallocated",
                "",
                "let v: Vec<Vec<u64>> = (0..3000).map(|i| { let mut x = vec![i; 3]; x.reserve_exact(20); x.extend(0..$m % 20); x }).collect(); run(|_| { black_box(&v); }); drop(v);",
            ),
            (
                "blocks that are left at the end",
                "static V: Mutex<Vec<Box<[u64]>>> = Mutex::new(Vec::new());",
                "*V.lock().unwrap() = (0..3000).map(|i| vec![i; $m].into()).collect(); run(|_| { black_box(V.lock().unwrap().len()); });",
            ),
            (
                "blocks that are freed from turn to turn",
                "",
                "let mut v: Vec<Box<[u64]>> = (0..3000).map(|i| vec![i; $m].into()).collect(); run(|_| { let left = v.len().saturating_sub(20); v.truncate(left); }); drop(v);",
            ),
            (
                "one block for all",
                "",
                "let mut v: Vec<[u64; $m]> = (0..3000).map(|i| [i; $m]).collect(); run(|turn| v[3][0] = turn); drop(v);",
            ),
        ],
    ),
];
