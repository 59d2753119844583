import { closeSync, fsyncSync, openSync, readFileSync, writeSync } from "node:fs";
import type { AgentTool, ToolContext } from "../../types/tool.js";
import { normalise } from "../json.js";

export interface SpyToolOptions<Output> {
  description?: string;
  /** Any object by default. */
  input_schema?: { [keyword: string]: unknown };
  /** Gets one line per run, on disk before `execute` goes on: runs can be counted after a kill. */
  file?: string;
  /** Runs after the run was noted; `{ ok: true }` is the result by default. */
  execute?(input: { [property: string]: unknown }, context: ToolContext): Output | PromiseLike<Output>;
  resume?: "replay";
  explain?: boolean;
}

export interface SpyTool<Output = unknown> extends AgentTool<{ [keyword: string]: unknown }, Output> {
  /** The input of each run, in order. */
  readonly inputs: { [property: string]: unknown }[];
}

/** A tool that notes each run. */
export function spy_tool<Output = { ok: true }>(options: SpyToolOptions<Output> = {}): SpyTool<Output> {
  const inputs: { [property: string]: unknown }[] = [];
  const { execute, file } = options;
  return {
    description: options.description ?? "Notes that it was run.",
    input_schema: options.input_schema ?? { type: "object" },
    resume: options.resume,
    explain: options.explain,
    inputs,
    execute: async (input, context) => {
      inputs.push(input);
      if (file !== undefined) append_line(file, normalise(input).text);
      return execute ? await execute(input, context) : ({ ok: true } as Output);
    },
  };
}

/** How often a {@link spy_tool} with this file was run, by any process. */
export function spied_runs(file: string): unknown[] {
  const lines = readFileSync(file, { encoding: "utf8", flag: "a+" }).split("\n");
  return lines.filter((line) => line !== "").map((line) => JSON.parse(line) as unknown);
}

function append_line(file: string, line: string): void {
  const descriptor = openSync(file, "a");
  try {
    writeSync(descriptor, `${line}\n`);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
