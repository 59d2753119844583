/** Asks a model and reads its stream. Whether to try again, and what it all means, is decided in the core. */

import { fields_of } from "../fields.js";
import type { ModelTool } from "../tools/compile.js";
import type { AcceptedModel, Specification } from "./accept.js";
import type { ModelEvent, ModelSink } from "./events.js";
import { failure_of } from "./failure.js";
import { finish_reason_of, is_confirmed, usage_of } from "./parts.js";
import type { PromptMessage } from "./prompt-types.js";
import { type CallIds, Translator } from "./translator.js";
import { report_warnings } from "./warnings.js";

export interface ModelRequest {
  /** Absent where no model is configured: the request then fails with `MODEL_MISSING`. */
  model: AcceptedModel | undefined;
  prompt: readonly PromptMessage[];
  tools: readonly ModelTool[];
  /** How long to wait first. */
  delay_ms: number;
  /** Its abort ends the request; nothing is reported afterwards. */
  signal: AbortSignal;
  /** The history of the Session, which knows the call ids that are taken. */
  ids: CallIds;
}

/** Drives one request. Stateless: one can serve all Sessions of an Agent. */
export class ModelDriver {
  /**
   * Reports the whole stream to the sink, ending with exactly one `finish` or `failed`, unless the signal aborts
   * first. Resolves when nothing more will be reported; it never rejects.
   */
  run(request: ModelRequest, sink: ModelSink): Promise<void> {
    const run = new Run(request, sink);
    return run.start();
  }
}

/** Specification v2 has another word for a provider's own tool. */
function tool_for(tool: ModelTool, specification: Specification | undefined): object {
  return tool.type === "provider" && specification === "v2" ? { ...tool, type: "provider-defined" } : tool;
}

type Reader = { read(): Promise<{ done?: boolean; value?: unknown }>; cancel(): unknown };

class Run {
  readonly #request: ModelRequest;
  readonly #sink: ModelSink;
  #is_over = false;
  #reader: Reader | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(request: ModelRequest, sink: ModelSink) {
    this.#request = request;
    this.#sink = {
      event: (event) => this.#is_over || sink.event(event),
      delta: (ref, text) => this.#is_over || sink.delta(ref, text),
    };
  }

  start(): Promise<void> {
    const { signal } = this.#request;
    return new Promise((resolve) => {
      const stop = (): void => {
        this.#abandon();
        resolve();
      };
      if (signal.aborted) return stop();
      // A model that ignores the signal is left behind: nobody waits for its next part.
      signal.addEventListener("abort", stop, { once: true });
      const end = (): void => {
        signal.removeEventListener("abort", stop);
        this.#abandon();
        resolve();
      };
      this.#drive().then(end, end);
      return undefined;
    });
  }

  #abandon(): void {
    this.#is_over = true;
    clearTimeout(this.#timer);
    const reader = this.#reader;
    this.#reader = undefined;
    if (reader) void ignore(() => reader.cancel());
  }

  async #drive(): Promise<void> {
    const { model, delay_ms } = this.#request;
    if (!model) return this.#missing();
    if (delay_ms > 0) await this.#delay(delay_ms);
    if (this.#is_over) return;
    const reader = await this.#open(model);
    if (!reader) return;
    if (this.#is_over) return void ignore(() => reader.cancel());
    this.#reader = reader;
    await this.#read(reader);
  }

  #missing(): void {
    this.#sink.event({
      type: "failed",
      code: "MODEL_MISSING",
      message: "There is no model: pass one to new Agent({ model }), or set it with session.set({ model }).",
      retryable: false,
    });
  }

  #delay(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      this.#timer = setTimeout(resolve, milliseconds);
      // What keeps the process alive during a Turn is decided elsewhere.
      this.#timer.unref();
    });
  }

  async #open(model: AcceptedModel): Promise<Reader | undefined> {
    try {
      const result = await model.model.doStream(this.#options());
      return reader_of(fields_of(result).stream);
    } catch (thrown) {
      this.#sink.event(failure_of(thrown, false));
      return undefined;
    }
  }

  #options(): object {
    const { prompt, tools, signal, model } = this.#request;
    const shown = tools.map((tool) => tool_for(tool, model?.specification));
    const offered = shown.length === 0 ? {} : { tools: shown, toolChoice: { type: "auto" } };
    return { prompt, ...offered, abortSignal: signal, includeRawChunks: false };
  }

  async #read(reader: Reader): Promise<void> {
    const { ids, model } = this.#request;
    const translator = new Translator(this.#sink, ids, model?.specification);
    let finish: { readonly [key: PropertyKey]: unknown } | undefined;
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (this.#is_over) return;
        if (done) break;
        const part = fields_of(value);
        if (part.type === "error") return this.#fail(translator, failure_of(part.error, false));
        if (part.type === "finish") finish = part;
        else if (part.type === "stream-start") report_warnings(part.warnings, model?.label);
        else translator.part(part);
      }
    } catch (thrown) {
      // A broken connection says nothing about itself; the core tries again only if nothing has arrived.
      return this.#fail(translator, failure_of(thrown, true));
    }
    const reason = finish && finish_reason_of(finish.finishReason);
    if (!reason) return this.#fail(translator, UNFINISHED);
    // Text that may lack its end is still worth keeping; a call that may lack a sibling is not worth the risk.
    const confirmed = is_confirmed(finish?.finishReason);
    if (translator.has_calls && !confirmed) return this.#fail(translator, UNFINISHED);
    translator.close();
    const usage = usage_of(finish?.usage);
    this.#sink.event({ type: "finish", reason, usage, ...(confirmed ? {} : { unconfirmed: true as const }) });
  }

  #fail(translator: Translator, failure: ModelEvent): void {
    translator.close();
    this.#sink.event(failure);
  }
}

const UNFINISHED: ModelEvent = {
  type: "failed",
  code: "MODEL_FAILED",
  message: "The model's stream ended before the model had finished.",
  retryable: true,
};

/** A ReadableStream of any realm, or any async iterable. */
function reader_of(stream: unknown): Reader {
  const fields = fields_of(stream);
  if (typeof fields.getReader === "function") return (stream as { getReader(): Reader }).getReader();
  if (typeof fields[Symbol.asyncIterator] !== "function") throw new Error("The model gave back no stream.");
  const iterator = (stream as AsyncIterable<unknown>)[Symbol.asyncIterator]();
  return { read: () => iterator.next(), cancel: () => iterator.return?.() };
}

async function ignore(action: () => unknown): Promise<void> {
  try {
    await action();
  } catch {
    // The stream was given up: how it ends is of no interest.
  }
}
