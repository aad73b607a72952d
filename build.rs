//! Makes what the library carries inside itself: the tables of the o200k encoding, and the
//! commit it was built from; and the list of filters for the program that holds all of them. Needs no
//! network and no file outside the package.

#[path = "build/characters.rs"]
mod characters;
#[path = "build/displace.rs"]
mod displace;
#[path = "build/filters.rs"]
mod filters;
#[path = "build/git.rs"]
mod git;
#[path = "lib/tokenizer/hash.rs"]
mod hash;
#[path = "build/tables.rs"]
mod tables;
#[path = "build/unicode.rs"]
mod unicode;
#[path = "build/vocabulary.rs"]
mod vocabulary;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=build");
    println!("cargo::rerun-if-changed=lib/tokenizer/hash.rs");
    println!("cargo::rerun-if-changed=Cargo.lock");
    filters::write();
    git::emit_commit();
    tables::write_if_stale();
}
