//! Bad records: the run fails at the first, or they are dropped, counted, and kept aside.

use std::io::{BufWriter, Write};

use serde_json::{Map, Value, json};

use super::args::{OnError, OnErrorArgs};
use super::publish::{PendingFile, publish_kept};
use crate::error::{Error, Place, Position, Result, shown};

/// A record that is rejected, and why.
#[derive(Debug, Clone)]
pub struct Rejection {
    pub place: Place,
    pub id: Option<String>,
    pub reason: String,
    /// The record as JSON, or its text if it is not JSON.
    pub input: Option<Value>,
}

impl Rejection {
    /// The same as an error, which names the place, the id and the reason.
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

impl Rejects {
    pub fn open(args: &OnErrorArgs) -> Result<Rejects> {
        let file = match &args.rejects {
            Some(_) if args.on_error == OnError::Fail => {
                return Err(Error::usage("--rejects needs --on-error skip"));
            }
            Some(path)
                if path.as_os_str() == "/dev/stderr" || path.as_os_str() == "/dev/stdout" =>
            {
                return Err(Error::usage("--rejects needs its own file"));
            }
            Some(path) => {
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
            line.insert("input".into(), rejection.input.unwrap_or(Value::Null));
            let mut text = Value::Object(line).to_string();
            text.push('\n');
            let written = file.write_all(text.as_bytes());
            written.map_err(|e| Error::write(shown(file.get_ref().path()), &e))?;
        }
        Ok(())
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    /// Publishes the file of rejects. This comes before the output is published: a run whose
    /// rejects cannot be kept has no result.
    pub fn publish(&mut self) -> Result<()> {
        let Some(mut file) = self.file.take() else { return Ok(()) };
        file.flush().map_err(|e| Error::write(shown(file.get_ref().path()), &e))?;
        publish_kept(self.file.insert(file).get_mut())
    }

    /// Reports to the user what was dropped, if anything.
    pub fn report(self, tool: &str) {
        if self.count > 0 {
            let plural = if self.count == 1 { "record" } else { "records" };
            let more = if self.count > self.first.len() as u64 { "; ..." } else { "" };
            let first = self.first.join("; ");
            super::tell(&format!("{tool}: {} bad {plural} dropped: {first}{more}", self.count));
        }
    }
}
