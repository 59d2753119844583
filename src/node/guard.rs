//! Panics end at the border.

use std::{
    cell::Cell,
    panic::{AssertUnwindSafe, catch_unwind},
};

thread_local! {
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is in a call from JavaScript, which looks into the outbox by itself when it ends.
pub(super) fn inside_call() -> bool {
    INSIDE.get()
}

/// Runs a call from JavaScript; a panic becomes a thrown Error instead of the end of the process.
pub(super) fn guarded<T>(call: impl FnOnce() -> napi::Result<T>) -> napi::Result<T> {
    let outer = INSIDE.replace(true);
    let result = catch_unwind(AssertUnwindSafe(call));
    INSIDE.set(outer);
    result.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("unknown");
        Err(napi::Error::from_reason(format!("An internal invariant was broken: {text}")))
    })
}
