//! The native core of `@downcity/agent`.
//!
//! ```text
//!             Input                 Decision              receipt               Effect
//!   outside ---------> core.decide ----------> store.append ------> core.commit ------> runtime performs
//! ```
//!
//! - [`core`] decides. No clock, no I/O: every rule of a Session's life is here. Start with `core::engine`.
//! - [`storage`] keeps. One trait; memory and SQLite fulfil it.
//! - [`runtime`] takes inputs through the flow above, one commit at a time for a Session.
//! - [`shell`] runs commands, each below a helper process that ends it and may confine it.
//! - `node` is the border to JavaScript: it converts and forwards.
#![cfg_attr(not(feature = "node"), forbid(unsafe_code))]

pub mod core;
#[cfg(feature = "node")]
mod node;
pub mod runtime;
pub mod shell;
#[cfg(test)]
mod simulation;
pub mod storage;
