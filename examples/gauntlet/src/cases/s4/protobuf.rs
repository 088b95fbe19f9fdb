//! 4.3: the record as protocol buffers with prost. Its messages are derived, without a schema
//! compiler.

use super::log::{Log, goser, weigh};
use super::{TEXTS, each, judged, repeat, speed, takes};
use crate::{Case, Variant};
use bytes::Bytes;
use prost::Message;

/// The case.
pub(super) const CASE: Case = Case {
    id: "4.3",
    system: "goprotobuf; gogoprotobuf: prost by derive",
    headline: "goprotobuf writes 148.78 MB/s and reads 99.57; gogoprotobuf, made for the type, 519.48 and 319.40",
    variants: &[
        Variant::new("deserialize", |window| {
            let bytes = encoded();
            repeat(window, bytes.len(), || {
                ProtoLog::decode(bytes.as_slice()).expect("it is this message")
            });
        }),
        Variant::new("deserialize into a kept message", |window| {
            let bytes = encoded();
            // Not cleared: each field exists and is overwritten, its text in the existing capacity.
            let mut kept = ProtoLog::default();
            kept.merge(bytes.as_slice()).expect("it is this message");
            repeat(window, bytes.len(), || {
                kept.merge(bytes.as_slice()).expect("it is this message");
            });
        }),
        Variant::new("deserialize, texts as Bytes", |window| {
            let bytes = Bytes::from(encoded());
            // The first clone allocates the reference count: one block, only once.
            drop(bytes.clone());
            repeat(window, bytes.len(), || {
                BytesLog::decode(bytes.clone()).expect("it is this message")
            });
        }),
        Variant::new("serialize", |window| {
            let (log, len) = (message(&goser()), encoded().len());
            repeat(window, len, || log.encode_to_vec());
        }),
        Variant::new("serialize into a kept buffer", |window| {
            let (log, len) = (message(&goser()), encoded().len());
            let mut buffer = Vec::with_capacity(len);
            repeat(window, len, || {
                buffer.clear();
                log.encode(&mut buffer).expect("the buffer has room");
                buffer.len()
            });
        }),
    ],
    judge: |found| {
        let len = each(found, "serialize", "input_bytes");
        let none = [
            "deserialize into a kept message",
            "deserialize, texts as Bytes",
            "serialize into a kept buffer",
        ];
        // A text of 7 bytes has a capacity of 8, which is the minimum of a Vec.
        let counts = takes(found, &["deserialize"], TEXTS, 237.0)
            && takes(found, &["serialize"], 1.0, len)
            && takes(found, &none, 0.0, 0.0);
        let said = format!(
            "{len} B a record; 10 blocks to deserialize, 0 into a kept message or with texts that share the input, 1 to serialize: \
             the length is known before. {} / {} against 148.78 / 99.57 and 519.48 / 319.40",
            speed(found, "serialize"),
            speed(found, "deserialize"),
        );
        let both = (148.78 / 99.57, 519.48 / 319.40);
        judged(found, counts, &[("serialize", "deserialize", both)], &said)
    },
};

/// Declares the messages. The type of their texts is given twice: for Rust and for prost.
macro_rules! messages {
    ($log:ident, $http:ident, $origin:ident, $text:ty, $($kind:tt)*) => {
        #[derive(Clone, PartialEq, prost::Message)]
        struct $log {
            #[prost(sfixed64, tag = "1")]
            timestamp: i64,
            #[prost(uint32, tag = "2")]
            zone_id: u32,
            #[prost(uint32, tag = "3")]
            zone_plan: u32,
            #[prost(message, optional, tag = "4")]
            http: Option<$http>,
            #[prost(message, optional, tag = "5")]
            origin: Option<$origin>,
            #[prost(uint32, tag = "6")]
            country: u32,
            #[prost(uint32, tag = "7")]
            cache_status: u32,
            #[prost($($kind)*, tag = "8")]
            server_ip: $text,
            #[prost($($kind)*, tag = "9")]
            server_name: $text,
            #[prost($($kind)*, tag = "10")]
            remote_ip: $text,
            #[prost(uint64, tag = "11")]
            bytes_dlv: u64,
            #[prost($($kind)*, tag = "12")]
            ray_id: $text,
        }

        #[derive(Clone, PartialEq, prost::Message)]
        struct $http {
            #[prost(uint32, tag = "1")]
            protocol: u32,
            #[prost(uint32, tag = "2")]
            status: u32,
            #[prost(uint32, tag = "3")]
            host_status: u32,
            #[prost(uint32, tag = "4")]
            up_status: u32,
            #[prost(uint32, tag = "5")]
            method: u32,
            #[prost($($kind)*, tag = "6")]
            content_type: $text,
            #[prost($($kind)*, tag = "7")]
            user_agent: $text,
            #[prost($($kind)*, tag = "8")]
            referer: $text,
            #[prost($($kind)*, tag = "9")]
            request_uri: $text,
        }

        #[derive(Clone, PartialEq, prost::Message)]
        struct $origin {
            #[prost($($kind)*, tag = "1")]
            ip: $text,
            #[prost(uint32, tag = "2")]
            port: u32,
            #[prost($($kind)*, tag = "3")]
            hostname: $text,
            #[prost(uint32, tag = "4")]
            protocol: u32,
        }
    };
}

messages!(ProtoLog, ProtoHttp, ProtoOrigin, String, string);
messages!(BytesLog, BytesHttp, BytesOrigin, Bytes, bytes = "bytes");

fn message(log: &Log<String>) -> ProtoLog {
    let log = log.clone();
    ProtoLog {
        timestamp: log.timestamp,
        zone_id: log.zone_id,
        zone_plan: log.zone_plan as u32,
        http: Some(ProtoHttp {
            protocol: log.http.protocol as u32,
            status: log.http.status,
            host_status: log.http.host_status,
            up_status: log.http.up_status,
            method: log.http.method as u32,
            content_type: log.http.content_type,
            user_agent: log.http.user_agent,
            referer: log.http.referer,
            request_uri: log.http.request_uri,
        }),
        origin: Some(ProtoOrigin {
            ip: log.origin.ip,
            port: log.origin.port,
            hostname: log.origin.hostname,
            protocol: log.origin.protocol as u32,
        }),
        country: log.country.0.into(),
        cache_status: log.cache_status as u32,
        server_ip: log.server_ip,
        server_name: log.server_name,
        remote_ip: log.remote_ip,
        bytes_dlv: log.bytes_dlv,
        ray_id: log.ray_id,
    }
}

/// Returns the record's bytes, after checking that both ways read them back.
fn encoded() -> Vec<u8> {
    let log = goser::<String>();
    let bytes = message(&log).encode_to_vec();
    let read = ProtoLog::decode(bytes.as_slice()).expect("it is this message");
    let shared = BytesLog::decode(bytes.as_slice()).expect("it is this message");
    assert_eq!(read.weight(), log.weight());
    assert_eq!(shared.encode_to_vec(), bytes);
    bytes
}

impl ProtoLog {
    /// Returns [`weigh`] of this message.
    fn weight(&self) -> u64 {
        let (http, origin) = (
            self.http.clone().unwrap_or_default(),
            self.origin.clone().unwrap_or_default(),
        );
        let numbers = [
            self.timestamp as u64,
            self.zone_id.into(),
            self.zone_plan.into(),
            http.protocol.into(),
            http.status.into(),
            http.host_status.into(),
            http.up_status.into(),
            http.method.into(),
            origin.port.into(),
            origin.protocol.into(),
            self.country.into(),
            self.cache_status.into(),
            self.bytes_dlv,
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
        weigh(numbers, texts.map(String::as_str))
    }
}
