/** One tool as users give it, read once and judged when the Agent is made. */
import { found, is_thrown, message_of, SessionError } from "../errors.js";
import { type Fields, fields_of } from "../fields.js";
import type { JsonObject } from "../json.js";
import { input_schema, type Validator } from "../schema/schema.js";
import { as_ai_sdk, read_ai_sdk } from "./ai-sdk.js";
import { type GateRule, tells } from "./define.js";
import { type Definition, type Execute, refuse, rules_of } from "./definition.js";
import { check_provider_runs, is_provider_tool, type ProviderTool, provider_tool } from "./provider.js";
import { is_generator, run_through } from "./streaming.js";

/** How the core is told about a tool. */
export interface ToolSettings {
  name: string;
  title?: string;
  description?: string;
  /** Set where the core validates. */
  schema?: JsonObject;
  gate: "none" | "always" | "host";
  explain: boolean;
  replay: boolean;
}

/** How a model is told about a tool. */
export type ModelTool = FunctionTool | ProviderTool;

/** Older specifications pass over what they do not know. */
export interface FunctionTool {
  readonly type: "function";
  readonly name: string;
  readonly description?: string;
  readonly inputSchema: JsonObject;
  readonly [field: string]: unknown;
}

export interface CompiledTool {
  settings: ToolSettings;
  model_tool: ModelTool;
  validate?: Validator;
  /** Whether a person is asked: all are asked, any yes asks. */
  rules: readonly GateRule[];
  execute: Execute;
  /** What the model is to see of a result, where the tool says so. */
  to_model_output?: (argument: unknown) => unknown;
}

const NAME = /^[A-Za-z0-9_][A-Za-z0-9_./:-]{0,127}$/;

/**
 * What is executed here is compiled; of a tool that its provider runs itself there is only what the model is told.
 * @throws SessionError `INVALID_INPUT` naming the tool
 */
export function compile_tool(name: string, tool: unknown): CompiledTool | ProviderTool {
  const owner = `tool ${JSON.stringify(name)}`;
  if (!NAME.test(name)) {
    throw refuse(owner, "its name has to be 1 to 128 letters, digits, or any of _ . / : - after the first");
  }
  if (!is_provider_tool(tool)) return compile_executed(name, tool, owner);
  const model_tool = provider_tool(name, tool, owner);
  if (tool.execute !== undefined) return { ...compile_executed(name, tool, owner), model_tool };
  check_provider_runs(tool, owner);
  return model_tool;
}

function compile_executed(name: string, tool: unknown, owner: string): CompiledTool {
  const definition = read(tool, owner);
  const { execute, rules } = definition;
  if (typeof execute !== "function") {
    throw refuse(owner, "it has no execute function. Tools that run elsewhere are not supported");
  }
  const explain = optional(definition.explain, "boolean", owner, "explain") ?? false;
  const { shown, json_schema, validate } = input_schema(definition.schema, owner, explain);
  const settings = {
    name,
    title: optional(definition.title, "string", owner, "title"),
    description: optional(definition.description, "string", owner, "description"),
    schema: json_schema,
    gate: gate_of(rules),
    explain,
    replay: replay_of(definition.resume, owner),
  };
  const model_tool: FunctionTool = Object.freeze({
    type: "function",
    name,
    ...(settings.description === undefined ? {} : { description: settings.description }),
    inputSchema: shown,
    ...definition.more,
  });
  const run = execute.bind(tool) as (input: unknown, options: object) => unknown;
  return {
    settings,
    model_tool,
    validate,
    rules,
    execute: definition.is_ai_sdk ? as_ai_sdk(run) : with_generators(run),
    to_model_output: definition.to_model_output?.bind(tool),
  };
}

function read(tool: unknown, owner: string): Definition {
  if (typeof tool !== "object" || tool === null || Array.isArray(tool)) {
    throw refuse(owner, `it has to be an object with input_schema and execute, and is ${found(tool)}`);
  }
  try {
    const fields = fields_of(tool);
    const is_ai_sdk = fields.input_schema === undefined && fields.inputSchema !== undefined;
    return is_ai_sdk || is_provider_tool(fields)
      ? read_ai_sdk(fields, owner)
      : read_agent_tool(fields, owner);
  } catch (thrown) {
    if (is_thrown(thrown, SessionError)) throw thrown;
    throw refuse(owner, `it cannot be read: ${message_of(thrown)}`, thrown);
  }
}

function read_agent_tool(fields: Fields, owner: string): Definition {
  if (fields.needsApproval !== undefined) {
    // Passed over, it would be a gate that stands open.
    throw refuse(owner, "needsApproval belongs to tools of the AI SDK: wrap this one with_approval(tool)");
  }
  const { description, title, input_schema: schema, execute, resume, explain } = fields;
  return { description, title, schema, execute, resume, explain, rules: rules_of(fields), is_ai_sdk: false };
}

function gate_of(rules: readonly GateRule[]): ToolSettings["gate"] {
  if (rules.length === 0) return "none";
  if (rules.some(tells)) return "host";
  return rules.some((rule) => rule === undefined) ? "always" : "host";
}

/** An `async *execute()` yields preliminary results; what it returns counts, else the last it yielded. */
function with_generators(run: (input: unknown, context: object) => unknown): Execute {
  return async (input, context, preliminary) => {
    const result = await run(input, context);
    if (!is_generator(result)) return result;
    const signal = fields_of(context).abort_signal as AbortSignal | undefined;
    return run_through(result, { returns: true, signal, preliminary });
  };
}

function replay_of(resume: unknown, owner: string): boolean {
  if (resume === undefined) return false;
  if (resume === "replay") return true;
  throw refuse(owner, `resume can only be "replay" or left out, not ${found(resume)}`);
}

interface Primitives {
  string: string;
  boolean: boolean;
}

function optional<Kind extends keyof Primitives>(
  value: unknown,
  kind: Kind,
  owner: string,
  field: string,
): Primitives[Kind] | undefined {
  if (value === undefined) return undefined;
  const given: string = typeof value;
  if (given === kind) return value as Primitives[Kind];
  throw refuse(owner, `${field} has to be a ${kind}, not ${found(value)}`);
}
