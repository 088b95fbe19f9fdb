//! Profiles made by hand for tests and pictures: no recording behind them, the same in every run.
//!
//! Must never be used for anything a user is told about their own program.

mod city_arenas;
mod fleet;
mod real;

use heapglass_profiler::profile::{
    Capture, Checkpoint, Distribution, Figures, Frame, FrameId, Function, FunctionId, Losses, Mark,
    Module, Origin, Process, Profile, Scope, ScopeId, ScopeKind, Site, StackMarks, State,
    SymbolSource, Thread, TimelinePoint, TypeId, TypeKind, TypeName,
};
use heapglass_profiler::types::{normal, short as short_type};

pub(crate) use city_arenas::city_arenas;
pub(crate) use fleet::fleet;
pub(crate) use real::{REAL, real};

/// Puts a profile together: functions and frames are interned, totals follow the sites.
#[derive(Debug, Default)]
pub(crate) struct Builder {
    profile: Profile,
}

impl Builder {
    /// An empty profile with a root scope.
    pub(crate) fn new() -> Builder {
        let mut profile = Profile::default();
        profile.scopes.push(Scope::default());
        profile.capture = Capture {
            mode: "exact".into(),
            unwinder: "frame-pointers".into(),
            architecture: "x86_64".into(),
            ..Capture::default()
        };
        Builder { profile }
    }

    /// The function of that name, made when new; `short` is the last two path segments without
    /// generics.
    pub(crate) fn function(&mut self, name: &str, krate: &str, origin: Origin) -> FunctionId {
        let short = short(name);
        let function = Function {
            name: name.into(),
            short,
            krate: krate.into(),
            origin,
            ..Function::default()
        };
        let known = self
            .profile
            .functions
            .iter()
            .position(|known| *known == function);
        FunctionId(known.unwrap_or_else(|| {
            self.profile.functions.push(function);
            self.profile.functions.len() - 1
        }) as u32)
    }

    /// The frame of a function at a line, made when new.
    pub(crate) fn frame(&mut self, function: FunctionId, file: Option<&str>, line: u32) -> FrameId {
        let frame = Frame {
            function,
            file: file.map(Into::into),
            line: file.map(|_| line),
            ..Frame::default()
        };
        let known = self.profile.frames.iter().position(|known| *known == frame);
        FrameId(known.unwrap_or_else(|| {
            self.profile.frames.push(frame);
            self.profile.frames.len() - 1
        }) as u32)
    }

    /// A scope inside `parent`.
    pub(crate) fn scope(
        &mut self,
        parent: u32,
        name: &str,
        input_bytes: u64,
        records: u64,
    ) -> ScopeId {
        self.profile.scopes.push(Scope {
            parent,
            name: name.into(),
            entered: 1,
            retained_bytes: Some(0),
            input_bytes,
            records,
            ..Scope::default()
        });
        ScopeId(self.profile.scopes.len() as u32 - 1)
    }

    /// The type of that full name, made when new.
    pub(crate) fn value_type(&mut self, full: &str) -> TypeId {
        let full = normal(full);
        let known = self
            .profile
            .types
            .iter()
            .position(|known| known.full == full);
        TypeId(known.unwrap_or_else(|| {
            self.profile.types.push(TypeName {
                short: short_type(&full),
                kind: TypeKind::of(&full),
                full,
            });
            self.profile.types.len() - 1
        }) as u32)
    }

    /// A place in data inside `parent`, with the full name and the size of its values, and how many
    /// there were.
    pub(crate) fn field(
        &mut self,
        parent: ScopeId,
        kind: ScopeKind,
        name: &str,
        value: (&str, u64),
        entered: u64,
    ) -> ScopeId {
        let value_type = Some(value.0)
            .filter(|full| !full.is_empty())
            .map(|full| self.value_type(full));
        self.profile.scopes.push(Scope {
            parent: parent.0,
            kind,
            name: name.into(),
            value_type,
            value_bytes: value.1,
            entered,
            retained_bytes: Some(0),
            ..Scope::default()
        });
        ScopeId(self.profile.scopes.len() as u32 - 1)
    }

    /// A site, outermost frame first; the owner is the innermost frame of the user's own code.
    pub(crate) fn site(
        &mut self,
        stack: &[FrameId],
        scope: ScopeId,
        figures: Figures,
    ) -> &mut Site {
        let owner = stack
            .iter()
            .rfind(|&&id| self.profile.function(id).origin == Origin::User)
            .or(stack.last());
        self.profile.totals.add(&figures);
        self.profile.sites.push(Site {
            stack: self.profile.stacks.add(stack),
            shown: 0..stack.len() as u16,
            owner: owner.copied(),
            group: None,
            scope,
            contents: None,
            marks: StackMarks::default(),
            figures,
            distribution: distribution(&figures),
        });
        let last = self.profile.sites.len() - 1;
        &mut self.profile.sites[last]
    }

    /// The profile so far, to fill in by hand.
    pub(crate) fn profile(&mut self) -> &mut Profile {
        &mut self.profile
    }

    /// The profile.
    pub(crate) fn build(self) -> Profile {
        self.profile
    }
}

/// `blocks` blocks of `size` bytes of which `live` blocks stay; all live at the peak but a tenth of
/// the freed ones.
pub(crate) fn figures(blocks: u64, size: u64, live: u64) -> Figures {
    let freed = blocks - live.min(blocks);
    let temporary = freed / 4;
    let grows = blocks / 8;
    let peak = live.min(blocks) + freed / 10;
    Figures {
        total_bytes: blocks * size,
        total_blocks: blocks,
        freed_bytes: freed * size,
        freed_blocks: freed,
        live_bytes: (blocks - freed) * size,
        live_blocks: blocks - freed,
        peak_bytes: peak * size,
        peak_blocks: peak,
        grows,
        shrinks: grows / 16,
        copied_bytes: grows * size / 2,
        temporary_blocks: temporary,
        temporary_bytes: temporary * size,
    }
}

/// A tenth of the blocks is twice as large as the others. Of the freed ones half were freed by
/// their thread after 40 allocations each, an eighth by another one; of the others, that is not
/// known.
fn distribution(figures: &Figures) -> Distribution {
    let (blocks, freed) = (figures.total_blocks, figures.freed_blocks);
    let mut distribution = Distribution {
        lifetime: freed / 2 * 40,
        lifetime_blocks: freed / 2,
        freed_elsewhere: freed / 8,
        ..Distribution::default()
    };
    if let Some(mean) = figures.total_bytes.checked_div(blocks) {
        distribution.add_blocks(mean, blocks - blocks / 10);
    }
    if blocks >= 10 {
        distribution.add_blocks(2 * figures.total_bytes / blocks, blocks / 10);
    }
    distribution
}

/// A program that loads and indexes cities: about forty sites, user code over two dependencies and
/// std, two threads, nested phases, a timeline, one cut stack, one full table.
pub(crate) fn profile() -> Profile {
    let mut b = Builder::new();
    let load = b.scope(0, "load", 6_300_000, 20_000);
    let parse = b.scope(load.0, "parse", 0, 0);
    let index = b.scope(0, "index", 0, 0);
    for (phase, retained_bytes) in [(load, 5_063_000), (parse, 5_063_000), (index, 1_005_000)] {
        b.profile.scopes[phase.0 as usize].retained_bytes = Some(retained_bytes);
    }
    let main = named(&mut b, "cities::main", 41);
    let open = named(&mut b, "cities::load::open", 18);
    let from_str = frame(
        &mut b,
        "serde_json::de::from_str",
        "serde_json",
        Origin::Dependency,
        "src/de.rs",
        2701,
    );
    let sequence = frame(
        &mut b,
        "<alloc::vec::Vec<T> as serde_core::de::Deserialize>::deserialize",
        "serde_core",
        Origin::Dependency,
        "src/de/impls.rs",
        1148,
    );
    let city = named(
        &mut b,
        "<cities::model::City as serde_core::de::Deserialize>::deserialize",
        7,
    );
    let push = frame(
        &mut b,
        "alloc::vec::Vec<T,A>::push",
        "alloc",
        Origin::Std,
        "library/alloc/src/vec/mod.rs",
        2446,
    );
    let clone = frame(
        &mut b,
        "alloc::string::String::clone",
        "alloc",
        Origin::Std,
        "library/alloc/src/string.rs",
        2230,
    );
    let insert = frame(
        &mut b,
        "hashbrown::map::HashMap<K,V,S,A>::insert",
        "hashbrown",
        Origin::Std,
        "src/map.rs",
        1766,
    );
    let malloc = b.function("libc.so.6+0x9a2e0", "libc.so.6", Origin::Unresolved);
    let malloc = b.frame(malloc, None, 0);
    let worker = named(&mut b, "cities::worker::run", 88);

    let fields = ["name", "country", "timezone", "admin", "aliases", "region"];
    for (i, field) in fields.iter().enumerate() {
        let i = i as u64;
        let visit = frame(
            &mut b,
            &format!("cities::model::City::visit_{field}"),
            "cities",
            Origin::User,
            "src/model.rs",
            20 + i as u32,
        );
        b.site(
            &[main, open, from_str, sequence, city, visit, clone],
            parse,
            figures(20_000 - 900 * i, 24 + 8 * i, 18_000),
        );
        b.site(
            &[main, open, from_str, sequence, city, visit, push],
            parse,
            figures(3_000 + 70 * i, 512, 40 * i),
        );
    }
    b.site(
        &[main, open, from_str, sequence, push],
        parse,
        figures(15, 262_144, 1),
    );
    b.site(&[main, open], load, figures(1, 6_300_000, 0));
    for shard in 0..8_u32 {
        let build = frame(
            &mut b,
            &format!("cities::index::Shard<{shard}>::build"),
            "cities",
            Origin::User,
            "src/index.rs",
            30 + shard,
        );
        b.site(
            &[worker, build, insert],
            index,
            figures(12 + u64::from(shard), 49_152, 2),
        );
        b.site(
            &[worker, build, clone],
            index,
            figures(900 * u64::from(shard + 1), 40, 300),
        );
        b.site(
            &[worker, build, push],
            index,
            figures(64, 4_096 >> (shard % 4), 8),
        );
    }
    b.site(&[main, malloc], ScopeId(0), figures(4, 1_024, 4));
    let log = named(&mut b, "cities::log::line", 5);
    b.site(&[log, push], ScopeId(0), figures(700, 96, 0))
        .marks
        .cut = true;
    let full = b.function("(table full)", "", Origin::Unresolved);
    let full = b.frame(full, None, 0);
    let site = b.site(&[full], ScopeId(0), figures(9, 300, 0));
    site.marks.synthetic = true;
    site.distribution = Distribution::default();
    surroundings(&mut b);
    b.build()
}

/// `sites` sites of `depth` frames over about `sites / 8` functions: for measuring.
pub(crate) fn sized(sites: u32, depth: u32) -> Profile {
    let mut b = Builder::new();
    // Interning by search would be quadratic here.
    let functions = (sites / 8).max(16);
    for f in 0..functions {
        let origin = [
            Origin::User,
            Origin::Dependency,
            Origin::Std,
            Origin::Native,
        ][f as usize % 4];
        let (name, krate) = (
            format!("krate{}::module::function_{f}", f % 23),
            format!("krate{}", f % 23),
        );
        b.profile.functions.push(Function {
            short: short(&name),
            name,
            krate,
            origin,
            ..Function::default()
        });
        let file = Some(format!("src/file{}.rs", f % 97));
        b.profile.frames.push(Frame {
            function: FunctionId(f),
            file,
            line: Some(f),
            ..Frame::default()
        });
    }
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for s in 0..sites {
        let stack: Vec<FrameId> = (0..depth)
            .map(|d| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                // The outer third is shared, then the paths part.
                let choice = if d < depth / 3 {
                    u64::from(d)
                } else {
                    (state >> 33) % (2 + u64::from(d) / 4) + u64::from(s % 64)
                };
                FrameId((choice % u64::from(functions)) as u32)
            })
            .collect();
        b.site(
            &stack,
            ScopeId(0),
            figures(1 + u64::from(s) % 300, 16 + state % 4_096, 1),
        );
    }
    b.profile().process.program = "sized".into();
    b.build()
}

fn surroundings(b: &mut Builder) {
    let p = b.profile();
    p.process = Process {
        program: "cities".into(),
        executable: "/home/ada/cities/target/release/cities".into(),
        command: vec![
            "target/release/cities".into(),
            "--in".into(),
            "all cities.json".into(),
        ],
        pid: 4242,
        started_unix_ns: 1_790_000_000_000_000_000,
        duration_ns: 1_840_000_000,
        state: State::Finished,
    };
    p.capture.peak_error_bytes = 131_072;
    p.capture.peak_discrepancy_bytes = 4_096;
    p.capture.peak_time_ns = 1_180_000_000;
    p.capture.rss_bytes = p.totals.live_bytes + 3_400_000;
    p.capture.peak_rss_bytes = p.totals.peak_bytes + 4_800_000;
    p.capture.own_bytes = 2_200_000;
    p.capture.recording_bytes = 1_310_720;
    p.lost = Losses {
        table_full_blocks: 9,
        table_full_bytes: 2_700,
        cut_stacks: 1,
        unresolved_frames: 1,
        notes: vec!["the recording stopped growing at HEAPGLASS_MAX_BYTES".into()],
        ..Losses::default()
    };
    p.modules = vec![
        Module {
            path: "/home/ada/cities/target/release/cities".into(),
            build_id: "5b9f0e".into(),
            symbols: SymbolSource::Debug("/home/ada/cities/target/release/cities".into()),
        },
        Module {
            path: "/lib/x86_64-linux-gnu/libc.so.6".into(),
            build_id: String::new(),
            symbols: SymbolSource::Missing(
                "it is not on this machine: copy it here and pass --debug-dir".into(),
            ),
        },
    ];
    let worker: Figures = p.sites.iter().filter(|s| s.scope == ScopeId(3)).fold(
        Figures::default(),
        |mut sum, site| {
            sum.add(&site.figures);
            sum
        },
    );
    let rest: Figures = p.sites.iter().filter(|s| s.scope != ScopeId(3)).fold(
        Figures::default(),
        |mut sum, site| {
            sum.add(&site.figures);
            sum
        },
    );
    p.threads = vec![
        Thread {
            name: "main".into(),
            count: 1,
            figures: rest,
        },
        Thread {
            name: "indexer".into(),
            count: 8,
            figures: worker,
        },
    ];
    let (peak, live, total) = (
        p.totals.peak_bytes,
        p.totals.live_bytes,
        p.totals.total_bytes,
    );
    p.timeline = (0..=60_u64)
        .map(|i| {
            // Up to the peak at two thirds, then down to what stays.
            let live_bytes = if i <= 40 {
                peak * i / 40
            } else {
                peak - (peak - live) * (i - 40) / 20
            };
            TimelinePoint {
                time_ns: i * 30_000_000,
                live_bytes,
                live_blocks: live_bytes / 48,
                total_bytes: total * i / 60,
                rss_bytes: if i % 2 == 0 {
                    live_bytes + 2_000_000 + 70_000 * i.min(40)
                } else {
                    0
                },
                own_bytes: p.capture.own_bytes,
            }
        })
        .collect();
    p.checkpoints = (1..=4_u64)
        .map(|i| Checkpoint {
            time_ns: i * 400_000_000,
            live_bytes: p
                .sites
                .iter()
                .map(|site| site.figures.peak_bytes * i.min(3) / 3)
                .collect(),
        })
        .collect();
    p.marks = vec![Mark {
        name: "loaded".into(),
        time_ns: 900_000_000,
        figures: Figures {
            peak_bytes: peak / 2,
            ..p.totals
        },
        peak_error_bytes: Some(4096),
    }];
}

fn named(b: &mut Builder, name: &str, line: u32) -> FrameId {
    let file = match name.split("::").nth(1) {
        Some("main") | None => "src/main.rs".to_owned(),
        Some(module) => format!("src/{module}.rs"),
    };
    frame(b, name, "cities", Origin::User, &file, line)
}

fn frame(
    b: &mut Builder,
    name: &str,
    krate: &str,
    origin: Origin,
    file: &str,
    line: u32,
) -> FrameId {
    let function = b.function(name, krate, origin);
    b.frame(function, Some(file), line)
}

/// `alloc::vec::Vec<T,A>::push` -> `Vec::push`, `<a::City as b::Trait>::make` -> `City::make`.
fn short(name: &str) -> String {
    if let Some((implementor, rest)) = name
        .strip_prefix('<')
        .and_then(|name| name.split_once(" as "))
        && let Some((_, method)) = rest.rsplit_once(">::")
    {
        return format!("{}::{method}", last_segments(implementor, 1));
    }
    last_segments(name, 2)
}

fn last_segments(name: &str, count: usize) -> String {
    let mut plain = String::new();
    let mut depth = 0_u32;
    for c in name.chars() {
        match c {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            c if depth == 0 => plain.push(c),
            _ => {}
        }
    }
    let parts: Vec<&str> = plain.split("::").filter(|part| !part.is_empty()).collect();
    parts[parts.len().saturating_sub(count)..].join("::")
}
