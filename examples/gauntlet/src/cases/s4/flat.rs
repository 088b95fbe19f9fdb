//! One record, or many, as a FlatBuffer. Must not read anything that was not verified.
//!
//! Written by hand against the runtime crate, because distributions ship a flatc that is older than
//! the crate, and its code does not compile with the crate. log.fbs declares the same in flatc's
//! language. flatc 2.0.8 reads with it the bytes that are written here, and the bytes that it
//! writes are read here.

use super::log::{Log, weigh};
use flatbuffers::{
    FlatBufferBuilder, Follow, ForwardsUOffset, InvalidFlatbuffer, Table, VOffsetT, Vector,
    Verifiable, Verifier, WIPOffset,
};

/// Returns the slot of a table's field with that number.
const fn slot(field: VOffsetT) -> VOffsetT {
    4 + 2 * field
}

/// Declares a table's type, with its fields by number.
macro_rules! table {
    (
        $(#[$doc:meta])*
        $name:ident
        numbers { $($number:ident: $type:ty = $number_at:literal),* $(,)? }
        texts { $($text:ident = $text_at:literal),* $(,)? }
        tables { $($table:ident: $inner:ident = $table_at:literal),* $(,)? }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub(crate) struct $name<'a>(Table<'a>);

        impl<'a> Follow<'a> for $name<'a> {
            type Inner = Self;

            unsafe fn follow(buffer: &'a [u8], at: usize) -> Self {
                // SAFETY: the caller guarantees that there is such a table.
                $name(unsafe { Table::new(buffer, at) })
            }
        }

        impl Verifiable for $name<'_> {
            fn run_verifier(verifier: &mut Verifier<'_, '_>, at: usize) -> Result<(), InvalidFlatbuffer> {
                verifier
                    .visit_table(at)?
                    $(.visit_field::<$type>(stringify!($number), slot($number_at), false)?)*
                    $(.visit_field::<ForwardsUOffset<&str>>(stringify!($text), slot($text_at), true)?)*
                    $(.visit_field::<ForwardsUOffset<$inner<'_>>>(stringify!($table), slot($table_at), true)?)*
                    .finish();
                Ok(())
            }
        }

        impl<'a> $name<'a> {
            $(fn $number(self) -> $type {
                // SAFETY: the table was verified: this slot contains such a number.
                unsafe { self.0.get::<$type>(slot($number_at), None) }.unwrap_or_default()
            })*

            $(fn $text(self) -> &'a str {
                // SAFETY: the table was verified: this slot contains a text.
                unsafe { self.0.get::<ForwardsUOffset<&'a str>>(slot($text_at), None) }.unwrap_or_default()
            })*

            $(fn $table(self) -> $inner<'a> {
                // SAFETY: the table was verified: this slot contains such a table.
                let table = unsafe { self.0.get::<ForwardsUOffset<$inner<'a>>>(slot($table_at), None) };
                table.expect("it was verified to be there")
            })*
        }
    };
}

table! {
    /// A record in a verified buffer.
    FlatLog
    numbers {
        timestamp: i64 = 0, zone_id: u32 = 1, zone_plan: u8 = 2, country: u8 = 5, cache_status: u8 = 6, bytes_dlv: u64 = 10,
    }
    texts { server_ip = 7, server_name = 8, remote_ip = 9, ray_id = 11 }
    tables { http: FlatHttp = 3, origin: FlatOrigin = 4 }
}

table! {
    /// The request and its answers.
    FlatHttp
    numbers { protocol: u8 = 0, status: u32 = 1, host_status: u32 = 2, up_status: u32 = 3, method: u8 = 4 }
    texts { content_type = 5, user_agent = 6, referer = 7, request_uri = 8 }
    tables {}
}

table! {
    /// The origin of the content.
    FlatOrigin
    numbers { port: u32 = 1, protocol: u8 = 3 }
    texts { ip = 0, hostname = 2 }
    tables {}
}

impl FlatLog<'_> {
    /// Returns [`weigh`] of this record.
    pub(crate) fn weight(self) -> u64 {
        let (http, origin) = (self.http(), self.origin());
        let numbers = [
            self.timestamp() as u64,
            self.zone_id().into(),
            self.zone_plan().into(),
            http.protocol().into(),
            http.status().into(),
            http.host_status().into(),
            http.up_status().into(),
            http.method().into(),
            origin.port().into(),
            origin.protocol().into(),
            self.country().into(),
            self.cache_status().into(),
            self.bytes_dlv(),
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

/// Verifies these bytes and returns their record.
///
/// # Panics
/// If they are not a record.
pub(crate) fn read(bytes: &[u8]) -> FlatLog<'_> {
    flatbuffers::root::<FlatLog<'_>>(bytes).expect("it is this record")
}

/// The list of records in a verified buffer: a table of one field.
pub(crate) struct FlatLogs<'a>(Table<'a>);

impl<'a> Follow<'a> for FlatLogs<'a> {
    type Inner = Self;

    unsafe fn follow(buffer: &'a [u8], at: usize) -> Self {
        // SAFETY: the caller guarantees that there is such a table.
        FlatLogs(unsafe { Table::new(buffer, at) })
    }
}

type Records<'a> = ForwardsUOffset<Vector<'a, ForwardsUOffset<FlatLog<'a>>>>;

impl Verifiable for FlatLogs<'_> {
    fn run_verifier(verifier: &mut Verifier<'_, '_>, at: usize) -> Result<(), InvalidFlatbuffer> {
        verifier
            .visit_table(at)?
            .visit_field::<Records<'_>>("logs", slot(0), true)?
            .finish();
        Ok(())
    }
}

/// Verifies these bytes and returns the sum over their records.
///
/// # Panics
/// If they are not records.
pub(crate) fn weight(bytes: &[u8]) -> u64 {
    let FlatLogs(table) = flatbuffers::root::<FlatLogs<'_>>(bytes).expect("they are these records");
    // SAFETY: the table was verified: this slot contains such a list.
    let records = unsafe { table.get::<Records<'_>>(slot(0), None) };
    records
        .into_iter()
        .flatten()
        .map(|record| record.weight())
        .sum()
}

/// Writes one record as the root.
pub(crate) fn write(builder: &mut FlatBufferBuilder<'_>, log: &Log<&str>) {
    let root = add(builder, log);
    builder.finish_minimal(root);
}

/// Writes many records as one buffer.
pub(crate) fn write_all(logs: &[Log<&str>]) -> Vec<u8> {
    let mut builder = FlatBufferBuilder::new();
    let records: Vec<_> = logs.iter().map(|log| add(&mut builder, log)).collect();
    let records = builder.create_vector(&records);
    let table = builder.start_table();
    builder.push_slot_always(slot(0), records);
    let root = builder.end_table(table);
    builder.finish_minimal(root);
    builder.finished_data().to_vec()
}

fn add<'a>(builder: &mut FlatBufferBuilder<'a>, log: &Log<&str>) -> WIPOffset<FlatLog<'a>> {
    let content_type = builder.create_string(log.http.content_type);
    let user_agent = builder.create_string(log.http.user_agent);
    let referer = builder.create_string(log.http.referer);
    let request_uri = builder.create_string(log.http.request_uri);
    let table = builder.start_table();
    builder.push_slot_always(slot(0), u8::from(log.http.protocol));
    builder.push_slot_always(slot(1), log.http.status);
    builder.push_slot_always(slot(2), log.http.host_status);
    builder.push_slot_always(slot(3), log.http.up_status);
    builder.push_slot_always(slot(4), u8::from(log.http.method));
    builder.push_slot_always(slot(5), content_type);
    builder.push_slot_always(slot(6), user_agent);
    builder.push_slot_always(slot(7), referer);
    builder.push_slot_always(slot(8), request_uri);
    let http = builder.end_table(table);

    let ip = builder.create_string(log.origin.ip);
    let hostname = builder.create_string(log.origin.hostname);
    let table = builder.start_table();
    builder.push_slot_always(slot(0), ip);
    builder.push_slot_always(slot(1), log.origin.port);
    builder.push_slot_always(slot(2), hostname);
    builder.push_slot_always(slot(3), u8::from(log.origin.protocol));
    let origin = builder.end_table(table);

    let server_ip = builder.create_string(log.server_ip);
    let server_name = builder.create_string(log.server_name);
    let remote_ip = builder.create_string(log.remote_ip);
    let ray_id = builder.create_string(log.ray_id);
    let table = builder.start_table();
    builder.push_slot_always(slot(0), log.timestamp);
    builder.push_slot_always(slot(1), log.zone_id);
    builder.push_slot_always(slot(2), u8::from(log.zone_plan));
    builder.push_slot_always(slot(3), http);
    builder.push_slot_always(slot(4), origin);
    builder.push_slot_always(slot(5), log.country.0);
    builder.push_slot_always(slot(6), u8::from(log.cache_status));
    builder.push_slot_always(slot(7), server_ip);
    builder.push_slot_always(slot(8), server_name);
    builder.push_slot_always(slot(9), remote_ip);
    builder.push_slot_always(slot(10), log.bytes_dlv);
    builder.push_slot_always(slot(11), ray_id);
    let table = builder.end_table(table);
    WIPOffset::new(table.value())
}
