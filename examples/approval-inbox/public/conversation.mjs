// One conversation as it happens: a snapshot, and every Mutation after it folded into it.
import { follow } from "/connection.mjs";
import { element, json, shown, since } from "/dom.mjs";

const STATES = {
  "input-streaming": "is being written",
  ready: "is about to run",
  running: "runs",
  "waiting-user": "waits for you",
  completed: "is done",
  failed: "failed",
};

export class Conversation {
  #log = document.getElementById("messages");
  #turn = document.getElementById("turn");
  #stop = document.getElementById("stop");
  #following;
  #parts = new Map();
  #messages = new Map();
  #running = false;
  #dirty = new Set();

  /** Shows another Session; the cards of the old one are no business of this. */
  show(session_id) {
    this.#following?.abort();
    this.#following = new AbortController();
    const { signal } = this.#following;
    this.#reset();
    void follow(`/api/conversations/${encodeURIComponent(session_id)}`, {
      signal,
      on_event: (name, data) => {
        if (signal.aborted) return;
        if (name === "snapshot") this.#begin(data);
        else this.#take(data);
        this.#tell_turn();
      },
    });
  }

  #reset() {
    this.#log.replaceChildren();
    this.#parts.clear();
    this.#messages.clear();
    this.#running = false;
    this.#tell_turn();
  }

  #begin({ messages, status }) {
    this.#reset();
    for (const message of messages) this.#message(message);
    this.#running = status.state === "running";
    this.#scroll(true);
  }

  #take(mutation) {
    const at_end = this.#is_at_end();
    if (mutation.variant === "message") this.#message(mutation.message);
    if (mutation.variant === "part") this.#part(mutation.message_id, mutation.part);
    if (mutation.variant === "delta") this.#delta(mutation);
    if (mutation.variant === "turn") this.#running = mutation.type === "start";
    this.#scroll(at_end);
  }

  #message({ message_id, role, parts }) {
    this.#place(message_id, role);
    for (const part of parts) this.#part(message_id, part);
  }

  #place(message_id, role = "assistant") {
    const known = this.#messages.get(message_id);
    if (known !== undefined) return known;
    const who = role === "user" ? "You" : "Agent";
    const node = element("article", { class: `message ${role}`, "aria-label": who }, element("h3", {}, who));
    this.#messages.set(message_id, node);
    this.#log.append(node);
    return node;
  }

  #part(message_id, part) {
    const known = this.#parts.get(part.part_id);
    const node = known?.node ?? element("div", { class: `part ${part.type}` });
    if (known === undefined) this.#place(message_id).append(node);
    this.#parts.set(part.part_id, { node, part });
    node.replaceChildren(...contents(part));
  }

  /** Drawn with the next frame: a fast model does not make the page draw each word. */
  #delta({ part_id, delta, type }) {
    const known = this.#parts.get(part_id);
    if (known === undefined) return;
    const field = type === "tool_input" ? "input_text" : "text";
    known.part[field] = (known.part[field] ?? "") + delta;
    if (this.#dirty.size === 0) requestAnimationFrame(() => this.#draw());
    this.#dirty.add(known);
  }

  #draw() {
    const at_end = this.#is_at_end();
    for (const { node, part } of this.#dirty) node.replaceChildren(...contents(part));
    this.#dirty.clear();
    this.#scroll(at_end);
  }

  #tell_turn() {
    this.#stop.disabled = !this.#running;
    const waiting = [...this.#parts.values()].flatMap(({ part }) => pending_in(part));
    const [first] = waiting;
    const busy = [...this.#parts.values()].find(
      ({ part }) => part.type === "tool" && part.state === "running",
    );
    const words = !this.#running
      ? ["Nothing runs."]
      : first !== undefined
        ? [
            `Waits for you: ${waiting.length === 1 ? "one request" : `${waiting.length} requests`}, `,
            since(first.created_at),
          ]
        : busy !== undefined
          ? ["Waits for the tool ", element("code", {}, ...shown(busy.part.tool_name))]
          : ["Waits for the model…"];
    this.#turn.dataset.state = !this.#running ? "idle" : first === undefined ? "busy" : "waiting";
    const told = words.map((word) => (typeof word === "string" ? word : word.textContent)).join("");
    // What has not changed is not read out again.
    if (this.#turn.textContent !== told) this.#turn.replaceChildren(...words);
  }

  #is_at_end() {
    const { scrollHeight, scrollTop, clientHeight } = this.#log;
    return scrollHeight - scrollTop - clientHeight < 40;
  }

  #scroll(to_end) {
    if (to_end) this.#log.scrollTop = this.#log.scrollHeight;
  }
}

function pending_in(part) {
  const asked = part.type === "interaction" ? [part.interaction] : (part.interactions ?? []);
  return asked.filter(({ status }) => status === "pending");
}

function contents(part) {
  switch (part.type) {
    case "text":
      return shown(part.text);
    case "reasoning":
      return [element("details", {}, element("summary", {}, "Reasoning"), ...shown(part.text))];
    case "tool":
      return tool(part);
    case "error":
      return [element("strong", {}, "Error: "), ...shown(part.message)];
    case "action":
      return [`${part.title}: `, ...shown(part.description)];
    case "interaction":
      return [`A request, ${part.interaction.status}`];
    case "file":
      return ["File: ", ...shown(part.filename ?? part.media_type)];
    case "source":
      return ["Source: ", ...shown(part.title ?? part.url ?? "")];
    default:
      return [json(part.data, "Data")];
  }
}

function tool(part) {
  const [asked] = pending_in(part);
  const more = [];
  if (part.input !== undefined) more.push(["Input", json(part.input, "The input")]);
  else if (part.input_text)
    more.push(["Input", element("pre", { class: "exact" }, ...shown(part.input_text))]);
  if (part.output !== undefined) more.push(["Result", json(part.output, "The result")]);
  return [
    element(
      "p",
      { class: "call", "data-state": part.state },
      element("code", {}, ...shown(part.tool_name)),
      ` ${STATES[part.state]}`,
      ...(asked === undefined ? [] : [" ", since(asked.created_at)]),
    ),
    ...(part.error === undefined ? [] : [element("p", { class: "why" }, ...shown(part.error))]),
    ...more.map(([name, node]) => element("details", {}, element("summary", {}, name), node)),
  ];
}
