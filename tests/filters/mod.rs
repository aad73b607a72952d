//! What each filter does, by its name, and what all of them have in common.

mod bad_records;
mod chat_harmony;
mod chat_tok;
mod direct;
mod ds_cat;
mod ds_check;
mod ds_diff;
mod ds_stat;
mod ds_view;
mod foreign_rows;
mod harmony_tok;
mod help;
mod mx_decode;
mod progress;
mod puzzle_encode;
mod rejects;
mod select;
mod seq_pack;
mod synth_harmony;
