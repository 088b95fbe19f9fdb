//! 4.8: the record by Thrift, in both protocols. It is read and written as in the code of Thrift's
//! compiler, and without the names that no protocol sends.

use super::log::{Country, Http, Log, Origin, goser, json};
use super::{TEXT_BYTES, TEXTS, each, repeat, speed, takes};
use crate::{Case, Claim, Judged, Variant};
use thrift::protocol::{
    TBinaryInputProtocol, TBinaryOutputProtocol, TCompactInputProtocol, TCompactOutputProtocol,
    TFieldIdentifier, TInputProtocol, TOutputProtocol, TStructIdentifier, TType,
};

/// The case.
pub(super) const CASE: Case = Case {
    id: "4.8",
    system: "Thrift, compact and binary protocol: the same record",
    headline: "no row of 2014; the talk on thin apps (S3) says that binary protocols such as Protobuf and Thrift allocate somewhat \
               less than JSON, which it takes to go through Value",
    variants: &[
        Variant::new("JSON, deserialize", |window| {
            let json = json();
            repeat(window, json.len(), || {
                serde_json::from_str::<Log<String>>(&json).expect("it is this record")
            });
        }),
        Variant::new("JSON, Value", |window| {
            let json = json();
            repeat(window, json.len(), || {
                serde_json::from_str::<serde_json::Value>(&json).expect("it is JSON")
            });
        }),
        Variant::new("compact, deserialize", |window| {
            let bytes = compact(Names::Made);
            assert_eq!(read_compact(&bytes), goser::<String>());
            assert_eq!(bytes, compact(Names::Left), "names are not sent");
            repeat(window, bytes.len(), || read_compact(&bytes));
        }),
        Variant::new("binary, deserialize", |window| {
            let bytes = binary(Names::Made);
            assert_eq!(read_binary(&bytes), goser::<String>());
            assert_eq!(bytes, binary(Names::Left), "names are not sent");
            repeat(window, bytes.len(), || read_binary(&bytes));
        }),
        Variant::new("compact, serialize", |window| {
            let len = compact(Names::Left).len();
            repeat(window, len, || compact(Names::Made));
        }),
        Variant::new("compact, serialize without names", |window| {
            let len = compact(Names::Left).len();
            repeat(window, len, || compact(Names::Left));
        }),
        Variant::new("binary, serialize", |window| {
            let len = binary(Names::Left).len();
            repeat(window, len, || binary(Names::Made));
        }),
        Variant::new(
            "binary, serialize without names, into a kept buffer",
            |window| {
                let (log, mut kept) = (goser::<&str>(), binary(Names::Left));
                repeat(window, kept.len(), || {
                    kept.clear();
                    write(
                        &log,
                        &mut TBinaryOutputProtocol::new(&mut kept, true),
                        Names::Left,
                    );
                    kept.len()
                });
            },
        ),
    ],
    judge: |found| {
        let blocks = |variant: &str| each(found, variant, "total_blocks");
        let kept = "binary, serialize without names, into a kept buffer";
        // The compact protocol keeps the number of the last field for each open struct: one small
        // block.
        let counts = takes(found, &["JSON, deserialize"], TEXTS, TEXT_BYTES)
            && takes(found, &["binary, deserialize"], TEXTS, TEXT_BYTES)
            && takes(
                found,
                &["compact, deserialize"],
                TEXTS + 1.0,
                TEXT_BYTES + 8.0,
            )
            && takes(found, &[kept], 0.0, 0.0)
            && blocks("compact, serialize") - blocks("compact, serialize without names") == NAMES;
        let why = format!(
            "{} B a record compact, {} B binary, {} B as JSON; {} and {} blocks to read it, {} by JSON and {} as its Value; \
             {} blocks to write it as generated code does, {} of them the names of fields and structs, which are not sent; 0 \
             without them into a kept buffer. {} / {} compact, {} / {} binary, JSON {} to read",
            each(found, "compact, deserialize", "input_bytes"),
            each(found, "binary, deserialize", "input_bytes"),
            each(found, "JSON, deserialize", "input_bytes"),
            blocks("compact, deserialize"),
            blocks("binary, deserialize"),
            blocks("JSON, deserialize"),
            blocks("JSON, Value"),
            blocks("compact, serialize"),
            blocks("compact, serialize") - blocks("compact, serialize without names"),
            speed(found, "compact, serialize"),
            speed(found, "compact, deserialize"),
            speed(found, "binary, serialize"),
            speed(found, "binary, deserialize"),
            speed(found, "JSON, deserialize"),
        );
        // Blocks are exact: each text is one, in every format.
        Judged::facts(counts, why)
            .claim(
                Claim::clearly_more("times the blocks to read the record from JSON as a Value as from Thrift"),
                blocks("JSON, Value") / blocks("binary, deserialize"),
            )
            .claim(
                Claim::clearly_more("times the blocks to read it from JSON by its type as from Thrift"),
                blocks("JSON, deserialize") / blocks("binary, deserialize"),
            )
            .because("a type is read from JSON without a Value, so every format makes one block for each text")
    },
};

/// Number of names: 25 fields and 3 structs.
const NAMES: f64 = 28.0;

/// The handling of the names of fields and structs, which neither protocol sends.
#[derive(Clone, Copy)]
enum Names {
    /// A `String` for each, as in the code of Thrift's compiler.
    Made,
    /// No names.
    Left,
}

fn compact(names: Names) -> Vec<u8> {
    let (log, mut bytes) = (goser::<&str>(), Vec::new());
    write(&log, &mut TCompactOutputProtocol::new(&mut bytes), names);
    bytes
}

fn binary(names: Names) -> Vec<u8> {
    let (log, mut bytes) = (goser::<&str>(), Vec::new());
    write(
        &log,
        &mut TBinaryOutputProtocol::new(&mut bytes, true),
        names,
    );
    bytes
}

fn read_compact(bytes: &[u8]) -> Log<String> {
    read_log(&mut TCompactInputProtocol::new(bytes)).expect("it is this record")
}

fn read_binary(bytes: &[u8]) -> Log<String> {
    read_log(&mut TBinaryInputProtocol::new(bytes, true)).expect("it is this record")
}

fn write(log: &Log<&str>, out: &mut impl TOutputProtocol, names: Names) {
    Writer { out, names }.log(log).expect("a Vec takes all");
}

struct Writer<'a, P> {
    out: &'a mut P,
    names: Names,
}

impl<P: TOutputProtocol> Writer<'_, P> {
    fn begin(&mut self, name: &str) -> thrift::Result<()> {
        let name = match self.names {
            Names::Made => name.to_owned(),
            Names::Left => String::new(),
        };
        self.out.write_struct_begin(&TStructIdentifier { name })
    }

    fn end(&mut self) -> thrift::Result<()> {
        self.out.write_field_stop()?;
        self.out.write_struct_end()
    }

    fn field(&mut self, name: &str, field_type: TType, id: i16) -> thrift::Result<()> {
        let name = match self.names {
            Names::Made => Some(name.to_owned()),
            Names::Left => None,
        };
        self.out.write_field_begin(&TFieldIdentifier {
            name,
            field_type,
            id: Some(id),
        })
    }

    fn i32(&mut self, name: &str, id: i16, value: u32) -> thrift::Result<()> {
        self.field(name, TType::I32, id)?;
        self.out.write_i32(value.cast_signed())?;
        self.out.write_field_end()
    }

    fn i64(&mut self, name: &str, id: i16, value: i64) -> thrift::Result<()> {
        self.field(name, TType::I64, id)?;
        self.out.write_i64(value)?;
        self.out.write_field_end()
    }

    fn text(&mut self, name: &str, id: i16, text: &str) -> thrift::Result<()> {
        self.field(name, TType::String, id)?;
        self.out.write_string(text)?;
        self.out.write_field_end()
    }

    fn log(&mut self, log: &Log<&str>) -> thrift::Result<()> {
        self.begin("Log")?;
        self.i64("timestamp", 1, log.timestamp)?;
        self.i32("zone_id", 2, log.zone_id)?;
        self.i32("zone_plan", 3, u8::from(log.zone_plan).into())?;
        self.field("http", TType::Struct, 4)?;
        self.http(&log.http)?;
        self.out.write_field_end()?;
        self.field("origin", TType::Struct, 5)?;
        self.origin(&log.origin)?;
        self.out.write_field_end()?;
        self.i32("country", 6, log.country.0.into())?;
        self.i32("cache_status", 7, u8::from(log.cache_status).into())?;
        self.text("server_ip", 8, log.server_ip)?;
        self.text("server_name", 9, log.server_name)?;
        self.text("remote_ip", 10, log.remote_ip)?;
        self.i64("bytes_dlv", 11, log.bytes_dlv.cast_signed())?;
        self.text("ray_id", 12, log.ray_id)?;
        self.end()
    }

    fn http(&mut self, http: &Http<&str>) -> thrift::Result<()> {
        self.begin("HTTP")?;
        self.i32("protocol", 1, u8::from(http.protocol).into())?;
        self.i32("status", 2, http.status)?;
        self.i32("host_status", 3, http.host_status)?;
        self.i32("up_status", 4, http.up_status)?;
        self.i32("method", 5, u8::from(http.method).into())?;
        self.text("content_type", 6, http.content_type)?;
        self.text("user_agent", 7, http.user_agent)?;
        self.text("referer", 8, http.referer)?;
        self.text("request_uri", 9, http.request_uri)?;
        self.end()
    }

    fn origin(&mut self, origin: &Origin<&str>) -> thrift::Result<()> {
        self.begin("Origin")?;
        self.text("ip", 1, origin.ip)?;
        self.i32("port", 2, origin.port)?;
        self.text("hostname", 3, origin.hostname)?;
        self.i32("protocol", 4, u8::from(origin.protocol).into())?;
        self.end()
    }
}

/// Reads a struct, its fields one after another in any order.
fn fields<P: TInputProtocol>(
    input: &mut P,
    mut read: impl FnMut(&mut P, &TFieldIdentifier) -> thrift::Result<()>,
) -> thrift::Result<()> {
    input.read_struct_begin()?;
    loop {
        let field = input.read_field_begin()?;
        if field.field_type == TType::Stop {
            break;
        }
        read(input, &field)?;
        input.read_field_end()?;
    }
    input.read_struct_end()
}

fn u32(input: &mut impl TInputProtocol) -> thrift::Result<u32> {
    input.read_i32().map(i32::cast_unsigned)
}

/// Reads a code; there are fewer than 256.
fn code<C: TryFrom<u8>>(input: &mut impl TInputProtocol) -> thrift::Result<C> {
    let code = u8::try_from(input.read_i32()?).ok();
    let known = code.and_then(|code| C::try_from(code).ok());
    known.ok_or_else(|| thrift::Error::from("no such code"))
}

fn read_log(input: &mut impl TInputProtocol) -> thrift::Result<Log<String>> {
    let mut log = Log::empty();
    fields(input, |input, field| {
        match field.id {
            Some(1) => log.timestamp = input.read_i64()?,
            Some(2) => log.zone_id = u32(input)?,
            Some(3) => log.zone_plan = code(input)?,
            Some(4) => read_http(input, &mut log.http)?,
            Some(5) => read_origin(input, &mut log.origin)?,
            Some(6) => log.country = Country(code(input)?),
            Some(7) => log.cache_status = code(input)?,
            Some(8) => log.server_ip = input.read_string()?,
            Some(9) => log.server_name = input.read_string()?,
            Some(10) => log.remote_ip = input.read_string()?,
            Some(11) => log.bytes_dlv = input.read_i64()?.cast_unsigned(),
            Some(12) => log.ray_id = input.read_string()?,
            _ => input.skip(field.field_type)?,
        }
        Ok(())
    })?;
    Ok(log)
}

fn read_http(input: &mut impl TInputProtocol, http: &mut Http<String>) -> thrift::Result<()> {
    fields(input, |input, field| {
        match field.id {
            Some(1) => http.protocol = code(input)?,
            Some(2) => http.status = u32(input)?,
            Some(3) => http.host_status = u32(input)?,
            Some(4) => http.up_status = u32(input)?,
            Some(5) => http.method = code(input)?,
            Some(6) => http.content_type = input.read_string()?,
            Some(7) => http.user_agent = input.read_string()?,
            Some(8) => http.referer = input.read_string()?,
            Some(9) => http.request_uri = input.read_string()?,
            _ => input.skip(field.field_type)?,
        }
        Ok(())
    })
}

fn read_origin(input: &mut impl TInputProtocol, origin: &mut Origin<String>) -> thrift::Result<()> {
    fields(input, |input, field| {
        match field.id {
            Some(1) => origin.ip = input.read_string()?,
            Some(2) => origin.port = u32(input)?,
            Some(3) => origin.hostname = input.read_string()?,
            Some(4) => origin.protocol = code(input)?,
            _ => input.skip(field.field_type)?,
        }
        Ok(())
    })
}
