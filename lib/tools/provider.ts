/** Tools that a provider defines, such as `openai.tools.webSearch()`: it knows what they are, and runs most of them. */
import { type Fields, fields_of } from "../fields.js";
import { type JsonObject, normalise } from "../json.js";
import { refuse, rules_of } from "./definition.js";

/** How a model is told about such a tool: `provider-defined` is what specification v2 calls it. */
export interface ProviderTool {
  readonly type: "provider";
  /** `<provider>.<tool>` */
  readonly id: string;
  readonly name: string;
  readonly args: JsonObject;
}

/** Whether it is a tool of a provider, of any line of the AI SDK. */
export function is_provider_tool(tool: unknown): tool is Fields {
  const { type } = fields_of(tool);
  return type === "provider" || type === "provider-defined";
}

/** @throws SessionError `INVALID_INPUT` naming the tool */
export function provider_tool(name: string, tool: Fields, owner: string): ProviderTool {
  const { id } = tool;
  if (typeof id !== "string" || !id.includes(".")) {
    throw refuse(owner, "it is a tool of a provider, whose id has to be <provider>.<tool>");
  }
  return { type: "provider", id, name, args: args_of(tool.args ?? {}, owner) };
}

function args_of(args: unknown, owner: string): JsonObject {
  try {
    return normalise(args, "args").value as JsonObject;
  } catch (thrown) {
    throw refuse(owner, "its args have to be JSON", thrown);
  }
}

/**
 * Refuses what cannot be done with a tool that the provider runs itself, which is one without an `execute`.
 * @throws SessionError `INVALID_INPUT` naming the tool
 */
export function check_provider_runs(tool: Fields, owner: string): void {
  if (tool.isProviderExecuted === false) {
    throw refuse(owner, "its provider does not run it: give it an execute");
  }
  const { needsApproval = false } = tool;
  // Passed over, it would be a gate that stands open.
  if (needsApproval !== false || rules_of(tool).length > 0) {
    throw refuse(owner, "its provider runs it itself, so no approval can be put before it");
  }
}
