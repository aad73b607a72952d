//! Whether a vocabulary file is the embedded one. No other vocabulary is supported.

use sha2::{Digest, Sha256};

/// The sha256 of `o200k_base.tiktoken` as published: one `base64 rank` line for each rank.
pub const VOCABULARY_SHA256: &str =
    "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d";

/// Checks that a vocabulary file has the bytes of the embedded vocabulary.
pub fn verify_vocabulary(bytes: &[u8]) -> Result<(), VocabularyError> {
    let found = base16ct::lower::encode_string(&Sha256::digest(bytes));
    if found == VOCABULARY_SHA256 { Ok(()) } else { Err(VocabularyError { found }) }
}

/// The file is another vocabulary, or a damaged one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not the o200k vocabulary: its sha256 is {found}, expected {VOCABULARY_SHA256}")]
pub struct VocabularyError {
    /// sha256 of the file.
    pub found: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::{Engine, engine::general_purpose::STANDARD};

    /// The embedded tables, written as the published file is, have its hash.
    #[test]
    fn the_embedded_vocabulary_is_the_published_one() {
        let mut file = Vec::new();
        for rank in 0..crate::START_OF_TEXT {
            let token = STANDARD.encode(crate::token_bytes(rank).unwrap());
            file.extend_from_slice(format!("{token} {rank}\n").as_bytes());
        }
        assert_eq!(verify_vocabulary(&file), Ok(()));
        file[0] ^= 1;
        assert!(verify_vocabulary(&file).is_err());
    }

    #[test]
    fn another_vocabulary_is_refused_with_both_hashes() {
        assert_eq!(
            verify_vocabulary(b"").unwrap_err().to_string(),
            "not the o200k vocabulary: its sha256 is \
             e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855, expected \
             446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
        );
    }
}
