/** Turns a script's actions into the stream parts of specification v2, v3 or v4. */
import type { Specification } from "../model/accept.js";
import type { ScriptedAction, ScriptedFinish, ScriptedMetadata, ScriptedUsage } from "./script.js";

export interface Writing {
  specification: Specification;
  /** Characters of one delta; unlimited where it is left out. */
  chunk_size?: number;
  /** Makes ids that no part of this model has used. */
  new_id(prefix: string): string;
}

type Action<Key extends string> = Extract<ScriptedAction, { [key in Key]: unknown }>;

export function text_parts(
  kind: "text" | "reasoning",
  action: Action<"text"> | Action<"reasoning">,
  writing: Writing,
): object[] {
  const content = "text" in action ? action.text : action.reasoning;
  const id = writing.new_id(kind);
  const deltas = typeof content === "string" ? chunks(content, writing.chunk_size) : content;
  const metadata = metadata_field(action.metadata);
  return [
    { type: `${kind}-start`, id },
    ...deltas.map((delta) => ({ type: `${kind}-delta`, id, delta })),
    { type: `${kind}-end`, id, ...metadata },
  ];
}

export function call_parts(action: Action<"call">, writing: Writing): object[] {
  const id = action.id ?? writing.new_id("call");
  const text = action.arguments ?? JSON.stringify(action.input ?? {});
  const executed = action.provider_executed ? { providerExecuted: true } : {};
  return [
    { type: "tool-input-start", id, toolName: action.call, ...executed },
    ...chunks(text, writing.chunk_size).map((delta) => ({ type: "tool-input-delta", id, delta })),
    { type: "tool-input-end", id },
    {
      type: "tool-call",
      toolCallId: id,
      toolName: action.call,
      input: text,
      ...executed,
      ...metadata_field(action.metadata),
    },
  ];
}

export function result_part(
  { id, name, result, is_error }: Action<"result">,
  { specification }: Writing,
): object {
  const executed = specification === "v2" ? { providerExecuted: true } : {};
  return {
    type: "tool-result",
    toolCallId: id,
    toolName: name,
    result,
    ...(is_error ? { isError: true } : {}),
    ...executed,
  };
}

export function finish_part(
  reason: ScriptedFinish,
  usage: ScriptedUsage,
  { specification }: Writing,
): object {
  const { input, output } = usage;
  if (specification === "v2") {
    const flat = { inputTokens: input, outputTokens: output, totalTokens: input + output };
    return { type: "finish", finishReason: reason, usage: flat };
  }
  const nested = {
    inputTokens: { total: input, noCache: input, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: output, text: output, reasoning: 0 },
  };
  return { type: "finish", finishReason: { unified: reason, raw: reason }, usage: nested };
}

function metadata_field(metadata: ScriptedMetadata | undefined): object {
  return metadata === undefined ? {} : { providerMetadata: metadata };
}

/** By code units, so that it also falls inside a surrogate pair. */
function chunks(text: string, size: number | undefined): string[] {
  if (size === undefined || text.length <= size) return text === "" ? [] : [text];
  const list: string[] = [];
  for (let at = 0; at < text.length; at += size) list.push(text.slice(at, at + size));
  return list;
}
