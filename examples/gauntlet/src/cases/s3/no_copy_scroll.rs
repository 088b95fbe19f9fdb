//! The log record in scroll, which reads fields one after another and lends texts in place. It has
//! no format of its own. Here, integers are little-endian, and a text follows its length of two
//! bytes.

use crate::cases::s4::log::{Country, Http, Log, Origin};
use scroll::ctx::{StrCtx, TryFromCtx};
use scroll::{Error, LE, Pread};

/// Returns the records' bytes, one after another.
pub(super) fn written(logs: &[Log<&str>]) -> Vec<u8> {
    let mut out = Vec::new();
    for log in logs {
        out.extend_from_slice(&log.timestamp.to_le_bytes());
        out.extend_from_slice(&log.zone_id.to_le_bytes());
        out.push(log.zone_plan.into());
        let http = &log.http;
        out.push(http.protocol.into());
        for status in [http.status, http.host_status, http.up_status] {
            out.extend_from_slice(&status.to_le_bytes());
        }
        out.push(http.method.into());
        for text in [
            http.content_type,
            http.user_agent,
            http.referer,
            http.request_uri,
        ] {
            write_text(&mut out, text);
        }
        write_text(&mut out, log.origin.ip);
        out.extend_from_slice(&log.origin.port.to_le_bytes());
        write_text(&mut out, log.origin.hostname);
        out.push(log.origin.protocol.into());
        out.push(log.country.0);
        out.push(log.cache_status.into());
        for text in [log.server_ip, log.server_name, log.remote_ip] {
            write_text(&mut out, text);
        }
        out.extend_from_slice(&log.bytes_dlv.to_le_bytes());
        write_text(&mut out, log.ray_id);
    }
    out
}

fn write_text(out: &mut Vec<u8>, text: &str) {
    let len = u16::try_from(text.len()).expect("the record's texts are short");
    out.extend_from_slice(&len.to_le_bytes());
    out.extend_from_slice(text.as_bytes());
}

/// Returns the sum over the records, each read in place.
///
/// # Panics
/// If the bytes are not such records.
pub(super) fn weight(bytes: &[u8]) -> u64 {
    let (mut at, mut weight) = (0, 0);
    while at < bytes.len() {
        let log: Log<&str> = bytes.gread(&mut at).expect("they are these records");
        weight += log.weight();
    }
    weight
}

impl<'a> TryFromCtx<'a> for Log<&'a str> {
    type Error = Error;

    fn try_from_ctx(bytes: &'a [u8], (): ()) -> Result<(Self, usize), Error> {
        let at = &mut 0;
        let log = Log {
            timestamp: bytes.gread_with(at, LE)?,
            zone_id: bytes.gread_with(at, LE)?,
            zone_plan: code(bytes, at)?,
            http: Http {
                protocol: code(bytes, at)?,
                status: bytes.gread_with(at, LE)?,
                host_status: bytes.gread_with(at, LE)?,
                up_status: bytes.gread_with(at, LE)?,
                method: code(bytes, at)?,
                content_type: text(bytes, at)?,
                user_agent: text(bytes, at)?,
                referer: text(bytes, at)?,
                request_uri: text(bytes, at)?,
            },
            origin: Origin {
                ip: text(bytes, at)?,
                port: bytes.gread_with(at, LE)?,
                hostname: text(bytes, at)?,
                protocol: code(bytes, at)?,
            },
            country: Country(bytes.gread(at)?),
            cache_status: code(bytes, at)?,
            server_ip: text(bytes, at)?,
            server_name: text(bytes, at)?,
            remote_ip: text(bytes, at)?,
            bytes_dlv: bytes.gread_with(at, LE)?,
            ray_id: text(bytes, at)?,
        };
        Ok((log, *at))
    }
}

fn text<'a>(bytes: &'a [u8], at: &mut usize) -> Result<&'a str, Error> {
    let len: u16 = bytes.gread_with(at, LE)?;
    bytes.gread_with(at, StrCtx::Length(len.into()))
}

fn code<T: TryFrom<u8>>(bytes: &[u8], at: &mut usize) -> Result<T, Error> {
    let code: u8 = bytes.gread(at)?;
    T::try_from(code).map_err(|_| Error::BadInput {
        size: 1,
        msg: "no such code",
    })
}
