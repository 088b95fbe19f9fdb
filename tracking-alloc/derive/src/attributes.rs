//! Parsing and checking of `#[arena(..)]`. An unknown or contradictory attribute is an error at its
//! span.

use crate::case::Case;
use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::meta::ParseNestedMeta;
use syn::spanned::Spanned;
use syn::{Attribute, Error, ExprPath, LitStr, Path, Result};

/// Attributes of a type, field or variant. Attributes that do not apply are absent.
#[derive(Default)]
pub(crate) struct Attributes {
    pub(crate) rename: Option<String>,
    pub(crate) rename_all: Option<Case>,
    pub(crate) aliases: Vec<String>,
    pub(crate) transparent: bool,
    pub(crate) krate: Option<Path>,
    /// The expression for a missing field.
    pub(crate) default: Option<TokenStream>,
    pub(crate) skip: bool,
    pub(crate) deserialize_with: Option<ExprPath>,
    pub(crate) global: bool,
}

/// `Default::default()`
pub(crate) fn by_default() -> TokenStream {
    quote!(::core::default::Default::default())
}

fn string(meta: &ParseNestedMeta<'_>) -> Result<LitStr> {
    meta.value()?.parse()
}

/// Sets an attribute. Fails if it is already set.
fn once<T>(attribute: &mut Option<T>, meta: &ParseNestedMeta<'_>, value: T) -> Result<()> {
    if attribute.replace(value).is_some() {
        return Err(meta.error("given twice"));
    }
    Ok(())
}

impl Attributes {
    pub(crate) fn of_type(attributes: &[Attribute]) -> Result<Self> {
        let known = ["rename", "rename_all", "transparent", "crate"];
        Attributes::read(attributes, "a type", &known)
    }

    pub(crate) fn of_variant(attributes: &[Attribute]) -> Result<Self> {
        Attributes::read(attributes, "a variant", &["rename", "alias"])
    }

    pub(crate) fn of_field(attributes: &[Attribute]) -> Result<Self> {
        let known = [
            "rename",
            "alias",
            "default",
            "skip",
            "deserialize_with",
            "global",
        ];
        Attributes::read(attributes, "a field", &known)
    }

    /// Reads the attributes of `what`, which may have the `known` ones.
    fn read(attributes: &[Attribute], what: &str, known: &[&str]) -> Result<Self> {
        let mut read = Attributes::default();
        let mut last = Span::call_site();
        for attribute in attributes {
            if !attribute.path().is_ident("arena") {
                continue;
            }
            attribute.parse_nested_meta(|meta| {
                last = meta.path.span();
                let name = meta.path.get_ident().map(ToString::to_string);
                let name = name.as_deref().unwrap_or_default();
                if !known.contains(&name) {
                    return Err(meta.error(unknown(name, what, known)));
                }
                read.set(name, &meta)
            })?;
        }
        if read.skip
            && (read.rename.is_some()
                || !read.aliases.is_empty()
                || read.deserialize_with.is_some())
        {
            return Err(Error::new(
                last,
                "a skipped field is not read: it has no name in the input and no way to be read",
            ));
        }
        Ok(read)
    }

    /// Stores an attribute.
    fn set(&mut self, name: &str, meta: &ParseNestedMeta<'_>) -> Result<()> {
        match name {
            "rename" => once(&mut self.rename, meta, string(meta)?.value())?,
            "rename_all" => {
                let name = string(meta)?;
                let case = Case::named(&name.value())
                    .map_err(|message| Error::new(name.span(), message))?;
                once(&mut self.rename_all, meta, case)?;
            }
            "alias" => self.aliases.push(string(meta)?.value()),
            "transparent" => self.transparent = true,
            "crate" => once(&mut self.krate, meta, string(meta)?.parse()?)?,
            "default" if meta.input.peek(syn::Token![=]) => {
                let path: ExprPath = string(meta)?.parse()?;
                once(&mut self.default, meta, quote!(#path()))?;
            }
            "default" => once(&mut self.default, meta, by_default())?,
            "skip" => self.skip = true,
            "deserialize_with" => once(&mut self.deserialize_with, meta, string(meta)?.parse()?)?,
            "global" => self.global = true,
            _ => return Err(meta.error("unknown attribute")),
        }
        Ok(())
    }
}

fn unknown(name: &str, what: &str, known: &[&str]) -> String {
    let hint = match name {
        "flatten" | "untagged" | "tag" => ": it would buffer what it reads in global memory",
        _ => "",
    };
    let known = known.join("`, `");
    format!("`{name}` is no attribute of {what}{hint}; there are `{known}`")
}
