//! All vector instructions of the project, and plain code with the same results. There are three ways to choose
//! between them:
//!
//! - A long loop is a [`SimdTask`]. It is compiled twice, for AVX2 and as plain code; [`SimdLevel::run`] takes the
//!   one that this processor can run, which is detected at run time.
//! - A call for a few bytes ([`json_specials`], [`ascii_specials`], [`board_masks`], [`differ`]) is compiled
//!   for instructions that every processor of the architecture has: SSE2 on x86-64, plain code elsewhere. A
//!   choice at run time would cost as much as such a call.
//! - [`sha256_two`] is for processors with instructions for SHA-256, which are detected at run time; the caller
//!   has plain code.
//!
//! This is the lowest layer: it uses no other crate of the project.
//!
//! What the instructions gain, compared with plain code that looks at one byte after another and without prefetches
//! (2026-11-22, processor time of interleaved runs, least of 9 to 15, of the release binaries on the inputs of
//! tools/bench.sh):
//!
//! | what | run | with | without |
//! |---|---|---|---|
//! | [`json_specials`] | `ds-cat -q --to arrow` on 1,000 conversations as NDJSON | 14.4 ms | 23.5 ms |
//! | the same | `harmony-tok -q -j1 --to arrow` on them | 30.2 ms | 44.5 ms |
//! | [`board_masks`] | `mx-decode -q -j1 --to arrow raw_20` | 1.02 s | 1.28 s |
//! | [`prefetch`] | `harmony-tok -q -j1 --to arrow conversations_10000.parquet` | 157 ms | 184 ms |
//!
//! The gain of AVX2 in the encoder is in the benchmark, as `gristmill-portable`. With [`differ`], encoding 10
//! MB of real text in all languages once more takes 39.1 instead of 40.3 instructions for each byte
//! (`valgrind
//! --tool=cachegrind`, 2026-11-23).

#![warn(missing_docs)]

mod portable;
#[cfg(target_arch = "x86_64")]
mod sha256;
#[cfg(target_arch = "x86_64")]
mod x86;

pub use portable::Portable;
#[cfg(not(target_arch = "x86_64"))]
use portable::later_bytes;
#[cfg(not(target_arch = "x86_64"))]
pub use portable::{ascii_specials, board_masks, differ, json_specials};
#[cfg(target_arch = "x86_64")]
pub use sha256::sha256_two;
#[cfg(target_arch = "x86_64")]
use x86::later_bytes;
#[cfg(target_arch = "x86_64")]
pub use x86::{ascii_specials, board_masks, differ, json_specials};

/// Masks of 64 bytes of text: bit n is byte n.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextMasks {
    /// `a` to `z`.
    pub lower: u64,
    /// `A` to `Z`.
    pub upper: u64,
    /// `0` to `9`.
    pub digit: u64,
    /// ASCII white space.
    pub white: u64,
    /// U+000A and U+000D.
    pub newline: u64,
    /// U+0020.
    pub blank: u64,
    /// `/`.
    pub slash: u64,
    /// `'`.
    pub apostrophe: u64,
    /// Bytes from 0x80 on.
    pub not_ascii: u64,
    /// Bytes of a UTF-8 character after its first.
    pub inside: u64,
}

/// Masks of 64 bytes of JSON text: bit n is byte n.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StringMasks {
    /// Bytes that end a run of plain bytes in a string: quotes, backslashes, control characters.
    pub specials: u64,
    /// Bytes of a UTF-8 character after its first.
    pub later: u64,
}

/// Masks of 64 bytes of a board's text: bit n is byte n.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BoardMasks {
    /// `0` to `9`.
    pub digits: u64,
    /// `,`.
    pub commas: u64,
    /// `1`.
    pub ones: u64,
}

/// A set of instructions for which a task is compiled.
pub trait Instructions {
    /// Returns the kinds of bytes in a window of text.
    fn text_masks(window: &[u8; 64]) -> TextMasks;

    /// Returns the bytes in a window at which a reader of JSON stops.
    fn string_masks(window: &[u8; 64]) -> StringMasks;

    /// Returns one bit of each byte: the bit that is the highest after a shift to the left by less
    /// than 8.
    fn bit_mask<const SHIFT: i32>(bytes: &[u8; 64]) -> u64;

    /// Returns which of eight numbers equal `top` above their lowest bits: bit n is number n.
    fn equal_tops<const SHIFT: i32>(numbers: &[u64; 8], top: u64) -> u32;
}

/// A loop that is compiled once for each set of instructions. `run` must be `#[inline(always)]`; otherwise it is not
/// compiled for the better set.
pub trait SimdTask {
    /// The result of the loop.
    type Output;
    /// Runs the loop.
    fn run<I: Instructions>(self) -> Self::Output;
}

/// The instructions that this machine has.
#[derive(Clone, Copy, Debug)]
pub struct SimdLevel {
    /// Private, and never true if the instructions are missing.
    has_avx2: bool,
}

impl SimdLevel {
    /// Plain code on every machine, for comparison.
    pub const PORTABLE: SimdLevel = SimdLevel { has_avx2: false };

    /// Finds the best instructions of this machine; the caller should keep the result.
    pub fn best() -> Self {
        #[cfg(target_arch = "x86_64")]
        return SimdLevel {
            has_avx2: is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("bmi1")
                && is_x86_feature_detected!("bmi2")
                && is_x86_feature_detected!("lzcnt")
                && is_x86_feature_detected!("popcnt"),
        };
        #[cfg(not(target_arch = "x86_64"))]
        SimdLevel::PORTABLE
    }

    /// Runs a task, compiled for these instructions.
    #[inline(always)]
    pub fn run<T: SimdTask>(self, task: T) -> T::Output {
        #[cfg(target_arch = "x86_64")]
        if self.has_avx2 {
            // SAFETY: `has_avx2` is true only if every feature of `run_avx2` was detected.
            return unsafe { x86::run_avx2(task) };
        }
        task.run::<Portable>()
    }
}

/// Adds blocks to two chains of SHA-256. Returns false: there are no instructions for it.
#[cfg(not(target_arch = "x86_64"))]
pub fn sha256_two(_: &mut [[u32; 8]; 2], _: [&[[u8; 64]]; 2]) -> bool {
    false
}

/// Requests the cache line of a value that will be read soon.
#[inline(always)]
pub fn prefetch<T>(soon: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch has no visible effect and faults on no address; this one is also a
        // live reference.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(soon).cast()) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = soon;
}

#[cfg(test)]
mod tests;
