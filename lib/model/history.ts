/** The prompt of one Session, converted once and kept, so that each request costs what is new. */
import type { Message, Part, ToolPart } from "../../types/message.js";
import { well_formed } from "../json.js";
import type { Specification } from "./accept.js";
import { assistant_messages, late_step_of } from "./assistant.js";
import { is_lost_result, without_result } from "./interrupted.js";
import type { PromptMessage } from "./prompt-types.js";
import type { CallIds } from "./translator.js";
import { user_messages } from "./user.js";

export interface PromptHistoryOptions {
  /** Characters of one tool result that reach the model. */
  max_tool_result_chars: number;
}

/** What a conversion needs to know besides the Parts. */
export interface Conversion {
  specification: Specification;
  max_tool_result_chars: number;
}

/** The Parts of one Message that are converted together: of an assistant Message, those of one step. */
interface Group {
  role: Message["role"];
  parts: Map<string, Part>;
  /** Kept until Parts are added, or another specification is asked for. */
  converted?: { specification: Specification; messages: readonly PromptMessage[] };
}

/**
 * Keeps what the Session's Messages are in a prompt. One per open Session.
 *
 * Assistant Parts are grouped by step: each step becomes one assistant message and, where it called tools, one
 * tool message with exactly one result per call, directly after it.
 */
export class PromptHistory implements CallIds {
  readonly #max_tool_result_chars: number;
  readonly #groups = new Map<string, Group>();
  /** By step: the provider's calls of earlier steps whose results came in that one. */
  readonly #late = new Map<string, Map<string, ToolPart>>();
  readonly #used_ids = new Set<string>();

  constructor(options: PromptHistoryOptions) {
    this.#max_tool_result_chars = options.max_tool_result_chars;
  }

  /** Adds Messages in order, or Parts that are new in Messages that were added before. */
  append(messages: readonly Message[]): void {
    for (const message of messages) {
      for (const part of message.parts) {
        this.#group_of(message, part.step_id).parts.set(part.part_id, part);
        if (part.type !== "tool") continue;
        this.#note_ids(part.tool_call_id, part.provider_tool_call_id);
        this.#note_late(part);
      }
    }
  }

  /** Forgets everything, to be built again. */
  reset(): void {
    this.#groups.clear();
    this.#late.clear();
    this.#used_ids.clear();
  }

  /** A fresh array of frozen messages; the system message first, where there is an instruction. */
  prompt(instruction: string | undefined, specification: Specification): PromptMessage[] {
    const prompt: PromptMessage[] = [];
    if (instruction) prompt.push(Object.freeze({ role: "system", content: well_formed(instruction) }));
    for (const [key, group] of this.#groups) {
      for (const message of this.#converted(key, group, specification)) prompt.push(message);
      for (const message of this.#stray_results(group, specification)) prompt.push(message);
    }
    return prompt;
  }

  claim(id: string): boolean {
    if (id === "" || this.#used_ids.has(id)) return false;
    this.#used_ids.add(id);
    return true;
  }

  #note_late(part: ToolPart): void {
    const step_id = late_step_of(part);
    if (step_id === undefined) return;
    const key = step_key(step_id);
    const of_step = this.#late.get(key) ?? new Map<string, ToolPart>();
    this.#late.set(key, of_step.set(part.part_id, part));
    const group = this.#groups.get(key);
    if (group) group.converted = undefined;
  }

  #note_ids(...ids: (string | undefined)[]): void {
    for (const id of ids) if (id) this.#used_ids.add(id);
  }

  /** A step never spans two Messages, and what has no step stays with its Message. */
  #group_of({ message_id, role }: Message, step_id: string | undefined): Group {
    const key = role === "assistant" && step_id ? step_key(step_id) : `message ${message_id}`;
    let group = this.#groups.get(key);
    if (!group) {
      group = { role, parts: new Map() };
      this.#groups.set(key, group);
    }
    group.converted = undefined;
    return group;
  }

  /** Results that came in a step which left nothing else: they follow the step of their call. */
  #stray_results(group: Group, specification: Specification): readonly PromptMessage[] {
    const stray = [...group.parts.values()].filter((part): part is ToolPart => {
      const step_id = part.type === "tool" ? late_step_of(part) : undefined;
      return (
        step_id !== undefined && !this.#groups.has(step_key(step_id)) && !this.#is_lost(part as ToolPart)
      );
    });
    return stray.length === 0 ? [] : assistant_messages([], this.#conversion(specification), stray);
  }

  /** All of its step is here by the time the next prompt is made. */
  #is_lost(part: ToolPart): boolean {
    const step_id = late_step_of(part);
    if (step_id === undefined) return false;
    return is_lost_result(part, [...(this.#groups.get(step_key(step_id))?.parts.values() ?? [])]);
  }

  #conversion(specification: Specification): Conversion {
    return { specification, max_tool_result_chars: this.#max_tool_result_chars };
  }

  #converted(key: string, group: Group, specification: Specification): readonly PromptMessage[] {
    if (group.converted?.specification === specification) return group.converted.messages;
    const parts = [...group.parts.values()]
      .sort((one, other) => one.sequence - other.sequence)
      .map((part) => (part.type === "tool" && this.#is_lost(part) ? without_result(part) : part));
    const conversion = this.#conversion(specification);
    const late = [...(this.#late.get(key)?.values() ?? [])].filter((part) => !this.#is_lost(part));
    const messages =
      group.role === "user" ? user_messages(parts, conversion) : assistant_messages(parts, conversion, late);
    for (const message of messages) deep_freeze(message);
    group.converted = { specification, messages };
    return messages;
  }
}

function step_key(step_id: string): string {
  return `step ${step_id}`;
}

/** Freezes what is ours; a URL belongs to the platform and stays as it is. */
function deep_freeze(value: unknown): void {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return;
  if (Object.prototype.toString.call(value) === "[object URL]") return;
  Object.freeze(value);
  for (const member of Object.values(value)) deep_freeze(member);
}
