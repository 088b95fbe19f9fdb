//! Rows as columns of a Parquet file: collected until a row group is full, then written.
//!
//! A column is one place for its name, its type and its values, so the schema cannot disagree with
//! the rows. Every value may be missing.

use std::io::{self, Write};
use std::sync::Arc;

use parquet::basic::Compression;
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::Result;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::ColumnDescriptor;

use super::error;

/// Maximum number of rows of a row group.
const GROUP_ROWS: usize = 64 << 10;

/// Number of values in one column that end a row group: lists may be long.
const GROUP_VALUES: usize = 256 << 10;

/// A value.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Int(i64),
    Text(ByteArray),
    Flag(bool),
}

impl From<u64> for Value {
    /// Only a damaged recording has figures above the largest signed number.
    fn from(figure: u64) -> Value {
        Value::Int(i64::try_from(figure).unwrap_or(i64::MAX))
    }
}

impl From<i64> for Value {
    fn from(figure: i64) -> Value {
        Value::Int(figure)
    }
}

impl From<bool> for Value {
    fn from(flag: bool) -> Value {
        Value::Flag(flag)
    }
}

impl From<ByteArray> for Value {
    fn from(text: ByteArray) -> Value {
        Value::Text(text)
    }
}

/// A column of a table with rows `R`; a list of structs has several leaves.
pub(super) struct Column<R> {
    /// Its part of the schema, as [`parse_message_type`] reads it.
    schema: String,
    leaves: usize,
    fill: Fill<R>,
}

type Fill<R> = Box<dyn Fn(&R, &mut [Leaf]) + Send>;

impl<R> Column<R> {
    /// A column of numbers.
    pub(super) fn int<V: Into<Value>>(
        name: &str,
        value: impl Fn(&R) -> Option<V> + Send + 'static,
    ) -> Self {
        Column::one(format!("OPTIONAL INT64 {name};"), value)
    }

    /// A column of names.
    pub(super) fn text(
        name: &str,
        value: impl Fn(&R) -> Option<ByteArray> + Send + 'static,
    ) -> Self {
        Column::one(format!("OPTIONAL BYTE_ARRAY {name} (UTF8);"), value)
    }

    /// A column of `true` and `false`.
    pub(super) fn flag(name: &str, value: impl Fn(&R) -> Option<bool> + Send + 'static) -> Self {
        Column::one(format!("OPTIONAL BOOLEAN {name};"), value)
    }

    /// A column of microseconds since the Unix epoch, in UTC.
    pub(super) fn time(name: &str, value: impl Fn(&R) -> Option<i64> + Send + 'static) -> Self {
        Column::one(
            format!("OPTIONAL INT64 {name} (TIMESTAMP(MICROS,true));"),
            value,
        )
    }

    fn one<V: Into<Value>>(
        schema: String,
        value: impl Fn(&R) -> Option<V> + Send + 'static,
    ) -> Self {
        Column::several(schema, 1, move |row, leaves| {
            leaves[0].push(value(row).map(Into::into));
        })
    }

    /// A column with several leaves, or one that is a list.
    pub(super) fn several(
        schema: String,
        leaves: usize,
        fill: impl Fn(&R, &mut [Leaf]) + Send + 'static,
    ) -> Self {
        Column {
            schema,
            leaves,
            fill: Box::new(fill),
        }
    }
}

/// The values of one type.
enum Values {
    Int(Vec<i64>),
    Text(Vec<ByteArray>),
    Flag(Vec<bool>),
}

/// The values of a leaf in the row group that is collected, with Parquet's levels: whether there
/// is a value, and whether it begins a list.
pub(super) struct Leaf {
    values: Values,
    definition: Vec<i16>,
    repetition: Vec<i16>,
    /// The level of a value that is there.
    defined: i16,
}

impl Leaf {
    fn new(descriptor: &ColumnDescriptor) -> Leaf {
        let values = match descriptor.physical_type() {
            parquet::basic::Type::BOOLEAN => Values::Flag(Vec::new()),
            parquet::basic::Type::BYTE_ARRAY => Values::Text(Vec::new()),
            _ => Values::Int(Vec::new()),
        };
        Leaf {
            values,
            definition: Vec::new(),
            repetition: Vec::new(),
            defined: descriptor.max_def_level(),
        }
    }

    /// Adds a value that is in no list.
    pub(super) fn push(&mut self, value: Option<Value>) {
        self.add(value, 0);
    }

    /// Adds a list.
    pub(super) fn push_list(&mut self, values: impl IntoIterator<Item = Option<Value>>) {
        let mut repetition = 0;
        for value in values {
            self.add(value, repetition);
            repetition = 1;
        }
        if repetition == 0 {
            self.definition.push(0);
            self.repetition.push(0);
        }
    }

    fn add(&mut self, value: Option<Value>, repetition: i16) {
        let is_there = i16::from(value.is_some());
        self.definition.push(self.defined - 1 + is_there);
        self.repetition.push(repetition);
        match (&mut self.values, value) {
            (_, None) => {}
            (Values::Int(values), Some(Value::Int(value))) => values.push(value),
            (Values::Text(values), Some(Value::Text(value))) => values.push(value),
            (Values::Flag(values), Some(Value::Flag(value))) => values.push(value),
            // Parquet refuses a column that has fewer values than its levels say.
            _ => {}
        }
    }

    fn write(&mut self, writer: &mut ColumnWriter<'_>) -> Result<()> {
        let (definition, repetition) = (Some(&self.definition[..]), Some(&self.repetition[..]));
        match (&mut self.values, writer) {
            (Values::Int(values), ColumnWriter::Int64ColumnWriter(writer)) => {
                writer.write_batch(values, definition, repetition)?;
                values.clear();
            }
            (Values::Text(values), ColumnWriter::ByteArrayColumnWriter(writer)) => {
                writer.write_batch(values, definition, repetition)?;
                values.clear();
            }
            (Values::Flag(values), ColumnWriter::BoolColumnWriter(writer)) => {
                writer.write_batch(values, definition, repetition)?;
                values.clear();
            }
            // Its type was chosen by the same schema.
            _ => {}
        }
        self.definition.clear();
        self.repetition.clear();
        Ok(())
    }
}

/// A table that is being written.
pub(super) struct TableWriter<W: Write + Send, R> {
    file: SerializedFileWriter<W>,
    columns: Vec<Column<R>>,
    leaves: Vec<Leaf>,
    rows: usize,
}

impl<W: Write + Send, R> TableWriter<W, R> {
    pub(super) fn new(file: W, columns: Vec<Column<R>>) -> io::Result<Self> {
        let fields: Vec<&str> = columns.iter().map(|column| &column.schema[..]).collect();
        let schema = format!("message heapglass {{ {} }}", fields.join(" "));
        let schema = parse_message_type(&schema).map_err(error)?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_created_by(concat!("heapglass version ", env!("CARGO_PKG_VERSION")).to_owned())
            .build();
        let file = SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties))
            .map_err(error)?;
        let descriptors = file.schema_descr().columns().iter();
        Ok(TableWriter {
            leaves: descriptors
                .map(|descriptor| Leaf::new(descriptor))
                .collect(),
            file,
            columns,
            rows: 0,
        })
    }

    pub(super) fn add(&mut self, row: &R) -> io::Result<()> {
        let mut leaves = &mut self.leaves[..];
        for column in &self.columns {
            let (own, rest) = leaves.split_at_mut(column.leaves);
            (column.fill)(row, own);
            leaves = rest;
        }
        self.rows += 1;
        let longest = self.leaves.iter().map(|leaf| leaf.definition.len()).max();
        if self.rows >= GROUP_ROWS || longest.is_some_and(|longest| longest >= GROUP_VALUES) {
            self.write_group().map_err(error)?;
        }
        Ok(())
    }

    fn write_group(&mut self) -> Result<()> {
        let mut group = self.file.next_row_group()?;
        for leaf in &mut self.leaves {
            if let Some(mut column) = group.next_column()? {
                leaf.write(column.untyped())?;
                column.close()?;
            }
        }
        group.close()?;
        self.rows = 0;
        Ok(())
    }

    pub(super) fn finish(mut self) -> io::Result<W> {
        if self.rows > 0 {
            self.write_group().map_err(error)?;
        }
        self.file.into_inner().map_err(error)
    }
}
