import type { Interaction, ToolPart } from "../../index.js";
import { answered, error_text, input_of, is_denied, pending_approval, provider_metadata } from "./parts.js";
import type { UiMessageChunk } from "./ui-types.js";

export interface ToolChunksOptions {
  /** The version of `ai` that reads the stream. What only 7 knows breaks a reader of version 6. */
  ai: 6 | 7;
  /** Whether an approval that is asked for now was answered later, as one who reads the past knows. */
  is_past: (interaction_id: string) => boolean;
}

/** What was told of a call. */
interface Told {
  part: ToolPart;
  started: boolean;
  available: boolean;
  ended: boolean;
  /** The arguments so far. */
  text: string;
  output?: unknown;
  asked: Set<string>;
  answered: Set<string>;
}

const TERMINAL = ["completed", "failed"];

/** The tool calls of a Turn, each state told once. */
export class ToolChunks {
  readonly #emit: (chunk: UiMessageChunk) => void;
  readonly #options: ToolChunksOptions;
  readonly #calls = new Map<string, Told>();

  constructor(emit: (chunk: UiMessageChunk) => void, options: ToolChunksOptions) {
    this.#emit = emit;
    this.#options = options;
  }

  /**
   * Whether calls are left, and a person has to answer before any of them goes on. A call that the provider runs
   * may get its result in a later step, and waits for the others as well.
   */
  get all_wait(): boolean {
    const is_left = ({ state, provider_executed }: ToolPart) =>
      !TERMINAL.includes(state) && !provider_executed;
    const left = [...this.#calls.values()].filter(({ part }) => is_left(part));
    return left.length > 0 && left.every(({ part }) => part.state === "waiting-user");
  }

  clear(): void {
    this.#calls.clear();
  }

  take(part: ToolPart): void {
    const told = this.#told(part);
    told.part = part;
    if (part.state === "input-streaming") {
      this.#start(told);
      const more = (part.input_text ?? "").slice(told.text.length);
      if (more !== "") this.#append(told, more);
      return;
    }
    this.#input(told);
    for (const interaction of part.interactions ?? []) this.#answer(told, interaction);
    const asked = pending_approval(part);
    if (asked !== undefined) this.#ask(told, asked);
    this.#output(told);
  }

  input_delta(part_id: string, delta: string): void {
    const told = this.#calls.get(part_id);
    if (told !== undefined) this.#append(told, delta);
  }

  /** For a reader who goes on in the middle: arguments that still stream are told whole, as they are replaced. */
  open_again(): void {
    for (const told of this.#calls.values()) {
      if (!told.started || told.available) continue;
      told.started = false;
      this.#start(told);
      const { tool_call_id: toolCallId } = told.part;
      if (told.text !== "") this.#emit({ type: "tool-input-delta", toolCallId, inputTextDelta: told.text });
    }
  }

  #told(part: ToolPart): Told {
    const known = this.#calls.get(part.part_id);
    if (known !== undefined) return known;
    const nothing = { started: false, available: false, ended: false, text: "" };
    const told = { ...nothing, part, asked: new Set<string>(), answered: new Set<string>() };
    this.#calls.set(part.part_id, told);
    return told;
  }

  #start(told: Told): void {
    if (told.started) return;
    told.started = true;
    this.#emit({ type: "tool-input-start", ...call_of(told.part) });
  }

  #append(told: Told, delta: string): void {
    told.text += delta;
    this.#emit({ type: "tool-input-delta", toolCallId: told.part.tool_call_id, inputTextDelta: delta });
  }

  #input(told: Told): void {
    if (told.available) return;
    told.available = true;
    const { part } = told;
    const metadata = provider_metadata(part.provider_metadata);
    const call = { ...call_of(part), ...(metadata === undefined ? {} : { providerMetadata: metadata }) };
    if (part.input !== undefined || part.state !== "failed") {
      this.#emit({ type: "tool-input-available", ...call, input: input_of(part) ?? null });
      return;
    }
    told.ended = true;
    this.#emit({
      type: "tool-input-error",
      ...call,
      input: input_of(part) ?? null,
      errorText: error_text(part),
    });
  }

  #ask(told: Told, { interaction_id }: Interaction): void {
    if (told.asked.has(interaction_id)) return;
    told.asked.add(interaction_id);
    // A reader of version 6 cannot be told of an answer: one that was given long ago is not asked for again.
    if (this.#options.ai === 6 && this.#options.is_past(interaction_id)) return;
    const { tool_call_id: toolCallId } = told.part;
    this.#emit({ type: "tool-approval-request", approvalId: interaction_id, toolCallId });
  }

  #answer(told: Told, interaction: Interaction): void {
    const { interaction_id } = interaction;
    if (!told.asked.has(interaction_id) || told.answered.has(interaction_id)) return;
    const decision = answered(interaction);
    if (decision === undefined) return;
    told.answered.add(interaction_id);
    if (this.#options.ai === 6) return;
    const { id: approvalId, ...decided } = decision;
    this.#emit({ type: "tool-approval-response", approvalId, ...decided });
  }

  #output(told: Told): void {
    const { part } = told;
    const { tool_call_id: toolCallId } = part;
    const provider = part.provider_executed ? { providerExecuted: true } : {};
    if (told.ended) return;
    told.ended = TERMINAL.includes(part.state);
    if (part.state === "failed") {
      if (is_denied(part)) this.#emit({ type: "tool-output-denied", toolCallId });
      else this.#emit({ type: "tool-output-error", toolCallId, errorText: error_text(part), ...provider });
    } else if (part.state === "completed" || (part.preliminary && !same(told.output, part.output))) {
      told.output = part.output;
      const preliminary = told.ended ? {} : { preliminary: true };
      const output = part.output ?? null;
      this.#emit({ type: "tool-output-available", toolCallId, output, ...provider, ...preliminary });
    }
  }
}

function call_of({ tool_call_id, tool_name, title, provider_executed }: ToolPart) {
  return {
    toolCallId: tool_call_id,
    toolName: tool_name,
    ...(provider_executed ? { providerExecuted: true } : {}),
    ...(title === undefined ? {} : { title }),
  };
}

function same(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
