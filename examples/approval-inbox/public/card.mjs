// A card for something that is pending: what is asked, exactly, and the form to answer it.
import { call } from "/connection.mjs";
import { announce, element, exact, json, shown, since } from "/dom.mjs";
import { outcome } from "/outcome.mjs";

const SHELL = ["exec", "start", "write"];

export class Card {
  #interaction;
  #on_gone;
  #form;
  #notice;
  /** "open", "sending" or "ended". */
  #state = "open";

  /** `on_gone` is called when the card can be taken away; `on_open` shows its conversation. */
  constructor(interaction, { task, on_gone, on_open }) {
    this.#interaction = interaction;
    this.#on_gone = on_gone;
    const { interaction_id: id, session_id } = interaction;
    const heading = `title-${id}`;
    this.#notice = element("div", { class: "notice", role: "alert" });
    this.#form = element("form", { on_submit: (event) => event.preventDefault() }, ...this.#fields());
    this.title = element("h3", { id: heading, tabindex: "-1" }, ...title_of(interaction));
    this.node = element(
      "article",
      { class: "card", "aria-labelledby": heading, "data-type": interaction.type, "data-id": id },
      this.title,
      element(
        "p",
        { class: "about" },
        "Waiting ",
        since(interaction.created_at),
        " in ",
        element(
          "button",
          { type: "button", class: "link", on_click: () => on_open(session_id) },
          ...shown(task),
        ),
      ),
      ...asked(interaction),
      this.#form,
      this.#notice,
    );
  }

  get ended() {
    return this.#state === "ended";
  }

  /** It was ended by somebody else, or it is gone. What this page is just sending is told by its own answer. */
  end(interaction) {
    if (this.#state !== "open") return;
    this.#tell_end("It was ended elsewhere.", interaction);
  }

  #fields() {
    const { interaction_id: id, type, payload } = this.#interaction;
    if (type === "approval") return this.#approval(id);
    if (type === "question") return this.#questions(id, payload.questions);
    return [element("p", {}, "This page has no form for a request of this kind.")];
  }

  #approval(id) {
    const reason = element("input", { id: `reason-${id}`, autocomplete: "off" });
    const decide = (approved) => {
      const given = reason.value.trim() === "" ? {} : { reason: reason.value.trim() };
      const response = approved
        ? { type: "approval", outcome: "resolved", payload: { decision: "approved" }, ...given }
        : { type: "approval", outcome: "denied", ...given };
      void this.#send(response, approved ? "Approved" : "Denied");
    };
    return [
      element("label", { for: `reason-${id}` }, "Reason (optional)"),
      reason,
      element(
        "div",
        { class: "buttons" },
        element("button", { type: "button", class: "yes", on_click: () => decide(true) }, "Approve"),
        element("button", { type: "button", class: "no", on_click: () => decide(false) }, "Deny"),
      ),
    ];
  }

  #questions(id, questions) {
    const fields = questions.map((question) => question_field(question, id));
    const send = () => {
      const missing = fields.find((field) => field.value() === undefined);
      if (missing !== undefined) return missing.complain();
      const answers = fields.map(({ question_id, value }) => ({ question_id, value: value() }));
      void this.#send({ type: "question", outcome: "resolved", payload: { answers } }, "Answered");
    };
    const decline = () => void this.#send({ type: "question", outcome: "denied" }, "Declined");
    return [
      ...fields.map(({ node }) => node),
      element(
        "div",
        { class: "buttons" },
        element("button", { type: "button", class: "yes", on_click: send }, "Send answers"),
        element("button", { type: "button", class: "no", on_click: decline }, "Decline to answer"),
      ),
    ];
  }

  async #send(response, word) {
    const { session_id, interaction_id } = this.#interaction;
    this.#state = "sending";
    this.#enable(false);
    this.#notice.replaceChildren();
    try {
      await call("/api/answer", { session_id, interaction_id, response });
      this.#state = "ended";
      announce(`${word}.`);
      this.#on_gone(this);
    } catch (error) {
      if (error.code === "INTERACTION_TERMINAL") {
        this.#tell_end("Somebody else was first; your answer was not taken.", error.interaction);
        return;
      }
      this.#state = "open";
      this.#enable(true);
      const words =
        error.status === undefined
          ? "The server cannot be reached. Try again when it is back."
          : error.message;
      const issues = (error.issues ?? []).map(({ message }) => element("li", {}, ...shown(message)));
      this.#notice.replaceChildren(element("p", {}, ...shown(words)), element("ul", {}, ...issues));
    }
  }

  #tell_end(words, interaction) {
    this.#state = "ended";
    const held_focus = this.node.contains(document.activeElement);
    this.node.classList.add("over");
    const dismiss = element("button", { type: "button", on_click: () => this.#on_gone(this) }, "Dismiss");
    this.#form.replaceWith(dismiss);
    const result = interaction === undefined ? [] : [element("strong", {}, ...outcome(interaction)), " "];
    this.#notice.replaceChildren(element("p", {}, ...result, words));
    if (held_focus) dismiss.focus();
  }

  #enable(on) {
    for (const control of this.#form.elements) control.disabled = !on;
  }
}

function title_of({ type, title, source, payload }) {
  if (type === "question") return title ? shown(title) : ["Questions"];
  if (type !== "approval") return ["Request: ", ...shown(type)];
  if (SHELL.includes(payload.operation)) return ["Run a command?"];
  return ["Run ", element("code", {}, ...shown(source.tool_name ?? "a tool")), "?"];
}

/** What is asked, each thing under its own name; what the model says about it never stands for it. */
function asked({ type, source, payload, description }) {
  const fields = [];
  const add = (name, node) => fields.push(element("dt", {}, name), element("dd", {}, node));
  if (description) add("Description", element("p", {}, ...shown(description)));
  if (type === "approval") {
    if (SHELL.includes(payload.operation)) {
      add("Command", exact(payload.command ?? "", "The command, exactly"));
      if (payload.cwd !== undefined) add("Directory", exact(payload.cwd, "The directory, exactly"));
      if (payload.reason !== undefined)
        add("The model’s reason (nobody has checked it)", words(payload.reason));
    } else if (payload.tool_description) {
      add("What the tool does", element("p", {}, ...shown(payload.tool_description)));
    }
    if (payload.validated_input !== undefined)
      add("Input, exactly as it will be used", json(payload.validated_input, "The input, exactly"));
    if (payload.model_explanation !== undefined)
      add("The model’s own words (nobody has checked them)", words(payload.model_explanation));
  } else if (type !== "question") {
    add("Payload", json(payload, "The payload, exactly"));
  }
  if (source.tool_name !== undefined && type !== "approval")
    add("Asked by", element("code", {}, ...shown(source.tool_name)));
  return fields.length === 0 ? [] : [element("dl", {}, ...fields)];
}

function words(text) {
  return element("blockquote", {}, ...shown(text));
}

/** A question's part of the form. `value()` is undefined while an answer is missing. */
function question_field({ question_id, question, type, options = [] }, id) {
  const name = `${id} ${question_id}`;
  const missing = element("p", { class: "missing", role: "alert" });
  if (type === "text") {
    const input = element("textarea", { id: name, rows: "2" });
    const node = element(
      "div",
      { class: "question" },
      element("label", { for: name }, ...shown(question)),
      input,
      missing,
    );
    return { question_id, node, value: () => input.value };
  }
  const kind = type === "single_select" ? "radio" : "checkbox";
  const inputs = options.map((_, index) => element("input", { type: kind, name, id: `${name} ${index}` }));
  const choices = options.map(({ label, description }, index) =>
    element(
      "div",
      { class: "choice" },
      inputs[index],
      element(
        "label",
        { for: `${name} ${index}` },
        ...shown(label),
        description ? element("small", {}, ...shown(description)) : undefined,
      ),
    ),
  );
  const node = element(
    "fieldset",
    { class: "question" },
    element("legend", {}, ...shown(question)),
    ...choices,
    missing,
  );
  const picked = () => options.filter((_, index) => inputs[index].checked).map(({ value }) => value);
  const complain = () => {
    missing.textContent = "Please pick one.";
    inputs[0].focus();
  };
  const value = () => (type === "multi_select" ? picked() : picked()[0]);
  node.addEventListener("change", () => missing.replaceChildren());
  return { question_id, node, value, complain };
}
