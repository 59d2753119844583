/** Translates the parts of a model's stream, specification v2 to v4, into events for the core. */
import { message_of } from "../errors.js";
import { type Fields, fields_of } from "../fields.js";
import { type JsonObject, type JsonValue, normalise, SurrogateJoiner, well_formed } from "../json.js";
import type { Specification } from "./accept.js";
import { arguments_of } from "./arguments.js";
import type { CallStart, ModelEvent, ModelSink } from "./events.js";
import { file_of, metadata_of, source_of, text_of } from "./parts.js";

/** Says which provider ids the Session has used. */
export interface CallIds {
  /** Takes the id for a new call; false when it is empty or taken. */
  claim(id: string): boolean;
}

type Kind = "text" | "reasoning";

interface OpenText {
  kind: Kind;
  ref: number;
  joiner: SurrogateJoiner;
  /** Providers may send it with any fragment; the last one counts. */
  metadata?: JsonObject;
}

interface OpenInput {
  provider_id: string;
  start: CallStart;
  joiner: SurrogateJoiner;
  is_streaming: boolean;
  /** Counts where the complete call comes without. */
  metadata?: JsonObject;
}

/**
 * Parts that are passed over, each on purpose:
 * - `response-metadata`: the response's id, model and time; nothing of it goes back
 * - `raw`: the provider's own chunks, which are never asked for
 * - `custom`: a provider's own kind of content, which nothing but that provider could read
 * - `ping`: a sign of life
 */
const PASSED_OVER: ReadonlySet<unknown> = new Set(["response-metadata", "raw", "custom", "ping"]);

const NEEDS_APPROVAL =
  "The provider asks for an approval before it runs this tool, in a way that leaves no answer, so it was not executed.";

export class Translator {
  readonly #sink: ModelSink;
  readonly #ids: CallIds;
  #refs = 0;
  readonly #texts = new Map<string, OpenText>();
  /** Calls whose arguments have begun and that are not complete yet, in order: ids may repeat or be empty. */
  #inputs: OpenInput[] = [];
  #has_calls = false;
  /** Complete calls that the provider runs itself and that wait for their result. */
  #running: { provider_id: string; ref: number }[] = [];
  readonly #specification: Specification | undefined;

  /** @param specification the model's: only since v3 an approval can be answered */
  constructor(sink: ModelSink, ids: CallIds, specification?: Specification) {
    this.#sink = sink;
    this.#ids = ids;
    this.#specification = specification;
  }

  static readonly #handlers = new Map<unknown, (translator: Translator, part: Fields) => void>([
    ["text-start", (translator, part) => translator.#text_start("text", part)],
    ["text-delta", (translator, part) => translator.#text_delta("text", part)],
    ["text-end", (translator, part) => translator.#text_end("text", part)],
    ["reasoning-start", (translator, part) => translator.#text_start("reasoning", part)],
    ["reasoning-delta", (translator, part) => translator.#text_delta("reasoning", part)],
    ["reasoning-end", (translator, part) => translator.#text_end("reasoning", part)],
    ["tool-input-start", (translator, part) => translator.#input_start(part)],
    ["tool-input-delta", (translator, part) => translator.#input_delta(part)],
    ["tool-input-end", (translator, part) => translator.#input_end(part)],
    ["tool-call", (translator, part) => translator.#call(part)],
    ["tool-result", (translator, part) => translator.#result(part)],
    ["tool-approval-request", (translator, part) => translator.#approval_request(part)],
    ["file", (translator, part) => translator.#emit(file_of(part))],
    ["reasoning-file", (translator, part) => translator.#emit(file_of(part))],
    ["source", (translator, part) => translator.#emit(source_of(part))],
  ]);

  /** Whether there is a call that is not the provider's own, or one of those that has to be approved. */
  get has_calls(): boolean {
    return this.#has_calls;
  }

  part(part: Fields): void {
    if (PASSED_OVER.has(part.type)) return;
    // A type of a later specification has no entry: what it says cannot be known.
    Translator.#handlers.get(part.type)?.(this, part);
  }

  /** Ends what a provider left open. */
  close(): void {
    for (const key of [...this.#texts.keys()]) this.#close_text(key, undefined);
    for (const input of this.#inputs) this.#flush(input.start.ref, input.joiner);
    this.#inputs = [];
  }

  #text_start(kind: Kind, part: Fields): void {
    const key = key_of(kind, part);
    this.#close_text(key, undefined);
    this.#open_text(kind, key, metadata_of(part.providerMetadata));
  }

  #open_text(kind: Kind, key: string, metadata: JsonObject | undefined): OpenText {
    const open = { kind, ref: this.#next(), joiner: new SurrogateJoiner() };
    this.#texts.set(key, open);
    this.#emit({ type: `${kind}_start`, ref: open.ref, provider_metadata: metadata });
    return open;
  }

  /** A fragment of a part that was never announced opens it. */
  #text_delta(kind: Kind, part: Fields): void {
    const key = key_of(kind, part);
    const open = this.#texts.get(key) ?? this.#open_text(kind, key, undefined);
    open.metadata = metadata_of(part.providerMetadata) ?? open.metadata;
    this.#delta(open.ref, open.joiner.push(text_of(part.delta)));
  }

  #text_end(kind: Kind, part: Fields): void {
    const key = key_of(kind, part);
    const metadata = metadata_of(part.providerMetadata);
    // Some providers send a signature as a part of its own that only ends.
    if (!this.#texts.has(key) && metadata) this.#open_text(kind, key, undefined);
    this.#close_text(key, metadata);
  }

  #close_text(key: string, metadata: JsonObject | undefined): void {
    const open = this.#texts.get(key);
    if (!open) return;
    this.#texts.delete(key);
    this.#flush(open.ref, open.joiner);
    this.#emit({ type: `${open.kind}_end`, ref: open.ref, provider_metadata: metadata ?? open.metadata });
  }

  #input_start(part: Fields): void {
    const provider_id = text_of(part.id);
    const start = this.#call_start(provider_id, part);
    const metadata = metadata_of(part.providerMetadata);
    this.#inputs.push({ provider_id, start, joiner: new SurrogateJoiner(), is_streaming: true, metadata });
    this.#emit({ type: "tool_input_start", ...start });
  }

  #input_delta(part: Fields): void {
    const input = this.#streaming_input(part);
    if (input) this.#delta(input.start.ref, input.joiner.push(text_of(part.delta)));
  }

  #input_end(part: Fields): void {
    const input = this.#streaming_input(part);
    if (!input) return;
    input.is_streaming = false;
    this.#flush(input.start.ref, input.joiner);
  }

  #streaming_input(part: Fields): OpenInput | undefined {
    const id = text_of(part.id);
    return this.#inputs.findLast((input) => input.is_streaming && input.provider_id === id);
  }

  #call(part: Fields): void {
    const provider_id = text_of(part.toolCallId);
    const index = this.#inputs.findIndex((input) => input.provider_id === provider_id);
    const [begun] = index < 0 ? [] : this.#inputs.splice(index, 1);
    if (begun) this.#flush(begun.start.ref, begun.joiner);
    const start = begun?.start ?? this.#call_start(provider_id, part);
    const provider_executed = part.providerExecuted === true || start.provider_executed === true;
    this.#emit({
      type: "tool_call",
      ...start,
      tool_name: well_formed(text_of(part.toolName)),
      ...(provider_executed ? { provider_executed } : {}),
      ...arguments_of(part.input),
      provider_metadata: metadata_of(part.providerMetadata) ?? begun?.metadata,
    });
    if (provider_executed) this.#running.push({ provider_id, ref: start.ref });
    else this.#has_calls = true;
  }

  #call_start(provider_id: string, part: Fields): CallStart {
    const id = well_formed(provider_id);
    const title = text_of(part.title);
    return {
      ref: this.#next(),
      tool_name: well_formed(text_of(part.toolName)),
      ...(this.#ids.claim(id) ? { tool_call_id: id } : { provider_tool_call_id: id }),
      ...(part.providerExecuted === true ? { provider_executed: true } : {}),
      ...(title === "" ? {} : { title: well_formed(title) }),
    };
  }

  /**
   * Only for calls the provider runs itself; a preliminary result is replaced by a later one. A call that this stream
   * does not know may have been begun in an earlier one.
   */
  #result(part: Fields): void {
    if (part.preliminary === true) return;
    const ref = this.#take_running(part);
    const result = { ...outcome_of(part), provider_metadata: metadata_of(part.providerMetadata) };
    const provider_tool_call_id = well_formed(text_of(part.toolCallId));
    if (ref === undefined) this.#emit({ type: "late_tool_result", provider_tool_call_id, ...result });
    else this.#emit({ type: "tool_result", ref, ...result });
  }

  #approval_request(part: Fields): void {
    const index = this.#index_of_running(part);
    const ref = this.#running[index]?.ref;
    if (ref === undefined) return;
    const approval_id = text_of(part.approvalId);
    if (approval_id !== "" && well_formed(approval_id) === approval_id && this.#specification !== "v2") {
      this.#has_calls = true;
      this.#emit({ type: "approval_request", ref, approval_id });
      return;
    }
    // Left open, it would read as a call whose result was lost.
    this.#running.splice(index, 1);
    this.#emit({ type: "tool_result", ref, error: NEEDS_APPROVAL });
  }

  #take_running(part: Fields): number | undefined {
    const index = this.#index_of_running(part);
    return index < 0 ? undefined : this.#running.splice(index, 1)[0]?.ref;
  }

  #index_of_running(part: Fields): number {
    const id = text_of(part.toolCallId);
    return this.#running.findIndex((call) => call.provider_id === id);
  }

  #flush(ref: number, joiner: SurrogateJoiner): void {
    this.#delta(ref, joiner.end());
  }

  #delta(ref: number, text: string): void {
    if (text !== "") this.#sink.delta(ref, text);
  }

  #emit(event: ModelEvent | undefined): void {
    if (event) this.#sink.event(event);
  }

  #next(): number {
    this.#refs += 1;
    return this.#refs;
  }
}

function key_of(kind: Kind, part: Fields): string {
  return `${kind} ${text_of(part.id)}`;
}

/** An error that is data is kept beside its words: the provider wants it back as it was. */
function outcome_of({ result, isError }: Fields): { output?: JsonValue; error?: string } {
  if (isError === true && typeof result === "string") return { error: message_of(result) };
  try {
    const { value, text } = normalise(result, "result");
    if (isError !== true) return { output: value };
    const { message } = fields_of(value);
    return { error: typeof message === "string" && message !== "" ? message : text, output: value };
  } catch (thrown) {
    return { error: `The provider's result cannot be kept: ${message_of(thrown)}.` };
  }
}
