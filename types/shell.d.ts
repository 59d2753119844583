/** The Shell: commands in the Workspace, confined where they can be, and asked about where they are not. */
import type { ToolContext } from "./tool.js";

export interface ShellOptions {
  /** False to do without the sandbox, so that every command asks; true by default. */
  sandbox?: boolean;
  /** Milliseconds after which a command is ended; 120000 by default. Waiting for a person does not count. */
  timeout?: number;
  /** Bytes kept of each of `stdout` and `stderr`, half of them from the beginning; 65536 by default. */
  max_output?: number;
  /**
   * What a command's environment has besides `PATH`, `HOME`, `USER`, `LOGNAME`, `SHELL`, `LANG`, `LC_ALL`,
   * `LC_CTYPE` and `TZ`: a value, or true for the value of this process. Nothing else is passed on.
   */
  env?: { [name: string]: string | true };
}

/** What the model gives. */
export interface ShellInput {
  /** For `/bin/sh -c`. */
  command: string;
  /** A folder of the Workspace, without symbolic links on the way to it. */
  cwd?: string;
  /** The model's reason; it is no security signal. */
  reason?: string;
  /** Asks to leave the sandbox. */
  unrestricted?: boolean;
}

/** The output so far, as preliminary output of the Tool Part. */
export interface ShellProgress {
  stdout: string;
  stderr: string;
  /** Something was left out of the middle; a line there says how much. */
  truncated: boolean;
}

export interface ShellResult extends ShellProgress {
  /** Null where a signal ended it. */
  exit_code: number | null;
  /** Such as `SIGKILL`. */
  signal?: string;
  timed_out: boolean;
}

/** What an approval of the Shell shows, each in a field of its own; what is approved is exactly what runs. */
export interface ShellApprovalPayload {
  /** `exec` of `ShellTool`, `start` and `write` of `ShellSession`. */
  operation: "exec" | "start" | "write";
  command: string;
  /** Absolute. */
  cwd: string;
  /** The model's. */
  reason?: string;
  /** `left`: it is to run outside of the sandbox. `unavailable`: there is none. `confined`: another rule asks. */
  sandbox: "left" | "unavailable" | "confined";
  /** Why there is no sandbox. */
  sandbox_problem?: string;
  /** For `write`. */
  process_id?: string;
  input?: string;
  close?: true;
}

/** A tool that runs commands in the Session's Workspace: `tools: { shell: new ShellTool() }`. */
export declare class ShellTool {
  /** @throws SessionError `INVALID_INPUT` */
  constructor(options?: ShellOptions);
  readonly title: string;
  readonly description: string;
  readonly input_schema: { [keyword: string]: unknown };
  execute(
    input: { [property: string]: unknown },
    context: ToolContext,
  ): AsyncGenerator<ShellProgress, ShellResult>;
}

export interface ShellWriteInput {
  process_id: string;
  input: string;
  /** Closes the process's input behind it. */
  close?: boolean;
  reason?: string;
}

export interface ShellReadInput {
  process_id: string;
  /** Milliseconds to wait for output or the end. */
  wait_ms?: number;
}

/** `stdout` and `stderr` are what has come since the last time. */
export interface ShellProcessState extends ShellProgress {
  running: boolean;
  exit_code?: number | null;
  signal?: string;
}

interface ShellSessionTool<Output> {
  readonly title: string;
  readonly description: string;
  readonly input_schema: { [keyword: string]: unknown };
  execute(input: { [property: string]: unknown }, context: ToolContext): Promise<Output>;
}

export interface ShellSessionTools {
  readonly shell_start: ShellSessionTool<{ process_id: string }>;
  readonly shell_write: ShellSessionTool<{ written: true }>;
  readonly shell_read: ShellSessionTool<ShellProcessState>;
  readonly shell_stop: ShellSessionTool<ShellProcessState>;
}

/** Tools for processes that go on from call to call: `tools: { ...new ShellSession().tools }`. */
export declare class ShellSession {
  /** @throws SessionError `INVALID_INPUT` */
  constructor(options?: Omit<ShellOptions, "timeout">);
  readonly tools: ShellSessionTools;
}
