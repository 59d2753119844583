/** The tools by which a model starts a process that goes on, writes to it, reads from it and stops it. */
import type {
  ShellInput,
  ShellOptions,
  ShellProcessState,
  ShellReadInput,
  ShellSessionTools,
  ShellWriteInput,
} from "../../types/shell.js";
import type { ToolContext } from "../../types/tool.js";
import { invalid } from "../accept.js";
import { fields_of } from "../fields.js";
import type { JsonObject } from "../json.js";
import { accept_shell, confinement_in_words, type ShellSettings } from "../shell/options.js";
import { ask_for, command_rule, permitted_plan, process_plan } from "../shell/plan.js";
import { end_of, has_ended, type ProcessSnapshot, ShellProcess } from "../shell/process.js";
import { type BookedProcess, ProcessBook } from "../shell/process-book.js";
import { APPROVED } from "./context.js";
import { GATES, TELLS, type TellingRule } from "./define.js";
import { COMMAND_PROPERTIES } from "./shell.js";

const MAX_WAIT_MS = 60_000;

const PROCESS_ID = { type: "string", description: "What shell_start gave." };
const WRITE_PROPERTIES = {
  process_id: PROCESS_ID,
  input: { type: "string", description: "Exactly what is written; a line needs its line end." },
  close: { type: "boolean", description: "True to close the input behind it." },
  reason: COMMAND_PROPERTIES.reason,
};
const READ_PROPERTIES = {
  process_id: PROCESS_ID,
  wait_ms: {
    type: "integer",
    minimum: 0,
    maximum: MAX_WAIT_MS,
    description: "How long to wait for output, or for the end, where there is none yet; 0 by default.",
  },
};

/**
 * Tools for processes that go on, such as a server or a REPL: `tools: { ...new ShellSession().tools }`.
 *
 * They are confined and asked about as the commands of {@link ShellTool} are, with the operations `start` and `write`.
 * A process belongs to the Session that started it, lives on from Turn to Turn, and ends when it is stopped, when a
 * Turn is stopped, when the Session is closed, and with this process.
 */
export class ShellSession {
  readonly tools: ShellSessionTools;
  readonly #settings: ShellSettings;
  readonly #book = new ProcessBook();

  /** @param options `timeout` is of no use here: a process ends when it is stopped */
  constructor(options?: Omit<ShellOptions, "timeout">) {
    if (fields_of(options ?? {}).timeout !== undefined) {
      throw invalid("new ShellSession knows no option `timeout`: a process ends when it is stopped.");
    }
    this.#settings = accept_shell(options, "new ShellSession");
    this.tools = Object.freeze({
      shell_start: this.#start_tool(),
      shell_write: this.#write_tool(),
      shell_read: tool(
        "Read from a process",
        "Get what a process has written since the last time, and its end.",
        READ_PROPERTIES,
        ["process_id"],
        (input, context) => this.#read(input as unknown as ShellReadInput, context),
      ),
      shell_stop: tool(
        "Stop a process",
        "Stop a process with everything it has started, and get its last output.",
        { process_id: PROCESS_ID },
        ["process_id"],
        (input, context) => this.#stop(input as unknown as ShellReadInput, context),
      ),
    });
  }

  #start_tool() {
    const start = tool(
      "Start a process",
      "Start a command that goes on, such as a server, and get its process_id for shell_read, shell_write and " +
        `shell_stop. ${confinement_in_words(this.#settings)}`,
      COMMAND_PROPERTIES,
      ["command"],
      (input, context) => this.#start(input as unknown as ShellInput, context),
    );
    return gated(
      start,
      command_rule("start", () => this.#settings),
    );
  }

  #write_tool() {
    const write = tool(
      "Write to a process",
      "Write to the standard input of a process.",
      WRITE_PROPERTIES,
      ["process_id", "input"],
      (input, context) => this.#write(input as unknown as ShellWriteInput, context),
    );
    const rule = async (input: unknown, call: unknown) => {
      const { process_id } = input as ShellWriteInput;
      const booked = this.#book.find((call as ToolContext).session_id, process_id);
      return {
        ask: booked.plan.sandbox !== "confined",
        approval: writing(booked, input as ShellWriteInput),
      };
    };
    return gated(write, Object.assign(rule, { [TELLS]: true as const }));
  }

  async #start(input: ShellInput, context: ToolContext): Promise<{ process_id: string }> {
    this.#book.check_room(context.session_id);
    const plan = await permitted_plan("start", input, context, this.#settings);
    context.abort_signal.throwIfAborted();
    const { max_output } = this.#settings;
    const process = new ShellProcess(process_plan(plan, context, this.#settings, true), { max_output });
    const { process_id } = this.#book.add(context, plan, process);
    const { phase, why } = await process.started();
    if (phase !== "refused") return { process_id };
    this.#book.remove(context.session_id, process_id);
    throw new Error(`Nothing was started: ${why}.`);
  }

  async #write(input: ShellWriteInput, context: ToolContext): Promise<{ written: true }> {
    const booked = this.#book.find(context.session_id, input.process_id);
    const shown = writing(booked, input);
    if (booked.plan.sandbox !== "confined" && !is_approved(shown, context)) await ask_for(shown, context);
    context.abort_signal.throwIfAborted();
    const problem = booked.process.write(input.input);
    if (problem !== null) throw new Error(`Nothing was written. ${problem}`);
    if (input.close === true) booked.process.close_input();
    return { written: true };
  }

  async #read({ process_id, wait_ms = 0 }: ShellReadInput, context: ToolContext): Promise<ShellProcessState> {
    const { session_id, abort_signal } = context;
    const { process } = this.#book.find(session_id, process_id);
    const change = process.changed;
    let snapshot = process.take();
    if (is_quiet(snapshot) && wait_ms > 0) {
      await first_of(change, wait_ms, abort_signal);
      snapshot = process.take();
    }
    if (has_ended(snapshot)) this.#book.remove(session_id, process_id);
    return state_of(snapshot);
  }

  async #stop({ process_id }: ShellReadInput, context: ToolContext): Promise<ShellProcessState> {
    const { process } = this.#book.find(context.session_id, process_id);
    process.end();
    await process.ended();
    this.#book.remove(context.session_id, process_id);
    return state_of(process.take());
  }
}

type Run<Output> = (input: { [property: string]: unknown }, context: ToolContext) => Promise<Output>;

function tool<Output>(
  title: string,
  description: string,
  properties: object,
  required: string[],
  execute: Run<Output>,
) {
  return {
    title,
    description,
    input_schema: { type: "object", properties, required, additionalProperties: false },
    execute,
  };
}

function gated<Tool extends object>(tool: Tool, rule: TellingRule): Tool {
  return Object.defineProperty(tool, GATES, { value: [rule], configurable: true });
}

/** What a person is shown of it; exactly that is written. */
function writing({ process_id, plan }: BookedProcess, { input, close, reason }: ShellWriteInput): JsonObject {
  const { command, cwd, sandbox } = plan;
  return {
    operation: "write",
    process_id,
    input,
    ...(close === true ? { close } : {}),
    command,
    cwd,
    ...(reason === undefined ? {} : { reason }),
    sandbox,
  };
}

function is_approved(shown: JsonObject, context: ToolContext): boolean {
  const approved = fields_of(fields_of(context)[APPROVED]);
  return Object.entries(shown).every(([field, value]) => approved[field] === value);
}

function is_quiet(snapshot: ProcessSnapshot): boolean {
  return !has_ended(snapshot) && snapshot.stdout === "" && snapshot.stderr === "";
}

function state_of(snapshot: ProcessSnapshot): ShellProcessState {
  const { stdout, stderr, truncated } = snapshot;
  if (!has_ended(snapshot)) return { running: true, stdout, stderr, truncated };
  return { running: false, ...end_of(snapshot), stdout, stderr, truncated };
}

/** Waits for the change, the time or the end of the call, whichever comes first. */
async function first_of(change: Promise<void>, wait_ms: number, signal: AbortSignal): Promise<void> {
  let over: () => void = () => {};
  const waited = new Promise<void>((resolve) => {
    over = resolve;
  });
  const timer = setTimeout(over, wait_ms);
  signal.addEventListener("abort", over, { once: true });
  await Promise.race([change, waited]);
  clearTimeout(timer);
  signal.removeEventListener("abort", over);
}
