/** One tool as users give it, read once and judged when the Agent is made. */
import { message_of, SessionError } from "../errors.js";
import type { JsonObject } from "../json.js";
import { input_schema, type Validator } from "../schema/schema.js";
import { fields_of, standard_of } from "../schema/standard.js";
import { GATES, type GateRule } from "./define.js";

/** Runs a tool; it may throw, return anything, or never end. */
export type Execute = (input: unknown, context: object) => unknown;

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

/** How a model is told about a tool, the same in specification v2, v3 and v4. */
export interface ModelTool {
  readonly type: "function";
  readonly name: string;
  readonly description?: string;
  readonly inputSchema: JsonObject;
}

export interface CompiledTool {
  settings: ToolSettings;
  model_tool: ModelTool;
  validate?: Validator;
  /** Whether a person is asked: all are asked, any yes asks. */
  rules: readonly GateRule[];
  execute: Execute;
}

/** What is read of a tool, whichever kind it is. */
interface Definition {
  description: unknown;
  title: unknown;
  schema: unknown;
  execute: unknown;
  resume: unknown;
  explain: unknown;
  rules: readonly GateRule[];
  /** The AI SDK's tools get their options in another shape. */
  is_ai_sdk: boolean;
}

const NAME = /^[A-Za-z0-9_][A-Za-z0-9_./:-]{0,127}$/;

/** @throws SessionError `INVALID_INPUT` naming the tool */
export function compile_tool(name: string, tool: unknown): CompiledTool {
  const owner = `tool ${JSON.stringify(name)}`;
  if (!NAME.test(name)) {
    throw refuse(owner, "its name has to be 1 to 128 letters, digits, or any of _ . / : - after the first");
  }
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
  const model_tool: ModelTool = Object.freeze({
    type: "function",
    name,
    ...(settings.description === undefined ? {} : { description: settings.description }),
    inputSchema: shown,
  });
  const run = execute.bind(tool) as (input: unknown, options: object) => unknown;
  return { settings, model_tool, validate, rules, execute: definition.is_ai_sdk ? as_ai_sdk(run) : run };
}

function read(tool: unknown, owner: string): Definition {
  if (typeof tool !== "object" || tool === null || Array.isArray(tool)) {
    throw refuse(owner, "it has to be an object with input_schema and execute");
  }
  try {
    const fields = fields_of(tool);
    return fields.input_schema === undefined && fields.inputSchema !== undefined
      ? read_ai_sdk(fields, owner)
      : read_agent_tool(fields, owner);
  } catch (thrown) {
    if (thrown instanceof SessionError) throw thrown;
    throw refuse(owner, `it cannot be read: ${message_of(thrown)}`, thrown);
  }
}

type Fields = { readonly [key: PropertyKey]: unknown };

function read_agent_tool(fields: Fields, owner: string): Definition {
  if (fields.needsApproval !== undefined) {
    // Passed over, it would be a gate that stands open.
    throw refuse(owner, "needsApproval belongs to tools of the AI SDK: wrap this one with_approval(tool)");
  }
  const { description, title, input_schema: schema, execute, resume, explain } = fields;
  return { description, title, schema, execute, resume, explain, rules: rules_of(fields), is_ai_sdk: false };
}

/** `needsApproval` is a gate: true always asks, a function says for each call. */
function read_ai_sdk(fields: Fields, owner: string): Definition {
  const { description, title, inputSchema, execute, needsApproval, type } = fields;
  if (type !== undefined && type !== "function" && type !== "dynamic") {
    throw refuse(
      owner,
      `it is a tool of the provider (type ${JSON.stringify(type)}), which is not supported yet`,
    );
  }
  const rules = [...rules_of(fields)];
  if (typeof needsApproval === "function") rules.push(ai_sdk_rule(needsApproval as AiSdkRule));
  else if (needsApproval !== undefined && needsApproval !== false) rules.push(undefined);
  // The AI SDK allows a function that makes the schema when it is first needed.
  const is_lazy = typeof inputSchema === "function" && standard_of(inputSchema) === undefined;
  const schema = is_lazy ? (inputSchema as () => unknown)() : inputSchema;
  return {
    description,
    title,
    schema,
    execute,
    resume: undefined,
    explain: undefined,
    rules,
    is_ai_sdk: true,
  };
}

function rules_of(fields: Fields): readonly GateRule[] {
  const rules = fields[GATES];
  return Array.isArray(rules) ? rules : [];
}

function gate_of(rules: readonly GateRule[]): ToolSettings["gate"] {
  if (rules.length === 0) return "none";
  return rules.some((rule) => rule === undefined) ? "always" : "host";
}

type AiSdkRule = (input: unknown, options: object) => unknown;

function ai_sdk_rule(rule: AiSdkRule): GateRule {
  return (input, call) => rule(input, ai_sdk_options(call as object));
}

/** The history is not given to such tools: it is the Session's, and they may run long after it has grown. */
function ai_sdk_options(context: object): object {
  const { tool_call_id, abort_signal } = fields_of(context);
  return { toolCallId: tool_call_id, messages: [], abortSignal: abort_signal, experimental_context: context };
}

/** Such a tool may yield preliminary results; the last one counts. */
function as_ai_sdk(run: (input: unknown, options: object) => unknown): Execute {
  return async (input, context) => {
    const result = await run(input, ai_sdk_options(context));
    if (typeof fields_of(result)[Symbol.asyncIterator] !== "function") return result;
    let last: unknown;
    for await (const part of result as AsyncIterable<unknown>) last = part;
    return last;
  };
}

function replay_of(resume: unknown, owner: string): boolean {
  if (resume === undefined) return false;
  if (resume === "replay") return true;
  throw refuse(owner, `resume can only be "replay" or left out, not ${printed(resume)}`);
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
  const found: string = typeof value;
  if (found === kind) return value as Primitives[Kind];
  throw refuse(owner, `${field} has to be a ${kind}, not ${printed(value)}`);
}

function printed(value: unknown): string {
  return typeof value === "string" ? JSON.stringify(value) : `a ${typeof value}`;
}

function refuse(owner: string, problem: string, cause?: unknown): SessionError {
  return new SessionError("INVALID_INPUT", `${owner}: ${problem}.`, { cause });
}
