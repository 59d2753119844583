// Tells on the terminal what happens in a Session, from nothing but its Mutations.
import { visible, visible_json, wrapped } from "./visible.mjs";

const SILENCE_MS = 2000;
const WORDS = {
  running: "runs",
  "waiting-user": "waits for an answer",
  completed: "is done",
  failed: "failed",
};

export class Story {
  #out;
  /** Whether the cursor stands behind streamed text. */
  #mid_line = false;
  /** The last state of each tool Part, and the tool's name. */
  #states = new Map();
  #names = new Map();
  /** The text Parts that were told, or are being told. */
  #told = new Set();
  #silence;
  #model;

  constructor(out, model) {
    this.#out = out;
    this.#model = model;
  }

  /** A line of its own. */
  line(text = "") {
    if (this.#mid_line) this.#out.write("\n");
    this.#mid_line = false;
    this.#out.write(`${text}\n`);
  }

  on_mutation(mutation) {
    this.#expect_more();
    if (mutation.variant === "delta" && mutation.type === "text") {
      this.#told.add(mutation.part_id);
      this.#say(mutation.delta);
    }
    if (mutation.variant === "part") this.#on_part(mutation.part);
    if (mutation.variant === "message")
      for (const part of mutation.message.parts) this.#on_part(part, mutation.message.role);
    if (mutation.variant === "turn" && mutation.type === "finish") this.end();
  }

  /** Nothing more is expected. */
  end() {
    clearTimeout(this.#silence);
    this.#silence = undefined;
  }

  #say(text) {
    if (text === "") return;
    if (!this.#mid_line) this.#out.write("\nagent   ");
    this.#mid_line = true;
    this.#out.write(visible(text, { lines: true }).replaceAll("\n", "\n        "));
  }

  #on_part(part, role = "assistant") {
    if (part.type === "tool") this.#on_tool(part);
    if (part.type === "error") this.line(`\nerror   ${part.error_code}: ${visible(part.message)}`);
    if (part.type === "text" && role === "user") this.line(`\nyou     ${visible(part.text)}`);
    if (part.type === "text" && role === "assistant" && part.state === "done") this.#end_of_text(part);
  }

  /** A text that is done was told with its deltas, unless it came whole. */
  #end_of_text(part) {
    if (!this.#told.has(part.part_id)) this.#say(part.text);
    this.#told.add(part.part_id);
    if (this.#mid_line) this.line();
  }

  #on_tool(part) {
    if (this.#states.get(part.part_id) === part.state || !(part.state in WORDS)) return;
    const again = part.state === "running" && this.#states.get(part.part_id) === "waiting-user";
    this.#states.set(part.part_id, part.state);
    this.#names.set(part.part_id, part.tool_name);
    const words = again ? "goes on" : `${WORDS[part.state]}${detail(part)}`;
    this.line(`tool    ${visible(part.tool_name)} ${words}`);
  }

  /** Says what is waited for when nothing has come for a while. */
  #expect_more() {
    clearTimeout(this.#silence);
    const since = new Date().toLocaleTimeString();
    this.#silence = setTimeout(() => {
      if ([...this.#states.values()].includes("waiting-user")) return;
      const [at_work] = [...this.#states].find(([, state]) => state === "running") ?? [];
      const what = at_work === undefined ? this.#model : visible(this.#names.get(at_work));
      this.line(`        … waiting for ${what} since ${since}`);
    }, SILENCE_MS);
    this.#silence.unref();
  }
}

function detail({ state, input, output, error }) {
  if (state === "failed") return `: ${visible(error ?? "no reason was given")}`;
  if (state === "running") return short(input);
  return state === "completed" ? ` ->${short(output)}` : "";
}

/** One line of it; the whole value is in the Session. */
function short(value) {
  const [line = "", ...more] = wrapped(visible_json(value ?? null).replace(/\n\s*/g, " "), 84);
  return ` ${line}${more.length > 0 ? " …" : ""}`;
}
