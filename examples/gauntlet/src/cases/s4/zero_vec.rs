//! 4.7: the record by zerovec, a row that the source of 1.1 to 1.15 missed in a suite of logs. It
//! is read in place, in a binary format of serde, and compared with postcard, which builds it, and
//! rkyv, which has its own format.

use super::binary::{postcard, rkyv, rkyv_read};
use super::log::{Log, goser, many, weigh};
use super::{TEXT_BYTES, TEXTS, each, repeat, takes};
use crate::cases::said::{ns, times};
use crate::{Case, Judged, Variant, Window};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use zerovec::VarZeroVec;
use zerovec::ule::encode_varule_to_box;
use zerovec::vecs::{Index32, VarZeroVecOwned};

/// The case.
pub(super) const CASE: Case = Case {
    id: "4.7",
    system: "zerovec beside postcard and rkyv: the same record, and 1,000 of them in one vector",
    headline: "no figures: S1's author wished for zerovec in a suite of such logs, and had not got to it",
    variants: &[
        Variant::new("postcard, deserialize", |window| {
            let bytes = postcard();
            repeat(window, bytes.len(), || {
                postcard::from_bytes::<Log<String>>(&bytes).expect("it is this record")
            });
        }),
        Variant::new("rkyv, checked and read in place", |window| {
            let bytes = rkyv();
            repeat(window, bytes.len(), || rkyv_read(&bytes).weight());
        }),
        Variant::new("zerovec, checked and read in place", |window| {
            let bytes = encoded();
            repeat(window, bytes.len(), || read(&bytes).weight());
        }),
        Variant::new("zerovec, serialize", |window| {
            let log = zero(&goser::<&str>());
            repeat(window, encoded().len(), || {
                postcard::to_allocvec(&*encode_varule_to_box(&log)).expect("it can be written")
            });
        }),
        Variant::new("zerovec, serialize what is one already", |window| {
            let log = encode_varule_to_box(&zero(&goser::<&str>()));
            let mut buffer = encoded();
            repeat(window, buffer.len(), || {
                let used = postcard::to_slice(&*log, &mut buffer).map(|used| used.len());
                used.expect("the buffer has room")
            });
        }),
        Variant::new("postcard, a vector of them", |window| {
            let (logs, weight) = records(window);
            let bytes = postcard::to_allocvec(&logs).expect("they can be written");
            window.input(bytes.len(), logs.len());
            window.work(|| {
                let logs: Vec<Log<String>> = postcard::from_bytes(&bytes).expect("it is them");
                assert_eq!(logs.iter().map(Log::weight).sum::<u64>(), weight);
                logs
            });
        }),
        Variant::new("zerovec, a vector of them", |window| {
            let (logs, weight) = records(window);
            let logs: Vec<ZeroLog<'_>> = logs.iter().map(zero).collect();
            let many = VarZeroVecOwned::<LogULE, Index32>::try_from_elements(&logs);
            let many = many
                .expect("they fit into 32 bits")
                .as_varzerovec()
                .into_owned();
            let bytes = postcard::to_allocvec(&many).expect("they can be written");
            window.input(bytes.len(), logs.len());
            window.work(|| {
                let logs: VarZeroVec<'_, LogULE, Index32> =
                    postcard::from_bytes(&bytes).expect("it is them");
                assert_eq!(logs.iter().map(LogULE::weight).sum::<u64>(), weight);
                logs.len()
            });
        }),
    ],
    judge: |found| {
        let none = [
            "rkyv, checked and read in place",
            "zerovec, checked and read in place",
            "zerovec, serialize what is one already",
            "zerovec, a vector of them",
        ];
        let records = found.of("postcard, a vector of them", "records");
        let built = found.of("postcard, a vector of them", "total_blocks");
        let zero = "zerovec, checked and read in place";
        let counts = takes(found, &["postcard, deserialize"], TEXTS, TEXT_BYTES)
            && takes(found, &none, 0.0, 0.0)
            // Ten texts for each, and the list.
            && built == 1.0 + TEXTS * records;
        let time = |variant: &str| match each(found, variant, "time_ns") {
            _ if cfg!(debug_assertions) => "(not optimised)".to_owned(),
            time => ns(time),
        };
        let why = format!(
            "{} B a record, {} by postcard, {} by rkyv; 0 blocks to check and read all of it, {} against {} to build it and \
             {} by rkyv; {} blocks to write it anew, 0 when it is one already; {records} of them in one vector 0 blocks \
             against {built}, built values take {} as long",
            each(found, zero, "input_bytes"),
            each(found, "postcard, deserialize", "input_bytes"),
            each(found, "rkyv, checked and read in place", "input_bytes"),
            time(zero),
            time("postcard, deserialize"),
            time("rkyv, checked and read in place"),
            each(found, "zerovec, serialize", "total_blocks"),
            times(found.times("postcard, a vector of them", "zerovec, a vector of them")),
        );
        Judged::unjudged(counts, "the source has no figures of it", why)
    },
};

/// The record in zerovec: the fields of fixed size, then the texts one after another.
#[zerovec::make_varule(LogULE)]
#[zerovec::skip_derive(Ord, ZeroMapKV)]
#[zerovec::derive(Serialize, Deserialize)]
#[derive(PartialEq, Eq, Serialize, Deserialize)]
struct ZeroLog<'a> {
    timestamp: i64,
    zone_id: u32,
    zone_plan: u8,
    #[zerovec::varule(HttpULE)]
    #[serde(borrow)]
    http: ZeroHttp<'a>,
    #[zerovec::varule(OriginULE)]
    #[serde(borrow)]
    origin: ZeroOrigin<'a>,
    country: u8,
    cache_status: u8,
    #[serde(borrow)]
    server_ip: Cow<'a, str>,
    #[serde(borrow)]
    server_name: Cow<'a, str>,
    #[serde(borrow)]
    remote_ip: Cow<'a, str>,
    bytes_dlv: u64,
    #[serde(borrow)]
    ray_id: Cow<'a, str>,
}

#[zerovec::make_varule(HttpULE)]
#[zerovec::skip_derive(Ord, ZeroMapKV)]
#[zerovec::derive(Serialize, Deserialize)]
#[derive(PartialEq, Eq, Serialize, Deserialize)]
struct ZeroHttp<'a> {
    protocol: u8,
    status: u32,
    host_status: u32,
    up_status: u32,
    method: u8,
    #[serde(borrow)]
    content_type: Cow<'a, str>,
    #[serde(borrow)]
    user_agent: Cow<'a, str>,
    #[serde(borrow)]
    referer: Cow<'a, str>,
    #[serde(borrow)]
    request_uri: Cow<'a, str>,
}

#[zerovec::make_varule(OriginULE)]
#[zerovec::skip_derive(Ord, ZeroMapKV)]
#[zerovec::derive(Serialize, Deserialize)]
#[derive(PartialEq, Eq, Serialize, Deserialize)]
struct ZeroOrigin<'a> {
    #[serde(borrow)]
    ip: Cow<'a, str>,
    port: u32,
    #[serde(borrow)]
    hostname: Cow<'a, str>,
    protocol: u8,
}

impl LogULE {
    /// Returns [`weigh`] of this record, read in place.
    fn weight(&self) -> u64 {
        let (http, origin) = (self.http(), self.origin());
        let numbers = [
            self.timestamp.as_unsigned_int(),
            self.zone_id.as_unsigned_int().into(),
            self.zone_plan.into(),
            http.protocol.into(),
            http.status.as_unsigned_int().into(),
            http.host_status.as_unsigned_int().into(),
            http.up_status.as_unsigned_int().into(),
            http.method.into(),
            origin.port.as_unsigned_int().into(),
            origin.protocol.into(),
            self.country.into(),
            self.cache_status.into(),
            self.bytes_dlv.as_unsigned_int(),
        ];
        let texts = [
            http.content_type(),
            http.user_agent(),
            http.referer(),
            http.request_uri(),
            origin.ip(),
            origin.hostname(),
            self.server_ip(),
            self.server_name(),
            self.remote_ip(),
            self.ray_id(),
        ];
        weigh(numbers, texts)
    }
}

fn zero<'a>(log: &Log<&'a str>) -> ZeroLog<'a> {
    let (http, origin) = (&log.http, &log.origin);
    ZeroLog {
        timestamp: log.timestamp,
        zone_id: log.zone_id,
        zone_plan: log.zone_plan.into(),
        http: ZeroHttp {
            protocol: http.protocol.into(),
            status: http.status,
            host_status: http.host_status,
            up_status: http.up_status,
            method: http.method.into(),
            content_type: http.content_type.into(),
            user_agent: http.user_agent.into(),
            referer: http.referer.into(),
            request_uri: http.request_uri.into(),
        },
        origin: ZeroOrigin {
            ip: origin.ip.into(),
            port: origin.port,
            hostname: origin.hostname.into(),
            protocol: origin.protocol.into(),
        },
        country: log.country.0,
        cache_status: log.cache_status.into(),
        server_ip: log.server_ip.into(),
        server_name: log.server_name.into(),
        remote_ip: log.remote_ip.into(),
        bytes_dlv: log.bytes_dlv,
        ray_id: log.ray_id.into(),
    }
}

/// Returns the record's bytes, which contain the same as those of the other formats.
fn encoded() -> Vec<u8> {
    let log = goser::<&str>();
    let bytes = postcard::to_allocvec(&*encode_varule_to_box(&zero(&log)));
    let bytes = bytes.expect("the record can be written");
    assert_eq!(read(&bytes).weight(), log.weight());
    bytes
}

fn read(bytes: &[u8]) -> &LogULE {
    postcard::from_bytes(bytes).expect("it is this record")
}

/// Returns a thousand records, and the sum that each format must give.
fn records(window: &Window) -> (Vec<Log<&'static str>>, u64) {
    let logs = many(window.scaled(1_000));
    let weight = logs.iter().map(Log::weight).sum();
    (logs, weight)
}
