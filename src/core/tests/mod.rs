//! The core without a runtime: given inputs, expect the exact changes and effects, and the invariants after each.

mod approvals;
mod configuration;
mod crash;
mod exhaustive;
pub mod fold;
mod model_streams;
mod provider_approvals;
mod provider_calls;
mod questions;
mod random;
mod resume;
mod scenario;
mod shell_gates;
mod stop_and_respond;
pub mod stored;
mod tools;
mod turns;
