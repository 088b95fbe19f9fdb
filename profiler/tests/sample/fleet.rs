//! A program that reads a fleet as `Profiled<Fleet>`: fields, types and footprints for pictures and
//! tests.
//!
//! Has one of each: two phases that meet the same fields, a buffer below an untagged enum and what
//! came out of it, a recursive type, two types of one short name, sites typed by their stack, by
//! their field and not at all, values measured twice, and an estimate beside them. Must stay the
//! same in every run.

use super::{Builder, figures, frame, surroundings};
use heapglass_profiler::profile::{
    Contents, Figures, Footprint, FootprintNode, FootprintNodeValue, FrameId, Origin, Profile,
    ScopeId, ScopeKind, Thread,
};

const STRING: &str = "alloc::string::String";
const VESSEL: &str = "fleet::model::Vessel";
const SAILOR: &str = "fleet::model::Sailor";
const ROUTES: &str =
    "std::collections::hash::map::HashMap<alloc::string::String, fleet::model::Route>";

/// Reads 1,200 vessels of 24,000 sailors, then half of them again to check.
pub(crate) fn fleet() -> Profile {
    let mut b = Builder::new();
    let load = b.scope(0, "load", 9_000_000, 1_200);
    let check = b.scope(0, "check", 4_500_000, 600);
    let stack = Stack::new(&mut b);
    let first = vessels(&mut b, &stack, load, 1_200);
    b.profile().scopes[first.0 as usize].retained_bytes = Some(6_000_000);
    b.profile().scopes[load.0 as usize].retained_bytes = Some(6_100_000);
    routes(&mut b, &stack, first);
    let again = vessels(&mut b, &stack, check, 600);
    b.profile().scopes[again.0 as usize].retained_bytes = Some(0);
    b.profile().scopes[check.0 as usize].retained_bytes = Some(-2_048);
    logs(&mut b, &stack, check);
    b.site(&[stack.main, stack.read], load, figures(1, 9_000_000, 0));
    let site = b.site(
        &[stack.main, stack.push],
        ScopeId(0),
        figures(40, 1_024, 40),
    );
    site.marks.cut = true;
    footprints(&mut b);
    surroundings(&mut b);
    about(&mut b);
    b.build()
}

/// The frames all stacks are made of.
struct Stack {
    main: FrameId,
    read: FrameId,
    from_slice: FrameId,
    visit: FrameId,
    string: FrameId,
    push: FrameId,
    boxed: FrameId,
    insert: FrameId,
    content: FrameId,
    /// `read` and `visit` in a build without debug information.
    bare_read: FrameId,
    bare_visit: FrameId,
}

impl Stack {
    fn new(b: &mut Builder) -> Stack {
        let mut own =
            |name: &str, file: &str, line| frame(b, name, "fleet", Origin::User, file, line);
        let main = own("fleet::main", "src/main.rs", 30);
        let read = own("fleet::read", "src/main.rs", 12);
        let visit = own(
            "<fleet::model::Vessel as serde_core::de::Deserialize>::deserialize",
            "src/model.rs",
            14,
        );
        let mut bare = |of: FrameId| {
            let function = b.profile().frames[of.0 as usize].function;
            b.frame(function, None, 0)
        };
        let (bare_read, bare_visit) = (bare(read), bare(visit));
        let mut other = |name: &str, krate: &str, origin, file: &str, line| {
            frame(b, name, krate, origin, file, line)
        };
        Stack {
            main,
            read,
            visit,
            bare_read,
            bare_visit,
            from_slice: other(
                "serde_json::de::from_slice",
                "serde_json",
                Origin::Dependency,
                "src/de.rs",
                2_656,
            ),
            content: other(
                "serde::private::de::content::Content::deserialize",
                "serde",
                Origin::Dependency,
                "src/private/de.rs",
                309,
            ),
            string: other(
                "alloc::string::String::from",
                "alloc",
                Origin::Std,
                "library/alloc/src/string.rs",
                2_960,
            ),
            push: other(
                "alloc::vec::Vec<T,A>::push",
                "alloc",
                Origin::Std,
                "library/alloc/src/vec/mod.rs",
                2_446,
            ),
            boxed: other(
                "alloc::boxed::Box<T>::new",
                "alloc",
                Origin::Std,
                "library/alloc/src/boxed.rs",
                260,
            ),
            insert: other(
                "hashbrown::map::HashMap<K,V,S,A>::insert",
                "hashbrown",
                Origin::Std,
                "src/map.rs",
                1_766,
            ),
        }
    }

    fn below(&self, last: FrameId) -> [FrameId; 4] {
        [self.main, self.from_slice, self.visit, last]
    }
}

/// A site whose stack names container, element and owner.
fn typed(
    b: &mut Builder,
    stack: &[FrameId],
    scope: ScopeId,
    names: (&str, &str),
    figures: Figures,
) {
    let contents = Contents {
        container: b.value_type(names.0),
        element: Some(names.1)
            .filter(|name| !name.is_empty())
            .map(|name| b.value_type(name)),
        owner: Some(b.value_type(VESSEL)),
    };
    b.site(stack, scope, figures).contents = Some(contents);
}

/// `Fleet.vessels[]`, everything below, and its sites.
fn vessels(b: &mut Builder, stack: &Stack, phase: ScopeId, count: u64) -> ScopeId {
    use ScopeKind::{Buffered, Element, Field, FromBuffer, Root, Variant};
    let sailors = count * 20;
    let root = b.field(phase, Root, "", ("fleet::model::Fleet", 96), 1);
    let list = b.field(
        root,
        Field,
        "vessels",
        ("alloc::vec::Vec<fleet::model::Vessel>", 24),
        1,
    );
    let vessel = b.field(list, Element, "", (VESSEL, 120), count);
    let name = b.field(vessel, Field, "name", (STRING, 24), count);
    let crew = b.field(
        vessel,
        Field,
        "crew",
        ("alloc::vec::Vec<fleet::model::Sailor>", 24),
        count,
    );
    let sailor = b.field(crew, Element, "", (SAILOR, 56), sailors);
    let first = b.field(sailor, Field, "first", (STRING, 24), sailors);
    let boss = b.field(
        sailor,
        Field,
        "boss",
        (
            "core::option::Option<alloc::boxed::Box<fleet::model::Sailor>>",
            8,
        ),
        sailors / 4,
    );
    b.profile().scopes[boss.0 as usize].recursive = true;
    let cargo = b.field(vessel, Field, "cargo", ("fleet::model::Cargo", 32), count);
    let buffered = b.field(
        cargo,
        Buffered,
        "",
        ("serde::private::de::content::Content", 32),
        count,
    );
    let built = b.field(cargo, FromBuffer, "", ("", 0), count);
    let grain = b.field(
        cargo,
        Variant,
        "Grain",
        ("fleet::model::Grain", 24),
        count / 2,
    );

    let of = |last| stack.below(last);
    let live = |all: u64| if count > 1_000 { all } else { 0 };
    typed(
        b,
        &of(stack.push),
        list,
        ("alloc::vec::Vec<fleet::model::Vessel>", VESSEL),
        figures(11, 120 * count / 8, live(1)),
    );
    typed(
        b,
        &of(stack.string),
        name,
        (STRING, "u8"),
        figures(count, 22, live(count)),
    );
    typed(
        b,
        &of(stack.push),
        crew,
        ("alloc::vec::Vec<fleet::model::Sailor>", SAILOR),
        figures(count * 3, 56 * 20, live(count)),
    );
    // Half of the first names stand on a stack without debug information: only the field tells.
    typed(
        b,
        &of(stack.string),
        first,
        (STRING, "u8"),
        figures(sailors / 2, 12, live(sailors / 2)),
    );
    b.site(
        &of(stack.bare_read),
        first,
        figures(sailors / 2, 12, live(sailors / 2)),
    );
    typed(
        b,
        &of(stack.boxed),
        boss,
        ("alloc::boxed::Box<fleet::model::Sailor>", SAILOR),
        figures(sailors / 4, 56, live(sailors / 4)),
    );
    let content = [
        stack.main,
        stack.from_slice,
        stack.visit,
        stack.content,
        stack.push,
    ];
    typed(
        b,
        &content,
        buffered,
        (
            "alloc::vec::Vec<serde::private::de::content::Content>",
            "serde::private::de::content::Content",
        ),
        figures(count * 4, 256, 0),
    );
    b.site(&content, buffered, figures(count, 48, 0));
    typed(
        b,
        &of(stack.push),
        built,
        (
            "alloc::vec::Vec<fleet::model::Crate>",
            "fleet::model::Crate",
        ),
        figures(count, 640, live(count / 2)),
    );
    typed(
        b,
        &of(stack.string),
        built,
        (STRING, "u8"),
        figures(count, 16, live(count / 2)),
    );
    typed(
        b,
        &of(stack.boxed),
        grain,
        ("alloc::boxed::Box<dyn fleet::model::Kind>", ""),
        figures(count / 2, 24, live(count / 2)),
    );
    root
}

/// `Fleet.routes`, a map.
fn routes(b: &mut Builder, stack: &Stack, root: ScopeId) {
    use ScopeKind::{Element, Field, Index, Key, Other, Value};
    let map = b.field(root, Field, "routes", (ROUTES, 48), 1);
    let key = b.field(map, Key, "", (STRING, 24), 300);
    let route = b.field(map, Value, "", ("fleet::model::Route", 40), 300);
    let stops = b.field(
        route,
        Field,
        "stops",
        ("alloc::sync::Arc<[alloc::string::String]>", 16),
        300,
    );
    let stop = b.field(stops, Element, "", (STRING, 24), 2_700);
    let second = b.field(
        route,
        Index,
        "1",
        ("alloc::collections::vec_deque::VecDeque<u32>", 32),
        300,
    );
    let other = b.field(root, Other, "", ("", 0), 17);
    b.profile().scopes[other.0 as usize].folded = true;
    let of = |last| stack.below(last);
    typed(
        b,
        &of(stack.insert),
        map,
        (ROUTES, "(alloc::string::String, fleet::model::Route)"),
        figures(8, 18_400, 1),
    );
    typed(
        b,
        &of(stack.string),
        key,
        (STRING, "u8"),
        figures(300, 14, 300),
    );
    typed(
        b,
        &of(stack.boxed),
        stops,
        ("alloc::sync::Arc<[alloc::string::String]>", STRING),
        figures(600, 232, 300),
    );
    typed(
        b,
        &of(stack.string),
        stop,
        (STRING, "u8"),
        figures(2_700, 9, 2_700),
    );
    let bare = [stack.main, stack.from_slice, stack.bare_visit, stack.push];
    b.site(&bare, second, figures(900, 64, 300));
    b.site(&of(stack.read), other, figures(34, 80, 17));
}

/// Two types of one short name, both outside all data.
fn logs(b: &mut Builder, stack: &Stack, phase: ScopeId) {
    for (module, blocks) in [("log", 60), ("audit", 24)] {
        let entry = format!("fleet::{module}::Entry");
        let list = format!("alloc::vec::Vec<{entry}>");
        typed(
            b,
            &[stack.main, stack.push],
            phase,
            (&list, &entry),
            figures(blocks, 4_096, 2),
        );
    }
}

/// The fleet measured when it was read and when routes were added, an estimate of the latter, and
/// routes alone.
fn footprints(b: &mut Builder) {
    for (time_ns, routes) in [(600_000_000, false), (900_000_000, true)] {
        let footprint = measured(b, time_ns, routes);
        b.profile().footprints.push(footprint);
    }
    let fleet = b.value_type("fleet::model::Fleet");
    let estimate = |label: &str, bytes, value_type| Footprint {
        label: label.into(),
        value_type: Some(value_type),
        time_ns: 900_400_000,
        live_bytes: 6_300_000,
        estimate: true,
        nodes: vec![FootprintNode {
            kind: ScopeKind::Root,
            value_type: Some(value_type),
            figures: FootprintNodeValue {
                block_bytes: bytes,
                ..FootprintNodeValue::default()
            },
            ..FootprintNode::default()
        }],
        folded: 0,
        hidden_values: 0,
    };
    let estimated = estimate("fleet", 3_100_000, fleet);
    b.profile().footprints.push(estimated);
}

fn measured(b: &mut Builder, time_ns: u64, routes: bool) -> Footprint {
    use ScopeKind::{Element, Field, Key, Root, Value};
    let mut nodes = Vec::new();
    // (parent, kind, name, type, values, size of one, blocks, bytes, usable, used)
    let mut node = |parent, kind, name: &str, full: &str, count, size: u64, blocks: [u64; 4]| {
        let value_type = Some(b.value_type(full));
        nodes.push(FootprintNode {
            parent,
            kind,
            name: name.into(),
            value_type,
            figures: FootprintNodeValue {
                count,
                inline_bytes: count * size,
                blocks: blocks[0],
                block_bytes: blocks[1],
                usable_bytes: blocks[2],
                used_bytes: blocks[3],
                ..FootprintNodeValue::default()
            },
        });
        nodes.len() as u32 - 1
    };
    let root = node(0, Root, "", "fleet::model::Fleet", 1, 96, [0; 4]);
    let list = "alloc::vec::Vec<fleet::model::Vessel>";
    let list = node(
        root,
        Field,
        "vessels",
        list,
        1,
        24,
        [1, 245_760, 245_768, 144_000],
    );
    let vessel = node(list, Element, "", VESSEL, 1_200, 120, [0; 4]);
    let name = [1_200, 26_400, 28_800, 26_400];
    node(vessel, Field, "name", STRING, 1_200, 24, name);
    let crew = "alloc::vec::Vec<fleet::model::Sailor>";
    let crew = node(
        vessel,
        Field,
        "crew",
        crew,
        1_200,
        24,
        [1_200, 1_792_000, 1_800_000, 1_344_000],
    );
    let sailor = node(crew, Element, "", SAILOR, 24_000, 56, [0; 4]);
    let first = [24_000, 288_000, 576_000, 264_000];
    node(sailor, Field, "first", STRING, 24_000, 24, first);
    if routes {
        let map = node(
            root,
            Field,
            "routes",
            ROUTES,
            1,
            48,
            [1, 18_400, 18_408, 12_000],
        );
        node(map, Key, "", STRING, 300, 24, [300, 4_200, 7_200, 4_200]);
        let route = node(map, Value, "", "fleet::model::Route", 300, 40, [0; 4]);
        let stops = "alloc::sync::Arc<[alloc::string::String]>";
        let stops = node(
            route,
            Field,
            "stops",
            stops,
            300,
            16,
            [250, 58_000, 60_000, 54_000],
        );
        nodes[stops as usize].figures.shared_blocks = 50;
        nodes[stops as usize].figures.shared_bytes = 11_600;
    }
    Footprint {
        label: "fleet".into(),
        value_type: nodes[0].value_type,
        time_ns,
        live_bytes: 6_200_000,
        estimate: false,
        nodes,
        folded: 0,
        hidden_values: 0,
    }
}

/// Whose fleet it is; one thread did all.
fn about(b: &mut Builder) {
    let p = b.profile();
    p.process.program = "fleet".into();
    p.process.executable = "/home/ada/fleet/target/release/fleet".into();
    p.process.command = vec!["target/release/fleet".into(), "fleet.json".into()];
    p.lost = heapglass_profiler::profile::Losses {
        cut_stacks: 1,
        ..Default::default()
    };
    p.capture.peak_error_bytes = 0;
    p.capture.peak_discrepancy_bytes = 0;
    for module in &mut p.modules {
        module.path = module.path.replace("cities", "fleet");
    }
    p.threads = vec![Thread {
        name: "main".into(),
        count: 1,
        figures: p.totals,
    }];
}
