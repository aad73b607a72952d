//! How a failure travels through a pipe. If a filter fails, its Arrow stream ends with a trailer that states the
//! failure, in place of the end marker. The next filter passes the trailer on and exits with the same code, so
//! that the whole pipeline has the exit code of the first cause.
//!
//! The trailer is an Arrow IPC message without a header (type `NONE`, no body), whose custom
//! metadata has the key `gristmill.failure`: a JSON object with `tool`, `exit_code`, `message`.
//! Other readers of Arrow refuse such a message, as they should.

use arrow_ipc::{KeyValue, KeyValueArgs, Message, MessageBuilder, MetadataVersion};
use flatbuffers::FlatBufferBuilder;
use serde::{Deserialize, Serialize};

const KEY: &str = "gristmill.failure";
/// The beginning of every message of an Arrow stream; the length of its metadata follows (i32).
const CONTINUATION: [u8; 4] = [0xff; 4];

/// The failure of a filter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The filter that failed first.
    pub tool: String,
    /// Its exit code, never 0.
    pub exit_code: u8,
    /// The line that it has printed, without its name.
    pub message: String,
}

impl Failure {
    /// Returns the trailer as bytes of the stream: the marker, the length, and the message, whose
    /// length is a multiple of 8.
    pub fn to_trailer(&self) -> Vec<u8> {
        let text = serde_json::to_string(self).unwrap_or_default();
        let mut builder = FlatBufferBuilder::new();
        let key = builder.create_string(KEY);
        let value = builder.create_string(&text);
        let entry = KeyValueArgs { key: Some(key), value: Some(value) };
        let entry = KeyValue::create(&mut builder, &entry);
        let entries = builder.create_vector(&[entry]);
        let mut message = MessageBuilder::new(&mut builder);
        message.add_version(MetadataVersion::V5);
        message.add_custom_metadata(entries);
        let message = message.finish();
        builder.finish(message, None);
        let mut metadata = builder.finished_data().to_vec();
        metadata.resize(metadata.len().next_multiple_of(8), 0);
        let mut trailer = CONTINUATION.to_vec();
        trailer.extend_from_slice(&(metadata.len() as u32).to_le_bytes());
        trailer.extend_from_slice(&metadata);
        trailer
    }

    /// Reads a message, if it is a trailer. A trailer that cannot be understood is still a failure.
    pub fn of_message(message: &Message) -> Option<Failure> {
        let entries = message.custom_metadata()?;
        let entry = entries.iter().find(|entry| entry.key() == Some(KEY))?;
        let text = entry.value().unwrap_or_default();
        let known = serde_json::from_str(text).ok().filter(|known: &Failure| known.exit_code != 0);
        Some(known.unwrap_or_else(|| Failure {
            tool: "the upstream filter".to_string(),
            exit_code: 75,
            message: text.to_string(),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trailer_is_read_back() {
        let failure = Failure {
            tool: "harmony-tok".to_string(),
            exit_code: 1,
            message: "a.ndjson:3: größer \"x\"".to_string(),
        };
        let trailer = failure.to_trailer();
        assert_eq!(trailer.len() % 8, 0);
        let message = arrow_ipc::root_as_message(&trailer[8..]).unwrap();
        assert_eq!(Failure::of_message(&message), Some(failure));
    }
}
