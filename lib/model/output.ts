/** What a tool call's end is for the model. Never empty: several providers refuse an empty result. */
import type { ToolPart } from "../../types/message.js";
import { cut, type JsonValue, well_formed } from "../json.js";
import type { ModelOutput } from "../tools/model-output.js";
import { model_output_for } from "../tools/model-output-for.js";
import type { Conversion } from "./history.js";
import type { ToolOutput } from "./prompt-types.js";

/** Stands for a result without a visible character. */
export const EMPTY_RESULT = "(empty result)";
const NO_RESULT = "No result of this call was recorded. Whether it was executed is unknown.";
const NO_REASON = "The tool call failed.";

export function tool_output(part: ToolPart, conversion: Conversion): ToolOutput {
  // What a provider ran comes back to it as it was.
  const limit = part.provider_executed ? Number.POSITIVE_INFINITY : conversion.max_tool_result_chars;
  if (part.state === "completed" && part.model_output !== undefined) {
    const kept = part.model_output as ModelOutput;
    return model_output_for(kept, conversion.specification, limit) as ToolOutput;
  }
  if (part.state === "completed") return result_output((part.output ?? null) as JsonValue, limit);
  // The provider's own error is its own data, which it wants back as it was.
  if (part.provider_executed && part.state === "failed" && part.output !== undefined)
    return { type: "error-json", value: part.output as JsonValue };
  if (part.error_code === "denied") return denied_output(part, conversion, limit);
  const error = part.state === "failed" ? part.error || NO_REASON : NO_RESULT;
  return { type: "error-text", value: cut(well_formed(error), limit) };
}

function result_output(output: JsonValue, limit: number): ToolOutput {
  if (typeof output === "string") {
    return { type: "text", value: output.trim() === "" ? EMPTY_RESULT : cut(well_formed(output), limit) };
  }
  const text = JSON.stringify(output);
  return text.length > limit ? { type: "text", value: cut(text, limit) } : { type: "json", value: output };
}

/** The core says in words that it was not executed, and why: some providers pass on the reason alone. */
function denied_output(part: ToolPart, { specification }: Conversion, limit: number): ToolOutput {
  const text = cut(well_formed(part.error || NOT_EXECUTED), limit);
  return specification === "v2"
    ? { type: "error-text", value: text }
    : { type: "execution-denied", reason: text };
}

const NOT_EXECUTED = "The user denied this call, so it was not executed.";
