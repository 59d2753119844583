/** How users define tools. */
import type { AgentTool, AnyTool, GateOptions, ToolSchema } from "../../types/tool.js";
import { SessionError } from "../errors.js";
import type { JsonObject } from "../json.js";

/**
 * Types a tool: the output of its schema becomes the input of its `execute`. The definition itself is returned.
 *
 * @example
 * const delete_file = define_agent_tool({
 *   description: "Delete a file from the workspace.",
 *   input_schema: z.object({ path: z.string() }),
 *   execute: async ({ path }) => ({ deleted: path }),
 * });
 */
export function define_agent_tool<Schema extends ToolSchema, Output>(
  definition: AgentTool<Schema, Output>,
): AgentTool<Schema, Output> {
  return definition;
}

/** A rule that says for a validated input whether a person is asked; without one, a person always is. */
export type GateRule = ((input: unknown, call: unknown) => unknown) | undefined;

/** What a rule of this package's own says: whether a person is asked, and what the approval shows of the call. */
export interface GateVerdict {
  ask: boolean;
  approval: JsonObject;
}

/** Marks such a rule: it is asked about every call, also where another rule asks a person anyway. */
export const TELLS = Symbol.for("@downcity/agent.gate_tells");

export type TellingRule = ((input: unknown, call: unknown) => Promise<GateVerdict>) & { [TELLS]: true };

export function tells(rule: GateRule): rule is TellingRule {
  return rule !== undefined && TELLS in rule;
}

/** Where a gated tool carries its rules. Registered globally, so that two copies of this package agree. */
export const GATES = Symbol.for("@downcity/agent.gates");

/**
 * Puts an approval before a tool's `execute`: each call waits for a person first, and a denied one never enters it.
 * The gate survives a restart. The tool that is given stays as it was; gates of several calls add up.
 *
 * @param options `when` is asked once per call with the validated input, which it must not change: anything but a
 * plain `false` asks a person, and a throw fails the call
 * @throws SessionError `INVALID_INPUT` for what is no tool, and for options that would be passed over
 */
export function with_approval<Tool extends AnyTool>(tool: Tool, options: GateOptions<Tool> = {}): Tool {
  check_gate(tool, options);
  const original = tool as Tool & { execute?: unknown; [GATES]?: readonly GateRule[] };
  const copy: object = Object.create(Object.getPrototypeOf(tool), Object.getOwnPropertyDescriptors(tool));
  const rules = [...(original[GATES] ?? []), options.when as GateRule];
  Object.defineProperty(copy, GATES, { value: rules, configurable: true });
  if (typeof original.execute === "function") {
    // Bound to the original: an `execute` of a class may use private fields, which the copy lacks.
    const execute = original.execute.bind(tool);
    Object.defineProperty(copy, "execute", {
      value: execute,
      enumerable: true,
      configurable: true,
      writable: true,
    });
  }
  return copy as Tool;
}

/** A rule that was misspelt must not be taken for no rule. */
function check_gate(tool: unknown, options: unknown): void {
  const is_object = (value: unknown): boolean => typeof value === "object" && value !== null;
  if (!is_object(tool))
    throw new SessionError("INVALID_INPUT", "with_approval takes a tool, and options after it.");
  const keys = is_object(options) ? Object.keys(options as object) : [""];
  const { when } = (options ?? {}) as { when?: unknown };
  if (keys.some((key) => key !== "when") || (when !== undefined && typeof when !== "function")) {
    throw new SessionError(
      "INVALID_INPUT",
      "The options of with_approval are { when } with a function, or left out.",
    );
  }
}
