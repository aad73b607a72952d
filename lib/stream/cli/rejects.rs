//! Bad records: the run fails at the first one, or they are dropped, counted, and written to a file.

use std::fmt;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::args::{OnError, OnErrorArgs};
use super::own_file::REJECTS;
use crate::error::{At, Error, Place, Position, Result, shown};
use crate::json::{Kind, Reader, write_string};
use crate::publish::{PendingFile, publish_kept};

/// A record that is rejected, and why.
#[derive(Debug)]
pub struct Rejection {
    pub place: Place,
    pub id: Option<String>,
    pub reason: String,
    pub input: RejectedContent,
}

/// The content of a rejected record, for the file of rejects.
pub enum RejectedContent {
    /// The content is not kept.
    Nothing,
    /// The text of the input; it need not be JSON.
    Text(String),
    /// Makes the text only when a file of rejects needs it, since it can be far larger than the record.
    Json(Box<dyn FnOnce() -> String + Send>),
}

impl RejectedContent {
    /// Makes the content of a record whose JSON is made when it is written.
    pub fn json(make: impl FnOnce() -> String + Send + 'static) -> RejectedContent {
        RejectedContent::Json(Box::new(make))
    }

    /// Returns the JSON value for a line of rejects.
    fn into_json(self) -> Vec<u8> {
        let text = match self {
            RejectedContent::Nothing => return b"null".to_vec(),
            RejectedContent::Json(make) => make(),
            RejectedContent::Text(text) => text,
        };
        let mut reader = Reader::new(&text);
        if is_value(&mut reader).and_then(|()| reader.end()).is_ok() && !text.contains(['\n', '\r'])
        {
            return text.into_bytes();
        }
        let mut quoted = Vec::with_capacity(text.len() + 2);
        write_string(&mut quoted, &text);
        quoted
    }
}

/// Checks that the next value is JSON and that all its texts are Unicode.
fn is_value(reader: &mut Reader<'_>) -> Result<(), crate::json::Error> {
    match reader.peek()? {
        Kind::Object => reader.object(|reader, key| {
            key.decode(&mut String::new())?;
            is_value(reader)
        }),
        Kind::Array => reader.array(is_value),
        Kind::String => reader.string()?.decode(&mut String::new()).map(drop),
        _ => reader.skip(),
    }
}

impl fmt::Debug for RejectedContent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RejectedContent::Nothing => "Nothing",
            RejectedContent::Text(_) => "Text",
            RejectedContent::Json(_) => "Json",
        })
    }
}

impl Rejection {
    /// Returns the rejection as an error, which names the place, the id and the reason.
    pub fn to_error(&self) -> Error {
        Error::data(&self.reason).at(&self.place).id(self.id.as_deref())
    }
}

/// How many dropped records the closing message names.
const NAMED: usize = 3;

/// Takes the bad records of one run, in the order of the input.
#[derive(Debug)]
pub struct Rejects {
    on_error: OnError,
    file: Option<BufWriter<PendingFile>>,
    count: u64,
    first: Vec<String>,
}

/// Collects the files of rejects of several runs in one.
pub fn join_rejects(from: &[PathBuf], to: &Path) -> Result<()> {
    REJECTS.check(to)?;
    let mut file = PendingFile::create(to)?;
    for path in from {
        let mut source = File::open(path).at(path)?;
        std::io::copy(&mut source, &mut file).map_err(|e| Error::write(shown(to), &e))?;
    }
    publish_kept(&mut file)
}

impl Rejects {
    pub fn open(args: &OnErrorArgs) -> Result<Rejects> {
        if args.rejects.is_some() && args.on_error == OnError::Fail {
            return Err(Error::usage("--rejects needs --on-error skip"));
        }
        Rejects::open_for_any(args)
    }

    /// Opens the rejects of a run that keeps more than bad records there: see [`Rejects::keep`].
    pub fn open_for_any(args: &OnErrorArgs) -> Result<Rejects> {
        let file = match &args.rejects {
            Some(path) => {
                REJECTS.check(path)?;
                // The rejects of an earlier run are replaced: the file is about one run.
                Some(BufWriter::new(PendingFile::create(path)?))
            }
            None => None,
        };
        Ok(Rejects { on_error: args.on_error, file, count: 0, first: Vec::new() })
    }

    /// Takes the rejections of a batch, in the order of the input.
    pub fn take(&mut self, mut rejections: Vec<Rejection>) -> Result<()> {
        rejections.sort_by_key(|rejection| rejection.place.position);
        rejections.into_iter().try_for_each(|rejection| self.reject(rejection))
    }

    /// Ends the run, or counts the record.
    fn reject(&mut self, rejection: Rejection) -> Result<()> {
        if self.on_error == OnError::Fail {
            return Err(rejection.to_error());
        }
        self.count += 1;
        if self.first.len() < NAMED {
            self.first.push(rejection.to_error().to_string());
        }
        self.keep(rejection)
    }

    /// Whether there is a file of rejects.
    pub fn has_file(&self) -> bool {
        self.file.is_some()
    }

    /// Writes a record that is left out on purpose to the file; it does not count as bad.
    pub fn keep(&mut self, rejection: Rejection) -> Result<()> {
        if let Some(file) = &mut self.file {
            let mut line = Map::new();
            line.insert("source".into(), json!(&*rejection.place.source));
            match rejection.place.position {
                Position::Line(number) => line.insert("line".into(), json!(number)),
                Position::Record(number) => line.insert("record".into(), json!(number)),
                Position::Whole => None,
            };
            line.insert("id".into(), json!(rejection.id));
            line.insert("reason".into(), json!(rejection.reason));
            let mut text = Value::Object(line).to_string();
            text.truncate(text.len() - 1);
            let pieces = [text.as_bytes(), b",\"input\":", &rejection.input.into_json(), b"}\n"];
            let written = pieces.iter().try_for_each(|piece| file.write_all(piece));
            written.map_err(|e| Error::write(shown(file.get_ref().path()), &e))?;
        }
        Ok(())
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    /// Publishes the file of rejects. This comes before the output is published, since a run whose rejects
    /// cannot be kept must have no result.
    pub fn publish(&mut self) -> Result<()> {
        let Some(mut file) = self.file.take() else { return Ok(()) };
        file.flush().map_err(|e| Error::write(shown(file.get_ref().path()), &e))?;
        publish_kept(self.file.insert(file).get_mut())
    }

    /// Reports to the user what was dropped, if anything.
    pub fn report(&self, tool: &str) {
        if self.count > 0 {
            let plural = if self.count == 1 { "record" } else { "records" };
            let more = if self.count > self.first.len() as u64 { "; ..." } else { "" };
            let first = self.first.join("; ");
            super::tell(&format!("{tool}: {} bad {plural} dropped: {first}{more}", self.count));
        }
    }
}
