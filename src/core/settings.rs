//! What an Agent is made of, as far as the core needs to know.

use std::{collections::HashMap, fmt, sync::Arc};

use serde::Deserialize;
use serde_json::Value;

use super::schema::Schema;

#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// How many model requests a Turn may make.
    pub max_steps: u32,
    /// An Agent without one never goes on with what an ended process left.
    pub has_model: bool,
    tools: HashMap<String, Arc<Tool>>,
    /// In the order they were registered.
    tool_names: Vec<String>,
}

/// A tool's definition, without its `execute`, which is the host's.
#[derive(Debug)]
pub struct Tool {
    pub name: String,
    pub title: Option<String>,
    pub description: Option<String>,
    /// Checked here; `None` when the host's own schema decides.
    pub schema: Option<Schema>,
    pub gate: Gate,
    /// The model may explain each call; the explanation is taken out of the arguments.
    pub explain: bool,
    /// Opted in to be entered again after a crash.
    pub replay: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gate {
    None,
    /// A person is asked before every call.
    Always,
    /// The host's rule says for each call whether a person is asked.
    Host,
}

/// A tool as the host describes it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolDefinition {
    pub name: String,
    #[serde(default)]
    pub title: Option<String>,
    #[serde(default)]
    pub description: Option<String>,
    #[serde(default)]
    pub schema: Option<Value>,
    pub gate: Gate,
    #[serde(default)]
    pub explain: bool,
    #[serde(default)]
    pub replay: bool,
}

/// A tool that cannot be registered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolProblem {
    pub tool: String,
    pub problem: String,
}

impl fmt::Display for ToolProblem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "The input_schema of tool {:?} cannot be used: {}.", self.tool, self.problem)
    }
}

impl Settings {
    /// # Errors
    /// [`ToolProblem`] names the tool whose JSON Schema cannot be compiled.
    pub fn new(
        max_steps: u32,
        has_model: bool,
        definitions: Vec<ToolDefinition>,
    ) -> Result<Self, ToolProblem> {
        let mut settings = Self { max_steps, has_model, ..Self::default() };
        for definition in definitions {
            let ToolDefinition { name, title, description, schema, gate, explain, replay } = definition;
            let schema = schema
                .map(|schema| Schema::compile(&schema))
                .transpose()
                .map_err(|problem| ToolProblem { tool: name.clone(), problem })?;
            let tool = Tool { name: name.clone(), title, description, schema, gate, explain, replay };
            if settings.tools.insert(name.clone(), Arc::new(tool)).is_none() {
                settings.tool_names.push(name);
            }
        }
        Ok(settings)
    }

    pub fn tool(&self, name: &str) -> Option<&Arc<Tool>> {
        self.tools.get(name)
    }

    pub fn tool_names(&self) -> &[String] {
        &self.tool_names
    }
}
