//! Parquet files, read by row ranges. The crate `parquet` decodes the format; if it panics on a damaged
//! file, that becomes an error of the file.

mod ahead;
mod batches;
mod delta;
mod footer;
mod manifest;
mod pages;
mod readable;
mod rows;
mod shapes;
mod sink;
mod sought;

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::RecordBatchReader;
use arrow_schema::{DataType, Field, FieldRef, Fields, Schema, SchemaRef};
use memchr::memmem;
use parquet::arrow::ARROW_SCHEMA_META_KEY;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::basic::{Compression, ConvertedType, LogicalType, Type as PhysicalType, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::{
    ColumnChunkMetaData, FileMetaData, ParquetMetaData, ParquetMetaDataReader,
};
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder};
use parquet::file::reader::Length;
use parquet::schema::types::{SchemaDescriptor, Type};
use serde_json::{Value, json};

pub use manifest::{MANIFEST, StatedShard, compare_inputs};

use crate::digest::sha256_hex;
use crate::error::{At, Error, Kind, Place, Result};
use crate::files;
use crate::format::data_files::{PARQUET as PARQUET_FILES, refuse_left_out};
use crate::panics::caught;
use crate::record::column_twice;
use crate::wording::exactly;
use ahead::ReadAhead;
use readable::ReadableFile;
use rows::Rows;

pub use batches::ParquetBatches;
pub use sink::ParquetSink;
pub use sink::ROW_GROUP_BYTES;

/// About how many bytes a batch should hold.
const BATCH_BYTES: u64 = 1 << 20;
/// The most rows of a batch, however short they are.
const BATCH_ROWS: u64 = 8192;

/// An opened file and its footer.
#[derive(Debug)]
pub struct ParquetFile {
    file: ReadableFile,
    metadata: ArrowReaderMetadata,
}

impl ParquetFile {
    /// Reads the footer. It fails if the file is truncated or not Parquet.
    pub fn open(file: File) -> Result<ParquetFile, ParquetError> {
        let file = ReadableFile::new(file)?;
        let opened = caught(|| ParquetFile::open_unguarded(file.clone()));
        file.or_system_error(opened.map_err(ParquetError::General).flatten())
    }

    /// Opens a file of a dataset.
    pub fn of_member(path: &Path) -> Result<ParquetFile> {
        ParquetFile::open(files::open_member(path).at(path)?).at(path)
    }

    /// Whether the bytes of the footer contain `key`: only then may the file state it. Nothing is
    /// decoded.
    fn may_state(file: &File, key: &str) -> io::Result<bool> {
        let footer = ReadableFile::new(file.try_clone()?)?.footer()?;
        Ok(footer.is_some_and(|footer| memmem::find(&footer, key.as_bytes()).is_some()))
    }

    /// Opens a file of ours, which states something under this key in its footer, and returns the text of that. A file
    /// that is not Parquet is reported elsewhere. (Every Parquet file is looked at here before its own reader gets it.)
    pub fn if_stating(path: &Path, key: &str) -> Result<Option<(ParquetFile, String)>> {
        if path.extension().is_none_or(|ending| ending != "parquet" && ending != "pq")
            || !files::is_file(path)?
        {
            return Ok(None);
        }
        let file = files::open_member(path).at(path)?;
        if !ParquetFile::may_state(&file, key).at(path)? {
            return Ok(None);
        }
        let file = match ParquetFile::open(file).at(path) {
            Ok(file) => file,
            Err(error) if error.kind() == Kind::Data => return Ok(None),
            Err(error) => return Err(error),
        };
        let stated = file.metadata_value(key).map(str::to_string);
        Ok(stated.map(|stated| (file, stated)))
    }

    fn open_unguarded(file: ReadableFile) -> Result<ParquetFile, ParquetError> {
        let metadata = match file.footer()? {
            Some(bytes) => {
                let bytes = footer::readable(&bytes);
                let bytes = bytes.map_err(|cause| ParquetError::General(cause.to_string()))?;
                let metadata = ParquetMetaDataReader::decode_metadata(&bytes)?;
                let metadata = Arc::new(without_empty_dictionaries(metadata)?);
                ArrowReaderMetadata::try_new(metadata, ArrowReaderOptions::new())?
            }
            // The crate's error says what is wrong.
            None => ArrowReaderMetadata::load(&file, ArrowReaderOptions::new())?,
        };
        if let Some(cause) = column_twice(metadata.schema().fields()) {
            return Err(ParquetError::General(cause));
        }
        let stated = metadata.metadata().file_metadata().num_rows();
        let mut groups = metadata.metadata().row_groups().iter().map(|group| group.num_rows());
        let rows = groups.try_fold(0i64, |sum, rows| sum.checked_add(rows).filter(|_| rows >= 0));
        if rows != Some(stated) {
            let cause = format!(
                "the file states {stated}, its row groups have others",
                stated = exactly(stated, "row")
            );
            return Err(ParquetError::General(cause));
        }
        // The crate allocates what a column chunk claims, and panics if that is negative.
        let length = file.len();
        for column in metadata.metadata().row_groups().iter().flat_map(|group| group.columns()) {
            let start = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
            let end = u64::try_from(start).ok().zip(u64::try_from(column.compressed_size()).ok());
            let end = end.and_then(|(start, bytes)| start.checked_add(bytes));
            if end.is_none_or(|end| end > length) {
                let name = column.column_path();
                return Err(ParquetError::General(format!("a chunk of {name} is not in the file")));
            }
        }
        Ok(ParquetFile { file, metadata })
    }

    /// Checks what reading the rows does not check: the file begins as Parquet does, the headers of
    /// pages are valid, and the pages have as many values as the footer states.
    pub fn check_pages(&self) -> Result<(), ParquetError> {
        let groups = self.metadata.metadata().row_groups().iter();
        let mut chunks = groups.flat_map(|group| group.columns().iter().map(move |c| (group, c)));
        let check = || {
            pages::check_begin(&self.file)?;
            chunks.try_for_each(|(group, chunk)| {
                pages::check_headers(&self.file, chunk)?;
                pages::check_counts(&self.file, group, chunk)
            })
        };
        self.file.or_system_error(caught(check).map_err(ParquetError::General).flatten())
    }

    pub fn rows(&self) -> u64 {
        self.metadata.metadata().file_metadata().num_rows() as u64
    }

    /// Returns a value of the key-value metadata in the footer.
    pub fn metadata_value(&self, key: &str) -> Option<&str> {
        let pairs = self.metadata.metadata().file_metadata().key_value_metadata()?;
        pairs.iter().find(|pair| pair.key == key)?.value.as_deref()
    }

    pub fn row_groups(&self) -> u64 {
        self.metadata.metadata().num_row_groups() as u64
    }

    /// Returns the rows and decoded bytes of each row group.
    pub fn row_group_sizes(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let number = |number: i64| u64::try_from(number).unwrap_or(0);
        let groups = self.metadata.metadata().row_groups().iter();
        groups.map(move |group| (number(group.num_rows()), number(group.total_byte_size())))
    }

    pub fn schema(&self) -> &SchemaRef {
        self.metadata.schema()
    }

    pub fn bytes(&self) -> u64 {
        self.file.len()
    }

    /// Returns the sha256 (hex) of the footer. The footer has place, size and statistics of every
    /// column chunk, so this tells two files apart without reading all of them.
    pub fn footer_sha256(&self) -> std::io::Result<String> {
        Ok(sha256_hex(&self.file.footer()?.unwrap_or_default()))
    }

    /// Reads the rows of ascending runs in batches of about 1 MiB; only the row groups that overlap
    /// are read. `columns`: only these top-level columns of the schema are read.
    pub fn read(
        &self,
        runs: &[Range<u64>],
        columns: Option<&[String]>,
        text: Text,
    ) -> Result<ParquetBatches, ParquetError> {
        self.read_on(NonZeroUsize::MIN, runs, columns, text)
    }

    /// Reads as [`ParquetFile::read`] does, but decodes row groups on this many threads if they are
    /// not large. The batches are the same; after an error the rows before it may be missing.
    pub fn read_on(
        &self,
        threads: NonZeroUsize,
        runs: &[Range<u64>],
        columns: Option<&[String]>,
        text: Text,
    ) -> Result<ParquetBatches, ParquetError> {
        let read = caught(|| self.read_unguarded(runs, columns, text));
        let (batches, rows) =
            self.file.or_system_error(read.map_err(ParquetError::General).flatten())?;
        Ok(batches.ahead(ReadAhead::of(rows, threads)))
    }

    fn read_unguarded(
        &self,
        runs: &[Range<u64>],
        columns: Option<&[String]>,
        text: Text,
    ) -> Result<(ParquetBatches, Rows), ParquetError> {
        self.refuse_intervals(columns)?;
        let rows = Rows::of(self.file.clone(), self.decoded_as(text)?, runs, columns);
        let batch_rows = (BATCH_BYTES / rows.row_bytes()).clamp(1, BATCH_ROWS);
        let step = batch_rows.min(text.decoded_rows());
        let decoder = rows.decoder(&rows.groups, step)?;
        let text_schema = match text {
            Text::Plain => decoder.schema(),
            Text::Bytes | Text::Short => {
                let schema = self.schema();
                let read = decoder.schema();
                let read: HashSet<&str> = read.fields().iter().map(|f| f.name().as_str()).collect();
                let is_read = |field: &&FieldRef| read.contains(field.name().as_str());
                let fields = schema.fields().iter().filter(is_read);
                let fields = fields.map(|field| viewed(field, DataType::Utf8View));
                SchemaRef::new(Schema::new(fields.collect::<Fields>()))
            }
        };
        let file = self.file.clone();
        Ok((ParquetBatches::new(file, decoder, text_schema, (batch_rows, step)), rows))
    }

    /// Refuses Parquet's intervals, which have months, days and milliseconds: the crate drops the months,
    /// unless an Arrow schema in the file says that there are none.
    fn refuse_intervals(&self, columns: Option<&[String]>) -> Result<(), ParquetError> {
        if self.metadata_value(ARROW_SCHEMA_META_KEY).is_some() {
            return Ok(());
        }
        let leaves = self.metadata.metadata().file_metadata().schema_descr().columns().iter();
        let is_read = |name: &String| columns.is_none_or(|columns| columns.contains(name));
        let mut intervals = leaves.filter(|leaf| leaf.converted_type() == ConvertedType::INTERVAL);
        let found = intervals.find(|leaf| leaf.path().parts().first().is_some_and(&is_read));
        found.map_or(Ok(()), |leaf| {
            let path = leaf.path().string();
            let cause =
                format!("column {path:?} has intervals, which are not read; try: leave it out");
            Err(ParquetError::General(cause))
        })
    }

    /// Returns the footer, with text read in this way.
    fn decoded_as(&self, text: Text) -> Result<ArrowReaderMetadata, ParquetError> {
        if text == Text::Plain {
            return Ok(self.metadata.clone());
        }
        let schema = self.schema();
        let fields = schema.fields().iter().map(|field| viewed(field, DataType::BinaryView));
        let fields: Fields = fields.collect();
        let schema = SchemaRef::new(Schema::new_with_metadata(fields, schema.metadata().clone()));
        let options = ArrowReaderOptions::new().with_schema(schema);
        ArrowReaderMetadata::try_new(without_text(self.metadata.metadata())?, options)
    }
}

/// Returns the footer without dictionary offsets of 0. No page can be at 0; some writers write 0 if
/// there is no dictionary, or if it is the first page of its chunk.
fn without_empty_dictionaries(footer: ParquetMetaData) -> Result<ParquetMetaData, ParquetError> {
    let is_empty = |chunk: &ColumnChunkMetaData| chunk.dictionary_page_offset() == Some(0);
    if !footer.row_groups().iter().any(|group| group.columns().iter().any(is_empty)) {
        return Ok(footer);
    }
    let groups = footer.row_groups().iter().map(|group| {
        let chunks = group.columns().iter().map(|chunk| match is_empty(chunk) {
            true => chunk.clone().into_builder().set_dictionary_page_offset(None).build(),
            false => Ok(chunk.clone()),
        });
        let chunks = chunks.collect::<Result<Vec<_>, _>>()?;
        group.clone().into_builder().set_column_metadata(chunks).build()
    });
    let groups = groups.collect::<Result<Vec<_>, _>>()?;
    Ok(ParquetMetaData::new(footer.file_metadata().clone(), groups))
}

/// Whether a leaf has decimals.
fn is_decimal(of: &Type) -> bool {
    let info = of.get_basic_info();
    info.converted_type() == ConvertedType::DECIMAL
        || matches!(info.logical_type_ref(), Some(LogicalType::Decimal { .. }))
}

/// Returns a footer that does not say what is text, so that all of it is read as bytes.
fn without_text(footer: &ParquetMetaData) -> Result<Arc<ParquetMetaData>, ParquetError> {
    let file = footer.file_metadata();
    let schema = Arc::new(bytes_type(file.schema())?);
    let file = FileMetaData::new(
        file.version(),
        file.num_rows(),
        file.created_by().map(str::to_string),
        None,
        Arc::new(SchemaDescriptor::new(schema)),
        None,
    );
    Ok(Arc::new(ParquetMetaData::new(file, footer.row_groups().to_vec())))
}

fn bytes_type(of: &Type) -> Result<Type, ParquetError> {
    let info = of.get_basic_info();
    let id = info.has_id().then(|| info.id());
    match of {
        Type::PrimitiveType { physical_type: PhysicalType::BYTE_ARRAY, .. } if !is_decimal(of) => {
            Type::primitive_type_builder(info.name(), PhysicalType::BYTE_ARRAY)
                .with_repetition(info.repetition())
                .with_id(id)
                .build()
        }
        Type::PrimitiveType { .. } => Ok(of.clone()),
        Type::GroupType { fields, .. } => {
            let fields = fields.iter().map(|field| Ok(Arc::new(bytes_type(field)?)));
            let mut group = Type::group_type_builder(info.name())
                .with_fields(fields.collect::<Result<_, ParquetError>>()?)
                .with_converted_type(info.converted_type())
                .with_logical_type(info.logical_type_ref().cloned())
                .with_id(id);
            if info.has_repetition() {
                group = group.with_repetition(info.repetition());
            }
            group.build()
        }
    }
}

/// How columns of text and bytes are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Text {
    /// As the types of the schema.
    Plain,
    /// As views into the decoded pages (a text that many rows share is in memory once); the bytes
    /// need not be valid text.
    Bytes,
    /// As views, for columns of short texts such as ids: many rows are decoded at once.
    Short,
}

impl Text {
    fn decoded_rows(self) -> u64 {
        match self {
            Text::Short => BATCH_ROWS,
            Text::Plain | Text::Bytes => batches::DECODED_ROWS,
        }
    }
}

/// Returns a field whose text and bytes are views, also in lists and structs; the type of text is
/// `text`.
fn viewed(field: &FieldRef, text: DataType) -> FieldRef {
    with_types(field, &|data_type| match data_type {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Some(text.clone()),
        DataType::Binary | DataType::LargeBinary => Some(DataType::BinaryView),
        DataType::Dictionary(keys, values) if text == DataType::BinaryView => {
            let values = match values.as_ref() {
                DataType::Utf8 => DataType::Binary,
                DataType::LargeUtf8 => DataType::LargeBinary,
                other => other.clone(),
            };
            Some(DataType::Dictionary(keys.clone(), Box::new(values)))
        }
        DataType::Dictionary(..) | DataType::RunEndEncoded(..) => Some(data_type.clone()),
        _ => None,
    })
}

/// Returns a field with changed types inside. `changed` returns the new type of a type; if it returns `None`, nested
/// types are searched and all others stay.
fn with_types(field: &FieldRef, changed: &dyn Fn(&DataType) -> Option<DataType>) -> FieldRef {
    let of = |field: &FieldRef| with_types(field, changed);
    let data_type = changed(field.data_type()).unwrap_or_else(|| match field.data_type() {
        DataType::Struct(members) => DataType::Struct(members.iter().map(of).collect()),
        DataType::List(item) => DataType::List(of(item)),
        DataType::LargeList(item) => DataType::LargeList(of(item)),
        DataType::ListView(item) => DataType::ListView(of(item)),
        DataType::LargeListView(item) => DataType::LargeListView(of(item)),
        DataType::FixedSizeList(item, length) => DataType::FixedSizeList(of(item), *length),
        DataType::Map(entries, sorted) => DataType::Map(of(entries), *sorted),
        DataType::RunEndEncoded(ends, values) => DataType::RunEndEncoded(ends.clone(), of(values)),
        DataType::Dictionary(keys, values) => {
            let values = of(&FieldRef::new(Field::new("", values.as_ref().clone(), true)));
            DataType::Dictionary(keys.clone(), Box::new(values.data_type().clone()))
        }
        other => other.clone(),
    });
    FieldRef::new(field.as_ref().clone().with_data_type(data_type))
}

/// Describes a Parquet file without reading all of it: name, size, rows, footer hash; `None` if it
/// is not one.
pub fn describe(path: &Path) -> Result<Option<Value>> {
    let file = File::open(path).at(path)?;
    let mut magic = [0; 4];
    match file.read_exact_at(&mut magic, 0) {
        Ok(()) if magic == *b"PAR1" => {}
        Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => {
            return Err(Error::io(path, &error));
        }
        _ => return Ok(None),
    }
    let file = ParquetFile::open(file).at(path)?;
    Ok(Some(json!({
        "name": path.file_name().map(|name| name.to_string_lossy()),
        "bytes": file.bytes(),
        "rows": file.rows(),
        "footer_sha256": file.footer_sha256().at(path)?,
    })))
}

impl<T> At<T> for Result<T, ParquetError> {
    fn at(self, place: impl Into<Place>) -> Result<T> {
        self.map_err(|error| read_error(&error).at(place))
    }
}

/// Returns the error for a file that cannot be opened: an error of the system, or of its content.
fn read_error(error: &ParquetError) -> Error {
    let system = match error {
        ParquetError::External(inner) => inner.downcast_ref::<io::Error>(),
        _ => None,
    };
    system.map_or_else(|| Error::data(error), Error::reading)
}

/// Returns the Parquet files of a folder, in the order of their names. Each must be a regular file.
pub fn files_in(directory: &Path) -> Result<Vec<PathBuf>> {
    let mut paths = files::paths_in(directory)?;
    paths.retain(|path| {
        let is_hidden = path.file_name().is_some_and(|n| n.as_encoded_bytes().starts_with(b"."));
        !is_hidden && PARQUET_FILES.has(path)
    });
    paths.iter().try_for_each(|path| files::member(path).map(drop))?;
    Ok(paths)
}

/// Returns the Parquet files of a folder as [`files_in`] does; refuses a folder that has rows in other
/// files too, which would be left out.
pub fn all_files_in(directory: &Path) -> Result<Vec<PathBuf>> {
    let is_shown = |path: &PathBuf| {
        !path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
    };
    let mut others: Vec<PathBuf> = Vec::new();
    for path in files::paths_in(directory)?.into_iter().filter(is_shown) {
        if files::is_file(&path)? {
            others.push(path);
        }
    }
    refuse_left_out(directory, &others, &PARQUET_FILES)?;
    files_in(directory)
}

/// Returns the properties with which all our files are written.
pub fn writer_properties() -> WriterPropertiesBuilder {
    WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default()))
}

/// Ends a file.
pub fn finished<W: Write + Send>(mut writer: ArrowWriter<W>, path: &str) -> Result<W> {
    writer.flush().map_err(|e| write_error(path, e))?;
    writer.sync().map_err(|e| Error::write(path, &e))?;
    writer.into_inner().map_err(|e| end_error(path, e))
}

/// Returns the error of writing the footer: only the disk can cause it, and the crate passes it on
/// as text.
pub fn end_error(path: &str, error: ParquetError) -> Error {
    Error::unavailable(error).at(path)
}

pub fn write_error(path: &str, error: ParquetError) -> Error {
    match error {
        ParquetError::External(inner) => match inner.downcast_ref::<std::io::Error>() {
            Some(error) => Error::write(path, error),
            None => Error::unavailable(format!("{inner}")).at(path),
        },
        other => Error::data(other).at(path),
    }
}
