//! The sans-IO core: every decision about a Session, and nothing else. No clock, no randomness, no I/O.

pub mod change;
pub mod engine;
pub mod interaction;
pub mod json;
pub mod message;
pub mod mutation;
pub mod stamp;
