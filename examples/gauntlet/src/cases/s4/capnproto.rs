//! 4.4: the record as a Cap'n Proto message, which is read in place. log_capnp.rs is generated from
//! log.capnp.

use super::log::{Log, goser, weigh};
use super::log_capnp::{log, logs};
use super::{each, judged, repeat, speed};
use crate::{Case, Variant};
use capnp::message::{Builder, HeapAllocator, ReaderOptions, ScratchSpaceHeapAllocator};
use capnp::serialize::{
    read_message, read_message_from_flat_slice_no_alloc, write_message, write_message_to_words,
};
use capnp::{NotInSchema, Word};

/// The case.
pub(super) const CASE: Case = Case {
    id: "4.4",
    system: "go-capnproto: capnp",
    headline: "go-capnproto writes 3,419.54 MB/s, since it lays data out as in memory, and reads 665.35",
    variants: &[
        Variant::new("deserialize in place, all fields read", |window| {
            let words = one();
            let bytes = Word::words_to_bytes(&words);
            repeat(window, bytes.len(), || read(bytes));
        }),
        Variant::new("deserialize in place, opened alone", |window| {
            let words = one();
            let bytes = Word::words_to_bytes(&words);
            repeat(window, bytes.len(), || {
                let message = read_message_from_flat_slice_no_alloc(&mut &*bytes, OPTIONS)
                    .expect("it is a message");
                let root = message.get_root::<log::Reader<'_>>();
                root.expect("it is this record").get_timestamp()
            });
        }),
        Variant::new("deserialize copied, opened alone", |window| {
            let words = one();
            let bytes = Word::words_to_bytes(&words);
            repeat(window, bytes.len(), || {
                let message = read_message(bytes, OPTIONS).expect("it is a message");
                let root = message.get_root::<log::Reader<'_>>();
                let timestamp = root.expect("it is this record").get_timestamp();
                (timestamp, message)
            });
        }),
        Variant::new("serialize, built and written", |window| {
            let (goser, len) = (goser::<&str>(), Word::words_to_bytes(&one()).len());
            repeat(window, len, || {
                let mut message = Builder::new(HeapAllocator::new());
                fill(message.init_root(), &goser);
                write_message_to_words(&message)
            });
        }),
        Variant::new("serialize, built in scratch, kept buffer", |window| {
            let (goser, len) = (goser::<&str>(), Word::words_to_bytes(&one()).len());
            let mut scratch = Word::allocate_zeroed_vec(1_024);
            let mut buffer = Vec::with_capacity(len);
            repeat(window, len, || {
                let scratch = Word::words_to_bytes_mut(&mut scratch);
                let mut message = Builder::new(ScratchSpaceHeapAllocator::new(scratch));
                fill(message.init_root(), &goser);
                buffer.clear();
                write_message(&mut buffer, &message).expect("a buffer takes everything");
                buffer.len()
            });
        }),
        Variant::new("serialize, written alone", |window| {
            let len = Word::words_to_bytes(&one()).len();
            let mut message = Builder::new(HeapAllocator::new());
            fill(message.init_root(), &goser::<&str>());
            let mut buffer = Vec::with_capacity(len);
            repeat(window, len, || {
                buffer.clear();
                write_message(&mut buffer, &message).expect("a buffer takes everything");
                buffer.len()
            });
        }),
    ],
    judge: |found| {
        let (read, opened) = (
            "deserialize in place, all fields read",
            "deserialize in place, opened alone",
        );
        let (built, written) = ("serialize, built and written", "serialize, written alone");
        let blocks = |variant: &str| each(found, variant, "total_blocks");
        let counts = blocks(read) == 0.0 && blocks(opened) == 0.0;
        let said = format!(
            "{} B a record and 0 blocks to read it in place, {} copied, {} to build and write it, {} to write what is built. The \
             source's programs only write what is built and open without reading a field: {} / {} against 3419.54 / 665.35; built \
             and read in full it is {} / {}",
            each(found, read, "input_bytes"),
            blocks("deserialize copied, opened alone"),
            blocks(built),
            blocks(written),
            speed(found, written),
            speed(found, "deserialize copied, opened alone"),
            speed(found, built),
            speed(found, read),
        );
        let faster = (
            written,
            "deserialize copied, opened alone",
            (3_419.54 / 665.35, 3_419.54 / 665.35),
        );
        judged(found, counts, &[faster], &said)
    },
};

const OPTIONS: ReaderOptions = ReaderOptions {
    traversal_limit_in_words: Some(8 << 20),
    nesting_limit: 64,
};

/// Returns the record's message, after checking that it reads back.
fn one() -> Vec<Word> {
    let goser = goser::<&str>();
    let mut message = Builder::new(HeapAllocator::new());
    fill(message.init_root(), &goser);
    let words = aligned(&write_message_to_words(&message));
    assert_eq!(read(Word::words_to_bytes(&words)), goser.weight());
    words
}

/// Returns a message of many records.
pub(in crate::cases) fn words(records: &[Log<&str>]) -> Vec<Word> {
    let mut message = Builder::new(HeapAllocator::new());
    let root = message.init_root::<logs::Builder<'_>>();
    let count = u32::try_from(records.len()).expect("fewer than 2^32 records");
    let mut list = root.init_logs(count);
    for (at, record) in (0..count).zip(records) {
        fill(list.reborrow().get(at), record);
    }
    aligned(&write_message_to_words(&message))
}

/// Returns the sum over a message of many records.
pub(in crate::cases) fn weight(bytes: &[u8]) -> u64 {
    let weights = || {
        let message = read_message_from_flat_slice_no_alloc(&mut &*bytes, OPTIONS)?;
        let root: logs::Reader<'_> = message.get_root()?;
        root.get_logs()?.iter().map(weight_of).sum()
    };
    let weight: capnp::Result<u64> = weights();
    weight.expect("it is a message of these records")
}

/// Copies the bytes into words, as reading without copying requires.
fn aligned(bytes: &[u8]) -> Vec<Word> {
    let mut words = Word::allocate_zeroed_vec(bytes.len() / size_of::<Word>());
    Word::words_to_bytes_mut(&mut words).copy_from_slice(bytes);
    words
}

fn read(bytes: &[u8]) -> u64 {
    let message =
        read_message_from_flat_slice_no_alloc(&mut &*bytes, OPTIONS).expect("it is a message");
    let weight = message.get_root().and_then(weight_of);
    weight.expect("it is this record")
}

fn weight_of(log: log::Reader<'_>) -> capnp::Result<u64> {
    let (http, origin) = (log.get_http()?, log.get_origin()?);
    let numbers = [
        log.get_timestamp() as u64,
        log.get_zone_id().into(),
        log.get_zone_plan()? as u64,
        http.get_protocol()? as u64,
        http.get_status().into(),
        http.get_host_status().into(),
        http.get_up_status().into(),
        http.get_method()? as u64,
        origin.get_port().into(),
        origin.get_protocol()? as u64,
        log.get_country().into(),
        log.get_cache_status()? as u64,
        log.get_bytes_dlv(),
    ];
    let texts = [
        http.get_content_type()?.to_str()?,
        http.get_user_agent()?.to_str()?,
        http.get_referer()?.to_str()?,
        http.get_request_uri()?.to_str()?,
        origin.get_ip()?.to_str()?,
        origin.get_hostname()?.to_str()?,
        log.get_server_ip()?.to_str()?,
        log.get_server_name()?.to_str()?,
        log.get_remote_ip()?.to_str()?,
        log.get_ray_id()?.to_str()?,
    ];
    Ok(weigh(numbers, texts))
}

fn fill(mut to: log::Builder<'_>, log: &Log<&str>) {
    to.set_timestamp(log.timestamp);
    to.set_zone_id(log.zone_id);
    to.set_zone_plan(code(log.zone_plan as u16));
    let mut http = to.reborrow().init_http();
    http.set_protocol(code(log.http.protocol as u16));
    http.set_status(log.http.status);
    http.set_host_status(log.http.host_status);
    http.set_up_status(log.http.up_status);
    http.set_method(code(log.http.method as u16));
    http.set_content_type(log.http.content_type);
    http.set_user_agent(log.http.user_agent);
    http.set_referer(log.http.referer);
    http.set_request_uri(log.http.request_uri);
    let mut origin = to.reborrow().init_origin();
    origin.set_ip(log.origin.ip);
    origin.set_port(log.origin.port);
    origin.set_hostname(log.origin.hostname);
    origin.set_protocol(code(log.origin.protocol as u16));
    to.set_country(log.country.0);
    to.set_cache_status(code(log.cache_status as u16));
    to.set_server_ip(log.server_ip);
    to.set_server_name(log.server_name);
    to.set_remote_ip(log.remote_ip);
    to.set_bytes_dlv(log.bytes_dlv);
    to.set_ray_id(log.ray_id);
}

/// Converts a code of the schema, which numbers codes as our enums do.
fn code<T: TryFrom<u16, Error = NotInSchema>>(code: u16) -> T {
    T::try_from(code).expect("the schema has the same codes")
}
