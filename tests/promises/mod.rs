//! What holds for every filter and format.

mod apart;
mod bounds;
mod chain;
mod closed;
mod counts;
mod failures;
mod findings;
mod hostile;
mod joints;
mod mutations;
mod plurals;
mod provenance;
mod publishing;
mod refused;
mod replay;
mod slow;
mod ways_on;
mod writers_at_once;
