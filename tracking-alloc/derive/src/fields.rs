//! Fields of a struct or variant: how each is read, and the visitor that reads them all from a map or a sequence.

use crate::attributes::{FieldAttributes, Missing};
use crate::case::Case;
use crate::container::{Container, unraw};
use crate::global;
use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote};
use syn::visit::{self, Visit};
use syn::{Error, Ident, Index, Lifetime, Member, Result, Type};

/// A field, with all that is said of it.
pub(crate) struct Field<'i> {
    member: Member,
    ty: &'i Type,
    attributes: FieldAttributes,
    /// Its name in the input.
    name: String,
    /// What it is held in until all are read.
    held: Ident,
    /// What its seed type is called, when it has one of its own.
    with: Ident,
}

/// How a field's type is read.
enum How {
    InArena,
    /// A function of the user's.
    With,
    /// serde's own `Deserialize`.
    Plainly,
}

/// All fields, checked. `of`: what messages call the type or variant.
pub(crate) fn read<'i>(
    container: &Container<'_>,
    fields: &'i syn::Fields,
    rename_all: Option<Case>,
    of: &str,
) -> Result<Vec<Field<'i>>> {
    let mut errors: Option<Error> = None;
    let mut all = Vec::new();
    for (index, field) in fields.iter().enumerate() {
        match one(container, index, field, rename_all, of) {
            Ok(field) => all.push(field),
            Err(error) => match &mut errors {
                Some(errors) => errors.combine(error),
                None => errors = Some(error),
            },
        }
    }
    errors.map_or(Ok(all), Err)
}

fn one<'i>(
    container: &Container<'_>,
    index: usize,
    field: &'i syn::Field,
    rename_all: Option<Case>,
    of: &str,
) -> Result<Field<'i>> {
    let attributes = FieldAttributes::read(&field.attrs)?;
    let (member, own_name) = match &field.ident {
        Some(ident) => (Member::Named(ident.clone()), unraw(ident)),
        None => (Member::Unnamed(Index::from(index)), index.to_string()),
    };
    if !attributes.global {
        let called = format!("field `{own_name}` of `{of}`");
        global::refuse(&field.ty, &called, &container.arena_name)?;
    }
    let name = attributes.rename.clone().unwrap_or_else(|| {
        rename_all.map_or_else(|| own_name.clone(), |case| case.of_field(&own_name))
    });
    Ok(Field {
        member,
        ty: &field.ty,
        attributes,
        name,
        held: format_ident!("__field{index}", span = Span::mixed_site()),
        with: format_ident!("__With{}{index}", of.replace([':', '_'], "")),
    })
}

impl Field<'_> {
    pub(crate) fn is_read(&self) -> bool {
        !self.attributes.skip
    }

    fn how(&self) -> How {
        if self.attributes.deserialize_with.is_some() {
            How::With
        } else if self.attributes.global || borrows_input(self.ty) {
            How::Plainly
        } else {
            How::InArena
        }
    }

    /// The seed that reads it. `place`: one of its own below the present one, by name; else the present one.
    pub(crate) fn seed(
        &self,
        container: &Container<'_>,
        arena: &TokenStream,
        place: Place<'_>,
    ) -> TokenStream {
        let ty = self.ty;
        let own = match self.how() {
            How::InArena => {
                return match place {
                    Place::Field(number) => {
                        let name = &self.name;
                        quote!(__d::field::<#ty, __A>(#arena, #name, #number))
                    }
                    Place::Index(index) => quote!(__d::index::<#ty, __A>(#arena, #index)),
                    Place::Variant(name, number) => {
                        quote!(__d::variant::<#ty, __A>(#arena, #name, #number))
                    }
                    Place::Same => quote!(__d::same_place::<#ty, __A>(#arena)),
                };
            }
            How::With => container.made(&self.with, arena),
            How::Plainly => quote!(__d::plainly::<#ty>()),
        };
        match place {
            Place::Field(number) => {
                let name = &self.name;
                quote!(__d::by(#arena, #name, #number, #own))
            }
            Place::Variant(name, number) => {
                quote!(__d::variant_by(#arena, #name, #number, #own))
            }
            Place::Index(_) | Place::Same => own,
        }
    }

    /// The seed type of a field read by a function of the user's.
    pub(crate) fn with_helper(&self, container: &Container<'_>) -> TokenStream {
        let Some(path) = &self.attributes.deserialize_with else {
            return TokenStream::new();
        };
        let (declaration, helper) = container.helper(&self.with);
        let (implementing, where_clause) = container.implementing();
        let Container { de, .. } = container;
        let ty = self.ty;
        quote! {
            #declaration
            #implementing __d::DeserializeSeed<#de> for #helper #where_clause {
                type Value = #ty;
                fn deserialize<__D: __d::Deserializer<#de>>(
                    self,
                    __deserializer: __D,
                ) -> ::core::result::Result<#ty, __D::Error> {
                    #path(__deserializer, self.0)
                }
            }
        }
    }

    /// What stands for it when it is missing or skipped.
    fn missing(&self) -> Option<TokenStream> {
        match &self.attributes.default {
            Some(Missing::By(path)) => Some(quote!(#path())),
            Some(Missing::Default) => Some(quote!(::core::default::Default::default())),
            None if self.attributes.skip => Some(quote!(::core::default::Default::default())),
            None => None,
        }
    }

    /// Whether values take nothing from the arena: a constant.
    pub(crate) fn scalar(&self, container: &Container<'_>) -> TokenStream {
        let Container { de, arena, .. } = container;
        let ty = self.ty;
        match self.how() {
            _ if !self.is_read() => quote!(true),
            How::InArena => quote!(<#ty as __d::ArenaDeserialize<#de, #arena, __A>>::SCALAR),
            How::With | How::Plainly => quote!(false),
        }
    }
}

/// Where a field's value belongs in the data.
#[derive(Clone, Copy)]
pub(crate) enum Place<'n> {
    /// Below the present place, by its own name; its number among the fields that are read.
    Field(usize),
    /// Below it, by number.
    Index(usize),
    /// Below it, in that variant, by name and number.
    Variant(&'n str, usize),
    /// The present place.
    Same,
}

/// Whether a type borrows from the input: it names `'de`.
fn borrows_input(ty: &Type) -> bool {
    struct Search(bool);
    impl<'t> Visit<'t> for Search {
        fn visit_lifetime(&mut self, lifetime: &'t Lifetime) {
            self.0 |= lifetime.ident == "de";
        }
    }
    let mut search = Search(false);
    visit::visit_type(&mut search, ty);
    search.0
}

/// `{ a: .., b: .. }` of what is held, for a constructor.
fn construction(fields: &[Field<'_>]) -> TokenStream {
    let parts = fields.iter().map(|field| {
        let (member, held) = (&field.member, &field.held);
        quote!(#member: #held)
    });
    quote!({ #(#parts),* })
}

/// `let` for fields that are not read.
fn skipped(fields: &[Field<'_>]) -> TokenStream {
    let lets = fields.iter().filter(|field| !field.is_read()).map(|field| {
        let (held, ty, missing) = (&field.held, field.ty, field.missing());
        quote!(let #held: #ty = #missing;)
    });
    quote!(#(#lets)*)
}

/// The value from the one field that is read, by a seed called on `deserializer`.
pub(crate) fn from_one(
    container: &Container<'_>,
    constructor: &TokenStream,
    fields: &[Field<'_>],
    arena: &TokenStream,
    deserializer: &TokenStream,
) -> TokenStream {
    let skipped = skipped(fields);
    let reads = fields.iter().filter(|field| field.is_read()).map(|field| {
        let (held, seed) = (&field.held, field.seed(container, arena, Place::Same));
        quote!(let #held = __d::DeserializeSeed::deserialize(#seed, #deserializer)?;)
    });
    let construction = construction(fields);
    quote! {
        #skipped
        #(#reads)*
        ::core::result::Result::Ok(#constructor #construction)
    }
}

/// A visitor of all fields: its declaration with everything it needs.
pub(crate) struct Visiting<'v, 'i> {
    pub(crate) container: &'v Container<'i>,
    /// What the visitor is called.
    pub(crate) visitor: &'v Ident,
    /// What it makes: a path.
    pub(crate) constructor: TokenStream,
    pub(crate) fields: &'v [Field<'i>],
    /// "struct City"
    pub(crate) expecting: String,
    pub(crate) named: bool,
}

impl Visiting<'_, '_> {
    /// The list of names the format is told.
    pub(crate) fn names(&self) -> TokenStream {
        let names = self.read().map(|field| &field.name);
        quote!(&[#(#names),*])
    }

    /// How many fields are read.
    pub(crate) fn count(&self) -> usize {
        self.read().count()
    }

    fn read(&self) -> impl Iterator<Item = &Field<'_>> {
        self.fields.iter().filter(|field| field.is_read())
    }

    /// The visitor and what it needs. `further`: more of its methods.
    pub(crate) fn declaration(&self, further: &TokenStream) -> Result<TokenStream> {
        let withs = self
            .fields
            .iter()
            .map(|field| field.with_helper(self.container));
        let visit_sequence = self.visit_sequence();
        let visit_map = if self.named {
            self.visit_map()?
        } else {
            TokenStream::new()
        };
        let methods = quote!(#further #visit_sequence #visit_map);
        let declaration = self
            .container
            .visitor(self.visitor, &self.expecting, &methods);
        Ok(quote!(#(#withs)* #declaration))
    }

    fn visit_sequence(&self) -> TokenStream {
        let Container { de, .. } = self.container;
        let skipped = skipped(self.fields);
        let count = self.count();
        let expected = format!(
            "{} with {count} element{}",
            self.expecting,
            if count == 1 { "" } else { "s" }
        );
        let reads = self.read().enumerate().map(|(index, field)| {
            let held = &field.held;
            let place = if self.named {
                Place::Field(index)
            } else {
                Place::Index(index)
            };
            let seed = field.seed(self.container, &quote!(self.0), place);
            let missing = field.missing().unwrap_or_else(|| {
                quote! {
                    return ::core::result::Result::Err(
                        <__S::Error as __d::Error>::invalid_length(#index, &#expected)
                    )
                }
            });
            quote! {
                let #held = match __d::SeqAccess::next_element_seed(&mut __sequence, #seed)? {
                    ::core::option::Option::Some(__value) => __value,
                    ::core::option::Option::None => #missing,
                };
            }
        });
        let (constructor, construction) = (&self.constructor, construction(self.fields));
        let unused = (count == 0).then(|| quote!(let _ = &mut __sequence;));
        quote! {
            fn visit_seq<__S: __d::SeqAccess<#de>>(
                self,
                mut __sequence: __S,
            ) -> ::core::result::Result<Self::Value, __S::Error> {
                #unused
                #skipped
                #(#reads)*
                ::core::result::Result::Ok(#constructor #construction)
            }
        }
    }

    fn visit_map(&self) -> Result<TokenStream> {
        let Container { de, .. } = self.container;
        let skipped = skipped(self.fields);
        let lets = self.read().map(|field| {
            let (held, ty) = (&field.held, field.ty);
            quote!(let mut #held: ::core::option::Option<#ty> = ::core::option::Option::None;)
        });
        let arms = self.read().enumerate().map(|(index, field)| {
            let (held, name) = (&field.held, &field.name);
            let seed = field.seed(self.container, &quote!(self.0), Place::Field(index));
            quote! {
                #index => {
                    if #held.is_some() {
                        return ::core::result::Result::Err(
                            <__M::Error as __d::Error>::duplicate_field(#name)
                        );
                    }
                    #held = ::core::option::Option::Some(
                        __d::MapAccess::next_value_seed(&mut __map, #seed)?
                    );
                }
            }
        });
        let ends = self.read().map(|field| {
            let (held, name, ty) = (&field.held, &field.name, field.ty);
            let missing = field.missing().unwrap_or_else(|| match field.how() {
                How::InArena => quote! {
                    __d::absent::<#ty, __A, __M::Error>(self.0, #name)?
                },
                How::Plainly => quote!(__d::absent_plainly::<#ty, __M::Error>(#name)?),
                How::With => quote! {
                    return ::core::result::Result::Err(
                        <__M::Error as __d::Error>::missing_field(#name)
                    )
                },
            });
            quote! {
                let #held = match #held {
                    ::core::option::Option::Some(__value) => __value,
                    ::core::option::Option::None => #missing,
                };
            }
        });
        let find = self.find()?;
        let count = self.count();
        let (constructor, construction) = (&self.constructor, construction(self.fields));
        Ok(quote! {
            fn visit_map<__M: __d::MapAccess<#de>>(
                self,
                mut __map: __M,
            ) -> ::core::result::Result<Self::Value, __M::Error> {
                #find
                #skipped
                #(#lets)*
                while let ::core::option::Option::Some(__field) =
                    __d::MapAccess::next_key_seed(&mut __map, __d::field_name(__find, #count))?
                {
                    match __field {
                        #(#arms)*
                        _ => {
                            let _: __d::IgnoredAny = __d::MapAccess::next_value(&mut __map)?;
                        }
                    }
                }
                #(#ends)*
                ::core::result::Result::Ok(#constructor #construction)
            }
        })
    }

    fn find(&self) -> Result<TokenStream> {
        let names: Vec<_> = self
            .read()
            .map(|field| {
                let all = std::iter::once(&field.name).chain(&field.attributes.aliases);
                (
                    all.cloned().collect(),
                    syn::spanned::Spanned::span(field.ty),
                )
            })
            .collect();
        find(&names, "fields")
    }
}

/// `fn __find`: a number by name. Names must differ.
pub(crate) fn find(names: &[(Vec<String>, Span)], what: &str) -> Result<TokenStream> {
    let mut known = std::collections::HashMap::new();
    for (index, (names, span)) in names.iter().enumerate() {
        for name in names {
            if known
                .insert(name, index)
                .is_some_and(|other| other != index)
            {
                return Err(Error::new(*span, format!("two {what} are called `{name}`")));
            }
        }
    }
    let arms = names.iter().enumerate().map(|(index, (names, _))| {
        let mut names = names.clone();
        names.sort();
        names.dedup();
        let names = names
            .iter()
            .map(|name| syn::LitByteStr::new(name.as_bytes(), Span::call_site()));
        quote!(#(#names)|* => #index,)
    });
    Ok(quote! {
        fn __find(__name: &[u8]) -> usize {
            match __name {
                #(#arms)*
                _ => __d::UNKNOWN,
            }
        }
    })
}
