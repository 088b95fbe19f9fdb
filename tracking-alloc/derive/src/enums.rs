//! Externally tagged enums, serde's default: unit, newtype, tuple and struct variants.

use crate::attributes::Attributes;
use crate::container::Container;
use crate::fields::{self, Field, Place, Visiting};
use proc_macro2::TokenStream;
use quote::quote;
use syn::ext::IdentExt;
use syn::{DataEnum, Error, Fields, Result, Variant};

/// Returns the code that reads an enum, and the scalars among its fields. See
/// [`Container::implement`].
pub(crate) fn body(
    container: &Container<'_>,
    data: &DataEnum,
) -> Result<(TokenStream, Vec<TokenStream>)> {
    if container.attributes.transparent {
        return Err(Error::new(
            container.ident.span(),
            "an enum cannot be transparent",
        ));
    }
    let mut names = Vec::new();
    let mut arms = Vec::new();
    let mut scalars = Vec::new();
    for (index, variant) in data.variants.iter().enumerate() {
        let attributes = Attributes::of_variant(&variant.attrs)?;
        let own_name = variant.ident.unraw().to_string();
        let name = attributes.rename.unwrap_or_else(|| {
            let case = container.attributes.rename_all;
            case.map_or_else(|| own_name.clone(), |case| case.of_variant(&own_name))
        });
        // As in serde, the enum's `rename_all` applies to its variants and not to their fields.
        let path = format!("{}::{own_name}", container.ident.unraw());
        let fields = fields::read(container, &variant.fields, None, &path)?;
        arms.push(variant_arm(container, index, variant, &fields, &name)?);
        scalars.extend(fields.iter().map(|field| field.scalar(container)));
        let mut all = vec![name];
        all.extend(attributes.aliases);
        names.push((all, variant.ident.span()));
    }
    let find = fields::find(&names, "variants")?;
    // Aliases are listed too, as in serde.
    let listed = names.iter().flat_map(|(names, _)| names);
    let count = names.len();
    let methods = quote! {
        fn visit_enum<__E: __d::EnumAccess<'de>>(
            self,
            __enum: __E,
        ) -> ::core::result::Result<Self::Value, __E::Error> {
            #find
            let __arena = self.0;
            let (__number, __variant) = __d::EnumAccess::variant_seed(__enum, __d::Identifier {
                find: __find,
                count: #count,
                variants: ::core::option::Option::Some(__VARIANTS),
            })?;
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
    let name = &container.name;
    let (declaration, made) = container.visitor(&format!("enum {name}"), &methods);
    let read = quote! {
        const __VARIANTS: &[&str] = &[#(#listed),*];
        #declaration
        __d::Deserializer::deserialize_enum(
            __deserializer,
            #name,
            __VARIANTS,
            #made,
        )
    };
    Ok((read, scalars))
}

/// Returns a variant's arm in the `match` by number.
fn variant_arm(
    container: &Container<'_>,
    index: usize,
    variant: &Variant,
    fields: &[Field<'_>],
    name: &str,
) -> Result<TokenStream> {
    let (ident, own) = (&variant.ident, container.ident);
    let constructor = quote!(#own::#ident);
    let read_count = fields.iter().filter(|field| field.is_read()).count();
    let named = match (&variant.fields, fields) {
        (Fields::Unit, _) => {
            return Ok(quote! {
                #index => {
                    __d::VariantAccess::unit_variant(__variant)?;
                    ::core::result::Result::Ok(#constructor)
                }
            });
        }
        (Fields::Unnamed(_), [field]) if read_count == 1 => {
            let with = field.with_helper(container);
            let seed = field.seed(container, Place::Variant(name, index));
            return Ok(quote! {
                #index => {
                    #with
                    ::core::result::Result::Ok(#constructor(
                        __d::VariantAccess::newtype_variant_seed(__variant, #seed)?
                    ))
                }
            });
        }
        (fields, _) => matches!(fields, Fields::Named(_)),
    };
    let kind = if named { "struct" } else { "tuple" };
    let visiting = Visiting {
        container,
        constructor,
        fields,
        expecting: format!("{kind} variant {own}::{ident}"),
        named,
    };
    let (declaration, made) = visiting.visitor(None)?;
    let read = if named {
        let names = visiting.names();
        quote!(__d::VariantAccess::struct_variant(__variant, #names, #made))
    } else {
        quote!(__d::VariantAccess::tuple_variant(__variant, #read_count, #made))
    };
    Ok(quote! {
        #index => {
            #declaration
            __d::in_variant(&__d::PathStep::Variant(#name, #index), || #read)
        }
    })
}
