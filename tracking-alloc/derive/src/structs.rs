//! Structs: named, tuple, newtype, unit, transparent.

use crate::container::Container;
use crate::fields::{self, Field, Visiting};
use proc_macro2::TokenStream;
use quote::quote;
use syn::ext::IdentExt;
use syn::{DataStruct, Error, Fields, Result};

/// Returns the code that reads a struct, and the scalars among its fields. See
/// [`Container::implement`].
pub(crate) fn body(
    container: &Container<'_>,
    data: &DataStruct,
) -> Result<(TokenStream, Vec<TokenStream>)> {
    let rename_all = container.attributes.rename_all;
    let ident = container.ident.unraw().to_string();
    let fields = fields::read(container, &data.fields, rename_all, &ident)?;
    let scalars = fields.iter().map(|field| field.scalar(container)).collect();
    let read = if container.attributes.transparent {
        transparent(container, &fields)?
    } else {
        match &data.fields {
            Fields::Named(_) => of_fields(container, &fields, true)?,
            Fields::Unnamed(_) => of_fields(container, &fields, false)?,
            Fields::Unit => unit(container),
        }
    };
    Ok((read, scalars))
}

fn transparent(container: &Container<'_>, fields: &[Field<'_>]) -> Result<TokenStream> {
    if fields.iter().filter(|field| field.is_read()).count() != 1 {
        return Err(Error::new(
            container.ident.span(),
            "a transparent struct has exactly one field that is read",
        ));
    }
    let withs = fields.iter().map(|field| field.with_helper(container));
    let read = fields::from_one(container, fields);
    Ok(quote!(#(#withs)* #read))
}

fn of_fields(container: &Container<'_>, fields: &[Field<'_>], named: bool) -> Result<TokenStream> {
    let name = &container.name;
    let kind = if named { "struct" } else { "tuple struct" };
    let ident = container.ident;
    let visiting = Visiting {
        container,
        constructor: quote!(#ident),
        fields,
        expecting: format!("{kind} {name}"),
        named,
    };
    let count = visiting.count();
    let is_newtype = !named && fields.len() == 1 && count == 1;
    let visit_newtype = is_newtype.then(|| {
        let read = fields::from_one(container, fields);
        quote! {
            fn visit_newtype_struct<__D: __d::Deserializer<'de>>(
                self,
                __deserializer: __D,
            ) -> ::core::result::Result<Self::Value, __D::Error> {
                let __arena = self.0;
                #read
            }
        }
    });
    let (declaration, made) = visiting.visitor(visit_newtype)?;
    let call = if named {
        let names = visiting.names();
        quote!(__d::Deserializer::deserialize_struct(__deserializer, #name, #names, #made))
    } else if is_newtype {
        quote!(__d::Deserializer::deserialize_newtype_struct(__deserializer, #name, #made))
    } else {
        quote!(__d::Deserializer::deserialize_tuple_struct(__deserializer, #name, #count, #made))
    };
    Ok(quote!(#declaration #call))
}

fn unit(container: &Container<'_>) -> TokenStream {
    let (name, ident) = (&container.name, container.ident);
    let methods = quote! {
        fn visit_unit<__E: __d::Error>(self) -> ::core::result::Result<Self::Value, __E> {
            let _ = self.0;
            ::core::result::Result::Ok(#ident)
        }
    };
    let (declaration, made) = container.visitor(&format!("unit struct {name}"), &methods);
    quote! {
        #declaration
        __d::Deserializer::deserialize_unit_struct(__deserializer, #name, #made)
    }
}
