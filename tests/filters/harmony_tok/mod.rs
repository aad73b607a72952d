//! harmony-tok: the encoder and the rendering, and back.

pub mod decode;
mod names;
mod real_texts;
mod rendering;
mod tokenizer;
