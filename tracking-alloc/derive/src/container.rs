//! The type: its lifetimes, its generics, and the impl around a body.

use crate::attributes::Attributes;
use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote};
use syn::ext::IdentExt;
use syn::{DeriveInput, Error, Generics, Ident, Lifetime, Result, parse_quote};

/// The parts of generated code that describe the type.
pub(crate) struct Container<'i> {
    pub(crate) ident: &'i Ident,
    /// The type's name, as passed to the format.
    pub(crate) name: String,
    pub(crate) attributes: Attributes,
    /// The arena's lifetime. The input's lifetime is `'de`.
    pub(crate) arena: Lifetime,
    /// The name in the source code, for messages.
    pub(crate) arena_name: String,
    /// The type's own generics.
    own: &'i Generics,
    /// The generics of the impl: with both lifetimes, `__A`, and the bounds of type parameters.
    extended: Generics,
}

impl<'i> Container<'i> {
    pub(crate) fn read(input: &'i DeriveInput) -> Result<Self> {
        let attributes = Attributes::of_type(&input.attrs)?;
        let own = &input.generics;
        let mut arenas = own.lifetimes().filter(|given| given.lifetime.ident != "de");
        let given = arenas.next().map(|given| given.lifetime.clone());
        if let Some(further) = arenas.next() {
            return Err(Error::new(
                further.lifetime.span(),
                "two lifetimes, one arena: a type lives in one arena; the input's lifetime is called `'de`",
            ));
        }
        let arena_name = given
            .as_ref()
            .map_or_else(|| "'a".to_owned(), ToString::to_string);
        let arena = given.unwrap_or_else(|| Lifetime::new("'__a", Span::mixed_site()));
        let mut extended = own.clone();
        for lifetime in [&arena, &parse_quote!('de)] {
            if own.lifetimes().all(|given| given.lifetime != *lifetime) {
                extended.params.push(parse_quote!(#lifetime));
            }
        }
        extended.params.push(parse_quote!(__A: __d::Arena));
        let clause = extended.make_where_clause();
        for given in own.type_params() {
            let ty = &given.ident;
            clause
                .predicates
                .push(parse_quote!(#ty: __d::ArenaDeserialize<'de, #arena, __A>));
        }
        Ok(Container {
            ident: &input.ident,
            name: attributes
                .rename
                .clone()
                .unwrap_or_else(|| input.ident.unraw().to_string()),
            attributes,
            arena,
            arena_name,
            own,
            extended,
        })
    }

    /// Returns the impl. `read` is the code that reads the value from `__deserializer`. `scalars`
    /// has one expression per field, which is `true` if the field's values take nothing from the
    /// arena.
    pub(crate) fn implement(&self, read: &TokenStream, scalars: &[TokenStream]) -> TokenStream {
        let krate = match &self.attributes.krate {
            Some(path) => quote!(#path),
            None => quote!(::tracking_alloc),
        };
        let (arena, ty) = (&self.arena, self.ty());
        let (impl_generics, _, where_clause) = self.extended.split_for_impl();
        quote! {
            const _: () = {
                use #krate::arena::__private as __d;

                #[automatically_derived]
                impl #impl_generics __d::ArenaDeserialize<'de, #arena, __A> for #ty #where_clause {
                    const SCALAR: bool = true #(&& #scalars)*;
                    const MAY_BYPASS: bool = false;

                    fn deserialize_in<__D: __d::Deserializer<'de>>(
                        __deserializer: __D,
                        __arena: &#arena __A,
                    ) -> ::core::result::Result<Self, __D::Error> {
                        #read
                    }
                }
            };
        }
    }

    /// Returns the declaration of a visitor with these methods, which creates the type, and an
    /// expression that creates the visitor, like [`made`](Container::made).
    pub(crate) fn visitor(
        &self,
        expecting: &str,
        methods: &TokenStream,
    ) -> (TokenStream, TokenStream) {
        let name = format_ident!("__Visitor", span = Span::mixed_site());
        let ty = self.ty();
        let items = quote! {
            type Value = #ty;
            fn expecting(&self, __f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                ::core::fmt::Formatter::write_str(__f, #expecting)
            }
            #methods
        };
        let declaration = self.helper(&name, &quote!(__d::Visitor<'de>), &items);
        (declaration, self.made(&name))
    }

    /// Returns the type itself, with its generics.
    fn ty(&self) -> TokenStream {
        let (_, types, _) = self.own.split_for_impl();
        let ident = self.ident;
        quote!(#ident #types)
    }

    /// Returns a helper type that carries the arena and all generics, with its implementation of a
    /// trait.
    pub(crate) fn helper(
        &self,
        name: &Ident,
        implemented: &TokenStream,
        items: &TokenStream,
    ) -> TokenStream {
        let (arena, ty) = (&self.arena, self.ty());
        let (impl_generics, types, where_clause) = self.extended.split_for_impl();
        quote! {
            struct #name #impl_generics (
                &#arena __A,
                ::core::marker::PhantomData<(&'de (), fn() -> #ty)>,
            ) #where_clause;

            impl #impl_generics #implemented for #name #types #where_clause {
                #items
            }
        }
    }

    /// Returns an expression that creates a helper. The arena must be called `__arena` there.
    pub(crate) fn made(&self, name: &Ident) -> TokenStream {
        let (_, types, _) = self.extended.split_for_impl();
        let types = types.as_turbofish();
        quote!(#name #types (__arena, ::core::marker::PhantomData))
    }
}
