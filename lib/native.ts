/** The native binding as it is called; the names and JSON shapes are those of the Rust side. */

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

export interface NativeBinding {
  NativeStore: {
    memory(): NativeStore;
    sqlite(path: string, options_json: string): NativeStore;
  };
  NativeAgent: new (store: NativeStore, settings_json: string, wake: () => void) => NativeAgent;
}

let loaded: NativeBinding | undefined;

/** Loaded on first use, so that types, schemas and tools can be imported where no binary fits. */
export function native_binding(): NativeBinding {
  loaded ??= require("../native/binding.cjs") as NativeBinding;
  return loaded;
}
