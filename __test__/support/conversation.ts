/** A Session's worth of model requests without a core: streams become Parts, Parts become the next prompt. */
import { accept_model } from "../../lib/model/accept.js";
import { ModelDriver } from "../../lib/model/driver.js";
import type { ModelEvent } from "../../lib/model/events.js";
import { PromptHistory } from "../../lib/model/history.js";
import { ToolRegistry } from "../../lib/tools/registry.js";
import type { AssistantMessage, ToolPart } from "../../types/message.js";
import { assistant, type LoosePart, user } from "./messages.js";

export interface StepResult {
  parts: LoosePart[];
  /** The last event: `finish` or `failed`. */
  end: ModelEvent | undefined;
}

export class Conversation {
  readonly #model: ReturnType<typeof accept_model>;
  readonly #tools: ToolRegistry;
  readonly #history = new PromptHistory({ max_tool_result_chars: 1000 });
  #steps = 0;

  constructor(model: unknown, tools: object = {}) {
    this.#model = accept_model(model);
    this.#tools = new ToolRegistry(tools);
  }

  say(text: string): void {
    this.#history.append([user(text)]);
  }

  /** One request. */
  async ask(): Promise<StepResult> {
    const open = new Map<number, LoosePart>();
    const result: StepResult = { parts: [], end: undefined };
    const request = {
      model: this.#model,
      prompt: this.#history.prompt("Be brief.", this.#model.specification),
      tools: this.#tools.model_tools,
      delay_ms: 0,
      signal: new AbortController().signal,
      ids: this.#history,
    };
    await new ModelDriver().run(request, {
      event: (event) => fold(event, open, result),
      delta: (ref, text) => {
        const part = open.get(ref);
        if (part && typeof part.text === "string") part.text += text;
      },
    });
    return result;
  }

  /** Ends the step: calls get these fields by their order, and the Parts enter the history. */
  end_step({ parts }: StepResult, outcomes: Partial<ToolPart>[] = []): AssistantMessage {
    this.#steps += 1;
    const calls = parts.filter(({ type }) => type === "tool");
    calls.forEach((call, index) => {
      Object.assign(call, { state: "completed" }, outcomes[index]);
    });
    const message = assistant(`step:${this.#steps}`, parts);
    this.#history.append([message]);
    return message;
  }
}

function fold(event: ModelEvent, open: Map<number, LoosePart>, result: StepResult): void {
  const part = part_of(event);
  if (part && "ref" in event) {
    open.set(event.ref, part);
    result.parts.push(part);
  }
  if (event.type === "finish" || event.type === "failed") result.end = event;
}

function part_of(event: ModelEvent): LoosePart | undefined {
  if (event.type === "text_start") return { type: "text", text: "", state: "done" };
  if (event.type === "reasoning_start") return { type: "reasoning", text: "", state: "done" };
  if (event.type !== "tool_call") return undefined;
  const { ref, tool_name, provider_tool_call_id, input, input_text } = event;
  const tool_call_id = event.tool_call_id ?? `call:${ref}`;
  return { type: "tool", tool_call_id, tool_name, provider_tool_call_id, input, input_text };
}
