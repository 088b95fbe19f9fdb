//! Folded stacks of a few frames each. Checks their steps, and that each frame is counted once.

use heapglass_fixture::{Builder, figures, made};
use heapglass_profiler::profile::*;
use heapglass_profiler::profile::{Contents, ScopeId};

/// Returns the steps of one stack: the names, the number of frames that each represents, and its
/// depth unless that is 1. A function is `name`, `name=Role` or `name=>Type`, in a crate: `app` for
/// the program's own code, `std` for the standard library, `libc` for C; `shell+0x10` has no name.
/// The first frame marked `=owner` owns the block.
fn folded(stack: &[&str]) -> Vec<String> {
    steps_of(stack, None)
}

fn steps_of(stack: &[&str], group: Option<Group>) -> Vec<String> {
    let mut b = Builder::new();
    let frames: Vec<FrameId> = stack
        .iter()
        .map(|spec| {
            let (spec, makes) = match spec.split_once("=>") {
                Some((spec, makes)) => (spec, Some(makes.to_owned())),
                None => (*spec, None),
            };
            let (name, role) = spec.split_once('=').unwrap_or((spec, ""));
            let krate = name.split("::").next().unwrap_or_default();
            let origin = match krate {
                "app" => Origin::User,
                "std" => Origin::Std,
                "libc" => Origin::Native,
                _ if name.contains("+0x") => Origin::Unresolved,
                _ => Origin::Dependency,
            };
            let id = b.function(name, krate, origin);
            let function = &mut b.parts().functions[id.0 as usize];
            function.makes = makes;
            function.does = if krate == "app" {
                String::new()
            } else {
                name.to_owned()
            };
            function.role = match role {
                "callback" => Role::Callback,
                "glue" => Role::Glue,
                "panic" => Role::Panic,
                "service" => Role::Service,
                "allocator" => Role::Allocator,
                _ => Role::Plain,
            };
            b.frame(id, Some("src/lib.rs"), 1)
        })
        .collect();
    let owner = stack.iter().position(|spec| spec.ends_with("=owner"));
    let container = b.value_type("alloc::vec::Vec<u8>");
    let site = b.site(&frames, ScopeId(0), figures(1, 8, 1));
    site.group = group;
    if let Some(owner) = owner {
        site.owner = Some(frames[owner]);
    }
    site.contents = Some(made!(Contents {
        container,
        element: None,
        owner: None,
    }));
    let profile = b.build();
    let folding = profile.folding();
    let steps = folding.steps(0).iter();
    let counted: u32 = steps.clone().map(|step| step.frames).sum();
    assert_eq!(counted as usize, stack.len(), "every frame is counted once");
    steps
        .map(|step| {
            let name = match step.label {
                Label::Function(id) => profile.functions()[id.0 as usize].short.clone(),
                Label::Call(text) => folding.text(text).to_owned(),
                Label::Group(group) => group.name().to_owned(),
                Label::Type(_) => return "contents".to_owned(),
                other => panic!("{other:?} is no step of a folded stack"),
            };
            match step.depth {
                1 => format!("{name} {}", step.frames),
                depth => format!("{name} {} x{depth}", step.frames),
            }
        })
        .collect()
}

#[test]
fn a_run_of_other_peoples_frames_is_one_that_says_what_was_called() {
    assert_eq!(
        folded(&[
            "app::main",
            "std::map::insert",
            "hashbrown::insert",
            "hashbrown::reserve"
        ]),
        ["app::main 1", "std::map::insert 3", "contents"]
    );
    assert_eq!(
        folded(&[
            "app::main",
            "std::call=glue",
            "regex::Regex::new",
            "std::Vec::push"
        ]),
        ["app::main 1", "regex::Regex::new 3", "contents"],
        "what passes a call on does not name it"
    );
    assert_eq!(folded(&["std::alone=glue"]), ["std::alone 1", "contents"]);
}

#[test]
fn a_program_without_names_shows_what_it_calls() {
    assert_eq!(
        folded(&[
            "shell+0x10",
            "shell+0x20=owner",
            "libc::sqlite3_step",
            "libc::insert",
            "libc::malloc=allocator"
        ]),
        [
            "shell+0x10 1",
            "shell+0x20 1",
            "libc::sqlite3_step 3",
            "contents"
        ]
    );
    assert_eq!(
        folded(&[
            "shell+0x10=owner",
            "liba.so+0x7",
            "libc::parse",
            "libc::malloc=allocator"
        ]),
        ["shell+0x10 2", "libc::parse 2", "contents"]
    );
    assert_eq!(
        folded(&["shell+0x10=owner", "libc::malloc=allocator"]),
        ["shell+0x10 2", "contents"],
        "an allocator says nothing of what was done"
    );
}

#[test]
fn a_long_run_at_the_end_of_a_stack_is_unfolded_at_the_borders_of_crates() {
    let mut stack = vec!["app::main", "book::build"];
    stack.extend(["book::chapters"; 12]);
    stack.extend(["std::each"; 2]);
    stack.extend(["html::render", "html::search"]);
    stack.extend(["json::to_value=service"; 3]);
    stack.extend(["index::insert"; 18]);
    assert_eq!(
        folded(&stack),
        [
            "app::main 1",
            "book::build 12",
            "book::chapters 4",
            "html::search 21",
            "index::insert 1",
            "contents"
        ]
    );
    // The path to the program's own code says nothing about the block.
    stack.push("app::visit");
    assert_eq!(
        folded(&stack),
        ["app::main 1", "book::build 38", "app::visit 1", "contents"]
    );
}

#[test]
fn types_that_are_deserialized_are_steps_and_the_one_asked_for_is_said_once() {
    let stack = [
        "app::parse",
        "json::from_str -> Catalog",
        "app::a=callback=>Catalog",
        "json::next_value=>Vec<Product>",
        "app::b=callback=>Product",
        "json::visit",
        "app::c=callback=>Product",
        "std::Vec::push",
    ];
    assert_eq!(
        folded(&stack),
        [
            "app::parse 1",
            "json::from_str -> Catalog 2",
            "Vec<Product>::deserialize 1",
            "Product::deserialize 4",
            "contents"
        ]
    );
}

#[test]
fn a_type_inside_itself_is_one_step_with_a_depth() {
    let stack = [
        "app::parse",
        "json::from_str",
        "app::a=callback=>Node",
        "json::b=>Vec<Node>",
    ];
    let twice = [&stack[..], &stack[2..], &stack[2..]].concat();
    assert_eq!(
        folded(&twice),
        [
            "app::parse 1",
            "json::from_str 1",
            "Node::deserialize 5 x3",
            "Vec<Node>::deserialize 1",
            "contents"
        ]
    );
}

#[test]
fn recursion_of_the_program_is_one_step_with_a_depth() {
    let stack = [
        "app::main",
        "app::walk",
        "std::each",
        "app::visit",
        "app::walk",
        "app::leaf",
    ];
    assert_eq!(
        folded(&stack),
        ["app::main 1", "app::walk 4 x2", "app::leaf 1", "contents"]
    );
}

#[test]
fn a_closure_belongs_to_its_function_and_another_ones_does_not() {
    let stack = [
        "app::main",
        "std::for_each",
        "app::main::{{closure}}",
        "std::Vec::push",
    ];
    assert_eq!(
        folded(&stack),
        ["app::main 3", "std::Vec::push 1", "contents"]
    );
    let stack = ["app::main", "std::for_each", "app::other::{{closure}}"];
    assert_eq!(
        folded(&stack),
        [
            "app::main 1",
            "std::for_each 1",
            "other::{{closure}} 1",
            "contents"
        ]
    );
}

#[test]
fn copies_of_a_generic_function_are_one_step_of_their_short_name() {
    let mut b = Builder::new();
    let copies = ["app::load<u8>", "app::load<u16>"].map(|name| {
        let id = b.function(name, "app", Origin::User);
        b.frame(id, Some("src/lib.rs"), 1)
    });
    for copy in copies {
        b.site(&[copy], ScopeId(0), figures(1, 8, 1));
    }
    let profile = b.build();
    let folding = profile.folding();
    let kinds = [0, 1].map(|site| folding.steps(site)[0].label);
    assert_eq!(kinds[0], kinds[1]);
    let Label::Call(text) = kinds[0] else {
        panic!("no one function");
    };
    assert_eq!(folding.text(text), "app::load");
    assert_eq!(folding.steps(2), []);
}

#[test]
fn groups_have_one_step_behind_what_the_program_called() {
    let stack = ["std::thread::new", "std::name"];
    let runtime = Some(Group::Runtime);
    assert_eq!(
        steps_of(&stack, runtime),
        [format!("{} 2", Group::Runtime.name())]
    );
    let stack = ["app::main", "std::panicking=panic", "std::print"];
    assert_eq!(
        steps_of(&stack, Some(Group::Panic)),
        [
            "app::main 1".to_owned(),
            format!("{} 2", Group::Panic.name())
        ]
    );
}
