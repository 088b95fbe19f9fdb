//! For each kind of finding, programs without the problem: near misses, about which this kind must
//! say nothing.

mod events;
mod snapshots;

use crate::program::HEADER;

/// A program about which its kind of finding is silent.
#[derive(Clone, Debug)]
pub(crate) struct Silent {
    pub(crate) kind: &'static str,
    pub(crate) number: usize,
    /// The reason why there is no problem.
    pub(crate) what: &'static str,
    /// The program, or nothing if `silent` is it.
    pub(crate) source: String,
}

/// A kind, and its near misses: the reason, the items, and the body of `main`. `$n` is a number of
/// elements, and `$m` another one.
type Near = (
    &'static str,
    &'static [(&'static str, &'static str, &'static str)],
);

/// Kinds about libraries. The program `silent` has their near misses, because it is built with the
/// libraries.
const OF_LIBRARIES: [(&str, [&str; 5]); 4] = [
    (
        "buffered",
        [
            "a struct without flatten",
            "an enum with external tags",
            "a map of structs",
            "optional fields",
            "adjacent tags with the tag first",
        ],
    ),
    (
        "value_tree",
        [
            "typed structs",
            "a map of numbers",
            "values without maps",
            "a value that is dropped before the peak",
            "raw text",
        ],
    ),
    (
        "in_place_fell_back",
        [
            "texts in place",
            "numbers in place",
            "a list in place",
            "a new value",
            "a list that grows in place",
        ],
    ),
    (
        "amplification",
        [
            "as many bytes as its input",
            "three times its input",
            "no stated input",
            "a large block outside the phase",
            "a large block that a phase keeps from before",
        ],
    ),
];

/// The programs of each kind.
const EACH: usize = 10;

const RUN: &str = "
/// Runs `work` again and again, with other allocations between.
#[inline(never)]
fn run(mut work: impl FnMut(u64)) {
    let (mut turn, begin, time) = (0, Instant::now(), runs());
    while begin.elapsed() < time {
        turn += 1;
        work(turn);
        for _ in 0..200 { drop(black_box(Box::new([1u8; 400]))); }
        std::thread::sleep(Duration::from_millis(5));
    }
}
";

/// Returns all programs, or those of one kind.
pub(crate) fn programs(kind: Option<&str>) -> Vec<Silent> {
    let near = events::ALL.iter().chain(snapshots::ALL);
    let plain = near.flat_map(|&(kind, bodies)| {
        (0..EACH).map(move |number| {
            let (what, items, body) = bodies[number % bodies.len()];
            let (n, m) = [(300, 40), (2_000, 24)][number / bodies.len()];
            let fill = |text: &str| {
                text.replace("$n", &n.to_string())
                    .replace("$m", &m.to_string())
            };
            let source = format!(
                "// {kind} {number}: {what}\n{HEADER}{RUN}{}\nfn main() {{\n{}\n}}\n",
                fill(items),
                fill(body)
            );
            Silent {
                kind,
                number,
                what,
                source,
            }
        })
    });
    let of_libraries = OF_LIBRARIES.into_iter().flat_map(|(kind, all)| {
        (0..EACH).map(move |number| Silent {
            kind,
            number,
            what: all[number % all.len()],
            source: String::new(),
        })
    });
    plain
        .chain(of_libraries)
        .filter(|program| kind.is_none_or(|kind| kind == program.kind))
        .collect()
}
