//! Fields of a struct or variant: the code that reads each, and the visitor that reads them all
//! from a map or a sequence.

use crate::attributes::{self, Attributes};
use crate::case::Case;
use crate::container::Container;
use crate::global;
use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Error, Ident, Index, Lifetime, Member, Result, Type};

/// A field with its attributes.
pub(crate) struct Field<'i> {
    member: Member,
    ty: &'i Type,
    attributes: Attributes,
    /// The field's name in the input.
    name: String,
    /// The variable that holds the field until all fields are read.
    held: Ident,
    /// The name of the field's seed type, if it has one of its own.
    with: Ident,
}

/// The code that reads a field.
enum Reader {
    /// Reads by `ArenaDeserialize`.
    Arena,
    /// Reads by a function of the user.
    Function,
    /// Reads by serde's own `Deserialize`.
    Serde,
}

/// Returns all fields, checked. `of` is the name of the type or variant in messages.
pub(crate) fn read<'i>(
    container: &Container<'_>,
    fields: &'i syn::Fields,
    rename_all: Option<Case>,
    of: &str,
) -> Result<Vec<Field<'i>>> {
    let (mut all, mut errors) = (Vec::new(), Vec::new());
    for (index, field) in fields.iter().enumerate() {
        match one(container, index, field, rename_all, of) {
            Ok(field) => all.push(field),
            Err(error) => errors.push(error),
        }
    }
    let combined = errors.into_iter().reduce(|mut errors, error| {
        errors.combine(error);
        errors
    });
    combined.map_or(Ok(all), Err)
}

fn one<'i>(
    container: &Container<'_>,
    index: usize,
    field: &'i syn::Field,
    rename_all: Option<Case>,
    of: &str,
) -> Result<Field<'i>> {
    let attributes = Attributes::of_field(&field.attrs)?;
    let (member, own_name) = match &field.ident {
        Some(ident) => (Member::Named(ident.clone()), ident.unraw().to_string()),
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
        with: format_ident!("__With{index}", span = Span::mixed_site()),
    })
}

impl Field<'_> {
    pub(crate) fn is_read(&self) -> bool {
        !self.attributes.skip
    }

    fn reader(&self) -> Reader {
        if self.attributes.deserialize_with.is_some() {
            Reader::Function
        } else if self.attributes.global || borrows_input(self.ty) {
            Reader::Serde
        } else {
            Reader::Arena
        }
    }

    /// Returns the seed that reads the field at a place.
    pub(crate) fn seed(&self, container: &Container<'_>, place: Place<'_>) -> TokenStream {
        let (ty, name) = (self.ty, &self.name);
        let step = match place {
            Place::Field(number) => Some(quote!(&__d::PathStep::Field(#name, #number))),
            Place::Index(index) => Some(quote!(&__d::PathStep::Index(#index))),
            Place::Variant(name, number) => Some(quote!(&__d::PathStep::Variant(#name, #number))),
            Place::Same => None,
        };
        let own = match (self.reader(), &step) {
            (Reader::Arena, Some(step)) => return quote!(__d::at::<#ty, __A>(__arena, #step)),
            (Reader::Arena, None) => return quote!(__d::here::<#ty, __A>(__arena)),
            (Reader::Function, _) => container.made(&self.with),
            (Reader::Serde, _) => quote!(__d::by_serde::<#ty>()),
        };
        match place {
            Place::Field(_) | Place::Variant(..) => quote!(__d::by(__arena, #step, #own)),
            Place::Index(_) | Place::Same => own,
        }
    }

    /// Returns the seed that reads the field where nothing records places.
    fn seed_without_place(&self, container: &Container<'_>, place: Place<'_>) -> TokenStream {
        match self.reader() {
            Reader::Arena => self.seed(container, Place::Same),
            Reader::Function | Reader::Serde => self.seed(container, place),
        }
    }

    /// Returns the seed type of a field that a function of the user reads.
    pub(crate) fn with_helper(&self, container: &Container<'_>) -> TokenStream {
        let Some(path) = &self.attributes.deserialize_with else {
            return TokenStream::new();
        };
        let ty = self.ty;
        let items = quote! {
            type Value = #ty;
            fn deserialize<__D: __d::Deserializer<'de>>(
                self,
                __deserializer: __D,
            ) -> ::core::result::Result<#ty, __D::Error> {
                #path(__deserializer, self.0)
            }
        };
        container.helper(&self.with, &quote!(__d::DeserializeSeed<'de>), &items)
    }

    /// Returns the expression for a missing or skipped field.
    fn missing(&self) -> Option<TokenStream> {
        let given = self.attributes.default.clone();
        given.or_else(|| self.attributes.skip.then(attributes::by_default))
    }

    /// Returns the `let` that holds the field from the option `read`. `None` becomes the field's
    /// default, or `absent` if it has none.
    fn hold(&self, read: &TokenStream, absent: TokenStream) -> TokenStream {
        let (held, missing) = (&self.held, self.missing().unwrap_or(absent));
        quote! {
            let #held = match #read {
                ::core::option::Option::Some(__value) => __value,
                ::core::option::Option::None => #missing,
            };
        }
    }

    /// Returns a constant expression that is `true` if values take nothing from the arena.
    pub(crate) fn scalar(&self, container: &Container<'_>) -> TokenStream {
        let (arena, ty) = (&container.arena, self.ty);
        match self.reader() {
            _ if !self.is_read() => quote!(true),
            Reader::Arena => quote!(<#ty as __d::ArenaDeserialize<'de, #arena, __A>>::SCALAR),
            Reader::Function | Reader::Serde => quote!(false),
        }
    }
}

/// The place of a field's value in the data.
#[derive(Clone, Copy)]
pub(crate) enum Place<'n> {
    /// Below the current place, with its name and its number among the fields that are read.
    Field(usize),
    /// Below the current place, by number.
    Index(usize),
    /// Below the current place, in that variant, by name and number.
    Variant(&'n str, usize),
    /// The current place.
    Same,
}

/// Returns `true` if a type borrows from the input: it names `'de`.
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

/// Returns `{ a: .., b: .. }` for a constructor, with the values of the fields that are read, and
/// the defaults of the others.
fn construction(fields: &[Field<'_>]) -> TokenStream {
    let parts = fields.iter().map(|field| {
        let (member, held) = (&field.member, &field.held);
        if field.attributes.skip {
            let missing = field.missing();
            quote!(#member: #missing)
        } else {
            quote!(#member: #held)
        }
    });
    quote!({ #(#parts),* })
}

/// Returns the code that reads the value from the single field, from `__deserializer`, at the place
/// of the struct.
pub(crate) fn from_one(container: &Container<'_>, fields: &[Field<'_>]) -> TokenStream {
    let reads = fields.iter().filter(|field| field.is_read()).map(|field| {
        let (held, seed) = (&field.held, field.seed(container, Place::Same));
        quote!(let #held = __d::DeserializeSeed::deserialize(#seed, __deserializer)?;)
    });
    let (ident, construction) = (container.ident, construction(fields));
    quote! {
        #(#reads)*
        ::core::result::Result::Ok(#ident #construction)
    }
}

/// A visitor of all fields, and everything that its declaration needs.
pub(crate) struct Visiting<'v, 'i> {
    pub(crate) container: &'v Container<'i>,
    /// The path of the constructor.
    pub(crate) constructor: TokenStream,
    pub(crate) fields: &'v [Field<'i>],
    /// The expected input, such as "struct City".
    pub(crate) expecting: String,
    pub(crate) named: bool,
}

impl Visiting<'_, '_> {
    /// Returns the list of names that the format gets.
    pub(crate) fn names(&self) -> TokenStream {
        let names = self.read().map(|field| &field.name);
        quote!(&[#(#names),*])
    }

    /// Returns the number of fields that are read.
    pub(crate) fn count(&self) -> usize {
        self.read().count()
    }

    fn read(&self) -> impl Iterator<Item = &Field<'_>> {
        self.fields.iter().filter(|field| field.is_read())
    }

    /// Returns the declaration of the visitor, with the items that it needs, and an expression that
    /// creates one. `further` adds methods.
    pub(crate) fn visitor(
        &self,
        further: Option<TokenStream>,
    ) -> Result<(TokenStream, TokenStream)> {
        let helpers = self
            .fields
            .iter()
            .map(|field| field.with_helper(self.container));
        let visit_sequence = self.visit_sequence();
        let visit_map = self.named.then(|| self.visit_map()).transpose()?;
        let methods = quote!(#further #visit_sequence #visit_map);
        let (declaration, made) = self.container.visitor(&self.expecting, &methods);
        Ok((quote!(#(#helpers)* #declaration), made))
    }

    fn visit_sequence(&self) -> TokenStream {
        let count = self.count();
        let expected = format!(
            "{} with {count} element{}",
            self.expecting,
            if count == 1 { "" } else { "s" }
        );
        let (constructor, construction) = (&self.constructor, construction(self.fields));
        let fields = |has_places: bool| {
            let reads = self.read().enumerate().map(|(index, field)| {
                let place = if self.named {
                    Place::Field(index)
                } else {
                    Place::Index(index)
                };
                let seed = if has_places {
                    field.seed(self.container, place)
                } else {
                    field.seed_without_place(self.container, place)
                };
                let read = quote!(__d::SeqAccess::next_element_seed(&mut __sequence, #seed)?);
                let too_short = quote! {
                    return ::core::result::Result::Err(
                        <__S::Error as __d::Error>::invalid_length(#index, &#expected)
                    )
                };
                field.hold(&read, too_short)
            });
            quote! {
                #(#reads)*
                ::core::result::Result::Ok(#constructor #construction)
            }
        };
        let (with_places, without) = (fields(true), fields(false));
        let unused = (count == 0).then(|| quote!(let _ = &mut __sequence;));
        quote! {
            fn visit_seq<__S: __d::SeqAccess<'de>>(
                self,
                mut __sequence: __S,
            ) -> ::core::result::Result<Self::Value, __S::Error> {
                let __arena = self.0;
                #unused
                // Asked once for all fields: their seeds are then small enough to be inlined.
                if __d::is_inside() {
                    #with_places
                } else {
                    #without
                }
            }
        }
    }

    fn visit_map(&self) -> Result<TokenStream> {
        let arena = &self.container.arena;
        let lets = self.read().map(|field| {
            let (held, ty) = (&field.held, field.ty);
            quote!(let mut #held: ::core::option::Option<#ty> = ::core::option::Option::None;)
        });
        let arms = self.read().enumerate().map(|(index, field)| {
            let (held, name) = (&field.held, &field.name);
            let seed = field.seed(self.container, Place::Field(index));
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
            let absent = match field.reader() {
                Reader::Arena => quote! {
                    <#ty as __d::ArenaDeserialize<'de, #arena, __A>>::absent::<__M::Error>(#name)?
                },
                Reader::Serde => quote!(__d::absent_by_serde::<#ty, __M::Error>(#name)?),
                Reader::Function => quote! {
                    return ::core::result::Result::Err(
                        <__M::Error as __d::Error>::missing_field(#name)
                    )
                },
            };
            field.hold(&quote!(#held), absent)
        });
        let find = self.find()?;
        let count = self.count();
        let (constructor, construction) = (&self.constructor, construction(self.fields));
        Ok(quote! {
            fn visit_map<__M: __d::MapAccess<'de>>(
                self,
                mut __map: __M,
            ) -> ::core::result::Result<Self::Value, __M::Error> {
                #find
                let __arena = self.0;
                #(#lets)*
                while let ::core::option::Option::Some(__field) =
                    __d::MapAccess::next_key_seed(&mut __map, __d::Identifier {
                        find: __find,
                        count: #count,
                        variants: ::core::option::Option::None,
                    })?
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
                (all.cloned().collect(), field.ty.span())
            })
            .collect();
        find(&names, "fields")
    }
}

/// Returns the function `__find`, which finds a number by name. Names must differ.
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
        quote!(#(#names)|* => #index,)
    });
    Ok(quote! {
        fn __find(__name: &str) -> usize {
            match __name {
                #(#arms)*
                _ => __d::UNKNOWN,
            }
        }
    })
}
