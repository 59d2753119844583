//! The runtime: takes inputs through the one flow, and keeps the open Sessions of an Agent.
//!
//! It knows the store by its trait and the outside by [`Host`]; it decides nothing about a Session.

pub mod agent;
mod arguments;
mod catching_up;
pub mod clock;
mod decide;
pub mod error;
mod feed;
mod flight;
pub mod host;
mod inbox;
mod keeper;
mod letting_go;
mod opening;
pub mod outside;
pub mod request;
pub mod runner;
mod standing;
#[cfg(test)]
mod tests;
pub mod view;
