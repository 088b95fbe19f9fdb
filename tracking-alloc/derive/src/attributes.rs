//! `#[arena(..)]`, read and checked. What is misspelled or contradicts itself is an error at its place.

use crate::case::Case;
use proc_macro2::Span;
use syn::meta::ParseNestedMeta;
use syn::spanned::Spanned;
use syn::{Attribute, Error, ExprPath, LitStr, Path, Result};

/// Attributes of the type.
#[derive(Default)]
pub(crate) struct TypeAttributes {
    pub(crate) rename: Option<String>,
    pub(crate) rename_all: Option<Case>,
    pub(crate) transparent: bool,
    pub(crate) krate: Option<Path>,
}

/// Attributes of a field.
#[derive(Default)]
pub(crate) struct FieldAttributes {
    pub(crate) rename: Option<String>,
    pub(crate) aliases: Vec<String>,
    pub(crate) default: Option<Missing>,
    pub(crate) skip: bool,
    pub(crate) deserialize_with: Option<ExprPath>,
    pub(crate) global: bool,
}

/// Attributes of a variant.
#[derive(Default)]
pub(crate) struct VariantAttributes {
    pub(crate) rename: Option<String>,
    pub(crate) aliases: Vec<String>,
}

/// What stands for a missing field.
pub(crate) enum Missing {
    /// `Default::default()`
    Default,
    /// What a function of the user returns.
    By(ExprPath),
}

fn string(meta: &ParseNestedMeta<'_>) -> Result<LitStr> {
    meta.value()?.parse()
}

/// `name = ".."`, or an error when it was given already.
fn once<T>(place: &mut Option<T>, meta: &ParseNestedMeta<'_>, value: T) -> Result<()> {
    if place.replace(value).is_some() {
        return Err(meta.error("given twice"));
    }
    Ok(())
}

/// Calls `f` with each attribute in `#[arena(..)]`; it says whether it knows it.
fn each(
    attributes: &[Attribute],
    what: &str,
    known: &str,
    mut f: impl FnMut(&ParseNestedMeta<'_>) -> Result<bool>,
) -> Result<()> {
    for attribute in attributes
        .iter()
        .filter(|attribute| attribute.path().is_ident("arena"))
    {
        attribute.parse_nested_meta(|meta| {
            if f(&meta)? {
                return Ok(());
            }
            let name = meta
                .path
                .get_ident()
                .map_or_else(String::new, ToString::to_string);
            let hint = match name.as_str() {
                "flatten" | "untagged" | "tag" => {
                    ": it would buffer what it reads in global memory"
                }
                _ => "",
            };
            Err(meta.error(format!(
                "`{name}` is no attribute of {what}{hint}; there are {known}"
            )))
        })?;
    }
    Ok(())
}

impl TypeAttributes {
    pub(crate) fn read(attributes: &[Attribute]) -> Result<Self> {
        let mut read = TypeAttributes::default();
        let known = "`rename`, `rename_all`, `transparent`, `crate`";
        each(attributes, "a type", known, |meta| {
            if meta.path.is_ident("rename") {
                let name = string(meta)?.value();
                once(&mut read.rename, meta, name)?;
            } else if meta.path.is_ident("rename_all") {
                let name = string(meta)?;
                let case = Case::named(&name.value())
                    .map_err(|message| Error::new(name.span(), message))?;
                once(&mut read.rename_all, meta, case)?;
            } else if meta.path.is_ident("transparent") {
                read.transparent = true;
            } else if meta.path.is_ident("crate") {
                let path = string(meta)?.parse()?;
                once(&mut read.krate, meta, path)?;
            } else {
                return Ok(false);
            }
            Ok(true)
        })?;
        Ok(read)
    }
}

impl VariantAttributes {
    pub(crate) fn read(attributes: &[Attribute]) -> Result<Self> {
        let mut read = VariantAttributes::default();
        each(attributes, "a variant", "`rename`, `alias`", |meta| {
            if meta.path.is_ident("rename") {
                let name = string(meta)?.value();
                once(&mut read.rename, meta, name)?;
            } else if meta.path.is_ident("alias") {
                read.aliases.push(string(meta)?.value());
            } else {
                return Ok(false);
            }
            Ok(true)
        })?;
        Ok(read)
    }
}

impl FieldAttributes {
    pub(crate) fn read(attributes: &[Attribute]) -> Result<Self> {
        let mut read = FieldAttributes::default();
        let known = "`rename`, `alias`, `default`, `skip`, `deserialize_with`, `global`";
        let mut at = Span::call_site();
        each(attributes, "a field", known, |meta| {
            at = meta.path.span();
            if meta.path.is_ident("rename") {
                let name = string(meta)?.value();
                once(&mut read.rename, meta, name)?;
            } else if meta.path.is_ident("alias") {
                read.aliases.push(string(meta)?.value());
            } else if meta.path.is_ident("default") {
                let missing = if meta.input.peek(syn::Token![=]) {
                    Missing::By(string(meta)?.parse()?)
                } else {
                    Missing::Default
                };
                once(&mut read.default, meta, missing)?;
            } else if meta.path.is_ident("skip") {
                read.skip = true;
            } else if meta.path.is_ident("deserialize_with") {
                let path = string(meta)?.parse()?;
                once(&mut read.deserialize_with, meta, path)?;
            } else if meta.path.is_ident("global") {
                read.global = true;
            } else {
                return Ok(false);
            }
            Ok(true)
        })?;
        if read.skip
            && (read.rename.is_some()
                || !read.aliases.is_empty()
                || read.deserialize_with.is_some())
        {
            return Err(Error::new(
                at,
                "a skipped field is not read: it has no name in the input and no way to be read",
            ));
        }
        Ok(read)
    }
}
