//! Files of other programs in all their variety: every value is that of pyarrow, or the file is refused and the
//! column named. Nothing is silently other.

use std::fs;
use std::sync::Arc;

use parquet::basic::Compression;
use parquet::data_type::{ByteArray, ByteArrayType, FixedLenByteArray, FixedLenByteArrayType};
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader, ParquetMetaDataWriter};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use crate::common::{self, TempDir, oracle, python, tool};

/// tests/oracle/variety.py writes the files and compares the values.
#[test]
fn every_value_is_that_of_pyarrow() {
    let Some(python) = python() else { return };
    let dir = TempDir::new();
    oracle(&python, "variety.py", &["write", &dir.at("")]).ok();
    let mut files = 0;
    for name in dir.files() {
        files += 1;
        let file = dir.at(&name);
        let run = tool("ds-cat").args(&["--to", "ndjson", &file]).run();
        match run.code() {
            Some(0) => drop(dir.write(&format!("{name}.ndjson"), &run.stdout)),
            Some(1) => {
                assert_eq!(run.stderr.lines().count(), 1, "{run:?}");
                dir.write(&format!("{name}.refused"), &run.stderr);
            }
            _ => panic!("{run:?}"),
        }
        let arrow = tool("ds-cat").args(&["--to", "arrow", &file]).run();
        match arrow.code() {
            Some(0) => drop(dir.write(&format!("{name}.back.arrows"), &arrow.stdout)),
            Some(1) => assert_eq!(arrow.stderr.lines().count(), 1, "{arrow:?}"),
            _ => panic!("{arrow:?}"),
        }
        let target = dir.at(&format!("{name}.back.parquet"));
        let parquet = tool("ds-cat").args(&["-o", &target, &file]).run();
        assert!(matches!(parquet.code(), Some(0 | 1)), "{parquet:?}");
        assert_eq!(parquet.stderr.lines().count(), parquet.code().unwrap() as usize, "{parquet:?}");
    }
    assert!(files > 250, "{files}");
    let compared = oracle(&python, "variety.py", &["compare", &dir.at("")]);
    assert_eq!((compared.code(), compared.text().as_str()), (Some(0), ""));
}

/// A stream of one column with the mark of values whose first byte is the highest.
fn as_big_endian(stream: &[u8]) -> Vec<u8> {
    let mut bytes = stream.to_vec();
    let number = |at: usize| u32::from_le_bytes(stream[at..][..4].try_into().unwrap()) as usize;
    let short = |at: usize| u16::from_le_bytes(stream[at..][..2].try_into().unwrap()) as usize;
    // FlatBuffers: tables begin with the distance to a list of where their members are.
    let member = |table: usize, index: usize| table + short(table - number(table) + 4 + 2 * index);
    let message = 8 + number(8);
    let header = member(message, 2);
    let schema = header + number(header);
    let fields = member(schema, 1);
    let fields = fields + number(fields);
    assert_eq!((number(fields), short(schema - number(schema) + 4)), (1, 0));
    // The first member of the schema is its endianness, 1 for big: as the number of its fields is.
    let place = schema - number(schema) + 4;
    bytes[place..place + 2].copy_from_slice(&((fields - schema) as u16).to_le_bytes());
    bytes
}

#[test]
fn big_endian_streams_are_refused() {
    let dir = TempDir::new();
    let lines =
        dir.write("in.ndjson", "{\"id\":\"a\",\"tokens\":[1,2]}\n{\"id\":\"b\",\"tokens\":[3]}\n");
    let columns = ["--columns", "tokens", "--to", "arrow", &lines];
    let stream = tool("ds-cat").args(&columns).run().silent().stdout;
    let file = dir.write("big.arrows", as_big_endian(&stream));
    for filter in ["ds-cat", "span-mask"] {
        let told = format!("{filter}: {file}: broken Arrow stream: its values are big-endian");
        tool(filter).args(&[&file]).run().says(1, &told);
    }
}

/// What `change` makes of the footer of a Parquet file.
fn with_footer(file: &[u8], change: impl Fn(ParquetMetaData) -> ParquetMetaData) -> Vec<u8> {
    let footer = u32::from_le_bytes(file[file.len() - 8..][..4].try_into().unwrap()) as usize;
    let start = file.len() - 8 - footer;
    let metadata = ParquetMetaDataReader::decode_metadata(&file[start..file.len() - 8]).unwrap();
    let mut changed = file[..start].to_vec();
    let mut written = Vec::new();
    ParquetMetaDataWriter::new(&mut written, &change(metadata)).finish().unwrap();
    changed.extend(written);
    changed
}

#[test]
fn decimals_may_be_bytes_of_any_length() {
    let dir = TempDir::new();
    let schema = "message m { required binary price (DECIMAL(4,2)); required fixed_len_byte_array(3) \
                  fixed (DECIMAL(6,1)); required binary text (UTF8); }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let mut bytes = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut bytes, schema, properties.into()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let numbers: [&[u8]; 3] = [&[0x04, 0xd2], &[0x85], &[0, 0, 1]];
    let mut column = group.next_column().unwrap().unwrap();
    let values = numbers.map(|bytes| ByteArray::from(bytes.to_vec()));
    column.typed::<ByteArrayType>().write_batch(&values, None, None).unwrap();
    column.close().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    let values = [[0, 0, 15], [0xff, 0xff, 0xff], [1, 0, 0]]
        .map(|bytes: [u8; 3]| FixedLenByteArray::from(bytes.to_vec()));
    column.typed::<FixedLenByteArrayType>().write_batch(&values, None, None).unwrap();
    column.close().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    let values = ["a", "b", "c"].map(ByteArray::from);
    column.typed::<ByteArrayType>().write_batch(&values, None, None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
    let file = dir.write("decimals.parquet", &bytes);
    let printed = tool("ds-cat").args(&[&file]).run().silent().text();
    let expected = "{\"price\":12.34,\"fixed\":1.5,\"text\":\"a\"}\n\
                    {\"price\":-1.23,\"fixed\":-0.1,\"text\":\"b\"}\n\
                    {\"price\":0.01,\"fixed\":6553.6,\"text\":\"c\"}\n";
    assert_eq!(printed, expected);
}

/// Some writers say 0 where there is no dictionary, or where it is the first page.
#[test]
fn a_dictionary_at_0_is_none() {
    let dir = TempDir::new();
    let lines = dir.write("in.ndjson", common::conversations(5));
    tool("ds-cat").args(&[&lines, "-o", &dir.at("in.parquet")]).run().silent();
    let changed = with_footer(&dir.read("in.parquet"), |footer| {
        let groups = footer.row_groups().iter().map(|group| {
            let chunks = group.columns().iter().map(|chunk| {
                let start = chunk.dictionary_page_offset().unwrap_or(chunk.data_page_offset());
                let chunk = chunk.clone().into_builder().set_data_page_offset(start);
                chunk.set_dictionary_page_offset(Some(0)).build().unwrap()
            });
            let chunks = chunks.collect();
            group.clone().into_builder().set_column_metadata(chunks).build().unwrap()
        });
        ParquetMetaData::new(footer.file_metadata().clone(), groups.collect())
    });
    let file = dir.write("zero.parquet", changed);
    let expected = tool("ds-cat").args(&[&dir.at("in.parquet")]).run().silent().text();
    assert_eq!(tool("ds-cat").args(&[&file]).run().silent().text(), expected);
    tool("ds-check").args(&[&file]).run().ok();
}

/// In all kinds of pages, dictionaries too.
#[test]
fn pages_are_compared_with_their_checksums() {
    let Some(python) = python() else { return };
    let dir = TempDir::new();
    let script = "import sys, pyarrow as pa, pyarrow.parquet as pq\n\
                  t = pa.table({'id': ['a', 'b'], 'messages': [[{'role': 'user', 'content': 'jinderdijk'}, \
                  {'role': 'assistant', 'channel': 'final', 'content': 'all day'}]] * 2})\n\
                  for v in ('1.0', '2.0'):\n  for d in (True, False):\n    for c in (True, False):\n      \
                  pq.write_table(t, f'{sys.argv[1]}/{v}_{d}_{c}.parquet', data_page_version=v, use_dictionary=d, \
                  write_page_checksum=c, compression='none', write_statistics=False)\n";
    let script = dir.write("write.py", script);
    let made = std::process::Command::new(&python).args([&script, &dir.at("")]).status().unwrap();
    assert!(made.success());
    for name in dir.files().into_iter().filter(|name| name.ends_with(".parquet")) {
        let file = dir.at(&name);
        let bytes = dir.read(&name);
        let good = tool("ds-cat").args(&[&file]).run().silent().text();
        assert!(good.contains("jinderdijk"));
        let at = memchr::memmem::find(&bytes, b"jinderdijk").unwrap();
        let mut flipped = bytes;
        flipped[at] = b'k';
        fs::write(&file, flipped).unwrap();
        let has_checksum = name.ends_with("True.parquet");
        for filter in ["ds-cat", "harmony-tok", "chat-harmony", "ds-check", "ds-stat", "ds-view"] {
            let run = tool(filter).args(&[&file]).run();
            let told = run.stderr.clone() + &run.lossy();
            assert_eq!(told.contains("checksum"), has_checksum, "{filter} {name}: {run:?}");
            if has_checksum {
                assert_eq!(run.code(), Some(1), "{filter} {name}: {run:?}");
                assert!(told.contains(&file), "{run:?}");
            }
        }
    }
}

/// The inputs of public reports.
#[test]
fn files_of_public_reports() {
    let Some(data) = common::data("public") else { return };
    let at = |name: &str| data.join(name).to_str().unwrap().to_string();
    for (name, lines, part) in [
        ("parquet_bytearray_decimal/chat.parquet", 2, "\"price\":12.34"),
        ("parquet_dict_offset0/chat_dict0.parquet", 2, "\"content\":\"Yo\""),
        ("parquet_private_field/field15_list.parquet", 3, "\"tags\":[\"x\",\"y\"]"),
        ("arrow_union/duckdb.arrows", 3, "{\"id\":\"a\",\"grade\":5}"),
        ("pzstd/pzstd.jsonl.zst", 4, "Yo 0"),
    ] {
        let printed = tool("ds-cat").args(&["--to", "ndjson", &at(name)]).run().silent().text();
        assert!(printed.contains(part), "{name}: {printed}");
        assert!(printed.lines().count() >= lines, "{name}: {printed}");
    }
    let union = "{\"id\":\"a\",\"grade\":5}\n{\"id\":\"b\",\"grade\":\"good\"}\n{\"id\":\"c\",\"grade\":true}\n";
    let file = at("arrow_union/duckdb.arrows");
    assert_eq!(tool("ds-cat").args(&["--to", "ndjson", &file]).run().silent().text(), union);
    let dir = TempDir::new();
    let cause = "column \"grade\": Parquet has no unions; try: --to ndjson, or --to arrow";
    tool("ds-cat").args(&[&file, "-o", &dir.at("x.parquet")]).run().fails(1, &[cause]);
    tool("ds-cat").args(&[&at("parquet_crc/shard.parquet")]).run().silent();
    let file = at("parquet_crc/flipped.parquet");
    tool("ds-cat").args(&[&file]).run().fails(1, &[&file, "checksum"]);
}
