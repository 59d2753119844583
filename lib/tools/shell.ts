/** The tool by which a model runs commands in the Workspace. */
import type { ShellInput, ShellOptions, ShellProgress, ShellResult } from "../../types/shell.js";
import type { ToolContext } from "../../types/tool.js";
import { accept_shell, confinement_in_words, type ShellSettings } from "../shell/options.js";
import { command_rule, permitted_plan, process_plan } from "../shell/plan.js";
import { end_of, has_ended, type ProcessSnapshot, ShellProcess } from "../shell/process.js";
import { GATES } from "./define.js";

/** Output is shown at most that often. */
const SHOWN_EVERY_MS = 100;

export const COMMAND_PROPERTIES = {
  command: { type: "string", minLength: 1, description: "Run by /bin/sh -c." },
  cwd: { type: "string", description: "A folder of the workspace; the workspace itself by default." },
  reason: { type: "string", description: "Why it has to be run, for the person who may be asked." },
  unrestricted: {
    type: "boolean",
    description:
      "True to run it outside of the sandbox, with the network and with writing anywhere. A person is asked first.",
  },
};

/**
 * Runs commands in the Session's Workspace: `tools: { shell: new ShellTool() }`.
 *
 * A command runs confined by the sandbox without asking: it reads the system, writes in the Workspace and a private
 * `/tmp`, has no network, and does not see the Session store. What is to be `unrestricted`, and every command where no
 * sandbox can be had, goes through the approval entry first.
 */
export class ShellTool {
  readonly title = "Shell";
  readonly description: string;
  readonly input_schema = {
    type: "object",
    properties: COMMAND_PROPERTIES,
    required: ["command"],
    additionalProperties: false,
  };
  readonly #settings: ShellSettings;

  /** @throws SessionError `INVALID_INPUT` */
  constructor(options?: ShellOptions) {
    this.#settings = accept_shell(options, "new ShellTool");
    this.description =
      "Run a shell command in the workspace and get its output. Standard input is empty, and everything a command " +
      `starts ends with it. ${confinement_in_words(this.#settings)}`;
    const rules = [command_rule("exec", () => this.#settings)];
    Object.defineProperty(this, GATES, { value: rules, configurable: true });
  }

  /** Yields the output so far, and returns all of it when the command has ended. */
  async *execute(
    input: { [property: string]: unknown },
    context: ToolContext,
  ): AsyncGenerator<ShellProgress, ShellResult> {
    const settings = this.#settings;
    const plan = await permitted_plan("exec", input as unknown as ShellInput, context, settings);
    const { max_output, timeout_ms } = settings;
    context.abort_signal.throwIfAborted();
    const process = new ShellProcess(process_plan(plan, context, settings, false), {
      max_output,
      timeout_ms,
    });
    const end = () => process.end();
    context.abort_signal.addEventListener("abort", end, { once: true });
    try {
      return yield* output_of(process);
    } finally {
      context.abort_signal.removeEventListener("abort", end);
      process.end();
    }
  }
}

async function* output_of(process: ShellProcess): AsyncGenerator<ShellProgress, ShellResult> {
  let shown = 0;
  for (;;) {
    const change = process.changed;
    const snapshot = process.look();
    if (has_ended(snapshot)) return result_of(snapshot);
    const { stdout, stderr, truncated } = snapshot;
    if (stdout.length + stderr.length !== shown || truncated) {
      shown = stdout.length + stderr.length;
      yield { stdout, stderr, truncated };
      await pause(process, change);
    } else {
      await change;
    }
  }
}

/** Output that comes meanwhile is told once; what is told after that is the end. */
async function pause(process: ShellProcess, change: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const a_while = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, SHOWN_EVERY_MS);
  });
  await Promise.race([a_while, change.then(() => process.changed)]);
  clearTimeout(timer);
}

/** @throws Error, for the model, where nothing was run */
function result_of(snapshot: ProcessSnapshot): ShellResult {
  if (snapshot.phase === "refused") throw new Error(`Nothing was run: ${snapshot.why}.`);
  const { stdout, stderr, truncated, timed_out = false } = snapshot;
  return { ...end_of(snapshot), stdout, stderr, timed_out, truncated };
}
