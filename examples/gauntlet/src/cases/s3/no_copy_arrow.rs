//! The log records in arrow: columns instead of records, in the layout of its IPC stream. Opening a
//! stream allocates the columns' descriptions, whose number depends only on the columns. The
//! columns are the stream's own bytes.

use crate::cases::s4::log::{Log, weigh};
use arrow_array::{
    Array as _, ArrayRef, Int64Array, RecordBatch, StringArray, UInt8Array, UInt32Array,
    UInt64Array,
};
use arrow_buffer::Buffer;
use arrow_ipc::reader::StreamDecoder;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, Field, Schema};
use std::sync::Arc;

/// Returns the records as a stream of one batch.
pub(super) fn written(logs: &[Log<&str>]) -> Vec<u8> {
    write(logs).expect("the records can be written")
}

fn write(logs: &[Log<&str>]) -> Result<Vec<u8>, ArrowError> {
    let codes = |code: fn(&Log<&str>) -> u8| -> ArrayRef {
        Arc::new(UInt8Array::from_iter_values(logs.iter().map(code)))
    };
    let numbers = |number: fn(&Log<&str>) -> u32| -> ArrayRef {
        Arc::new(UInt32Array::from_iter_values(logs.iter().map(number)))
    };
    let texts = |at: usize| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(
            logs.iter().map(|log| log.texts()[at]),
        ))
    };
    let timestamps = logs.iter().map(|log| log.timestamp);
    let bytes_dlv = logs.iter().map(|log| log.bytes_dlv);
    let mut columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from_iter_values(timestamps)),
        Arc::new(UInt64Array::from_iter_values(bytes_dlv)),
        numbers(|log| log.zone_id),
        numbers(|log| log.http.status),
        numbers(|log| log.http.host_status),
        numbers(|log| log.http.up_status),
        numbers(|log| log.origin.port),
        codes(|log| log.zone_plan.into()),
        codes(|log| log.http.protocol.into()),
        codes(|log| log.http.method.into()),
        codes(|log| log.origin.protocol.into()),
        codes(|log| log.country.0),
        codes(|log| log.cache_status.into()),
    ];
    columns.extend((0..10).map(texts));
    let fields: Vec<Field> = columns
        .iter()
        .enumerate()
        .map(|(at, column)| Field::new(format!("column {at}"), column.data_type().clone(), false))
        .collect();
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)?;
    let mut out = Vec::new();
    let mut writer = StreamWriter::try_new(&mut out, &batch.schema())?;
    writer.write(&batch)?;
    writer.finish()?;
    drop(writer);
    Ok(out)
}

/// Reads the records of a stream. Its bytes are copied once, as from a file, and the values share
/// them.
///
/// # Panics
/// If the bytes are not such a stream.
pub(super) fn opened(bytes: &[u8]) -> RecordBatch {
    let mut buffer = Buffer::from_vec(bytes.to_vec());
    let mut decoder = StreamDecoder::new();
    let batch = decoder.decode(&mut buffer).expect("it is such a stream");
    batch.expect("it has a batch")
}

/// Returns the sum over the records.
///
/// # Panics
/// If the records differ.
pub(super) fn weight(batch: &RecordBatch) -> u64 {
    let sum = sum(batch);
    sum.expect("they are these records")
}

fn sum(batch: &RecordBatch) -> Option<u64> {
    let column = |at: usize| batch.columns().get(at).map(|column| column.as_any());
    let timestamps: &Int64Array = column(0)?.downcast_ref()?;
    let bytes_dlv: &UInt64Array = column(1)?.downcast_ref()?;
    let mut numbers = [None; 5];
    for (at, numbers) in (2..).zip(&mut numbers) {
        *numbers = Some(column(at)?.downcast_ref::<UInt32Array>()?);
    }
    let mut codes = [None; 6];
    for (at, codes) in (7..).zip(&mut codes) {
        *codes = Some(column(at)?.downcast_ref::<UInt8Array>()?);
    }
    let mut texts = [None; 10];
    for (at, texts) in (13..).zip(&mut texts) {
        *texts = Some(column(at)?.downcast_ref::<StringArray>()?);
    }
    let record = |row: usize| {
        let number = |at: usize| numbers[at].map_or(0, |column| column.value(row).into());
        let code = |at: usize| codes[at].map_or(0, |column| column.value(row).into());
        let numbers = [
            timestamps.value(row) as u64,
            bytes_dlv.value(row),
            number(0),
            number(1),
            number(2),
            number(3),
            number(4),
            code(0),
            code(1),
            code(2),
            code(3),
            code(4),
            code(5),
        ];
        weigh(
            numbers,
            texts.map(|column| column.map_or("", |column| column.value(row))),
        )
    };
    Some((0..batch.num_rows()).map(record).sum())
}
