//! Sources of a block's type, and the advice if it is missing, on profiles written by hand.

use super::Source;
use super::{
    Contents, Distribution, Figures, Frame, FrameId, Function, FunctionId, Module, Origin, Profile,
    Scope, ScopeId, ScopeKind, Site, StackMarks, SymbolSource, TypeId,
};
use crate::name::Language;
use crate::types::Types;

/// A frame: crate, whose code it is, and whether debug information describes it.
type Described = (&'static str, Origin, bool);

const APP: Described = ("app", Origin::User, true);
const BARE_APP: Described = ("app", Origin::User, false);
const FORMAT: Described = ("unsafe_libyaml", Origin::Dependency, true);
const BARE_FORMAT: Described = ("unsafe_libyaml", Origin::Dependency, false);
const STD: Described = ("alloc", Origin::Std, true);
const OURS: Described = ("tracking_alloc", Origin::Dependency, true);

/// A profile with one site of 100 bytes for each stack, outermost frame first, in a field of a
/// type.
fn profile(value_type: &str, stacks: &[&[Described]]) -> Profile {
    let mut types = Types::default();
    let id = types.number(value_type);
    let mut profile = Profile {
        types: types.into_values(),
        scopes: vec![
            Scope::default(),
            Scope {
                kind: ScopeKind::Field,
                value_type: Some(id),
                ..Scope::default()
            },
        ],
        ..Profile::default()
    };
    for stack in stacks {
        let mut frames = Vec::new();
        for (krate, origin, has_file) in *stack {
            let number = u32::try_from(profile.frames.len()).expect("few frames");
            profile.functions.push(Function {
                krate: (*krate).to_owned(),
                origin: *origin,
                ..Function::default()
            });
            profile.frames.push(Frame {
                function: FunctionId(number),
                file: has_file.then(|| "src/lib.rs".to_owned()),
                ..Frame::default()
            });
            frames.push(FrameId(number));
        }
        profile.totals.total_bytes += 100;
        profile.sites.push(Site {
            shown: 0..frames.len() as u16,
            stack: profile.stacks.add(&frames),
            owner: None,
            group: None,
            scope: ScopeId(1),
            contents: None,
            marks: StackMarks::default(),
            figures: Figures {
                total_bytes: 100,
                ..Figures::default()
            },
            distribution: Distribution::default(),
        });
    }
    profile
}

fn source(value_type: &str, stack: &[Described]) -> Option<Source> {
    let profile = profile(value_type, &[stack]);
    profile.type_of(&profile.sites[0]).map(|(_, source)| source)
}

const STRING: &str = "alloc::string::String";

#[test]
fn scratch_memory_of_a_format_is_not_of_the_type_of_the_field() {
    assert_eq!(source(STRING, &[APP, FORMAT, OURS]), None);
    assert_eq!(source(STRING, &[APP, FORMAT, STD, OURS]), None);
    assert_eq!(source(STRING, &[APP, STD]), None);
    assert_eq!(source("app::Small", &[APP, FORMAT]), None);
}

#[test]
fn a_field_tells_the_type_where_the_stack_cannot_be_read_and_the_type_owns_blocks() {
    let field = Some(Source::Field);
    for stack in [
        &[BARE_APP, BARE_FORMAT, OURS][..],
        // The standard library comes with debug information of its own.
        &[BARE_APP, STD, OURS],
        &[],
        &[("", Origin::Unresolved, false)],
    ] {
        for owns in [
            STRING,
            "alloc::vec::Vec<app::Small>",
            "core::option::Option<alloc::boxed::Box<app::Small>>",
            "alloc::borrow::Cow<str>",
        ] {
            assert_eq!(source(owns, stack), field, "{owns} {stack:?}");
        }
        for plain in ["app::Small", "core::option::Option<app::Small>", "u8"] {
            assert_eq!(source(plain, stack), None, "{plain} {stack:?}");
        }
    }
}

#[test]
fn what_a_stack_says_goes_before_what_a_field_says() {
    let mut profile = profile("app::Small", &[&[APP, STD]]);
    profile.sites[0].contents = Some(Contents {
        container: TypeId(0),
        ..Contents::default()
    });
    assert_eq!(
        profile.type_of(&profile.sites[0]),
        Some((TypeId(0), Source::Stack))
    );
}

#[test]
fn a_crate_is_without_debug_information_only_if_none_of_its_functions_has_any() {
    let bare = profile(STRING, &[&[BARE_APP, STD]]);
    assert!(
        bare.unnamed()
            .is_some_and(|sentence| sentence.contains("100 %"))
    );
    // One function of many: the compiler made it, or made it one with another.
    let one = profile(STRING, &[&[BARE_APP, STD], &[APP, STD]]);
    assert_eq!(one.unnamed(), None);
    let dependency = profile(STRING, &[&[APP, BARE_FORMAT], &[APP, STD]]);
    assert!(
        dependency
            .unnamed()
            .is_some_and(|sentence| sentence.contains("50 %"))
    );
}

#[test]
fn the_module_with_most_bytes_of_rust_is_named_with_its_own_share() {
    let mut profile = profile(
        STRING,
        &[
            &[BARE_APP, STD],
            &[BARE_APP, BARE_FORMAT, STD],
            &[BARE_FORMAT, STD],
            // Blocks of C++ have no types, however the library was built.
            &[BARE_APP, ("libLLVM.so", Origin::Native, false)],
        ],
    );
    let module = |path: &str| Module {
        path: path.to_owned(),
        symbols: SymbolSource::Table(path.into()),
        ..Module::default()
    };
    profile.modules = ["/bin/app", "/lib/libformat.so", "/lib/libLLVM.so"]
        .map(module)
        .into();
    for frame in &mut profile.frames {
        let function = &mut profile.functions[frame.function.0 as usize];
        frame.module = match function.krate.as_str() {
            "unsafe_libyaml" => 1,
            "libLLVM.so" => 2,
            _ => 0,
        };
        if frame.module == 2 {
            function.language = Language::Cpp;
        }
    }
    let sentence = profile.unnamed().expect("a sentence");
    let said = "types are not named for 50 % of the bytes: libformat.so was built";
    assert!(sentence.starts_with(said), "{sentence}");
}
