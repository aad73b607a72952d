//! Reads gzip as the program gzip does: members one after another, then perhaps zeros, with which tapes and disks
//! pad files. Any other bytes behind the members are an error.

use std::io::{self, BufRead, Read};

use flate2::bufread::GzDecoder;

/// The first byte of every member.
const MEMBER: u8 = 0x1f;

/// Reads the bytes of all members.
pub struct GzipReader<R> {
    state: State<R>,
}

enum State<R> {
    Member(Box<GzDecoder<R>>),
    /// Between members, or after the last.
    Behind(R),
    End,
}

impl<R: BufRead> GzipReader<R> {
    pub fn new(compressed: R) -> GzipReader<R> {
        GzipReader { state: State::Member(Box::new(GzDecoder::new(compressed))) }
    }
}

impl<R: BufRead> Read for GzipReader<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if into.is_empty() {
            return Ok(0);
        }
        loop {
            match std::mem::replace(&mut self.state, State::End) {
                State::Member(mut member) => {
                    let read = member.read(into);
                    self.state = match read {
                        Ok(0) => State::Behind(member.into_inner()),
                        _ => State::Member(member),
                    };
                    if !matches!(read, Ok(0)) {
                        return read;
                    }
                }
                State::Behind(mut rest) => {
                    let next = skip_zeros(&mut rest);
                    match next {
                        Ok(None) => return Ok(0),
                        Ok(Some(MEMBER)) => {
                            self.state = State::Member(Box::new(GzDecoder::new(rest)))
                        }
                        Ok(Some(_)) => {
                            let cause = "there are other bytes behind the gzip data";
                            return Err(io::Error::new(io::ErrorKind::InvalidData, cause));
                        }
                        Err(error) => {
                            self.state = State::Behind(rest);
                            return Err(error);
                        }
                    }
                }
                State::End => return Ok(0),
            }
        }
    }
}

/// Skips zeros; returns the next byte without consuming it, `None` at the end.
fn skip_zeros(bytes: &mut impl BufRead) -> io::Result<Option<u8>> {
    loop {
        let there = bytes.fill_buf()?;
        if there.is_empty() {
            return Ok(None);
        }
        let zeros = there.iter().take_while(|byte| **byte == 0).count();
        let next = there.get(zeros).copied();
        bytes.consume(zeros);
        if next.is_some() {
            return Ok(next);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::{Compression, write::GzEncoder};

    use super::*;

    #[test]
    fn members_zeros_and_other_bytes() {
        let member = |text: &[u8]| {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
            encoder.write_all(text).unwrap();
            encoder.finish().unwrap()
        };
        let read = |bytes: &[u8], step: usize| {
            let mut text = Vec::new();
            let reader = io::BufReader::with_capacity(step, bytes);
            GzipReader::new(reader).read_to_end(&mut text).map(|_| text).map_err(|e| e.kind())
        };
        let (a, b) = (member(b"a"), member(b"b"));
        for step in [1, 7, 4096] {
            assert_eq!(read(&a, step).unwrap(), b"a");
            assert_eq!(read(&[&a[..], &b].concat(), step).unwrap(), b"ab");
            assert_eq!(read(&[&a[..], &[0; 600], &b, &[0; 3]].concat(), step).unwrap(), b"ab");
            let other = read(&[&a[..], &[0, 0, 7]].concat(), step);
            assert_eq!(other, Err(io::ErrorKind::InvalidData));
            let cut = read(&[&a[..], &b[..9]].concat(), step);
            assert_eq!(cut, Err(io::ErrorKind::UnexpectedEof));
            assert_eq!(read(&a[..a.len() - 1], step), Err(io::ErrorKind::UnexpectedEof));
        }
    }
}
