//! Token sequences: how they are counted, shown, compared and checked.

mod check;
mod diff;
mod stat;
mod view;
