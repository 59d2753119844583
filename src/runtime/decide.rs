//! Asking the core, so that a broken invariant stays with the input that broke it.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::core::{
    engine::{Decided, Engine, Role},
    input::Input,
    stamp::Stamp,
};

/// Decides on a copy of the state, so that a panic leaves the engine as it was.
pub(super) fn decide(engine: &Engine, inputs: &[Input], role: Role, stamp: Stamp) -> Result<Decided, String> {
    catch_unwind(AssertUnwindSafe(|| engine.decide(inputs, role, stamp))).map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("an invariant was broken").to_owned()
    })
}
