//! Records of a content delivery network, those of goser's benchmark: ten texts and 13 numbers. The
//! records are those of the gauntlet, and so are their FlatBuffers and the generated code of their
//! Cap'n Proto.

use super::data;
use capnp::message::{Builder, HeapAllocator, Reader, ReaderSegments};
use log_capnp::logs;

#[path = "../../../gauntlet/src/cases/s4/log.rs"]
#[expect(dead_code, reason = "used in part")]
pub(crate) mod log;

#[path = "../../../gauntlet/src/cases/s4/flat.rs"]
#[expect(dead_code, reason = "used in part")]
pub(crate) mod flat;

#[path = "../../../gauntlet/src/cases/s4/log_capnp.rs"]
#[expect(
    warnings,
    reason = "generated, and used in part: the lints of its generator's users do not apply"
)]
#[rustfmt::skip]
pub(crate) mod log_capnp;

data! {
    #[derive(miniserde::Serialize, miniserde::Deserialize)]
    struct Requests {
        pub requests: Vec<Request>,
    }

    #[derive(miniserde::Serialize, miniserde::Deserialize)]
    struct Request {
        pub timestamp: i64,
        pub zone_id: u32,
        pub zone_plan: u8,
        pub http: Http,
        pub origin: Origin,
        pub country: u8,
        pub cache_status: u8,
        pub server_ip: String,
        pub server_name: String,
        pub remote_ip: String,
        pub bytes_dlv: u64,
        pub ray_id: String,
    }

    #[derive(miniserde::Serialize, miniserde::Deserialize)]
    struct Http {
        pub protocol: u8,
        pub status: u32,
        pub host_status: u32,
        pub up_status: u32,
        pub method: u8,
        pub content_type: String,
        pub user_agent: String,
        pub referer: String,
        pub request_uri: String,
    }

    #[derive(miniserde::Serialize, miniserde::Deserialize)]
    struct Origin {
        pub ip: String,
        pub port: u32,
        pub hostname: String,
        pub protocol: u8,
    }
}

/// Returns this many records.
pub(crate) fn generate(records: usize) -> Requests {
    let record = |record: &log::Log<&str>| {
        let value = serde_json::to_value(record).expect("each record is JSON");
        serde_json::from_value(value).expect("it is a record of this module")
    };
    Requests {
        requests: log::many(records).iter().map(record).collect(),
    }
}

/// Returns records as a FlatBuffer.
pub(crate) fn flat(records: usize) -> Vec<u8> {
    flat::write_all(&log::many(records))
}

/// Returns records as a Cap'n Proto message.
pub(crate) fn message(records: usize) -> Vec<u8> {
    let records = log::many(records);
    let mut message = Builder::new(HeapAllocator::new());
    let root = message.init_root::<logs::Builder<'_>>();
    let count = u32::try_from(records.len()).expect("fewer than 2^32 records");
    let mut list = root.init_logs(count);
    for (at, record) in (0..count).zip(&records) {
        fill(list.reborrow().get(at), record);
    }
    capnp::serialize::write_message_to_words(&message)
}

fn fill(mut to: log_capnp::log::Builder<'_>, log: &log::Log<&str>) {
    to.set_timestamp(log.timestamp);
    to.set_zone_id(log.zone_id);
    to.set_country(log.country.0);
    to.set_server_ip(log.server_ip);
    to.set_server_name(log.server_name);
    to.set_remote_ip(log.remote_ip);
    to.set_bytes_dlv(log.bytes_dlv);
    to.set_ray_id(log.ray_id);
    let mut http = to.reborrow().init_http();
    http.set_status(log.http.status);
    http.set_host_status(log.http.host_status);
    http.set_up_status(log.http.up_status);
    http.set_content_type(log.http.content_type);
    http.set_user_agent(log.http.user_agent);
    http.set_referer(log.http.referer);
    http.set_request_uri(log.http.request_uri);
    let mut origin = to.init_origin();
    origin.set_ip(log.origin.ip);
    origin.set_port(log.origin.port);
    origin.set_hostname(log.origin.hostname);
}

/// Returns the number of bytes of the texts of a message, which reads each record.
pub(crate) fn texts<S: ReaderSegments>(message: &Reader<S>) -> capnp::Result<usize> {
    let root: logs::Reader<'_> = message.get_root()?;
    let mut bytes = 0;
    for log in root.get_logs()? {
        let (http, origin) = (log.get_http()?, log.get_origin()?);
        let texts = [
            http.get_content_type()?,
            http.get_user_agent()?,
            http.get_referer()?,
            http.get_request_uri()?,
            origin.get_ip()?,
            origin.get_hostname()?,
            log.get_server_ip()?,
            log.get_server_name()?,
            log.get_remote_ip()?,
            log.get_ray_id()?,
        ];
        bytes += texts.iter().map(|text| text.len()).sum::<usize>();
    }
    Ok(bytes)
}
