/** A check of prompts that is as strict as the strictest providers together. */
import { type Fields, fields_of } from "../fields.js";
import type { Specification } from "../model/accept.js";
import { well_formed } from "../text.js";

/** What is wrong with a prompt, every fault with its place. */
export class StrictPromptError extends Error {
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super(`A strict provider would refuse this prompt:\n- ${faults.join("\n- ")}`);
    this.name = "StrictPromptError";
    this.faults = faults;
  }
}

/**
 * Throws unless every provider would take the prompt:
 * - each tool call has exactly one result, in the tool message directly after its assistant message (a result of
 *   the provider itself in an assistant message, before the next user message), and no result is without its call
 * - a call of the provider that had to be approved has the answer to that in the tool message directly after, and a
 *   result only where it was approved
 * - the input of a call is a plain object
 * - no message, text or tool output is empty; text and reasoning may be where they carry a provider's own data
 * - the kind of each content exists in the specification
 * - all strings are well formed, and nothing but JSON and URLs is in it
 * - call ids are not empty and unique within an assistant message
 * - the kind of each tool output exists in the specification
 *
 * @throws StrictPromptError
 */
export function assert_strict_prompt(prompt: readonly unknown[], specification: Specification): void {
  const check = new Check(specification);
  check.prompt(prompt);
  if (check.faults.length > 0) throw new StrictPromptError(check.faults);
}

const CONTENTS: { readonly [specification in Specification]: readonly string[] } = {
  v2: ["text", "file", "reasoning"],
  v3: ["text", "file", "reasoning"],
  v4: ["text", "file", "reasoning", "reasoning-file", "custom"],
};

const OUTPUTS: { readonly [specification in Specification]: readonly string[] } = {
  v2: ["text", "json", "error-text", "error-json", "content"],
  v3: ["text", "json", "error-text", "error-json", "content", "execution-denied"],
  v4: ["text", "json", "error-text", "error-json", "content", "execution-denied"],
};

class Check {
  readonly faults: string[] = [];
  readonly #contents: readonly string[];
  readonly #outputs: readonly string[];
  /** The provider's calls that have no result so far. */
  readonly #by_provider = new Set<string>();
  /** The approvals that were answered, by the provider's id. */
  readonly #answered = new Set<string>();
  /** How many of those calls were approved or denied: which of them, an answer does not say. */
  #approved = 0;
  #denied = 0;

  constructor(specification: Specification) {
    this.#contents = CONTENTS[specification];
    this.#outputs = OUTPUTS[specification];
  }

  prompt(prompt: readonly unknown[]): void {
    let open: string[] = [];
    prompt.forEach((message, index) => {
      const place = `message ${index}`;
      const { role, content } = fields_of(message);
      if (role === "tool") open = this.#tool_message(content, open, place);
      else {
        this.#unanswered(open, place);
        // What was approved may run after what a user said meanwhile.
        if (role === "user" && this.#approved === 0) this.#unanswered_by_provider(place);
        const is_answered = answers_approval(prompt[index + 1]);
        open = role === "assistant" ? this.#assistant_message(content, place, is_answered) : [];
        if (role === "system" || role === "user") this.#plain_message(role, content, place);
        else if (role !== "assistant") this.faults.push(`${place} has the unknown role ${String(role)}`);
      }
      this.#json(message, place);
    });
    this.#unanswered(open, "the end");
  }

  #plain_message(role: string, content: unknown, place: string): void {
    if (role === "system") {
      if (typeof content !== "string" || content === "")
        this.faults.push(`${place}: the system text is empty`);
      return;
    }
    for (const part of this.#parts(content, place)) this.#text(part, place);
  }

  /** The ids of the calls that need a result in the next message. */
  #assistant_message(content: unknown, place: string, is_answered: boolean): string[] {
    const ids = new Set<string>();
    const open: string[] = [];
    for (const part of this.#parts(content, place)) {
      if (part.type === "tool-call") {
        const id = this.#call(part, ids, place);
        if (part.providerExecuted === true) this.#by_provider.add(id);
        else open.push(id);
      } else if (part.type === "tool-result") {
        const id = String(part.toolCallId);
        if (!this.#by_provider.delete(id))
          this.faults.push(`${place}: a result for ${id}, which is no open call of the provider`);
        this.#output(part, place);
      } else this.#text(part, place);
    }
    if (open.length === 0 && !is_answered) this.#unanswered_by_provider(place);
    return open;
  }

  #call(part: Fields, ids: Set<string>, place: string): string {
    const { toolCallId: id, toolName: name, input } = part;
    if (typeof id !== "string" || id === "") this.faults.push(`${place}: a tool call without id`);
    if (typeof name !== "string" || name === "") this.faults.push(`${place}: a tool call without name`);
    if (ids.has(String(id))) this.faults.push(`${place}: two tool calls have the id ${String(id)}`);
    ids.add(String(id));
    const is_object = typeof input === "object" && input !== null && !Array.isArray(input);
    if (!is_object) this.faults.push(`${place}: the input of call ${String(id)} is no object`);
    return String(id);
  }

  #tool_message(content: unknown, open: readonly string[], place: string): string[] {
    const left = [...open];
    for (const part of this.#parts(content, place)) {
      if (part.type === "tool-approval-response") {
        this.#approval(part, place);
        continue;
      }
      const at = left.indexOf(String(part.toolCallId));
      if (at < 0)
        this.faults.push(`${place}: a result for ${String(part.toolCallId)}, which is no open call`);
      else left.splice(at, 1);
      this.#output(part, place);
    }
    return left;
  }

  #approval({ approvalId: id, approved }: Fields, place: string): void {
    const name = `${place}: the answer to approval ${String(id)}`;
    if (this.#outputs === OUTPUTS.v2) this.faults.push(`${name} is of a kind this specification lacks`);
    if (typeof id !== "string" || id === "") this.faults.push(`${name} has no id`);
    if (typeof approved !== "boolean") this.faults.push(`${name} is neither yes nor no`);
    if (this.#answered.has(String(id))) this.faults.push(`${name} is there twice`);
    this.#answered.add(String(id));
    if (approved === true) this.#approved += 1;
    else this.#denied += 1;
    if (this.#approved + this.#denied > this.#by_provider.size)
      this.faults.push(`${name} belongs to no call of the provider that waits`);
  }

  #output(part: Fields, place: string): void {
    const { type, value, reason } = fields_of(part.output);
    const id = String(part.toolCallId);
    if (!this.#outputs.includes(String(type))) {
      this.faults.push(
        `${place}: the result of ${id} is of kind ${String(type)}, which this specification lacks`,
      );
      return;
    }
    const content = type === "execution-denied" ? (reason ?? "denied") : value;
    const is_empty = content === undefined || (typeof content === "string" && content.trim() === "");
    if (is_empty) this.faults.push(`${place}: the result of ${id} is empty`);
  }

  #text(part: Fields, place: string): void {
    const { type, text, providerOptions } = part;
    if (!this.#contents.includes(String(type)))
      this.faults.push(`${place}: content of kind ${String(type)}, which this specification lacks`);
    const bears_nothing = Object.keys(providerOptions ?? {}).length === 0;
    if (type === "text" && (typeof text !== "string" || (text === "" && bears_nothing)))
      this.faults.push(`${place}: an empty text`);
    if (type === "reasoning" && text === "" && bears_nothing) this.faults.push(`${place}: empty reasoning`);
  }

  #parts(content: unknown, place: string): Fields[] {
    if (Array.isArray(content) && content.length > 0) return content.map(fields_of);
    this.faults.push(`${place} has no content`);
    return [];
  }

  /** A provider may still be at it where it waits for the result of another call. */
  #unanswered_by_provider(place: string): void {
    if (this.#by_provider.size > this.#denied)
      for (const id of this.#by_provider)
        this.faults.push(`${place}: the provider's call ${id} has no result`);
    this.#by_provider.clear();
    this.#approved = 0;
    this.#denied = 0;
  }

  #unanswered(open: readonly string[], place: string): void {
    for (const id of open)
      this.faults.push(`before ${place}: call ${id} has no result directly after its message`);
  }

  /**
   * Whether it would come back the same from JSON. A URL stands for its text. Fields of messages and parts may be
   * undefined, as the AI SDK writes those that are not there; nothing in a value may.
   */
  #json(value: unknown, place: string, is_field = true): void {
    switch (typeof value) {
      case "string":
        if (well_formed(value) !== value) this.faults.push(`${place}: a text with half a character`);
        return;
      case "number":
        if (!Number.isFinite(value)) this.faults.push(`${place}: ${value} is not JSON`);
        return;
      case "boolean":
        return;
      case "object":
        this.#json_object(value, place, is_field);
        return;
      default:
        this.faults.push(`${place}: a ${typeof value} is not JSON`);
    }
  }

  #json_object(value: object | null, place: string, is_field: boolean): void {
    if (value === null) return;
    const tag = Object.prototype.toString.call(value);
    if (tag === "[object URL]" || tag === "[object Uint8Array]") return;
    if (tag !== "[object Object]" && tag !== "[object Array]") {
      this.faults.push(`${place}: ${tag} is not JSON`);
      return;
    }
    for (const [key, member] of Object.entries(value)) {
      this.#json(key, place);
      const is_list = Array.isArray(value);
      if (member === undefined && is_field && !is_list) continue;
      const is_inner = is_field && (is_list || key === "content" || key === "output");
      this.#json(member, `${place}.${key}`, is_inner);
    }
  }
}

function answers_approval(message: unknown): boolean {
  const { role, content } = fields_of(message);
  const is_answer = (part: unknown): boolean => fields_of(part).type === "tool-approval-response";
  return role === "tool" && Array.isArray(content) && content.some(is_answer);
}
