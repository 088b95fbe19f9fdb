//! The identity of a row across recordings: its names, without addresses and line numbers.

use serde::Serialize;

use crate::profile::{Process, Profile, TypeId};
use crate::table::{Detail, Row, SiteLabel};

/// The identity of a row in any build of the program. The names are the keys in JSON.
///
/// Names are as recorded: not safe for a terminal before [`crate::units::printable`].
#[derive(Clone, Debug, Default, Eq, Serialize)]
#[non_exhaustive]
pub struct Identity {
    /// The name of the row: by site, what was allocated, else the key of the row; a type without
    /// its module path.
    #[serde(rename = "key")]
    pub name: String,
    /// The full name of a type, with its module path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub full_name: Option<String>,
    /// For rows by site, the field or the call that asked.
    #[serde(rename = "where", skip_serializing_if = "String::is_empty")]
    pub location: String,
    /// For rows by site, the function that owns the blocks.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub owner: String,
    /// File and line of the owner, from the second side if it has the row. Not part of the
    /// identity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

impl Identity {
    /// Returns the identity of a row by site with its owner alone. It is the same with and without
    /// phases and fields.
    pub(super) fn by_owner(self) -> Identity {
        Identity {
            name: String::new(),
            location: String::new(),
            ..self
        }
    }

    /// Returns the identity of a row of a profile.
    pub fn of(profile: &Profile, row: &Row) -> Identity {
        match &row.detail {
            Detail::Site(detail) => Identity::of_label(&detail.label),
            Detail::Type(detail) => Identity::typed(detail.full_name.as_deref(), &row.key),
            Detail::Code { .. } => Identity::named(&stable(&image(profile.process(), &row.key))),
            Detail::Owner { owner, .. } => Identity {
                source: owner.and_then(|owner| profile.source_of(owner)),
                ..Identity::named(&stable(&row.key))
            },
            Detail::Function(_) => Identity::named(&stable(&row.key)),
            // Names that the program gave.
            Detail::Field(_) | Detail::Thread(_) | Detail::Phase(_) | Detail::Arena(_) => {
                Identity::named(&row.key)
            }
        }
    }

    /// Returns the identity of a row by site.
    pub fn of_label(label: &SiteLabel) -> Identity {
        Identity {
            name: stable(&label.what),
            location: stable(&label.location),
            owner: stable(&label.owner),
            source: label.source.clone(),
            ..Identity::default()
        }
    }

    /// Returns the identity of a row by type, with the type as [`Profile::type_key`] numbers it.
    pub fn of_type(profile: &Profile, id: Option<TypeId>) -> Identity {
        let full = profile.named_type(id).map(|name| name.full.as_str());
        Identity::typed(full, profile.type_key(id))
    }

    fn typed(full: Option<&str>, name: &str) -> Identity {
        Identity {
            full_name: Some(stable(full.unwrap_or(name))),
            ..Identity::named(&stable(name))
        }
    }

    /// Returns the identity of a row that has only a name: a field's path, a thread, an arena.
    pub fn named(name: &str) -> Identity {
        Identity {
            name: name.to_owned(),
            ..Identity::default()
        }
    }

    /// The name, in full where it has a longer one.
    pub fn key(&self) -> &str {
        self.full_name.as_deref().unwrap_or(&self.name)
    }

    /// Returns the parts that are compared, in the order of rows.
    pub(super) fn parts(&self) -> (&str, &str, &str) {
        (self.key(), &self.location, &self.owner)
    }
}

impl PartialEq for Identity {
    fn eq(&self, other: &Identity) -> bool {
        self.parts() == other.parts()
    }
}

impl std::hash::Hash for Identity {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.parts().hash(state);
    }
}

/// A loaded image by its file name, wherever it was built: `app` of `/a/target/release/app`, `load`
/// of `target/debug/deps/load-0123456789abcdef`. A crate stays as it is.
fn image(process: &Process, key: &str) -> String {
    if !key.contains('/') {
        return key.to_owned();
    }
    let file = key.rsplit('/').next().unwrap_or(key);
    if key != process.executable {
        return file.to_owned();
    }
    match file.rsplit_once('-') {
        Some((name, hash)) if hash.len() == 16 && hash.bytes().all(|b| b.is_ascii_hexdigit()) => {
            name.to_owned()
        }
        _ => file.to_owned(),
    }
}

/// A name without what differs from build to build: the address behind a module
/// (`libc.so.6+0x9a2e0`), the place of a closure (`{closure@src/main.rs:12:5}`).
pub(super) fn stable(name: &str) -> String {
    if !name.contains("+0x") && !name.contains('@') {
        return name.to_owned();
    }
    let mut stable = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(c) = rest.chars().next() {
        if let Some(digits) = rest.strip_prefix("+0x") {
            stable.push_str("+0x..");
            rest = digits.trim_start_matches(|c: char| c.is_ascii_hexdigit());
        } else if let Some(place) = rest.strip_prefix('@')
            && (stable.ends_with("closure") || stable.ends_with("block"))
        {
            let end = place.find('}').unwrap_or(place.len());
            let path = place[..end].split(':').next().unwrap_or_default();
            stable.push('@');
            stable.push_str(path);
            rest = &place[end..];
        } else {
            stable.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    stable
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_lines_are_no_part_of_a_name() {
        assert_eq!(stable("libc.so.6+0x9a2e0"), "libc.so.6+0x..");
        assert_eq!(stable("libc.so.6+0x9a2e0"), stable("libc.so.6+0x1"));
        assert_eq!(
            stable("Vec<{closure@src/main.rs:12:5: 12:9}>"),
            "Vec<{closure@src/main.rs}>"
        );
        assert_eq!(stable("a+0x"), "a+0x..");
        assert_eq!(stable("Order.@xml:lang"), "Order.@xml:lang");
        assert_eq!(stable("shop::load"), "shop::load");
    }

    #[test]
    fn the_program_is_the_same_wherever_it_was_built() {
        let process = |executable: &str| {
            heapglass_fixture::made!(Process {
                executable: executable.into(),
            })
        };
        let one = "/a/target/debug/deps/load-0123456789abcdef";
        let other = "/b/target/debug/deps/load-fedcba9876543210";
        assert_eq!(image(&process(one), one), "load");
        assert_eq!(image(&process(other), other), "load");
        assert_eq!(image(&process(one), "/usr/lib/libc.so.6"), "libc.so.6");
        assert_eq!(image(&process(one), "serde_json"), "serde_json");
    }
}
