//! Panics end at the border.

use std::{
    cell::Cell,
    panic::{AssertUnwindSafe, catch_unwind},
    ptr,
};

use super::outbox::Outbox;

thread_local! {
    /// Whose outbox the running call from JavaScript looks into when it ends.
    static INSIDE: Cell<*const Outbox> = const { Cell::new(ptr::null()) };
}

/// Whether this thread is in a call from JavaScript that looks into this very outbox by itself when it ends.
pub(super) fn inside_call_for(outbox: &Outbox) -> bool {
    ptr::eq(INSIDE.get(), outbox)
}

/// Runs a call from JavaScript that looks into the outbox when it ends.
pub(super) fn guarded_for<T>(outbox: &Outbox, call: impl FnOnce() -> napi::Result<T>) -> napi::Result<T> {
    let outer = INSIDE.replace(outbox);
    let result = guarded(call);
    INSIDE.set(outer);
    result
}

/// Runs a call from JavaScript; a panic becomes a thrown Error instead of the end of the process.
pub(super) fn guarded<T>(call: impl FnOnce() -> napi::Result<T>) -> napi::Result<T> {
    let result = catch_unwind(AssertUnwindSafe(call));
    result.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("unknown");
        Err(napi::Error::from_reason(format!("An internal invariant was broken: {text}")))
    })
}
