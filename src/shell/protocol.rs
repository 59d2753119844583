//! What the host and the helper say to each other: one JSON text per line, over the helper's standard input.

use serde::{Deserialize, Serialize};

/// What the helper is to run. All paths are absolute and free of symbolic links.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// For `/bin/sh -c`. Without one, the helper only tries whether the sandbox can be had.
    #[serde(default)]
    pub command: Option<String>,
    pub cwd: String,
    /// The whole environment of the command.
    #[serde(default)]
    pub env: Vec<(String, String)>,
    /// Whether the command gets a pipe for its input; otherwise it reads an end at once.
    #[serde(default)]
    pub has_input: bool,
    /// `None` runs it without a sandbox.
    #[serde(default)]
    pub sandbox: Option<Sandbox>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sandbox {
    /// The one folder, besides a private `/tmp`, that may be written to.
    pub workspace: String,
    /// Folders and files that must not be seen, inside the Workspace or not. A folder that is missing is made, so
    /// that the command cannot make it.
    #[serde(default)]
    pub hidden_folders: Vec<String>,
    #[serde(default)]
    pub hidden_files: Vec<String>,
}

/// What the host tells the helper after the plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "order", rename_all = "snake_case")]
pub enum Order {
    /// Input for the command.
    Write {
        text: String,
    },
    CloseInput,
    /// `SIGTERM` for everything, and `SIGKILL` for what is left after that time.
    End {
        grace_ms: u64,
    },
}

/// What the helper tells the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "report", rename_all = "snake_case")]
pub enum Report {
    /// The command runs; for a plan without one, the sandbox can be had.
    Started,
    /// Nothing was run.
    Refused { why: String },
    /// So many more bytes of input have reached the command's pipe.
    Written { bytes: u64 },
    /// The command has ended, and so has everything it had started.
    Ended { exit_code: Option<i32>, signal: Option<i32> },
}

/// Takes lines out of a stream of bytes as they become complete.
#[derive(Debug, Default)]
pub struct Lines {
    bytes: Vec<u8>,
}

impl Lines {
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The next whole line, parsed; `Err` for one that is no such JSON.
    pub fn take<T: serde::de::DeserializeOwned>(&mut self) -> Option<Result<T, serde_json::Error>> {
        let end = self.bytes.iter().position(|byte| *byte == b'\n')?;
        let line: Vec<u8> = self.bytes.drain(..=end).collect();
        Some(serde_json::from_slice(&line))
    }
}

/// A message as a line.
pub fn line(message: &impl Serialize) -> Vec<u8> {
    let mut text = serde_json::to_vec(message).expect("messages are plain JSON");
    text.push(b'\n');
    text
}
