//! Enums, tagged from outside as serde does by default: unit, newtype, tuple and struct variants.

use crate::attributes::VariantAttributes;
use crate::container::{Body, Container, unraw};
use crate::fields::{self, Place, Visiting};
use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote};
use syn::{DataEnum, Error, Fields, Result, Variant};

/// How an enum is read.
pub(crate) fn body(container: &Container<'_>, data: &DataEnum) -> Result<Body> {
    if container.attributes.transparent {
        return Err(Error::new(
            container.ident.span(),
            "an enum cannot be transparent",
        ));
    }
    let mut names = Vec::new();
    let mut declarations = Vec::new();
    let mut arms = Vec::new();
    let mut scalars = Vec::new();
    for (index, variant) in data.variants.iter().enumerate() {
        let attributes = VariantAttributes::read(&variant.attrs)?;
        let own_name = unraw(&variant.ident);
        let name = attributes.rename.unwrap_or_else(|| {
            let case = container.attributes.rename_all;
            case.map_or_else(|| own_name.clone(), |case| case.of_variant(&own_name))
        });
        let read = variant_arm(container, index, variant, &name)?;
        arms.push(read.arm);
        declarations.push(read.declaration);
        scalars.extend(read.scalars);
        let mut all = vec![name];
        all.extend(attributes.aliases);
        names.push((all, variant.ident.span()));
    }
    let find = fields::find(&names, "variants")?;
    // As serde tells them: aliases too.
    let told = names.iter().flat_map(|(names, _)| names);
    let count = names.len();
    let visitor = format_ident!("__Visitor", span = Span::mixed_site());
    let Container { de, name, .. } = container;
    let made = container.made(&visitor, &quote!(__arena));
    let methods = quote! {
        fn visit_enum<__E: __d::EnumAccess<#de>>(
            self,
            __enum: __E,
        ) -> ::core::result::Result<Self::Value, __E::Error> {
            #find
            let _ = self.0;
            let (__number, __variant) =
                __d::EnumAccess::variant_seed(__enum, __d::variant_name(__find, #count, __VARIANTS))?;
            match __number {
                #(#arms)*
                _ => {
                    let _ = __variant;
                    ::core::result::Result::Err(
                        <__E::Error as __d::Error>::unknown_variant("", __VARIANTS)
                    )
                }
            }
        }
    };
    let declaration = container.visitor(&visitor, &format!("enum {name}"), &methods);
    let read = quote! {
        const __VARIANTS: &[&str] = &[#(#told),*];
        #(#declarations)*
        #declaration
        __d::Deserializer::deserialize_enum(
            __deserializer,
            #name,
            __VARIANTS,
            #made,
        )
    };
    Ok(Body {
        read,
        scalar: quote!(true #(&& #scalars)*),
    })
}

struct Read {
    declaration: TokenStream,
    arm: TokenStream,
    scalars: Vec<TokenStream>,
}

fn variant_arm(
    container: &Container<'_>,
    index: usize,
    variant: &Variant,
    name: &str,
) -> Result<Read> {
    let (ident, own) = (&variant.ident, container.ident);
    let of = format!("{own}::{ident}");
    // As in serde, the enum's `rename_all` is for its variants, not for their fields.
    let fields = fields::read(container, &variant.fields, None, &of)?;
    let scalars = fields.iter().map(|field| field.scalar(container)).collect();
    let constructor = quote!(#own::#ident);
    let read_count = fields.iter().filter(|field| field.is_read()).count();
    if matches!(variant.fields, Fields::Unit) {
        return Ok(Read {
            declaration: TokenStream::new(),
            arm: quote! {
                #index => {
                    __d::VariantAccess::unit_variant(__variant)?;
                    ::core::result::Result::Ok(#constructor)
                }
            },
            scalars,
        });
    }
    if let (Fields::Unnamed(_), [field], 1) = (&variant.fields, fields.as_slice(), read_count) {
        let seed = field.seed(container, &quote!(self.0), Place::Variant(name, index));
        return Ok(Read {
            declaration: field.with_helper(container),
            arm: quote! {
                #index => ::core::result::Result::Ok(#constructor(
                    __d::VariantAccess::newtype_variant_seed(__variant, #seed)?
                )),
            },
            scalars,
        });
    }
    let named = matches!(variant.fields, Fields::Named(_));
    let visitor = format_ident!("__Variant{index}", span = Span::mixed_site());
    let kind = if named {
        "struct variant"
    } else {
        "tuple variant"
    };
    let visiting = Visiting {
        container,
        visitor: &visitor,
        constructor,
        fields: &fields,
        expecting: format!("{kind} {of}"),
        named,
    };
    let declaration = visiting.declaration(&TokenStream::new())?;
    let made = container.made(&visitor, &quote!(self.0));
    let read = if named {
        let names = visiting.names();
        quote!(__d::VariantAccess::struct_variant(__variant, #names, #made))
    } else {
        let count = visiting.count();
        quote!(__d::VariantAccess::tuple_variant(__variant, #count, #made))
    };
    Ok(Read {
        declaration,
        arm: quote! {
            #index => __d::in_variant(#name, #index, || #read),
        },
        scalars,
    })
}
