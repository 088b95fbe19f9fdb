//! The types for which arena deserialization was first written, and a log record, each for an arena
//! and as owned types for serde's derive.

use serde::{Deserialize, Serialize, Serializer};
use std::collections::BTreeMap;
use tracking_alloc::arena::{ArenaDeserialize, map_as_pairs};

pub(crate) mod arena {
    use super::*;

    #[derive(ArenaDeserialize, Serialize)]
    pub(crate) struct City<'bump> {
        #[arena(alias = "n")]
        pub(crate) name: bumpalo::collections::String<'bump>,
        pub(crate) citizens: bumpalo::collections::Vec<'bump, Citizen<'bump>>,
    }

    #[derive(ArenaDeserialize, Serialize)]
    pub(crate) struct Citizen<'bump> {
        pub(crate) first_name: &'bump str,
        #[arena(default)]
        pub(crate) age: i16,
        pub(crate) data: CitizenData<'bump>,
        #[arena(deserialize_with = "map_as_pairs")]
        #[serde(serialize_with = "super::pairs_as_map")]
        pub(crate) tags: bumpalo::collections::Vec<'bump, (u16, &'bump str)>,
    }

    #[derive(ArenaDeserialize, Serialize)]
    pub(crate) struct CitizenData<'bump>(&'bump [u8]);

    /// A string that is UTF-8 by convention only.
    #[derive(ArenaDeserialize, Serialize, Clone, Copy, PartialEq, Debug)]
    pub(crate) struct ByteString<'bump>(pub(crate) &'bump [u8]);

    #[derive(ArenaDeserialize, Serialize)]
    pub(crate) struct ZipPrelude<'bump> {
        pub(crate) metadata: Metadata<'bump>,
    }

    #[derive(ArenaDeserialize, Serialize)]
    pub(crate) struct Metadata<'bump> {
        pub(crate) compatibility: Compatibility<'bump>,
        pub(crate) playthrough_id: ByteString<'bump>,
        pub(crate) playthrough_name: ByteString<'bump>,
    }

    #[derive(ArenaDeserialize, Serialize)]
    pub(crate) struct Compatibility<'bump> {
        pub(crate) locations: bumpalo::collections::Vec<'bump, ByteString<'bump>>,
    }

    #[derive(ArenaDeserialize, Serialize)]
    pub(crate) struct Log<'a> {
        pub(crate) timestamp: i64,
        pub(crate) zone_id: u32,
        pub(crate) zone_plan: ZonePlan,
        pub(crate) http: Http<'a>,
        pub(crate) origin: Origin<'a>,
        pub(crate) country: u8,
        pub(crate) cache_status: CacheStatus,
        pub(crate) server_ip: &'a str,
        pub(crate) server_name: &'a str,
        pub(crate) remote_ip: &'a str,
        pub(crate) bytes_dlv: u64,
        pub(crate) ray_id: &'a str,
    }

    #[derive(ArenaDeserialize, Serialize)]
    pub(crate) struct Http<'a> {
        pub(crate) protocol: Protocol,
        pub(crate) status: u32,
        pub(crate) host_status: u32,
        pub(crate) up_status: u32,
        pub(crate) method: Method,
        pub(crate) content_type: &'a str,
        pub(crate) user_agent: &'a str,
        pub(crate) referer: &'a str,
        pub(crate) request_uri: &'a str,
    }

    #[derive(ArenaDeserialize, Serialize)]
    pub(crate) struct Origin<'a> {
        pub(crate) ip: &'a str,
        pub(crate) port: u32,
        pub(crate) hostname: &'a str,
        pub(crate) protocol: OriginProtocol,
    }

    macro_rules! enums {
        ($($name:ident { $($variant:ident),* })*) => {$(
            #[derive(ArenaDeserialize, Serialize, serde::Deserialize, Clone, Copy, PartialEq, Debug)]
            #[arena(rename_all = "SCREAMING_SNAKE_CASE")]
            #[serde(rename_all = "SCREAMING_SNAKE_CASE")]
            pub(crate) enum $name { $($variant),* }
        )*};
    }

    enums! {
        ZonePlan { Unknown, Free, Pro, Biz, Ent }
        CacheStatus { Unknown, Miss, Expired, Hit }
        Protocol { Unknown, Http10, Http11 }
        Method { Unknown, Get, Post, Delete, Put, Head, Purge, Options, Propfind, Mkcol, Patch }
        OriginProtocol { Unknown, Http, Https }
    }
}

pub(crate) mod owned {
    use super::arena::{CacheStatus, Method, OriginProtocol, Protocol, ZonePlan};
    use super::*;

    #[derive(Deserialize, Serialize)]
    pub(crate) struct City {
        #[serde(alias = "n")]
        pub(crate) name: String,
        pub(crate) citizens: Vec<Citizen>,
    }

    #[derive(Deserialize, Serialize)]
    pub(crate) struct Citizen {
        pub(crate) first_name: String,
        #[serde(default)]
        pub(crate) age: i16,
        pub(crate) data: Vec<u8>,
        pub(crate) tags: BTreeMap<u16, String>,
    }

    #[derive(Deserialize, Serialize)]
    pub(crate) struct ZipPrelude {
        pub(crate) metadata: Metadata,
    }

    #[derive(Deserialize, Serialize)]
    pub(crate) struct Metadata {
        pub(crate) compatibility: Compatibility,
        pub(crate) playthrough_id: Vec<u8>,
        pub(crate) playthrough_name: Vec<u8>,
    }

    #[derive(Deserialize, Serialize)]
    pub(crate) struct Compatibility {
        pub(crate) locations: Vec<Vec<u8>>,
    }

    #[derive(Deserialize, Serialize)]
    pub(crate) struct Log {
        pub(crate) timestamp: i64,
        pub(crate) zone_id: u32,
        pub(crate) zone_plan: ZonePlan,
        pub(crate) http: Http,
        pub(crate) origin: Origin,
        pub(crate) country: u8,
        pub(crate) cache_status: CacheStatus,
        pub(crate) server_ip: String,
        pub(crate) server_name: String,
        pub(crate) remote_ip: String,
        pub(crate) bytes_dlv: u64,
        pub(crate) ray_id: String,
    }

    #[derive(Deserialize, Serialize)]
    pub(crate) struct Http {
        pub(crate) protocol: Protocol,
        pub(crate) status: u32,
        pub(crate) host_status: u32,
        pub(crate) up_status: u32,
        pub(crate) method: Method,
        pub(crate) content_type: String,
        pub(crate) user_agent: String,
        pub(crate) referer: String,
        pub(crate) request_uri: String,
    }

    #[derive(Deserialize, Serialize)]
    pub(crate) struct Origin {
        pub(crate) ip: String,
        pub(crate) port: u32,
        pub(crate) hostname: String,
        pub(crate) protocol: OriginProtocol,
    }
}

fn pairs_as_map<S: Serializer>(
    pairs: &bumpalo::collections::Vec<'_, (u16, &str)>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().map(|(key, value)| (key, value)))
}

/// Creates a city with that many citizens.
pub(crate) fn city(citizens: usize) -> owned::City {
    owned::City {
        name: "Ulm \"an der\" Donau".to_owned(),
        citizens: (0..citizens)
            .map(|number| owned::Citizen {
                first_name: format!("citizen number {number}"),
                age: (number % 100) as i16,
                data: (0..number % 7).map(|byte| byte as u8).collect(),
                tags: (0..number % 4)
                    .map(|tag| (tag as u16, format!("tag {tag}")))
                    .collect(),
            })
            .collect(),
    }
}

pub(crate) fn prelude() -> owned::ZipPrelude {
    owned::ZipPrelude {
        metadata: owned::Metadata {
            compatibility: owned::Compatibility {
                locations: vec![b"Ulm".to_vec(), b"K\xf6ln".to_vec(), Vec::new()],
            },
            playthrough_id: b"a-1".to_vec(),
            playthrough_name: b"N\xfcrnberg".to_vec(),
        },
    }
}

pub(crate) fn log() -> owned::Log {
    use arena::{CacheStatus, Method, OriginProtocol, Protocol, ZonePlan};
    owned::Log {
        timestamp: 2_837_513_946_597,
        zone_id: 123_456,
        zone_plan: ZonePlan::Free,
        http: owned::Http {
            protocol: Protocol::Http11,
            status: 200,
            host_status: 503,
            up_status: 520,
            method: Method::Get,
            content_type: "text/html".to_owned(),
            user_agent: "Mozilla/5.0 (X11; Linux x86_64) Chrome/33.0".to_owned(),
            referer: "https://www.cloudflare.com/".to_owned(),
            request_uri: "/cdn-cgi/trace".to_owned(),
        },
        origin: owned::Origin {
            ip: "1.2.3.4".to_owned(),
            port: 8000,
            hostname: "www.example.com".to_owned(),
            protocol: OriginProtocol::Https,
        },
        country: 238,
        cache_status: CacheStatus::Hit,
        server_ip: "192.168.1.1".to_owned(),
        server_name: "metal.cloudflare.com".to_owned(),
        remote_ip: "10.1.2.3".to_owned(),
        bytes_dlv: 123_456,
        ray_id: "10c73629cce30078-LAX".to_owned(),
    }
}
