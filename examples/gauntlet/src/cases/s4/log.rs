//! goser's log record with exactly the source's values: 605 bytes of JSON. Codes are integers,
//! addresses are texts.
//!
//! Every format of these cases contains the same record. [`weigh`] is the sum that each format must
//! give, so that none skips a field.

use serde::{Deserialize, Serialize};

/// Length of the record as JSON, bytes.
const JSON_BYTES: usize = 605;

/// Declares a set of codes, which are integers in every format.
macro_rules! codes {
    ($(#[$doc:meta])* $name:ident { $($code:ident),* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
        #[derive(rkyv::Archive, rkyv::Serialize, rkyv::Deserialize)]
        #[rkyv(derive(Clone, Copy))]
        #[serde(into = "u8", try_from = "u8")]
        #[repr(u8)]
        pub(crate) enum $name {
            $($code),*
        }

        impl From<$name> for u8 {
            fn from(code: $name) -> u8 {
                code as u8
            }
        }

        impl TryFrom<u8> for $name {
            type Error = &'static str;

            fn try_from(code: u8) -> Result<Self, Self::Error> {
                let codes = [$($name::$code),*];
                let known = codes.get(usize::from(code)).copied();
                known.ok_or(concat!("no such code of ", stringify!($name)))
            }
        }
    };
}

codes! {
    /// The plan of the zone's owner.
    ZonePlan { Unknown, Free, Pro, Biz, Ent }
}
codes! {
    /// The result of the cache look-up.
    CacheStatus { Unknown, Miss, Expired, Hit }
}
codes! {
    /// The version of HTTP.
    HttpProtocol { Unknown, Http10, Http11 }
}
codes! {
    /// The method.
    HttpMethod { Unknown, Get, Post, Delete, Put, Head, Purge, Options, Propfind, Mkcol, Patch }
}
codes! {
    /// The protocol of the request to the origin.
    OriginProtocol { Unknown, Http, Https }
}

/// One of 256 country codes.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Serialize,
    Deserialize,
    rkyv::Archive,
    rkyv::Serialize,
    rkyv::Deserialize,
)]
pub(crate) struct Country(pub(crate) u8);

impl Country {
    const US: Country = Country(238);
}

/// The record, with owned or borrowed texts.
#[derive(
    Clone,
    Debug,
    PartialEq,
    Serialize,
    Deserialize,
    rkyv::Archive,
    rkyv::Serialize,
    rkyv::Deserialize,
)]
pub(crate) struct Log<S> {
    pub(crate) timestamp: i64,
    pub(crate) zone_id: u32,
    pub(crate) zone_plan: ZonePlan,
    pub(crate) http: Http<S>,
    pub(crate) origin: Origin<S>,
    pub(crate) country: Country,
    pub(crate) cache_status: CacheStatus,
    pub(crate) server_ip: S,
    pub(crate) server_name: S,
    pub(crate) remote_ip: S,
    pub(crate) bytes_dlv: u64,
    pub(crate) ray_id: S,
}

/// The request and its answers.
#[derive(
    Clone,
    Debug,
    PartialEq,
    Serialize,
    Deserialize,
    rkyv::Archive,
    rkyv::Serialize,
    rkyv::Deserialize,
)]
pub(crate) struct Http<S> {
    pub(crate) protocol: HttpProtocol,
    pub(crate) status: u32,
    pub(crate) host_status: u32,
    pub(crate) up_status: u32,
    pub(crate) method: HttpMethod,
    pub(crate) content_type: S,
    pub(crate) user_agent: S,
    pub(crate) referer: S,
    pub(crate) request_uri: S,
}

/// The origin of the content.
#[derive(
    Clone,
    Debug,
    PartialEq,
    Serialize,
    Deserialize,
    rkyv::Archive,
    rkyv::Serialize,
    rkyv::Deserialize,
)]
pub(crate) struct Origin<S> {
    pub(crate) ip: S,
    pub(crate) port: u32,
    pub(crate) hostname: S,
    pub(crate) protocol: OriginProtocol,
}

/// Returns the source's record.
pub(crate) fn goser<S: From<&'static str>>() -> Log<S> {
    Log {
        timestamp: 2_837_513_946_597,
        zone_id: 123_456,
        zone_plan: ZonePlan::Free,
        http: Http {
            protocol: HttpProtocol::Http11,
            status: 200,
            host_status: 503,
            up_status: 520,
            method: HttpMethod::Get,
            content_type: "text/html".into(),
            user_agent: "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) \
                         Chrome/33.0.1750.146 Safari/537.36"
                .into(),
            referer: "https://www.cloudflare.com/".into(),
            request_uri: "/cdn-cgi/trace".into(),
        },
        origin: Origin {
            ip: "1.2.3.4".into(),
            port: 8_000,
            hostname: "www.example.com".into(),
            protocol: OriginProtocol::Https,
        },
        country: Country::US,
        cache_status: CacheStatus::Hit,
        server_ip: "192.168.1.1".into(),
        server_name: "metal.cloudflare.com".into(),
        remote_ip: "10.1.2.3".into(),
        bytes_dlv: 123_456,
        ray_id: "10c73629cce30078-LAX".into(),
    }
}

/// Returns the record as JSON.
///
/// # Panics
/// If it is not as long as the source's.
pub(crate) fn json() -> String {
    let json = serde_json::to_string(&goser::<&str>()).expect("the record is JSON");
    assert_eq!(
        json.len(),
        JSON_BYTES,
        "the source's record has another length"
    );
    json
}

/// Returns many records that differ in their numbers.
pub(crate) fn many(count: usize) -> Vec<Log<&'static str>> {
    let numbered = |at: usize| {
        let mut log = goser::<&str>();
        log.timestamp += at as i64;
        log.zone_id += at as u32;
        log.bytes_dlv += at as u64 * 7;
        log
    };
    (0..count).map(numbered).collect()
}

/// Returns the sum of everything in a record: its numbers, and the lengths of its texts.
pub(crate) fn weigh(numbers: [u64; 13], texts: [&str; 10]) -> u64 {
    let texts: usize = texts.into_iter().map(str::len).sum();
    numbers.into_iter().sum::<u64>() + texts as u64
}

impl<S: AsRef<str>> Log<S> {
    /// Returns [`weigh`] of this record.
    pub(crate) fn weight(&self) -> u64 {
        let (http, origin) = (&self.http, &self.origin);
        let numbers = [
            self.timestamp as u64,
            self.zone_id.into(),
            self.zone_plan as u64,
            http.protocol as u64,
            http.status.into(),
            http.host_status.into(),
            http.up_status.into(),
            http.method as u64,
            origin.port.into(),
            origin.protocol as u64,
            self.country.0.into(),
            self.cache_status as u64,
            self.bytes_dlv,
        ];
        weigh(numbers, self.texts())
    }

    /// Returns its texts, in the order of the fields.
    pub(crate) fn texts(&self) -> [&str; 10] {
        let (http, origin) = (&self.http, &self.origin);
        let texts = [
            &http.content_type,
            &http.user_agent,
            &http.referer,
            &http.request_uri,
            &origin.ip,
            &origin.hostname,
            &self.server_ip,
            &self.server_name,
            &self.remote_ip,
            &self.ray_id,
        ];
        texts.map(AsRef::as_ref)
    }
}

impl Log<String> {
    /// Returns a record without values, so that a field that is not read is noticed.
    pub(crate) fn empty() -> Self {
        Log {
            timestamp: 0,
            zone_id: 0,
            zone_plan: ZonePlan::Unknown,
            http: Http {
                protocol: HttpProtocol::Unknown,
                status: 0,
                host_status: 0,
                up_status: 0,
                method: HttpMethod::Unknown,
                content_type: String::new(),
                user_agent: String::new(),
                referer: String::new(),
                request_uri: String::new(),
            },
            origin: Origin {
                ip: String::new(),
                port: 0,
                hostname: String::new(),
                protocol: OriginProtocol::Unknown,
            },
            country: Country(0),
            cache_status: CacheStatus::Unknown,
            server_ip: String::new(),
            server_name: String::new(),
            remote_ip: String::new(),
            bytes_dlv: 0,
            ray_id: String::new(),
        }
    }
}

impl Log<&str> {
    /// Returns the same record with owned texts.
    pub(crate) fn owned(&self) -> Log<String> {
        Log {
            timestamp: self.timestamp,
            zone_id: self.zone_id,
            zone_plan: self.zone_plan,
            http: Http {
                protocol: self.http.protocol,
                status: self.http.status,
                host_status: self.http.host_status,
                up_status: self.http.up_status,
                method: self.http.method,
                content_type: self.http.content_type.to_owned(),
                user_agent: self.http.user_agent.to_owned(),
                referer: self.http.referer.to_owned(),
                request_uri: self.http.request_uri.to_owned(),
            },
            origin: Origin {
                ip: self.origin.ip.to_owned(),
                port: self.origin.port,
                hostname: self.origin.hostname.to_owned(),
                protocol: self.origin.protocol,
            },
            country: self.country,
            cache_status: self.cache_status,
            server_ip: self.server_ip.to_owned(),
            server_name: self.server_name.to_owned(),
            remote_ip: self.remote_ip.to_owned(),
            bytes_dlv: self.bytes_dlv,
            ray_id: self.ray_id.to_owned(),
        }
    }
}

impl ArchivedLog<String> {
    /// Returns [`weigh`] of this record, read in place.
    pub(crate) fn weight(&self) -> u64 {
        let (http, origin) = (&self.http, &self.origin);
        let numbers = [
            self.timestamp.to_native() as u64,
            self.zone_id.to_native().into(),
            self.zone_plan as u64,
            http.protocol as u64,
            http.status.to_native().into(),
            http.host_status.to_native().into(),
            http.up_status.to_native().into(),
            http.method as u64,
            origin.port.to_native().into(),
            origin.protocol as u64,
            self.country.0.into(),
            self.cache_status as u64,
            self.bytes_dlv.to_native(),
        ];
        let texts = [
            &http.content_type,
            &http.user_agent,
            &http.referer,
            &http.request_uri,
            &origin.ip,
            &origin.hostname,
            &self.server_ip,
            &self.server_name,
            &self.remote_ip,
            &self.ray_id,
        ];
        weigh(numbers, texts.map(|text| text.as_str()))
    }
}
