//! SAX: a callback for each token of a JSON text, and callbacks that build the log record.

use super::log::{Country, Log};
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, Visitor};
use std::fmt;

/// Reads a record by callbacks.
pub(super) fn record(text: &str) -> serde_json::Result<Log<String>> {
    let mut builder = Builder::new();
    let mut deserializer = serde_json::Deserializer::from_str(text);
    Tokens(&mut builder).deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(builder.log)
}

/// Receives a text token by token. The error says why a token is not allowed there.
trait Callbacks {
    fn open(&mut self) -> Result<(), &'static str>;
    fn close(&mut self);
    fn key(&mut self, name: &str) -> Result<(), &'static str>;
    fn text(&mut self, text: &str) -> Result<(), &'static str>;
    fn number(&mut self, number: u64) -> Result<(), &'static str>;
}

/// Passes a value to the callbacks.
struct Tokens<'a, C>(&'a mut C);

impl<'de, C: Callbacks> DeserializeSeed<'de> for Tokens<'_, C> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, C: Callbacks> Visitor<'de> for Tokens<'_, C> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object, a text or a number that is not negative")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        self.0.text(text).map_err(E::custom)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<(), E> {
        self.0.number(number).map_err(E::custom)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        self.0.open().map_err(A::Error::custom)?;
        while map.next_key_seed(Key(&mut *self.0))?.is_some() {
            map.next_value_seed(Tokens(&mut *self.0))?;
        }
        self.0.close();
        Ok(())
    }
}

/// Passes a key to the callbacks.
struct Key<'a, C>(&'a mut C);

impl<'de, C: Callbacks> DeserializeSeed<'de> for Key<'_, C> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<C: Callbacks> Visitor<'_> for Key<'_, C> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<(), E> {
        self.0.key(name).map_err(E::custom)
    }
}

/// Builds the record.
struct Builder {
    log: Log<String>,
    /// The object that the next token belongs to.
    object: Object,
    key: Field,
}

#[derive(Clone, Copy)]
enum Object {
    None,
    Log,
    Http,
    Origin,
}

/// The fields of all objects.
#[derive(Clone, Copy)]
#[rustfmt::skip]
enum Field {
    None, Timestamp, ZoneId, ZonePlan, Http, Origin, Country, CacheStatus, ServerIp, ServerName, RemoteIp, BytesDlv, RayId,
    HttpProtocol, Status, HostStatus, UpStatus, Method, ContentType, UserAgent, Referer, RequestUri,
    Ip, Port, Hostname, OriginProtocol,
}

impl Builder {
    fn new() -> Self {
        Builder {
            log: Log::empty(),
            object: Object::None,
            key: Field::None,
        }
    }
}

impl Callbacks for Builder {
    fn open(&mut self) -> Result<(), &'static str> {
        self.object = match (self.object, self.key) {
            (Object::None, Field::None) => Object::Log,
            (Object::Log, Field::Http) => Object::Http,
            (Object::Log, Field::Origin) => Object::Origin,
            _ => return Err("no object belongs here"),
        };
        Ok(())
    }

    fn close(&mut self) {
        self.object = Object::Log;
    }

    fn key(&mut self, name: &str) -> Result<(), &'static str> {
        self.key = match (self.object, name) {
            (Object::Log, "timestamp") => Field::Timestamp,
            (Object::Log, "zone_id") => Field::ZoneId,
            (Object::Log, "zone_plan") => Field::ZonePlan,
            (Object::Log, "http") => Field::Http,
            (Object::Log, "origin") => Field::Origin,
            (Object::Log, "country") => Field::Country,
            (Object::Log, "cache_status") => Field::CacheStatus,
            (Object::Log, "server_ip") => Field::ServerIp,
            (Object::Log, "server_name") => Field::ServerName,
            (Object::Log, "remote_ip") => Field::RemoteIp,
            (Object::Log, "bytes_dlv") => Field::BytesDlv,
            (Object::Log, "ray_id") => Field::RayId,
            (Object::Http, "protocol") => Field::HttpProtocol,
            (Object::Http, "status") => Field::Status,
            (Object::Http, "host_status") => Field::HostStatus,
            (Object::Http, "up_status") => Field::UpStatus,
            (Object::Http, "method") => Field::Method,
            (Object::Http, "content_type") => Field::ContentType,
            (Object::Http, "user_agent") => Field::UserAgent,
            (Object::Http, "referer") => Field::Referer,
            (Object::Http, "request_uri") => Field::RequestUri,
            (Object::Origin, "ip") => Field::Ip,
            (Object::Origin, "port") => Field::Port,
            (Object::Origin, "hostname") => Field::Hostname,
            (Object::Origin, "protocol") => Field::OriginProtocol,
            _ => return Err("no such key here"),
        };
        Ok(())
    }

    fn text(&mut self, text: &str) -> Result<(), &'static str> {
        let log = &mut self.log;
        *match self.key {
            Field::ServerIp => &mut log.server_ip,
            Field::ServerName => &mut log.server_name,
            Field::RemoteIp => &mut log.remote_ip,
            Field::RayId => &mut log.ray_id,
            Field::ContentType => &mut log.http.content_type,
            Field::UserAgent => &mut log.http.user_agent,
            Field::Referer => &mut log.http.referer,
            Field::RequestUri => &mut log.http.request_uri,
            Field::Ip => &mut log.origin.ip,
            Field::Hostname => &mut log.origin.hostname,
            _ => return Err("no text belongs here"),
        } = text.to_owned();
        Ok(())
    }

    fn number(&mut self, number: u64) -> Result<(), &'static str> {
        let log = &mut self.log;
        let narrow = || u32::try_from(number).map_err(|_| "a number too large");
        let code = || u8::try_from(number).map_err(|_| "a code too large");
        match self.key {
            Field::Timestamp => {
                log.timestamp = i64::try_from(number).map_err(|_| "a number too large")?;
            }
            Field::ZoneId => log.zone_id = narrow()?,
            Field::ZonePlan => log.zone_plan = code()?.try_into()?,
            Field::Country => log.country = Country(code()?),
            Field::CacheStatus => log.cache_status = code()?.try_into()?,
            Field::BytesDlv => log.bytes_dlv = number,
            Field::HttpProtocol => log.http.protocol = code()?.try_into()?,
            Field::Status => log.http.status = narrow()?,
            Field::HostStatus => log.http.host_status = narrow()?,
            Field::UpStatus => log.http.up_status = narrow()?,
            Field::Method => log.http.method = code()?.try_into()?,
            Field::Port => log.origin.port = narrow()?,
            Field::OriginProtocol => log.origin.protocol = code()?.try_into()?,
            _ => return Err("no number belongs here"),
        }
        Ok(())
    }
}
