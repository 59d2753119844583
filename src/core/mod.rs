//! The sans-IO core: every decision about a Session, and nothing else. No clock, no randomness, no I/O.
//!
//! Start with [`engine`]: the one way in and out. [`lifecycle`] has the tables of what may follow what.

mod ask;
mod catch_up;
pub mod change;
mod config;
mod draft;
pub mod effect;
pub mod engine;
pub mod error;
mod explanation;
mod fields;
pub mod input;
pub mod interaction;
pub mod json;
pub mod lifecycle;
pub mod message;
pub mod mutation;
mod parts;
mod prompt;
mod provider_call;
mod question;
mod recover;
mod replay;
mod respond;
pub mod schema;
mod schema_cost;
pub mod settings;
pub mod stamp;
pub mod state;
mod step;
#[cfg(test)]
pub mod tests;
mod text;
mod tool;
mod turn;
