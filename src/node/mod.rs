//! The border to JavaScript. The only napi code; it converts and forwards, and decides nothing.
//!
//! JavaScript calls sync functions with JSON text. Everything that comes back comes through one ordered
//! [`outbox`] per native agent: `wake` says that there is something, `drain` takes it. One queue keeps the order
//! for free, and a call that the store answers at once needs no hop between threads.

mod agent;
mod convert;
mod error;
mod guard;
mod outbox;
mod shell;
mod store;
