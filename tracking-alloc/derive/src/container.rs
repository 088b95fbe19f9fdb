//! The type as a whole: its lifetimes, its generics, and the impl around a body.

use crate::attributes::TypeAttributes;
use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote};
use syn::{
    DeriveInput, Error, GenericParam, Generics, Ident, Lifetime, LifetimeParam, Result, parse_quote,
};

/// What generated code says of the type again and again.
pub(crate) struct Container<'i> {
    pub(crate) ident: &'i Ident,
    /// What the format is told.
    pub(crate) name: String,
    pub(crate) attributes: TypeAttributes,
    /// The input's lifetime.
    pub(crate) de: Lifetime,
    /// The arena's.
    pub(crate) arena: Lifetime,
    /// As people wrote it: for messages.
    pub(crate) arena_name: String,
    /// The type's own.
    own: &'i Generics,
    /// With both lifetimes and `__A`, and what must hold of type parameters.
    extended: Generics,
}

/// What the parts of the impl are.
pub(crate) struct Body {
    /// Statements that read the value from `__deserializer`.
    pub(crate) read: TokenStream,
    /// Whether values take nothing from the arena: an expression.
    pub(crate) scalar: TokenStream,
}

impl<'i> Container<'i> {
    pub(crate) fn read(input: &'i DeriveInput) -> Result<Self> {
        let attributes = TypeAttributes::read(&input.attrs)?;
        let own = &input.generics;
        let de = Lifetime::new("'de", Span::call_site());
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
        let arena = given
            .clone()
            .unwrap_or_else(|| Lifetime::new("'__a", Span::mixed_site()));
        let mut extended = own.clone();
        if given.is_none() {
            extended
                .params
                .push(GenericParam::Lifetime(LifetimeParam::new(arena.clone())));
        }
        if own.lifetimes().all(|given| given.lifetime != de) {
            extended
                .params
                .push(GenericParam::Lifetime(LifetimeParam::new(de.clone())));
        }
        let types: Vec<Ident> = own.type_params().map(|given| given.ident.clone()).collect();
        extended.params.push(parse_quote!(__A: __d::Arena));
        let clause = extended.make_where_clause();
        for ty in types {
            clause
                .predicates
                .push(parse_quote!(#ty: __d::ArenaDeserialize<#de, #arena, __A>));
        }
        Ok(Container {
            ident: &input.ident,
            name: attributes
                .rename
                .clone()
                .unwrap_or_else(|| unraw(&input.ident)),
            attributes,
            de,
            arena,
            arena_name,
            own,
            extended,
        })
    }

    /// The impl.
    pub(crate) fn implement(&self, body: Body) -> TokenStream {
        let Body { read, scalar } = body;
        let krate = self
            .attributes
            .krate
            .as_ref()
            .map_or_else(|| quote!(::tracking_alloc), ToTokens::to_token_stream);
        let Container {
            ident, de, arena, ..
        } = self;
        let (_, own_types, _) = self.own.split_for_impl();
        let (impl_generics, _, where_clause) = self.extended.split_for_impl();
        quote! {
            const _: () = {
                use #krate::arena::__private as __d;

                #[automatically_derived]
                impl #impl_generics __d::ArenaDeserialize<#de, #arena, __A> for #ident #own_types #where_clause {
                    const SCALAR: bool = #scalar;
                    const MAY_BYPASS: bool = false;

                    fn deserialize_in<__D: __d::Deserializer<#de>>(
                        __deserializer: __D,
                        __arena: &#arena __A,
                    ) -> ::core::result::Result<Self, __D::Error> {
                        #read
                    }
                }
            };
        }
    }

    /// A visitor that makes the type: its declaration, and its methods.
    pub(crate) fn visitor(
        &self,
        visitor: &Ident,
        expecting: &str,
        methods: &TokenStream,
    ) -> TokenStream {
        let (declaration, helper) = self.helper(visitor);
        let (implementing, where_clause) = self.implementing();
        let (de, ty) = (&self.de, self.ty());
        quote! {
            #declaration
            #implementing __d::Visitor<#de> for #helper #where_clause {
                type Value = #ty;
                fn expecting(&self, __f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                    ::core::fmt::Formatter::write_str(__f, #expecting)
                }
                #methods
            }
        }
    }

    /// The type itself, with its generics.
    pub(crate) fn ty(&self) -> TokenStream {
        let (_, types, _) = self.own.split_for_impl();
        let ident = self.ident;
        quote!(#ident #types)
    }

    /// A helper type that carries the arena and all generics: its declaration, and what it is called where its generics
    /// are in scope.
    pub(crate) fn helper(&self, name: &Ident) -> (TokenStream, TokenStream) {
        let Container { de, arena, .. } = self;
        let ty = self.ty();
        let (impl_generics, types, where_clause) = self.extended.split_for_impl();
        let declaration = quote! {
            struct #name #impl_generics (
                &#arena __A,
                ::core::marker::PhantomData<(&#de (), fn() -> #ty)>,
            ) #where_clause;
        };
        (declaration, quote!(#name #types))
    }

    /// A helper made: with the arena given as an expression.
    pub(crate) fn made(&self, name: &Ident, arena: &TokenStream) -> TokenStream {
        let (_, types, _) = self.extended.split_for_impl();
        let types = types.as_turbofish();
        quote!(#name #types (#arena, ::core::marker::PhantomData))
    }

    /// The beginning of an impl with all generics, up to its trait; and its where clause.
    pub(crate) fn implementing(&self) -> (TokenStream, TokenStream) {
        let (impl_generics, _, where_clause) = self.extended.split_for_impl();
        (quote!(impl #impl_generics), where_clause.to_token_stream())
    }
}

/// An identifier as people read it.
pub(crate) fn unraw(ident: &Ident) -> String {
    let name = ident.to_string();
    name.strip_prefix("r#").map(str::to_owned).unwrap_or(name)
}
