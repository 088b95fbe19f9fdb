//! 3.12: memory in regions: with a limit, by generations, and as a separate heap; and the smallest
//! possible binary.

use super::thin;
use crate::{Case, Claim, Found, Judged, Variant, Window};
use bumpalo::Bump;
use libmimalloc_sys as mi;
use slotmap::{DefaultKey, SlotMap};

/// The case.
pub(super) const CASE: Case = Case {
    id: "3.12",
    system: "bump regions with a limit (set_allocation_limit), generational arena (the crate slotmap: generational-arena is no longer maintained), mimalloc \
             heaps; thin binaries (strip, \
             debug=0, opt-level z, LTO)",
    headline: "stripping a binary and debug = 0 take about 30 % off it; opt-level z, LTO, a std built along and no_std take off more (no \
               figures), as regions of memory have none",
    variants: &[
        Variant::new("boxes", boxes),
        Variant::new("bump with a limit", limited),
        Variant::new("generational arena (slotmap)", generational),
        Variant::new("mimalloc heap", heap),
        Variant::new("binary: release, debug = 2", |window| {
            thin::build(window, &["debug=2"])
        }),
        Variant::new("binary: debug = 0", |window| {
            thin::build(window, &["debug=0"])
        }),
        Variant::new("binary: strip", |window| {
            thin::build(window, &["debug=0", "strip=true"])
        }),
        Variant::new("binary: opt-level z", |window| {
            thin::build(window, &["debug=0", "strip=true", "opt-level=\"z\""])
        }),
        Variant::new("binary: opt-level z, LTO, abort", |window| {
            thin::build(window, &THINNEST)
        }),
        Variant::new(WITH_STD, |window| thin::build_std(window, &THINNEST))
            .varying("without the source of std, or not optimised, there is nothing to run"),
        Variant::new(NO_STD, |window| thin::build_no_std(window, &THINNEST)),
    ],
    judge,
};

const THINNEST: [&str; 6] = [
    "debug=0",
    "strip=true",
    "opt-level=\"z\"",
    "lto=true",
    "codegen-units=1",
    "panic=\"abort\"",
];

const WITH_STD: &str = "binary: opt-level z, LTO, abort, std built with it";
const NO_STD: &str = "binary: no_std, opt-level z, LTO, abort";

fn judge(found: &Found<'_>) -> Judged {
    let limited = |name: &str| found.of("bump with a limit", name);
    let (plain, thin) = (
        "binary: release, debug = 2",
        "binary: opt-level z, LTO, abort",
    );
    let stripped =
        1.0 - found.of("binary: strip", "file_bytes") / found.of("binary: debug = 0", "file_bytes");
    let boxes = found.of("boxes", "records");
    let holds = found.of("boxes", "total_blocks") == boxes + 1.0
        && limited("refused") == 1.0
        && limited("arena_bytes") <= limited("limit_bytes")
        && found.of("generational arena (slotmap)", "stale_found") == 0.0
        && found.of("generational arena (slotmap)", "reused") > 0.0
        && found.of("mimalloc heap", "total_blocks") == 0.0
        && found.of(thin, "binary_code_bytes") < found.of(plain, "binary_code_bytes")
        && found.of(thin, "file_bytes") < found.of(plain, "file_bytes")
        && found.of(NO_STD, "binary_code_bytes") < found.of(thin, "binary_code_bytes")
        && found.of(NO_STD, "file_bytes") < found.of(thin, "file_bytes")
        && (found.of(WITH_STD, "file_bytes").is_nan()
            || found.of(WITH_STD, "file_bytes") < found.of(thin, "file_bytes"))
        && found.of(plain, "own_code_bytes") < found.of(plain, "named_code_bytes");
    let size = |variant: &str| {
        let (code, file) = (
            found.of(variant, "binary_code_bytes"),
            found.of(variant, "file_bytes"),
        );
        format!(
            "{code:.0} B of code in {file:.0} B, built in {:.1} s",
            found.of(variant, "build_seconds")
        )
    };
    let std = match found.of(WITH_STD, "file_bytes").is_nan() {
        true => {
            "build-std needs the source of std beside a compiler, and an optimised run: not tried"
                .to_owned()
        }
        false => format!(
            "With std built by the same settings it is {}",
            size(WITH_STD)
        ),
    };
    let bloat = match found.of(plain, "cargo_bloat_text_bytes") {
        text if text.is_nan() => "cargo-bloat is not installed".to_owned(),
        text => format!(
            "cargo-bloat says {:.0} of {text:.0}",
            found.of(plain, "cargo_bloat_own_bytes")
        ),
    };
    let why = format!(
        "the region refused to grow past {:.0} B after {:.0} values, holding {:.0} B in {:.0} blocks, where boxes take \
         {boxes:.0}; of {:.0} stale keys of the generational arena {:.0} found a value; the {:.0} blocks of a mimalloc \
         heap are released in one call and seen by no global allocator, so not by us either; a small program is {} as \
         released with debug info ({:.0} of {:.0} B of code are its own functions, the others of std and C; {bloat}), {} at its \
         thinnest, {} without std. {std}",
        limited("limit_bytes"),
        limited("values"),
        limited("arena_bytes"),
        limited("total_blocks"),
        found.of("generational arena (slotmap)", "reused"),
        found.of("generational arena (slotmap)", "stale_found"),
        found.of("mimalloc heap", "heap_blocks"),
        size(plain),
        found.of(plain, "own_code_bytes"),
        found.of(plain, "named_code_bytes"),
        size(thin),
        size(NO_STD),
    );
    Judged::facts(holds, why)
        .claim(
            Claim::count(
                "share of the file that strip takes off what cargo releases by default",
                0.3,
            )
            .within(0.2),
            stripped,
        )
        .because("cargo's release has debug = 0, so only names are left to strip")
        .claim(
            Claim::count(
                "share of the file that strip and debug = 0 take off a release with debug = 2",
                0.3,
            )
            .within(0.2),
            1.0 - found.of("binary: strip", "file_bytes") / found.of(plain, "file_bytes"),
        )
        .because("with debug = 2 the debug information is most of the file")
}

/// A value of 64 bytes.
type Value = [u64; 8];
const VALUES: usize = 100_000;

fn values(window: &mut Window) -> usize {
    let values = window.scaled(VALUES);
    window.input(0, values);
    values
}

fn boxes(window: &mut Window) {
    let values = values(window);
    window.work(|| {
        let mut all = Vec::with_capacity(values);
        (0..values).for_each(|at| all.push(Box::<Value>::new([at as u64; 8])));
        all
    });
}

/// Fills a region that has half the room that the values need. It must refuse in time.
fn limited(window: &mut Window) {
    let values = values(window);
    let limit = values * size_of::<Value>() / 2;
    let (mut made, mut arena_bytes) = (0, 0);
    window.work(|| {
        let bump = Bump::new();
        bump.set_allocation_limit(Some(limit));
        made = (0..values)
            .take_while(|at| bump.try_alloc([*at as u64; 8]).is_ok())
            .count();
        arena_bytes = bump.allocated_bytes();
        bump
    });
    window.note("limit_bytes", limit as f64);
    window.note("arena_bytes", arena_bytes as f64);
    window.note("values", made as f64);
    window.note("refused", f64::from(u8::from(made < values)));
}

/// Removes every second value and adds others. A key of a removed value finds nothing.
fn generational(window: &mut Window) {
    let values = values(window);
    let (mut reused, mut stale) = (0, 0);
    window.work(|| {
        let mut arena = SlotMap::<DefaultKey, Value>::with_capacity(values);
        let mut keys = Vec::with_capacity(values);
        (0..values).for_each(|at| keys.push(arena.insert([at as u64; 8])));
        let gone = || keys.iter().step_by(2);
        for key in gone() {
            arena.remove(*key);
        }
        reused = gone().map(|_| arena.insert([0; 8])).count();
        stale = gone().filter(|key| arena.contains_key(**key)).count();
        arena
    });
    window.note("reused", reused as f64);
    window.note("stale_found", stale as f64);
}

/// Fills a heap and destroys it as a whole.
fn heap(window: &mut Window) {
    let values = values(window);
    let mut blocks = 0;
    window.work(|| {
        // SAFETY: the heap belongs to this thread. Its blocks are written inside their size and not
        // used after the heap is destroyed.
        unsafe {
            let heap = mi::mi_heap_new();
            blocks = 0;
            for at in 0..values {
                let block: *mut Value = mi::mi_heap_malloc(heap, size_of::<Value>()).cast();
                if !block.is_null() {
                    block.write([at as u64; 8]);
                    blocks += 1;
                }
            }
            mi::mi_heap_destroy(heap);
        }
    });
    window.note("heap_blocks", f64::from(blocks));
}
