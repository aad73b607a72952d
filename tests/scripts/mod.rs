//! Pipelines, plans, packages, and what a newcomer types.

mod any_model;
mod chats;
mod newcomers;
mod newcomers_sets;
mod own_data;
mod packages;
mod pipelines;
mod plan;
mod plan_here;
mod plan_lines;
mod python;
mod readme;
mod said;
mod synth_kd;
mod synth_kd_rows;
mod synth_kd_script;
mod synth_raw_script;
