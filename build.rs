//! What the filters know of their build: the commit, and, for the program that holds all of them, the
//! list of filters.

#[path = "build/filters.rs"]
mod filters;
#[path = "build/git.rs"]
mod git;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=build");
    filters::write();
    git::emit_commit();
}
