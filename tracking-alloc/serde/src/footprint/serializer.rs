//! A serializer that writes nothing. It notes the addresses of the values that it gets.

use super::known;
use super::nodes::Step;
use super::value::{At, Neighbours};
use super::value_ref::ValueRef;
use serde::ser::{self, Serialize, Serializer};
use std::any::type_name;
use std::fmt;
use std::io::Write;
use tracking_alloc_recording::scope_kind;

/// The error of a value whose own `Serialize` failed.
#[derive(Debug)]
pub(super) struct Stop;

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the value refuses to be serialized")
    }
}

impl std::error::Error for Stop {}

impl ser::Error for Stop {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Stop
    }
}

impl<'a> At<'a> {
    fn item<V: ?Sized>(self, value: &V) -> ValueRef {
        let walk = self.walk.borrow();
        ValueRef::of(value, |address| walk.is_on_stack(address))
    }

    /// Measures one thing inside the value. Returns its address and its node.
    fn show<V: ?Sized + Serialize>(
        self,
        under: u32,
        step: Step<'_>,
        value: &V,
        neighbours: Neighbours,
    ) -> Result<(usize, u32), Stop> {
        let item = self.item(value);
        let inner = {
            let walk = &mut *self.walk.borrow_mut();
            self.value.inner(walk, under, step, item, neighbours)
        };
        value.serialize(At {
            walk: self.walk,
            value: &inner,
        })?;
        let walk = &mut *self.walk.borrow_mut();
        inner.finish(walk);
        if let (true, Some((number, 8))) = (inner.is_temporary, inner.number.get()) {
            self.value.computed_number.set(number);
        }
        if walk.failed {
            return Err(Stop);
        }
        Ok((item.address, inner.node))
    }

    fn number(self, number: u64, bytes: usize) -> Result<(), Stop> {
        self.value.number.set(Some((number, bytes)));
        Ok(())
    }

    /// Measures consecutive numbers all at once.
    fn numbers(self, numbers: known::Numbers) {
        let walk = &mut *self.walk.borrow_mut();
        let bytes = numbers.count * numbers.each;
        self.value.meet(walk, numbers.start, Some(bytes));
        let of_type = Some(numbers.each);
        let child = walk
            .nodes
            .child(self.value.node, Step::ELEMENT, numbers.type_name, of_type)
            .and_then(|index| walk.nodes.get_mut(index));
        if let Some(node) = child {
            node.figures.count += numbers.count as u64;
            node.figures.inline_bytes += bytes as u64;
        }
    }

    /// Visits the content of an `Option` or a newtype, at the value's own place.
    fn same_place<V: ?Sized + Serialize>(self, value: &V) -> Result<(), Stop> {
        let item = self.item(value);
        self.value.learn(&mut self.walk.borrow_mut(), item);
        value.serialize(self)
    }

    /// Notes that the value shows only its variant.
    fn variant_only(self) -> Result<(), Stop> {
        self.value.is_variant.set(true);
        Ok(())
    }

    fn inside(self, names: Names) -> Result<Inside<'a>, Stop> {
        Ok(Inside {
            at: self,
            under: self.value.node,
            names,
            last: 0,
            last_key: None,
        })
    }

    /// Begins a variant with fields of its own. It is a place between the enum and the fields, in
    /// the same memory.
    fn variant(self, name: &'static str, names: Names) -> Result<Inside<'a>, Stop> {
        self.value.is_variant.set(true);
        let walk = &mut *self.walk.borrow_mut();
        let found = walk
            .nodes
            .child(self.value.node, Step::variant(name), "", None);
        if let Some(node) = found.and_then(|index| walk.nodes.get_mut(index)) {
            node.figures.count += 1;
        }
        Ok(Inside {
            under: found.unwrap_or(self.value.node),
            ..self.inside(names)?
        })
    }
}

/// The names of the places inside a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Names {
    /// Plain kinds: elements, keys and values, or fields with their names.
    Plain,
    /// The places of a tuple, by number. Contains the next number.
    Numbered(u32),
    /// Keys and values that may be the fields of a struct with a flattened field.
    PerhapsFields,
}

/// A value that shows its contents.
pub(super) struct Inside<'a> {
    at: At<'a>,
    /// The node that contains the places.
    under: u32,
    names: Names,
    /// The address of the previous element, or of the previous value of a map.
    last: usize,
    /// The address and node of the previous key, whose value comes next.
    last_key: Option<(usize, u32)>,
}

impl Inside<'_> {
    fn element<V: ?Sized + Serialize>(&mut self, value: &V) -> Result<(), Stop> {
        let Names::Numbered(next) = &mut self.names else {
            let after = Neighbours::after(self.last);
            self.last = self.at.show(self.under, Step::ELEMENT, value, after)?.0;
            return Ok(());
        };
        let mut digits = [0; 10];
        let mut rest = &mut digits[..];
        // There is room for every number.
        let _ = write!(rest, "{next}");
        *next += 1;
        let left = rest.len();
        let name = &digits[..digits.len() - left];
        let kind = scope_kind::INDEX;
        self.part(Step { kind, name }, value)
    }

    fn field<V: ?Sized + Serialize>(&mut self, name: &[u8], value: &V) -> Result<(), Stop> {
        let kind = scope_kind::FIELD;
        if is_tag(self.at, value) {
            self.at.value.is_variant.set(true);
        }
        self.part(Step { kind, name }, value)
    }

    fn part<V: ?Sized + Serialize>(&mut self, step: Step<'_>, value: &V) -> Result<(), Stop> {
        let alone = Neighbours::after(0);
        self.at.show(self.under, step, value, alone).map(|_| ())
    }
}

/// Returns `true` if a field is the one in which serde's derive names the variant: a text that is
/// not in an allocated block.
fn is_tag<V: ?Sized>(at: At<'_>, value: &V) -> bool {
    let name = type_name::<V>();
    let address = std::ptr::from_ref(value).cast::<u8>() as usize;
    name.ends_with("::AdjacentlyTaggedEnumVariant")
        || known::is_str::<V>() && at.walk.borrow_mut().finder.block_at(address).is_none()
}

macro_rules! numbers {
    ($($method:ident: $type:ty),*) => {$(
        fn $method(self, number: $type) -> Result<(), Stop> {
            self.number(number as u64, size_of::<$type>())
        }
    )*};
}

impl<'a> Serializer for At<'a> {
    type Ok = ();
    type Error = Stop;
    type SerializeSeq = Inside<'a>;
    type SerializeTuple = Inside<'a>;
    type SerializeTupleStruct = Inside<'a>;
    type SerializeTupleVariant = Inside<'a>;
    type SerializeMap = Inside<'a>;
    type SerializeStruct = Inside<'a>;
    type SerializeStructVariant = Inside<'a>;

    numbers! {
        serialize_bool: bool, serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64,
        serialize_i128: i128, serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64,
        serialize_u128: u128, serialize_char: char
    }

    fn serialize_f32(self, number: f32) -> Result<(), Stop> {
        self.number(number.to_bits().into(), 4)
    }

    fn serialize_f64(self, number: f64) -> Result<(), Stop> {
        self.number(number.to_bits(), 8)
    }

    fn serialize_str(self, text: &str) -> Result<(), Stop> {
        self.serialize_bytes(text.as_bytes())
    }

    fn serialize_bytes(self, bytes: &[u8]) -> Result<(), Stop> {
        if !bytes.is_empty() {
            let walk = &mut *self.walk.borrow_mut();
            self.value
                .meet(walk, bytes.as_ptr() as usize, Some(bytes.len()));
        }
        Ok(())
    }

    fn serialize_none(self) -> Result<(), Stop> {
        self.variant_only()
    }

    fn serialize_some<T: ?Sized + Serialize>(self, value: &T) -> Result<(), Stop> {
        self.same_place(value)
    }

    fn serialize_unit(self) -> Result<(), Stop> {
        self.variant_only()
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Stop> {
        Ok(())
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, _: &'static str) -> Result<(), Stop> {
        self.variant_only()
    }

    fn serialize_newtype_struct<T: ?Sized + Serialize>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), Stop> {
        self.same_place(value)
    }

    fn serialize_newtype_variant<T: ?Sized + Serialize>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), Stop> {
        self.value.is_variant.set(true);
        self.inside(Names::Plain)?
            .part(Step::variant(variant), value)
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Inside<'a>, Stop> {
        self.inside(Names::Plain)
    }

    fn serialize_tuple(self, _: usize) -> Result<Inside<'a>, Stop> {
        let nodes = &self.walk.borrow().nodes;
        let node = nodes.get(self.value.node);
        let is_array = node.is_some_and(|node| nodes.type_name(node).starts_with('['));
        self.inside(if is_array {
            Names::Plain
        } else {
            Names::Numbered(0)
        })
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Inside<'a>, Stop> {
        self.inside(Names::Numbered(0))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Inside<'a>, Stop> {
        self.variant(variant, Names::Numbered(0))
    }

    fn serialize_map(self, length: Option<usize>) -> Result<Inside<'a>, Stop> {
        self.inside(match length {
            Some(_) => Names::Plain,
            None => Names::PerhapsFields,
        })
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Inside<'a>, Stop> {
        self.inside(Names::Plain)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Inside<'a>, Stop> {
        self.variant(variant, Names::Plain)
    }

    fn collect_seq<I>(self, items: I) -> Result<(), Stop>
    where
        I: IntoIterator<Item: Serialize>,
    {
        let mut items = items.into_iter();
        if let Some(numbers) = known::numbers(&items) {
            self.numbers(numbers);
            return Ok(());
        }
        let mut inside = self.inside(Names::Plain)?;
        let (first, second) = (items.next(), items.next());
        if let Some(second) = &second {
            // Their distance also gives the size of the first one.
            inside.last = self.item(second).address;
        }
        for item in first.into_iter().chain(second).chain(items) {
            inside.element(&item)?;
        }
        Ok(())
    }

    fn collect_str<T: ?Sized + fmt::Display>(self, _: &T) -> Result<(), Stop> {
        // The text is not part of the value.
        Ok(())
    }

    fn is_human_readable(&self) -> bool {
        // Types that serialize themselves as text would allocate blocks that do not belong to the
        // value.
        false
    }
}

macro_rules! parts {
    ($($name:ident::$method:ident($($field:ident)?) as $part:ident),* $(,)?) => {$(
        impl ser::$name for Inside<'_> {
            type Ok = ();
            type Error = Stop;

            fn $method<T: ?Sized + Serialize>(
                &mut self,
                $($field: &'static str,)?
                value: &T,
            ) -> Result<(), Stop> {
                self.$part($($field.as_bytes(),)? value)
            }

            fn end(self) -> Result<(), Stop> {
                Ok(())
            }
        }
    )*};
}

parts! {
    SerializeSeq::serialize_element() as element,
    SerializeTuple::serialize_element() as element,
    SerializeTupleStruct::serialize_field() as element,
    SerializeTupleVariant::serialize_field() as element,
    SerializeStruct::serialize_field(name) as field,
    SerializeStructVariant::serialize_field(name) as field,
}

impl ser::SerializeMap for Inside<'_> {
    type Ok = ();
    type Error = Stop;

    fn serialize_key<T: ?Sized + Serialize>(&mut self, key: &T) -> Result<(), Stop> {
        let after = Neighbours::after(self.last_key.map_or(0, |(address, _)| address));
        self.last_key = Some(self.at.show(self.under, Step::KEY, key, after)?);
        Ok(())
    }

    fn serialize_value<T: ?Sized + Serialize>(&mut self, value: &T) -> Result<(), Stop> {
        let neighbours = Neighbours {
            before: self.last,
            key: self.last_key,
        };
        let shown = self.at.show(self.under, Step::VALUE, value, neighbours);
        self.last = shown?.0;
        Ok(())
    }

    fn serialize_entry<K: ?Sized + Serialize, V: ?Sized + Serialize>(
        &mut self,
        key: &K,
        value: &V,
    ) -> Result<(), Stop> {
        // A struct with a flattened field passes its fields like this.
        if self.names == Names::PerhapsFields && known::is_str::<K>() {
            // SAFETY: the key is a `str`, so its address and size are those of its bytes.
            let name = unsafe {
                std::slice::from_raw_parts(std::ptr::from_ref(key).cast::<u8>(), size_of_val(key))
            };
            return self.field(name, value);
        }
        self.serialize_key(key)?;
        self.serialize_value(value)
    }

    fn end(self) -> Result<(), Stop> {
        Ok(())
    }
}
