//! Makes the tables of the o200k encoding, which the library carries inside itself. Needs no network
//! and no file outside the package.

#[path = "hash.rs"]
mod hash;
#[path = "make/mod.rs"]
mod make;
#[path = "build/tables.rs"]
mod tables;
#[path = "threads.rs"]
mod threads;
#[path = "build/unicode.rs"]
mod unicode;
#[path = "build/vocabulary.rs"]
mod vocabulary;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=build");
    println!("cargo::rerun-if-changed=hash.rs");
    println!("cargo::rerun-if-changed=make");
    tables::write();
}
