//! The formats. Each uses its own functions, so the tests call exactly what users call.

use serde::Serialize;
use serde::de::{Deserialize, DeserializeOwned};

/// A format. Its errors are the text of the format's own error.
pub(super) trait Format {
    const NAME: &'static str;
    fn encode<T: Serialize>(value: &T) -> Result<Vec<u8>, String>;
    fn decode<T: DeserializeOwned>(input: &[u8]) -> Result<T, String>;
}

/// A format that can lend text or bytes of its input.
pub(super) trait Lends: Format {
    fn borrow<'de, T: Deserialize<'de>>(input: &'de [u8]) -> Result<T, String>;
}

/// A format that shows its deserializer, for values that are refilled in place.
pub(super) trait Refills: Format {
    fn refill<T: DeserializeOwned>(input: &[u8], place: &mut T) -> Result<(), String>;
}

fn told(error: impl std::fmt::Display) -> String {
    error.to_string()
}

pub(super) struct Json;

impl Format for Json {
    const NAME: &'static str = "json";

    fn encode<T: Serialize>(value: &T) -> Result<Vec<u8>, String> {
        serde_json::to_vec(value).map_err(told)
    }

    fn decode<T: DeserializeOwned>(input: &[u8]) -> Result<T, String> {
        serde_json::from_slice(input).map_err(told)
    }
}

impl Lends for Json {
    fn borrow<'de, T: Deserialize<'de>>(input: &'de [u8]) -> Result<T, String> {
        serde_json::from_slice(input).map_err(told)
    }
}

impl Refills for Json {
    fn refill<T: DeserializeOwned>(input: &[u8], place: &mut T) -> Result<(), String> {
        let mut deserializer = serde_json::Deserializer::from_slice(input);
        T::deserialize_in_place(&mut deserializer, place).map_err(told)
    }
}

/// JSON through a reader: text is copied through a scratch buffer.
pub(super) struct JsonReader;

impl Format for JsonReader {
    const NAME: &'static str = "json-reader";

    fn encode<T: Serialize>(value: &T) -> Result<Vec<u8>, String> {
        Json::encode(value)
    }

    fn decode<T: DeserializeOwned>(input: &[u8]) -> Result<T, String> {
        serde_json::from_reader(input).map_err(told)
    }
}

pub(super) struct Postcard;

impl Format for Postcard {
    const NAME: &'static str = "postcard";

    fn encode<T: Serialize>(value: &T) -> Result<Vec<u8>, String> {
        postcard::to_allocvec(value).map_err(told)
    }

    fn decode<T: DeserializeOwned>(input: &[u8]) -> Result<T, String> {
        postcard::from_bytes(input).map_err(told)
    }
}

impl Lends for Postcard {
    fn borrow<'de, T: Deserialize<'de>>(input: &'de [u8]) -> Result<T, String> {
        postcard::from_bytes(input).map_err(told)
    }
}

impl Refills for Postcard {
    fn refill<T: DeserializeOwned>(input: &[u8], place: &mut T) -> Result<(), String> {
        let mut deserializer = postcard::Deserializer::from_bytes(input);
        T::deserialize_in_place(&mut deserializer, place).map_err(told)
    }
}

pub(super) struct Bincode;

impl Format for Bincode {
    const NAME: &'static str = "bincode";

    fn encode<T: Serialize>(value: &T) -> Result<Vec<u8>, String> {
        bincode::serde::encode_to_vec(value, bincode::config::standard()).map_err(told)
    }

    fn decode<T: DeserializeOwned>(input: &[u8]) -> Result<T, String> {
        let read = bincode::serde::decode_from_slice(input, bincode::config::standard());
        read.map(|(value, _)| value).map_err(told)
    }
}

impl Lends for Bincode {
    fn borrow<'de, T: Deserialize<'de>>(input: &'de [u8]) -> Result<T, String> {
        let read = bincode::serde::borrow_decode_from_slice(input, bincode::config::standard());
        read.map(|(value, _)| value).map_err(told)
    }
}

/// MessagePack with structs as arrays, the default of rmp-serde.
pub(super) struct RmpArray;

impl Format for RmpArray {
    const NAME: &'static str = "rmp-array";

    fn encode<T: Serialize>(value: &T) -> Result<Vec<u8>, String> {
        rmp_serde::to_vec(value).map_err(told)
    }

    fn decode<T: DeserializeOwned>(input: &[u8]) -> Result<T, String> {
        rmp_serde::from_slice(input).map_err(told)
    }
}

impl Lends for RmpArray {
    fn borrow<'de, T: Deserialize<'de>>(input: &'de [u8]) -> Result<T, String> {
        rmp_serde::from_slice(input).map_err(told)
    }
}

impl Refills for RmpArray {
    fn refill<T: DeserializeOwned>(input: &[u8], place: &mut T) -> Result<(), String> {
        let mut deserializer = rmp_serde::Deserializer::from_read_ref(input);
        T::deserialize_in_place(&mut deserializer, place).map_err(told)
    }
}

/// MessagePack with structs as maps.
pub(super) struct RmpNamed;

impl Format for RmpNamed {
    const NAME: &'static str = "rmp-named";

    fn encode<T: Serialize>(value: &T) -> Result<Vec<u8>, String> {
        rmp_serde::to_vec_named(value).map_err(told)
    }

    fn decode<T: DeserializeOwned>(input: &[u8]) -> Result<T, String> {
        rmp_serde::from_slice(input).map_err(told)
    }
}

impl Lends for RmpNamed {
    fn borrow<'de, T: Deserialize<'de>>(input: &'de [u8]) -> Result<T, String> {
        rmp_serde::from_slice(input).map_err(told)
    }
}

pub(super) struct Cbor;

impl Format for Cbor {
    const NAME: &'static str = "cbor";

    fn encode<T: Serialize>(value: &T) -> Result<Vec<u8>, String> {
        let mut bytes = Vec::new();
        ciborium::into_writer(value, &mut bytes).map_err(told)?;
        Ok(bytes)
    }

    fn decode<T: DeserializeOwned>(input: &[u8]) -> Result<T, String> {
        ciborium::from_reader(input).map_err(told)
    }
}

pub(super) struct Toml;

impl Format for Toml {
    const NAME: &'static str = "toml";

    fn encode<T: Serialize>(value: &T) -> Result<Vec<u8>, String> {
        toml::to_string(value).map(String::into_bytes).map_err(told)
    }

    fn decode<T: DeserializeOwned>(input: &[u8]) -> Result<T, String> {
        toml::from_slice(input).map_err(told)
    }
}

impl Lends for Toml {
    fn borrow<'de, T: Deserialize<'de>>(input: &'de [u8]) -> Result<T, String> {
        toml::from_slice(input).map_err(told)
    }
}

pub(super) struct Yaml;

impl Format for Yaml {
    const NAME: &'static str = "yaml";

    fn encode<T: Serialize>(value: &T) -> Result<Vec<u8>, String> {
        let text = serde_yaml_ng::to_string(value);
        text.map(String::into_bytes).map_err(told)
    }

    fn decode<T: DeserializeOwned>(input: &[u8]) -> Result<T, String> {
        serde_yaml_ng::from_slice(input).map_err(told)
    }
}

impl Lends for Yaml {
    fn borrow<'de, T: Deserialize<'de>>(input: &'de [u8]) -> Result<T, String> {
        serde_yaml_ng::from_slice(input).map_err(told)
    }
}
