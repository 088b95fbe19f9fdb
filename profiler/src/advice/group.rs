//! Sites that read the same: the units that findings are about.

use std::collections::HashSet;

use super::finding::Place;
use crate::profile::{Figures, Frames, Function, Measure, Origin, Profile, Site, TypeId, TypeKind};
use crate::table::{By, Detail, Row, SiteDetail, asking, label_of, rows};
use crate::units::printable;

/// Sites of one type, place and owner.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) place: Place,
    /// Indexes into [`Profile::sites`].
    pub(super) sites: Vec<usize>,
    /// `true` for the chunks of an arena.
    is_of_chunks: bool,
}

/// Returns all groups, without chunks of arenas: arenas have advice of their own.
pub(super) fn groups(profile: &Profile) -> Vec<Group> {
    let mut groups = with_chunks(profile);
    groups.retain(|group| !group.is_of_chunks);
    groups
}

/// Returns all groups, with chunks of arenas.
pub(super) fn with_chunks(profile: &Profile) -> Vec<Group> {
    let rows = rows(profile, By::Site, Measure::Total, Frames::Folded);
    rows.into_iter()
        .filter_map(|row| group(profile, row))
        .collect()
}

fn group(profile: &Profile, row: Row) -> Option<Group> {
    let Detail::Site(detail) = row.detail else {
        return None;
    };
    let SiteDetail {
        label,
        owner,
        field,
        type_key,
        chunk_of,
        sites,
        ..
    } = *detail;
    let frame = owner.and_then(|owner| profile.lookup(owner));
    // The field that needed the next chunk has no more of it than those before.
    let is_of_chunks = !chunk_of.is_empty();
    let (type_name, field) = if is_of_chunks {
        (Some(label.what), None)
    } else {
        (type_key, field)
    };
    Some(Group {
        is_of_chunks,
        place: Place {
            type_name,
            field,
            location: label.location,
            owner: label.owner,
            file: frame.and_then(|(frame, _)| frame.file.clone()),
            line: frame.and_then(|(frame, _)| frame.line),
            source: label.source,
            sites: sites.clone(),
        },
        sites,
    })
}

/// Returns the place of one site.
pub(super) fn place_of(profile: &Profile, index: usize) -> Option<Place> {
    let site = profile.sites().get(index)?;
    let label = label_of(profile, index)?;
    let frame = site.owner.and_then(|owner| profile.lookup(owner));
    let fields = profile.fields();
    let type_id = profile.type_id_of(site);
    Some(Place {
        type_name: type_id.map(|id| profile.type_key(Some(id)).to_owned()),
        field: fields
            .get(fields.field_of_site(index))
            .map(|field| field.path.clone()),
        location: label.location,
        owner: label.owner,
        file: frame.and_then(|(frame, _)| frame.file.clone()),
        line: frame.and_then(|(frame, _)| frame.line),
        source: label.source,
        sites: vec![index],
    })
}

impl Group {
    /// Returns `true` if a site is one of the group, by its number.
    pub(super) fn has(&self, site: u32) -> bool {
        self.sites.contains(&(site as usize))
    }

    /// The sites with their figures.
    pub(super) fn sites<'a>(
        &'a self,
        profile: &'a Profile,
    ) -> impl Iterator<Item = &'a Site> + use<'a> {
        self.sites
            .iter()
            .filter_map(|&site| profile.sites().get(site))
    }

    /// The sites whose blocks the program's own code asked for.
    pub(super) fn own_sites<'a>(
        &'a self,
        profile: &'a Profile,
    ) -> impl Iterator<Item = &'a Site> + use<'a> {
        let is_own = |site: &&Site| is_asked_by_program(profile, site);
        self.sites(profile).filter(is_own)
    }

    /// The full name of the type, and its kind.
    pub(super) fn container<'a>(&self, profile: &'a Profile) -> Option<(&'a str, TypeKind)> {
        let site = self.sites(profile).next()?;
        let name = profile.named_type(profile.type_id_of(site))?;
        Some((&name.full, name.kind))
    }
}

/// Returns the sum of the figures of sites.
pub(super) fn sum<'a>(sites: impl Iterator<Item = &'a Site>) -> Figures {
    let mut sum = Figures::default();
    sites.for_each(|site| sum.add(&site.figures));
    sum
}

/// Returns `true` if code of the program called the container itself. Only then can it choose
/// another call: a container that a library fills is the library's.
fn is_asked_by_program(profile: &Profile, site: &Site) -> bool {
    let frame = asking(profile, site).and_then(|frame| profile.lookup(frame));
    site.group.is_none()
        && !site.marks.synthetic
        && frame.is_some_and(|(_, function)| function.is_of_program() && !function.is_derived)
}

/// Returns `true` if a container is inside a reader or writer of the standard library: the buffer
/// of a `BufReader` or of standard output.
fn is_buffer_of_std(profile: &Profile, site: &Site) -> bool {
    profile
        .shown_stack(site)
        .iter()
        .rev()
        .filter_map(|frame| profile.lookup(*frame))
        .take_while(|(_, function)| function.origin == Origin::Std)
        .any(|(_, function)| {
            ["io::buffered::", "io::stdio::"]
                .iter()
                .any(|module| function.name.contains(module))
        })
}

/// Returns `true` if the program can call the methods of the container that asked: its own code did
/// so, or a deserializer filled the container, for a type of the program or as the result of the
/// call. Other libraries keep containers inside of their own types: the `Vec` of a `BytesMut` is
/// out of reach.
pub(super) fn can_call(profile: &Profile, own: &HashSet<&str>, site: &Site) -> bool {
    if is_buffer_of_std(profile, site) {
        return false;
    }
    let asking = asking(profile, site).and_then(|frame| profile.lookup(frame));
    let fills_others = asking.is_some_and(|(_, function)| {
        function.origin == Origin::User || deserializes(&function.krate)
    });
    let is_of_program = built_type(profile, site).is_none_or(|built| {
        let krate = built.split("::").next();
        krate.is_some_and(|krate| own.contains(krate))
    });
    is_asked_by_program(profile, site) || fills_others && is_of_program
}

/// Returns `true` if a crate makes containers of the standard library for types of others.
fn deserializes(krate: &str) -> bool {
    let crates = [
        "bincode", "borsh", "ciborium", "postcard", "prost", "rkyv", "rmp",
    ];
    krate.starts_with("serde") || crates.iter().any(|known| krate.starts_with(known))
}

/// Returns `true` if the program can choose another type for what a site allocates: its own code
/// asked, or the block is part of a type of its own.
pub(super) fn can_change(profile: &Profile, own: &HashSet<&str>, site: &Site) -> bool {
    match built_type(profile, site) {
        Some(built) => built
            .split("::")
            .next()
            .is_some_and(|krate| own.contains(krate)),
        None => is_asked_by_program(profile, site),
    }
}

/// Returns `true` if serde made an owned text for a `Cow`.
pub(super) fn is_owned_cow(profile: &Profile, site: &Site) -> bool {
    let reads_cow = [
        "PhantomData<alloc::borrow::Cow<str>>",
        "Deserialize for alloc::borrow::Cow<",
    ];
    reads_cow.iter().any(|part| calls(profile, site, part))
}

/// Returns `true` if `format!` or `to_string` made the text.
pub(super) fn is_formatted(profile: &Profile, site: &Site) -> bool {
    calls(profile, site, "alloc::fmt::format")
}

/// Returns `true` if a function with this in its name is below the owner on the stack of a site.
pub(super) fn calls(profile: &Profile, site: &Site, part: &str) -> bool {
    below_owner(profile, site).any(|function| function.name.contains(part))
}

/// Returns `true` if a function of such a crate is below the owner on the stack of a site.
pub(super) fn is_inside(profile: &Profile, site: &Site, is_such: impl Fn(&str) -> bool) -> bool {
    below_owner(profile, site).any(|function| is_such(&function.krate))
}

/// Returns the functions below the owner on the stack of a site, innermost first.
fn below_owner<'a>(profile: &'a Profile, site: &'a Site) -> impl Iterator<Item = &'a Function> {
    profile
        .innermost_first(site)
        .take_while(|frame| Some(*frame) != site.owner)
        .filter_map(|frame| Some(profile.lookup(frame)?.1))
}

/// Returns the name of a container without its path and arguments, as a constructor has it: `Vec`.
pub(super) fn constructor(full: &str) -> String {
    let head = full.split('<').next().unwrap_or(full);
    printable(head.rsplit("::").next().unwrap_or(head)).into_owned()
}

/// The crates of the program.
pub(super) fn own_crates(profile: &Profile) -> HashSet<&str> {
    let functions = profile.functions().iter();
    let own = functions.filter(|function| function.origin == Origin::User);
    own.map(|function| function.krate.as_str()).collect()
}

/// Returns the full name of the type that was being built when a site asked.
pub(super) fn built_type<'a>(profile: &'a Profile, site: &Site) -> Option<&'a str> {
    let id: Option<TypeId> = site.contents.and_then(|contents| contents.owner);
    Some(&profile.named_type(id)?.full)
}
