//! The lifecycle of a tool call and of an Interaction: which state may follow which.

use super::{interaction::InteractionStatus, message::ToolState};

/// | from              | to                                  |
/// | ----------------- | ----------------------------------- |
/// | `input-streaming` | `ready`, `failed`                   |
/// | `ready`           | `running`, `waiting-user`, `failed` |
/// | `running`         | `waiting-user`, `completed`, `failed` |
/// | `waiting-user`    | `running`, `failed`                 |
pub fn tool_may_become(from: ToolState, to: ToolState) -> bool {
    use ToolState::{Completed, Failed, InputStreaming, Ready, Running, WaitingUser};
    match from {
        InputStreaming => matches!(to, Ready | Failed),
        Ready => matches!(to, Running | WaitingUser | Failed),
        Running => matches!(to, WaitingUser | Completed | Failed),
        WaitingUser => matches!(to, Running | Failed),
        Completed | Failed => false,
    }
}

/// | from      | to                                            |
/// | --------- | --------------------------------------------- |
/// | `pending` | `resolved`, `denied`, `cancelled`, `failed`   |
pub fn interaction_may_become(from: InteractionStatus, to: InteractionStatus) -> bool {
    from == InteractionStatus::Pending && to != InteractionStatus::Pending
}
