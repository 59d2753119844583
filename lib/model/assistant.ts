import type { FilePart, Part, ProviderApproval, ToolPart } from "../../types/message.js";
import { type JsonObject, well_formed } from "../json.js";
import { EXPLANATION } from "../schema/schema.js";
import type { Specification } from "./accept.js";
import type { Conversion } from "./history.js";
import { resendable } from "./interrupted.js";
import { tool_output } from "./output.js";
import type {
  ApprovalResponseContent,
  AssistantContent,
  PromptMessage,
  ToolCallContent,
  ToolResultContent,
} from "./prompt-types.js";
import { file_content } from "./user.js";

/** The later step in which the result of a provider's call came. */
export function late_step_of(part: ToolPart): string | undefined {
  const { provider_executed, result_step_id, step_id } = part;
  return provider_executed && result_step_id !== step_id ? result_step_id : undefined;
}

/**
 * The messages of one step: what the assistant said and called, and the results of its calls.
 *
 * @param late the provider's calls of earlier steps whose results came in this one
 */
export function assistant_messages(
  of_step: readonly Part[],
  conversion: Conversion,
  late: readonly ToolPart[] = [],
): PromptMessage[] {
  const parts = resendable(of_step);
  const wire_ids = wire_ids_of(parts);
  const content: AssistantContent[] = late.map((part) => result_content(part, own_id(part), conversion));
  const results: (ToolResultContent | ApprovalResponseContent)[] = [];
  for (const part of parts) {
    if (part.type !== "tool") {
      content.push(...plain_content(part, conversion));
      continue;
    }
    const id = wire_ids.get(part) ?? part.tool_call_id;
    content.push(call_content(part, id));
    const approval = conversion.specification === "v2" ? undefined : part.provider_approval;
    if (!part.provider_executed) results.push(result_content(part, id, conversion));
    // What was not run has no result at the provider, which takes its own word for it alone.
    else if (approval) results.push(...approval_content(approval));
    // What the provider ran itself stays in its own message; it may still be running.
    else if (part.state !== "running" && late_step_of(part) === undefined)
      content.push(result_content(part, id, conversion));
  }
  // A thought that led to nothing, such as one that was stopped, is refused by providers on its own.
  if (content.every(({ type }) => type === "reasoning")) return [];
  const messages: PromptMessage[] = [{ role: "assistant", content }];
  if (results.length > 0) messages.push({ role: "tool", content: results });
  return messages;
}

function plain_content(part: Part, { specification }: Conversion): AssistantContent[] {
  switch (part.type) {
    case "text":
      // Providers refuse text without a visible character, unless it is the bearer of something of their own.
      if (part.text.trim() === "" && bears_nothing(part)) return [];
      return [{ type: "text", text: well_formed(part.text), ...options_of(part) }];
    case "reasoning":
      // Empty reasoning still carries its signature.
      if (part.text === "" && bears_nothing(part)) return [];
      return [{ type: "reasoning", text: well_formed(part.text), ...options_of(part) }];
    case "file":
      return [assistant_file(part, specification)];
    default:
      return [];
  }
}

/** An empty object is nothing of a provider's own. */
function bears_nothing({ provider_metadata }: { provider_metadata?: object }): boolean {
  return provider_metadata === undefined || Object.keys(provider_metadata).length === 0;
}

function assistant_file(part: FilePart, specification: Specification): AssistantContent {
  const content = file_content(part, specification);
  if (part.reasoning !== true || specification !== "v4" || content.type !== "file") return content;
  const { mediaType, data, providerOptions } = content;
  return { type: "reasoning-file", mediaType, data, ...(providerOptions ? { providerOptions } : {}) };
}

function call_content(part: ToolPart, id: string): ToolCallContent {
  return {
    type: "tool-call",
    toolCallId: id,
    toolName: wire_name(part.tool_name),
    input: input_of(part),
    ...(part.provider_executed ? { providerExecuted: true as const } : {}),
    ...options_of(part),
  };
}

/** Always an object: arguments that were none are told about in the call's result. */
function input_of(part: ToolPart): JsonObject {
  const { input, model_explanation, model_explanation_index } = part;
  const is_object = typeof input === "object" && input !== null && !Array.isArray(input);
  const sent = is_object ? (input as JsonObject) : {};
  if (model_explanation === undefined) return { ...sent };
  const entries = Object.entries(sent);
  entries.splice(model_explanation_index ?? entries.length, 0, [EXPLANATION, model_explanation]);
  return Object.fromEntries(entries);
}

function result_content(part: ToolPart, id: string, conversion: Conversion): ToolResultContent {
  const output = tool_output(part, conversion);
  // A result says as its call does whose it is: some providers look for that in both.
  const options = options_of(part.provider_executed ? { provider_metadata: part.result_metadata } : part);
  return { type: "tool-result", toolCallId: id, toolName: wire_name(part.tool_name), output, ...options };
}

function approval_content({ approval_id, approved, reason }: ProviderApproval): ApprovalResponseContent[] {
  if (approved === undefined) return [];
  const why = reason === undefined ? {} : { reason: well_formed(reason) };
  return [{ type: "tool-approval-response", approvalId: approval_id, approved, ...why }];
}

/** A name a model invented can be anything; providers refuse what is no name. */
function wire_name(name: string): string {
  return name.replace(/[^A-Za-z0-9_./:-]/g, "_").slice(0, 128) || "unknown_tool";
}

function options_of(part: { provider_metadata?: unknown }): { providerOptions?: JsonObject } {
  return part.provider_metadata ? { providerOptions: part.provider_metadata as JsonObject } : {};
}

/**
 * The ids the provider knows its calls by: its own where it is usable, which means not empty and not repeated within
 * this message, else one of ours in the characters every provider takes.
 */
function wire_ids_of(parts: readonly Part[]): Map<ToolPart, string> {
  const calls = parts.filter((part) => part.type === "tool");
  const counts = new Map<string, number>();
  for (const call of calls) counts.set(own_id(call), (counts.get(own_id(call)) ?? 0) + 1);
  const is_usable = (call: ToolPart): boolean => own_id(call) !== "" && counts.get(own_id(call)) === 1;
  return new Map(
    calls.map((call) => [
      call,
      is_usable(call) ? own_id(call) : call.tool_call_id.replace(/[^A-Za-z0-9_-]/g, "_"),
    ]),
  );
}

function own_id(part: ToolPart): string {
  return part.provider_tool_call_id ?? part.tool_call_id;
}
