//! Configuration: what is set at once, and what takes effect at the next checkpoint.

use serde_json::Value;

use super::{
    change::{ApprovalMode, ConfigCommand, ModelChoice, QueueRow, QueuedInput},
    draft::Draft,
    effect::Answer,
    error::{Code, Refusal},
    fields::Fields,
    input::Ticket,
    message::{ActionState, PartBody},
    mutation::{MutationBody, SecurityView, SessionMutation},
    schema::kind_of,
};

const TITLE: &str = "Session configuration updated";

impl ApprovalMode {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::AlwaysAllow => "always-allow",
        }
    }

    /// # Errors
    /// `INVALID_INPUT` lists the modes there are.
    pub fn parse(value: &Value) -> Result<Self, Refusal> {
        match value.as_str() {
            Some("ask") => Ok(Self::Ask),
            Some("always-allow") => Ok(Self::AlwaysAllow),
            other => Err(Refusal::invalid(format!(
                "security.approval_mode must be \"ask\" or \"always-allow\"; it is {}.",
                other.map_or_else(|| kind_of(value).to_owned(), |word| format!("{word:?}"))
            ))),
        }
    }

    /// The mode in `{ approval_mode }`, where the object has it.
    ///
    /// # Errors
    /// `INVALID_INPUT` for anything that is not such an object.
    pub fn from_security(security: &Value) -> Result<Option<Self>, Refusal> {
        Fields::of("security", security, &["approval_mode"])?;
        security.get("approval_mode").map(Self::parse).transpose()
    }
}

impl Draft<'_> {
    pub fn set(
        &mut self,
        ticket: Ticket,
        config: &Value,
        options: &Value,
        model: Option<&ModelChoice>,
    ) -> Result<(), Refusal> {
        Fields::of("The configuration", config, &["security"])?;
        let mode = config.get("security").map(ApprovalMode::from_security).transpose()?.flatten();
        if mode.is_none() && model.is_none() {
            return Err(Refusal::invalid("Nothing to set: pass security.approval_mode or model."));
        }
        if self.is_guest() && model.is_some() {
            return Err(Refusal::new(
                Code::SessionBusy,
                "Another process owns the Session now, and a model cannot be sent to it; set it there, or when the \
                 Turn has ended.",
            ));
        }
        let (persist_action, publish_mutation) = set_options(options)?;
        let mode = mode.filter(|mode| *mode != self.state.session.approval_mode);
        let model = model.filter(|model| Some(model.key) != self.state.configured_model()).cloned();
        if mode.is_some() || model.is_some() {
            if let Some(mode) = mode {
                self.change_session().approval_mode = mode;
            }
            let queue_id = self.stamp.id("command");
            let command = ConfigCommand { approval_mode: mode, model, persist_action, publish_mutation };
            let position = self.next_position();
            self.enqueue(QueueRow { queue_id, position, input: QueuedInput::Config(command) });
            if publish_mutation && mode.is_some() {
                self.publish_config();
            }
        }
        if self.state.needs_recovery && !self.is_guest() && self.state.configured_model().is_some() {
            self.recover();
        }
        self.answer(ticket, Answer::Nothing);
        Ok(())
    }

    /// Commits the queued commands as their net change.
    pub fn apply_config(&mut self) {
        let rows = self.dequeue(|row| matches!(row.input, QueuedInput::Config(_)));
        let commands: Vec<&ConfigCommand> = rows
            .iter()
            .filter_map(|row| match &row.input {
                QueuedInput::Config(command) => Some(command),
                QueuedInput::Prompt { .. } => None,
            })
            .collect();
        if commands.is_empty() {
            return;
        }
        let mode = self.state.session.approval_mode;
        let mode_changed = mode != self.state.session.effective_approval_mode;
        // What is shown of a change is up to the command that set it last.
        let of_mode =
            commands.iter().rev().find(|command| command.approval_mode.is_some()).filter(|_| mode_changed);
        let of_model = commands.iter().rev().find_map(|command| Some((command, command.model.as_ref()?)));
        let of_model = of_model.filter(|(_, model)| Some(model.key) != self.state.feed.model_key);
        if mode_changed {
            self.change_session().effective_approval_mode = mode;
        }
        if let Some((_, model)) = of_model {
            self.state.feed.model_key = Some(model.key);
        }
        let of_mode = of_mode.map(|command| (command, format!("security.approval_mode: {}", mode.as_str())));
        let of_model = of_model.map(|(command, model)| (command, format!("model: {}", model.label)));
        let changed: Vec<_> = of_mode.iter().chain(&of_model).collect();
        let kept: Vec<_> = changed.iter().filter(|(command, _)| command.persist_action).collect();
        if !kept.is_empty() {
            let published = kept.iter().any(|(command, _)| command.publish_mutation);
            let lines: Vec<&str> = kept.iter().map(|(_, line)| line.as_str()).collect();
            self.add_action(TITLE, lines.join("; "), published);
        }
        if of_mode.is_some_and(|(command, _)| command.publish_mutation) {
            self.publish_config();
        }
    }

    pub fn add_action(&mut self, title: &str, description: String, publish: bool) {
        let body = PartBody::Action { title: title.to_owned(), description, state: ActionState::Completed };
        if self.state.turn.is_some() {
            self.add_part(body, None, publish);
        } else {
            self.add_standalone_part(body, publish);
        }
    }

    fn publish_config(&mut self) {
        let session = &self.state.session;
        let security = SecurityView {
            approval_mode: session.approval_mode,
            effective_approval_mode: session.effective_approval_mode,
        };
        self.publish(MutationBody::Session(SessionMutation::Config { security }), None);
    }
}

fn set_options(options: &Value) -> Result<(bool, bool), Refusal> {
    if options.is_null() {
        return Ok((true, true));
    }
    let fields = Fields::of("The options", options, &["persist_action", "publish_mutation"])?;
    let persist_action = fields.flag("persist_action")?.unwrap_or(true);
    let publish_mutation = fields.flag("publish_mutation")?.unwrap_or(persist_action);
    if publish_mutation && !persist_action {
        return Err(Refusal::invalid(
            "publish_mutation needs persist_action: there is no Mutation of an Action that is not kept.",
        ));
    }
    Ok((persist_action, publish_mutation))
}
