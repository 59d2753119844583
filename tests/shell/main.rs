//! The Shell, with its helper: what the binding uses, from the outside.

mod escapes;
mod processes;
mod support;
