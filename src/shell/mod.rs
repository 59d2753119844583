//! Commands of the Shell: a supervised process with bounded output.
//!
//! Each command has a helper process, the `downcity-shell` program beside the binding. It takes a [`protocol::Plan`]
//! over a socket, puts itself into the sandbox where the plan has one, and runs the command below itself. When it is
//! told to, or when the socket closes because this process is gone, it ends everything below it. The socket is the
//! lifeline: no exit of the host, not even `SIGKILL`, leaves a command running.

mod link;
pub mod output;
pub mod process;
pub mod protocol;
