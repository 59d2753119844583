/** A command that runs, as JavaScript sees it. */
import { constants } from "node:os";
import type { ShellResult } from "../../types/shell.js";
import { json_text } from "../bridge.js";
import { type NativeProcess, native_binding, shell_helper } from "../native.js";

/** What the helper is told; see `src/shell/protocol.rs`. */
export interface ProcessPlan {
  command?: string;
  cwd: string;
  env: [string, string][];
  has_input: boolean;
  sandbox?: { workspace: string; hidden_folders: string[]; hidden_files: string[] };
}

export interface ProcessLimits {
  max_output: number;
  timeout_ms?: number;
}

/** What there is of it; `exit_code`, `signal` and `timed_out` once it has ended. */
export interface ProcessSnapshot {
  phase: "starting" | "running" | "refused" | "ended";
  stdout: string;
  stderr: string;
  truncated: boolean;
  why?: string;
  exit_code?: number | null;
  signal?: number | null;
  timed_out?: boolean;
}

export class ShellProcess {
  readonly #native: NativeProcess;
  #tell: () => void = () => {};
  #change: Promise<void> = Promise.resolve();

  /** @throws Error where the helper cannot be run */
  constructor(plan: ProcessPlan, limits: ProcessLimits) {
    const helper = shell_helper();
    if (helper === undefined) {
      throw new Error("Commands need the package's native part for this platform, which is not installed.");
    }
    this.#expect_change();
    const { NativeProcess } = native_binding();
    this.#native = new NativeProcess(helper, json_text({ plan, ...limits }), () => this.#changed());
  }

  /** Resolves with the next change after the last look. Take it before looking, so that none is missed. */
  get changed(): Promise<void> {
    return this.#change;
  }

  look(): ProcessSnapshot {
    return JSON.parse(this.#native.snapshot());
  }

  /** With the output that has come since the last time. */
  take(): ProcessSnapshot {
    return JSON.parse(this.#native.take());
  }

  /** Why it was not taken, or null. */
  write(text: string): string | null {
    return this.#native.write(text) ?? null;
  }

  close_input(): void {
    this.#native.closeInput();
  }

  /** Ends it with everything it has started, within a second. */
  end(): void {
    this.#native.end();
  }

  /** Waits until it runs, or would not. */
  started(): Promise<ProcessSnapshot> {
    return this.#until(({ phase }) => phase !== "starting");
  }

  /** Waits for its end. */
  ended(): Promise<ProcessSnapshot> {
    return this.#until(has_ended);
  }

  async #until(holds: (snapshot: ProcessSnapshot) => boolean): Promise<ProcessSnapshot> {
    for (;;) {
      const change = this.changed;
      const snapshot = this.look();
      if (holds(snapshot)) return snapshot;
      await change;
    }
  }

  #changed(): void {
    const tell = this.#tell;
    this.#expect_change();
    tell();
  }

  #expect_change(): void {
    this.#change = new Promise((resolve) => {
      this.#tell = resolve;
    });
  }
}

export function has_ended({ phase }: ProcessSnapshot): boolean {
  return phase === "ended" || phase === "refused";
}

const SIGNALS = new Map(Object.entries(constants.signals).map(([name, number]) => [number, name]));

/** How it ended, for the model. */
export function end_of(snapshot: ProcessSnapshot): Pick<ShellResult, "exit_code" | "signal"> {
  const { exit_code = null, signal } = snapshot;
  if (typeof signal !== "number") return { exit_code };
  return { exit_code, signal: SIGNALS.get(signal as never) ?? `signal ${signal}` };
}
