/** The native binding as it is called; the names and JSON shapes are those of the Rust side. */
import { existsSync } from "node:fs";
import { join } from "node:path";

export interface NativeStore {
  /** Opaque: made by the binding, handed back to it. */
  readonly native_store?: never;
}

export interface NativeAgent {
  /** A request to the agent. True: the outbox has something. */
  call(request_json: string): boolean;
  /** Something that happened to a Session. True: the outbox has something. */
  input(session: number, input_json: string): boolean;
  /** What came of the model's stream together, as a JSON array of events. True: the outbox has something. */
  model(session: number, step_id: string, events_json: string): boolean;
  /** A fragment of what the model streams; well-formed text. */
  delta(session: number, step_id: string, ref: number, text: string): boolean;
  /** Whether the Mutations of a Session are wanted. */
  observe(session: number, on: boolean): void;
  /** A JSON array of events, or null where there are none. */
  drain(): string | null;
  /** Lets the store go: the last agent that uses a file closes it. Nothing may be called afterwards. */
  close(): void;
}

/** A command of the Shell. It ends with this object, and with the process. */
export interface NativeProcess {
  /** JSON of all there is. Looking lets `wake` be called again. */
  snapshot(): string;
  /** The same with the output since the last time. */
  take(): string;
  /** Why the input was not taken, or null. */
  write(text: string): string | null;
  closeInput(): void;
  end(): void;
}

export interface NativeBinding {
  NativeStore: {
    memory(): NativeStore;
    sqlite(path: string, options_json: string): NativeStore;
  };
  /** `wake` is called when there is something to look at; it keeps nothing alive. */
  NativeProcess: new (
    helper: string,
    start_json: string,
    wake: () => void,
  ) => NativeProcess;
  NativeAgent: new (store: NativeStore, settings_json: string, wake: () => void) => NativeAgent;
}

let loaded: NativeBinding | undefined;

/** Loaded on first use, so that types, schemas and tools can be imported where no binary fits. */
export function native_binding(): NativeBinding {
  loaded ??= require("../native/binding.cjs") as NativeBinding;
  return loaded;
}

const HELPER = "downcity-shell";

/** The program that runs commands of the Shell: beside the binding, in the repository or in the platform's package. */
export function shell_helper(): string | undefined {
  const beside = join(__dirname, "..", "native", HELPER);
  if (existsSync(beside)) return beside;
  try {
    return require.resolve(`@downcity/agent-linux-x64-gnu/${HELPER}`);
  } catch {
    return undefined;
  }
}
