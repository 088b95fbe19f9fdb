//! Reads any JSON as a tree in a bumpalo arena, including strings: everything is released at once.

use bumpalo::Bump;
use bumpalo::collections::Vec;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::fmt;
use std::hint::black_box;

/// A value without a destructor.
#[derive(Clone, Copy, Debug)]
#[expect(dead_code, reason = "only read into")]
enum Node<'a> {
    Null,
    Bool(bool),
    Number(f64),
    Text(&'a str),
    List(&'a [Node<'a>]),
    Object(&'a [(&'a str, Node<'a>)]),
}

/// Reads a value into its arena.
#[derive(Clone, Copy)]
struct Into<'a>(&'a Bump);

/// Reads a text and returns the arena that holds all of it.
pub(super) fn read(text: &str) -> Bump {
    let arena = Bump::new();
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let tree = Into(&arena).deserialize(&mut deserializer);
    black_box(tree.expect("the checked file is JSON"));
    arena
}

impl<'de, 'a> DeserializeSeed<'de> for Into<'a> {
    type Value = Node<'a>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node<'a>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, 'a> Visitor<'de> for Into<'a> {
    type Value = Node<'a>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_unit<E>(self) -> Result<Node<'a>, E> {
        Ok(Node::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Node<'a>, E> {
        Ok(Node::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Node<'a>, E> {
        Ok(Node::Number(value as f64))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Node<'a>, E> {
        Ok(Node::Number(value as f64))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Node<'a>, E> {
        Ok(Node::Number(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Node<'a>, E> {
        Ok(Node::Text(self.0.alloc_str(value)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Node<'a>, A::Error> {
        let mut list = Vec::new_in(self.0);
        while let Some(value) = access.next_element_seed(self)? {
            list.push(value);
        }
        Ok(Node::List(list.into_bump_slice()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Node<'a>, A::Error> {
        let mut object = Vec::new_in(self.0);
        while let Some(key) = access.next_key_seed(self)? {
            let Node::Text(key) = key else {
                return Err(A::Error::custom("a key is a string"));
            };
            object.push((key, access.next_value_seed(self)?));
        }
        Ok(Node::Object(object.into_bump_slice()))
    }
}
