/** Mutations of a Session as chunks of a UI message stream. */
import type { AssistantMessage, Interaction, Mutation, Part, TurnFinishMutation } from "../../index.js";
import { data_part, file_part, interaction_part, provider_metadata, source_part } from "./parts.js";
import { ToolChunks, type ToolChunksOptions } from "./tool-chunks.js";
import type { UiMessageChunk, UiMetadata } from "./ui-types.js";

/** A text or reasoning Part that is still being told. */
interface OpenText {
  kind: "text" | "reasoning";
  /** How much of it was told, in UTF-16 units. */
  told: number;
}

type Emit = (chunk: UiMessageChunk) => void;

/**
 * Turns Mutations, given in order and without gaps, into chunks. It knows nothing but what the Mutations say,
 * so the same Mutations always give the same chunks.
 */
export class Translator {
  readonly #session_id: string;
  readonly #emit: Emit;
  readonly #tools: ToolChunks;
  readonly #reasoning_files: boolean;
  /** The assistant Message that is being told. */
  #message: (UiMetadata & { message_id: string }) | undefined;
  #step: string | undefined;
  #step_open = false;
  #texts = new Map<string, OpenText>();
  /** Parts that can no longer change, or whose changes are no concern of a stream. */
  #told = new Set<string>();
  #interactions = new Map<string, string>();
  /** The Turn that runs. */
  turn_id: string | undefined;
  /** The Turn that ended last. */
  ended: TurnFinishMutation | undefined;

  constructor(session_id: string, emit: Emit, options: ToolChunksOptions) {
    this.#session_id = session_id;
    this.#emit = emit;
    this.#tools = new ToolChunks(emit, options);
    this.#reasoning_files = options.ai === 7;
  }

  take(mutation: Mutation): void {
    switch (mutation.variant) {
      case "turn":
        this.#take_turn(mutation);
        break;
      case "message":
        if (mutation.message.role === "assistant") this.#take_message(mutation.message);
        else this.#end_message();
        break;
      case "part":
        this.#open_message(mutation.message_id, this.turn_id);
        this.#take_part(mutation.part);
        break;
      case "delta":
        this.#open_message(mutation.message_id, this.turn_id);
        this.#take_delta(mutation.type, mutation.part_id, mutation.delta);
        break;
      default:
        break;
    }
  }

  /** Whether nothing goes on before a person answers: every call that is left waits, and nothing streams. */
  get waits(): boolean {
    return this.turn_id !== undefined && this.#texts.size === 0 && this.#tools.all_wait;
  }

  /** Tells what a reader needs who has everything so far, but reads a stream of its own. */
  open_again(): void {
    if (this.#message === undefined) return;
    this.#start(this.#message);
    for (const [id, { kind }] of this.#texts) this.#emit({ type: `${kind}-start`, id });
    this.#tools.open_again();
  }

  /** The stream ends here. `revision` is how far it goes. */
  close(revision: number): void {
    const { ended } = this;
    const failed = ended?.status === "failed" && this.turn_id === undefined;
    const stopped = ended?.status === "stopped" && this.turn_id === undefined;
    this.#end_step();
    if (failed) this.#emit({ type: "error", errorText: ended.error ?? "The Turn failed." });
    if (stopped) this.#emit({ type: "abort" });
    const finishReason = failed ? "error" : stopped ? "other" : this.waits ? "tool-calls" : "stop";
    const messageMetadata = this.#metadata(revision);
    this.#emit({
      type: "finish",
      finishReason,
      ...(messageMetadata === undefined ? {} : { messageMetadata }),
    });
  }

  #take_turn(mutation: Extract<Mutation, { variant: "turn" }>): void {
    if (mutation.type === "start") {
      this.turn_id = mutation.turn_id;
      this.ended = undefined;
    } else {
      this.turn_id = undefined;
      this.ended = mutation;
      this.#end_step();
    }
    this.#tools.clear();
  }

  #take_message(message: AssistantMessage): void {
    this.#open_message(message.message_id, message.turn_id, message.created_at);
    for (const part of message.parts) this.#take_part(part);
  }

  #open_message(message_id: string, turn_id: string | undefined, created_at?: number): void {
    if (this.#message?.message_id === message_id) return;
    this.#end_message();
    const known = { session_id: this.#session_id, ...(turn_id === undefined ? {} : { turn_id }) };
    this.#message = { message_id, ...known, ...(created_at === undefined ? {} : { created_at }) };
    this.#start(this.#message);
  }

  #start({ message_id, ...messageMetadata }: UiMetadata & { message_id: string }): void {
    this.#emit({ type: "start", messageId: message_id, messageMetadata });
  }

  #end_message(): void {
    this.#end_step();
    this.#message = undefined;
    this.#step = undefined;
  }

  #end_step(): void {
    if (this.#step_open) this.#emit({ type: "finish-step" });
    this.#step_open = false;
  }

  #metadata(revision: number): UiMetadata | undefined {
    if (this.#message === undefined) return undefined;
    const { message_id: _, ...metadata } = this.#message;
    return { ...metadata, revision_of_session: revision };
  }

  #take_part(part: Part): void {
    const is_new = !this.#told.has(part.part_id);
    this.#told.add(part.part_id);
    if (is_new) this.#enter_step(part.step_id);
    switch (part.type) {
      case "text":
      case "reasoning":
        this.#take_text(part, is_new);
        break;
      case "tool":
        this.#tools.take(part);
        for (const interaction of part.interactions ?? []) this.#take_interaction(interaction);
        break;
      case "interaction":
        this.#take_interaction(part.interaction);
        break;
      case "file":
        if (is_new) this.#file(part);
        break;
      case "source":
        if (is_new) this.#emit(source_part(part));
        break;
      default:
        if (is_new) this.#data(part);
    }
  }

  #enter_step(step_id: string | undefined): void {
    if (step_id === undefined || step_id === this.#step) return;
    this.#end_step();
    this.#step = step_id;
    this.#step_open = true;
    this.#emit({ type: "start-step" });
  }

  #take_text(part: Extract<Part, { type: "text" | "reasoning" }>, is_new: boolean): void {
    const { part_id: id, type: kind } = part;
    const metadata = provider_metadata(part.provider_metadata);
    const more = metadata === undefined ? {} : { providerMetadata: metadata };
    if (is_new) {
      this.#texts.set(id, { kind, told: 0 });
      this.#emit({ type: `${kind}-start`, id, ...more });
    }
    const open = this.#texts.get(id);
    if (open === undefined) return;
    // What is final was told in deltas, unless it came whole.
    if (part.text.length > open.told) this.#append(id, open, part.text.slice(open.told));
    if (part.state !== "done") return;
    this.#texts.delete(id);
    this.#emit({ type: `${kind}-end`, id, ...more });
  }

  #append(id: string, open: OpenText, delta: string): void {
    open.told += delta.length;
    this.#emit({ type: `${open.kind}-delta`, id, delta });
  }

  #take_delta(type: "text" | "reasoning" | "tool_input", part_id: string, delta: string): void {
    if (type === "tool_input") {
      this.#tools.input_delta(part_id, delta);
      return;
    }
    const open = this.#texts.get(part_id);
    if (open !== undefined) this.#append(part_id, open, delta);
  }

  #take_interaction(interaction: Interaction): void {
    const { interaction_id, status } = interaction;
    if (this.#interactions.get(interaction_id) === status) return;
    this.#interactions.set(interaction_id, status);
    const { type, id, data } = interaction_part(interaction);
    this.#emit({ type, id, data });
  }

  #file(part: Extract<Part, { type: "file" }>): void {
    const { filename: _, type: __, ...file } = file_part(part);
    this.#emit({ type: part.reasoning && this.#reasoning_files ? "reasoning-file" : "file", ...file });
  }

  #data(part: Part): void {
    const data = data_part(part);
    if (data !== undefined) this.#emit({ type: data.type, id: data.id, data: data.data });
  }
}
