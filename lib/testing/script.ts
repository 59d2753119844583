/** What a scripted model does in one request. */

export type ScriptedFinish = "stop" | "length" | "content-filter" | "tool-calls" | "error" | "other";

/** Metadata by provider, as an AI SDK model attaches it. */
export type ScriptedMetadata = { [provider: string]: { [key: string]: unknown } };

/**
 * One thing a scripted model does, in order:
 * - `text`, `reasoning`: streams a part; a list gives its deltas, a string is one delta or is chunked
 * - `call`: calls a tool. `input` is written as JSON; `arguments` is sent as it is, also when it is no JSON.
 *   `id` is made where it is left out; `""` and repeated ids are sent as they are
 * - `result`: the result of a call that the provider ran itself (`provider_executed`)
 * - `raw`: any stream part of the specification
 * - `hold`: waits for the gate before going on
 * - `error`: an error part in the stream
 * - `break_off`: the stream itself fails
 * - `finish`: the finish reason; by default `tool-calls` after calls, else `stop`
 * - `no_finish`: the stream ends without a finish part
 */
export type ScriptedAction =
  | { text: string | string[]; metadata?: ScriptedMetadata }
  | { reasoning: string | string[]; metadata?: ScriptedMetadata }
  | {
      call: string;
      input?: unknown;
      arguments?: string;
      id?: string;
      metadata?: ScriptedMetadata;
      provider_executed?: boolean;
    }
  | { result: unknown; id: string; name: string; is_error?: boolean }
  | { raw: object }
  | { hold: Gate }
  | { error: unknown }
  | { break_off: unknown }
  | { finish: ScriptedFinish; usage?: ScriptedUsage }
  | { no_finish: true };

export interface ScriptedUsage {
  input: number;
  output: number;
}

/**
 * One request: a text, a list of actions, or `{ reject }` for a request that is refused before it streams.
 * `retryable` and `headers` make the refusal look as an HTTP error of the AI SDK does.
 */
export type ScriptedStep =
  | string
  | readonly ScriptedAction[]
  | { reject: unknown; retryable?: boolean; headers?: { [name: string]: string } };

/** Holds something until it is opened, and tells when it was reached. */
export interface Gate {
  /** Resolves once something waits here. */
  readonly reached: Promise<void>;
  /** Lets everything through, now and later. */
  open(): void;
  /** Waits until the gate is open. */
  wait(): Promise<void>;
}

/** Makes a closed {@link Gate}: with it a test decides when a stream or a tool goes on, without any clock. */
export function gate(): Gate {
  let reach = (): void => {};
  let open = (): void => {};
  const reached = new Promise<void>((resolve) => {
    reach = resolve;
  });
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return {
    reached,
    open: () => open(),
    wait: () => {
      reach();
      return opened;
    },
  };
}
