//! A serializer that writes nothing: it looks at the addresses of what it is handed.

use super::names::{is_array, is_primitive};
use super::nodes::Step;
use super::place::{At, Shape};
use super::words::{Items, Seen};
use serde::ser::{self, Serialize, Serializer};
use std::any::type_name;
use std::cell::Cell;
use std::fmt;
use tracking_alloc_recording::scope_kind;

/// The value's own `Serialize` gave up.
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
    /// Measures one thing inside the value, as it was seen.
    fn show_seen<V: ?Sized + Serialize>(
        self,
        under: u32,
        step: Step<'_>,
        seen: Seen,
        value: &V,
        before: &Cell<usize>,
    ) -> Result<(), Stop> {
        let inner = {
            let walk = &mut *self.walk.borrow_mut();
            self.value.inner(walk, under, step, seen, before)
        };
        value.serialize(At {
            walk: self.walk,
            value: &inner,
        })?;
        let walk = &mut *self.walk.borrow_mut();
        inner.finish(walk);
        if walk.failed { Err(Stop) } else { Ok(()) }
    }

    fn show<V: ?Sized + Serialize>(
        self,
        under: u32,
        step: Step<'_>,
        value: &V,
        before: &Cell<usize>,
    ) -> Result<(), Stop> {
        let seen = self.walk.borrow().look(value);
        self.show_seen(under, step, seen, value, before)
    }

    fn bytes(self, address: usize, length: usize) {
        if length == 0 {
            self.nothing();
        } else {
            let walk = &mut *self.walk.borrow_mut();
            self.value.meet(walk, address, Some(length));
        }
    }

    fn number(self, number: u64, bytes: usize) {
        self.value.number_bytes.set(bytes);
        self.value.is_shaped(Shape::Number(number));
    }

    fn nothing(self) {
        self.value.is_shaped(Shape::Empty);
    }

    /// Numbers in a row: all of them at once.
    fn numbers(self, items: Items, name: &'static str) {
        let walk = &mut *self.walk.borrow_mut();
        let bytes = items.count * items.each;
        self.value.meet(walk, items.start, Some(bytes));
        let child = walk
            .nodes
            .child(self.value.node, Step::ELEMENT, name, Some(items.each));
        let child = child.and_then(|index| walk.nodes.all.get_mut(index as usize));
        if let Some(node) = child {
            node.count += items.count as u64;
            node.inline_bytes += bytes as u64;
        }
    }

    /// What is in an `Option` or a newtype, at the value's own place.
    fn hand_over<V: ?Sized + Serialize>(self, value: &V) -> Result<(), Stop> {
        let (name, bytes) = (type_name::<V>(), size_of_val(value));
        let address = std::ptr::from_ref(value).cast::<u8>() as usize;
        if name.starts_with('&') && !self.walk.borrow().is_on_stack(address) {
            // A reference that the value keeps: what it refers to is somebody else's.
            self.value.is_borrowed.set(true);
        }
        value.serialize(self)?;
        let walk = &mut *self.walk.borrow_mut();
        self.value.hand_over(walk, name, address, bytes);
        if walk.failed { Err(Stop) } else { Ok(()) }
    }

    /// Fields it has are those of a variant, or none.
    fn no_fields(self) {
        self.value.is_shaped(Shape::Fields);
        self.value.has_no_fields.set(true);
    }

    fn inside(self, what: What) -> Inside<'a> {
        Inside {
            at: self,
            under: self.value.node,
            what,
            next: 0,
            before: Cell::new(0),
            before_value: Cell::new(0),
        }
    }

    /// A variant with fields of its own: a place between the enum and them, in the same memory.
    fn variant(self, name: &'static str, what: What) -> Inside<'a> {
        self.no_fields();
        let step = Step {
            kind: scope_kind::VARIANT,
            name: name.as_bytes(),
        };
        let walk = &mut *self.walk.borrow_mut();
        let found = walk.nodes.child(self.value.node, step, "", None);
        if let Some(node) = found.and_then(|index| walk.nodes.all.get_mut(index as usize)) {
            node.count += 1;
        }
        Inside {
            under: found.unwrap_or(self.value.node),
            ..self.inside(what)
        }
    }
}

/// What something inside a value is called.
#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    /// Elements of a sequence.
    Elements,
    /// Numbered: of a tuple.
    Numbered,
    /// Keys and values; `true` = perhaps the fields of a struct with something flattened into it.
    Map(bool),
    /// Named.
    Fields,
}

/// A value that shows what is inside it.
pub(super) struct Inside<'a> {
    at: At<'a>,
    /// The node that places are inside of.
    under: u32,
    what: What,
    next: u32,
    before: Cell<usize>,
    before_value: Cell<usize>,
}

impl Inside<'_> {
    fn item<V: ?Sized + Serialize>(&mut self, value: &V) -> Result<(), Stop> {
        if self.what != What::Numbered {
            return self.at.show(self.under, Step::ELEMENT, value, &self.before);
        }
        let mut digits = [0; 10];
        let name = decimal(self.next, &mut digits);
        self.next += 1;
        let kind = scope_kind::INDEX;
        let step = Step { kind, name };
        self.at.show(self.under, step, value, &Cell::new(0))
    }

    fn field<V: ?Sized + Serialize>(&mut self, name: &[u8], value: &V) -> Result<(), Stop> {
        let kind = scope_kind::FIELD;
        if is_tag(self.at, value) {
            self.at.value.has_no_fields.set(true);
        }
        let step = Step { kind, name };
        self.at.show(self.under, step, value, &Cell::new(0))
    }

    fn done(self) {
        self.at.nothing();
    }
}

/// Whether a field is what serde's derive names the variant with: a text that nobody allocated.
fn is_tag<V: ?Sized>(at: At<'_>, value: &V) -> bool {
    let name = type_name::<V>();
    let address = std::ptr::from_ref(value).cast::<u8>() as usize;
    name.ends_with("::AdjacentlyTaggedEnumVariant")
        || name == "str" && at.walk.borrow_mut().finder.block_at(address).is_none()
}

/// A number's decimal digits.
fn decimal(mut number: u32, digits: &mut [u8; 10]) -> &[u8] {
    let mut first = digits.len();
    loop {
        first -= 1;
        digits[first] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return &digits[first..];
        }
    }
}

macro_rules! numbers {
    ($($method:ident: $type:ty),*) => {$(
        fn $method(self, number: $type) -> Result<(), Stop> {
            self.number(number as u64, size_of::<$type>());
            Ok(())
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
        self.number(number.to_bits().into(), 4);
        Ok(())
    }

    fn serialize_f64(self, number: f64) -> Result<(), Stop> {
        self.number(number.to_bits(), 8);
        Ok(())
    }

    fn serialize_str(self, text: &str) -> Result<(), Stop> {
        self.bytes(text.as_ptr() as usize, text.len());
        Ok(())
    }

    fn serialize_bytes(self, bytes: &[u8]) -> Result<(), Stop> {
        self.bytes(bytes.as_ptr() as usize, bytes.len());
        Ok(())
    }

    fn serialize_none(self) -> Result<(), Stop> {
        self.no_fields();
        Ok(())
    }

    fn serialize_some<T: ?Sized + Serialize>(self, value: &T) -> Result<(), Stop> {
        self.hand_over(value)
    }

    fn serialize_unit(self) -> Result<(), Stop> {
        self.no_fields();
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Stop> {
        Ok(())
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, _: &'static str) -> Result<(), Stop> {
        self.no_fields();
        Ok(())
    }

    fn serialize_newtype_struct<T: ?Sized + Serialize>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), Stop> {
        self.hand_over(value)
    }

    fn serialize_newtype_variant<T: ?Sized + Serialize>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), Stop> {
        let step = Step {
            kind: scope_kind::VARIANT,
            name: variant.as_bytes(),
        };
        self.value.has_no_fields.set(true);
        self.show(self.value.node, step, value, &Cell::new(0))
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Inside<'a>, Stop> {
        Ok(self.inside(What::Elements))
    }

    fn serialize_tuple(self, _: usize) -> Result<Inside<'a>, Stop> {
        let is_array = {
            let walk = self.walk.borrow();
            let node = walk.nodes.all.get(self.value.node as usize);
            let known = node.and_then(|node| walk.nodes.type_of_node(node));
            known.is_some_and(|known| is_array(known.name))
        };
        Ok(self.inside(if is_array {
            What::Elements
        } else {
            What::Numbered
        }))
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Inside<'a>, Stop> {
        Ok(self.inside(What::Numbered))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Inside<'a>, Stop> {
        Ok(self.variant(variant, What::Numbered))
    }

    fn serialize_map(self, length: Option<usize>) -> Result<Inside<'a>, Stop> {
        Ok(self.inside(What::Map(length.is_none())))
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Inside<'a>, Stop> {
        Ok(self.inside(What::Fields))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Inside<'a>, Stop> {
        Ok(self.variant(variant, What::Fields))
    }

    fn collect_seq<I>(self, items: I) -> Result<(), Stop>
    where
        I: IntoIterator<Item: Serialize>,
    {
        let mut items = items.into_iter();
        let slice = Items::of(&items);
        let before = Cell::new(0);
        let Some(first) = items.next() else {
            self.nothing();
            return Ok(());
        };
        let seen = self.walk.borrow().look(&first);
        let slice = slice.filter(|slice| slice.start == seen.address);
        if let Some(slice) = slice
            && is_primitive(seen.type_name)
        {
            self.numbers(slice, seen.type_name);
            return Ok(());
        }
        let each = slice.map(|slice| slice.each);
        let sized = |seen: Seen| Seen {
            bytes: seen.bytes.or(each),
            ..seen
        };
        self.show_seen(self.value.node, Step::ELEMENT, sized(seen), &first, &before)?;
        for item in items {
            let seen = sized(self.walk.borrow().look(&item));
            self.show_seen(self.value.node, Step::ELEMENT, seen, &item, &before)?;
        }
        Ok(())
    }

    fn collect_str<T: ?Sized + fmt::Display>(self, _: &T) -> Result<(), Stop> {
        // What it would be written as is no part of it.
        self.value.is_shaped(Shape::Text);
        Ok(())
    }

    fn is_human_readable(&self) -> bool {
        // Types that then write themselves as text would do so into blocks that are not the value's.
        false
    }
}

macro_rules! items {
    ($($name:ident::$method:ident),*) => {$(
        impl ser::$name for Inside<'_> {
            type Ok = ();
            type Error = Stop;

            fn $method<T: ?Sized + Serialize>(&mut self, value: &T) -> Result<(), Stop> {
                self.item(value)
            }

            fn end(self) -> Result<(), Stop> {
                self.done();
                Ok(())
            }
        }
    )*};
}

items! {
    SerializeSeq::serialize_element, SerializeTuple::serialize_element, SerializeTupleStruct::serialize_field
}

impl ser::SerializeMap for Inside<'_> {
    type Ok = ();
    type Error = Stop;

    fn serialize_key<T: ?Sized + Serialize>(&mut self, key: &T) -> Result<(), Stop> {
        self.at.show(self.under, Step::KEY, key, &self.before)
    }

    fn serialize_value<T: ?Sized + Serialize>(&mut self, value: &T) -> Result<(), Stop> {
        self.at
            .show(self.under, Step::VALUE, value, &self.before_value)
    }

    fn serialize_entry<K: ?Sized + Serialize, V: ?Sized + Serialize>(
        &mut self,
        key: &K,
        value: &V,
    ) -> Result<(), Stop> {
        // A struct with something flattened into it hands over its fields like this.
        if self.what == What::Map(true) && type_name::<K>() == "str" {
            // SAFETY: the key is a `str`: its address and size are those of its bytes.
            let name = unsafe {
                std::slice::from_raw_parts(std::ptr::from_ref(key).cast::<u8>(), size_of_val(key))
            };
            return self.field(name, value);
        }
        self.serialize_key(key)?;
        self.serialize_value(value)
    }

    fn end(self) -> Result<(), Stop> {
        self.done();
        Ok(())
    }
}

impl ser::SerializeTupleVariant for Inside<'_> {
    type Ok = ();
    type Error = Stop;

    fn serialize_field<T: ?Sized + Serialize>(&mut self, value: &T) -> Result<(), Stop> {
        self.item(value)
    }

    fn end(self) -> Result<(), Stop> {
        Ok(())
    }
}

impl ser::SerializeStructVariant for Inside<'_> {
    type Ok = ();
    type Error = Stop;

    fn serialize_field<T: ?Sized + Serialize>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), Stop> {
        self.field(name.as_bytes(), value)
    }

    fn end(self) -> Result<(), Stop> {
        Ok(())
    }
}

impl ser::SerializeStruct for Inside<'_> {
    type Ok = ();
    type Error = Stop;

    fn serialize_field<T: ?Sized + Serialize>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), Stop> {
        self.field(name.as_bytes(), value)
    }

    fn end(self) -> Result<(), Stop> {
        Ok(())
    }
}
