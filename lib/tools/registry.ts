/** The Agent's tools: how the core and the model are told about them, and how their code is run. */
import { isDeepStrictEqual } from "node:util";
import type { ToolCallInfo, ToolContext } from "../../types/tool.js";
import { found, is_thrown, message_of, SessionError } from "../errors.js";
import { JsonError, type JsonObject, normalise } from "../json.js";
import type { Verdict } from "../schema/schema.js";
import { type CompiledTool, compile_tool, type ModelTool, type ToolSettings } from "./compile.js";
import { tells } from "./define.js";
import { type ModelOutput, model_output_of } from "./model-output.js";
import { judged_problems } from "./problems.js";

export type { ModelTool, ToolSettings } from "./compile.js";

/** A call as the core hands it over. */
export interface ToolCall {
  /** The native handle of the Session: call ids are unique only within one. */
  session: number;
  tool_call_id: string;
  tool_name: string;
  /** A copy of its own, which the tool may change. */
  input: unknown;
  /** What it came to when it was validated, in this process or an earlier one. */
  validated_input?: unknown;
}

/** JSON text of an input to the core, ready to hand over. */
export type InputJson = string;

export class ToolRegistry {
  /** For the settings of the native Agent. */
  readonly settings: readonly ToolSettings[];
  /** For the model's request; frozen. */
  readonly model_tools: readonly ModelTool[];
  // A Map: a model may name `__proto__` or `constructor`, and an object would have it.
  readonly #tools = new Map<string, CompiledTool>();
  /** What `prepare` has parsed and `enter` has not taken yet, by Session and call. */
  readonly #parsed = new Map<number, Map<string, { value: unknown }>>();

  /** @throws SessionError `INVALID_INPUT` naming the tool */
  constructor(tools: unknown) {
    const model_tools: ModelTool[] = [];
    for (const [name, tool] of entries_of(tools)) {
      const compiled = compile_tool(name, tool);
      const is_executed = "settings" in compiled;
      if (is_executed) this.#tools.set(name, compiled);
      model_tools.push(deep_frozen(is_executed ? compiled.model_tool : compiled));
    }
    this.settings = [...this.#tools.values()].map((tool) => tool.settings);
    this.model_tools = Object.freeze(model_tools);
  }

  /** Validates by the tool's own schema and asks its gate. Never rejects; resolves to a `tool_prepared` input. */
  async prepare(call: ToolCall, info: ToolCallInfo): Promise<InputJson> {
    try {
      const tool = this.#tools.get(call.tool_name);
      if (!tool) return prepared(call, { error: no_such_tool(call.tool_name) });
      const verdict = await judge(tool, call.input);
      if (!verdict.ok) return prepared(call, { invalid: judged_problems(call, verdict.issues) });
      const gate = await ask_gate(tool, verdict.value, info);
      // Kept after the gate was asked: a call that fails there is never entered.
      if (tool.validate) this.#keep(call, verdict.value);
      return prepared_valid(call, verdict.value, gate);
    } catch (thrown) {
      return prepared(call, { error: message_of(thrown) });
    }
  }

  /** Looks whether a call that waits could still be entered; resolves to an input that says why not. */
  async check(call: ToolCall): Promise<InputJson | undefined> {
    try {
      const tool = this.#tools.get(call.tool_name);
      const verdict = tool && (await judge(tool, call.input));
      if (verdict === undefined) return prepared(call, { invalid: no_such_tool(call.tool_name) });
      if (!verdict.ok) return prepared(call, { invalid: judged_problems(call, verdict.issues) });
      const other = becomes_another(call, verdict.value);
      if (other !== undefined) return prepared(call, { invalid: other });
      if (tool?.validate) this.#keep(call, verdict.value);
      return undefined;
    } catch (thrown) {
      return prepared(call, { invalid: message_of(thrown) });
    }
  }

  /**
   * Runs `execute`. Never rejects; resolves to a `tool_settled` input once the tool has ended.
   * @param preliminary is given the JSON of each result that is yielded before the end
   */
  async enter(
    call: ToolCall,
    context: ToolContext,
    preliminary?: (result_json: string) => void,
  ): Promise<InputJson> {
    try {
      const tool = this.#tools.get(call.tool_name);
      if (!tool) return settled_error(call, no_such_tool(call.tool_name));
      const verdict = await this.#input_of(tool, call);
      if (verdict.ok === "another") return not_entered(call, verdict.why, context.resumed);
      if (!verdict.ok) {
        const problems = judged_problems(call, verdict.issues);
        return not_entered(call, problems, context.resumed);
      }
      const yielded = preliminary && ((result: unknown) => preliminary(normalise(result, "result").text));
      const output = await tool.execute(verdict.value, context, yielded);
      const { text } = normalise(output, "result");
      if (!tool.to_model_output) return settled_ok(call, text);
      const asked = { toolCallId: call.tool_call_id, input: verdict.value, output };
      return settled_ok(call, text, await model_output_of(tool.to_model_output, asked));
    } catch (thrown) {
      return settled_error(call, is_thrown(thrown, JsonError) ? not_kept(call, thrown) : message_of(thrown));
    }
  }

  /** Drops what was kept of one call, or of all calls of a Session. */
  forget(session: number, tool_call_id?: string): void {
    if (tool_call_id === undefined) this.#parsed.delete(session);
    else this.#parsed.get(session)?.delete(tool_call_id);
  }

  /** What `prepare` has parsed. After a restart there is nothing: it is parsed again, and has to be the same. */
  async #input_of(tool: CompiledTool, call: ToolCall): Promise<Verdict | { ok: "another"; why: string }> {
    const kept = this.#parsed.get(call.session)?.get(call.tool_call_id);
    this.forget(call.session, call.tool_call_id);
    if (kept !== undefined) return { ok: true, value: kept.value };
    const verdict = await judge(tool, call.input);
    const why = verdict.ok ? becomes_another(call, verdict.value) : undefined;
    return why === undefined ? verdict : { ok: "another", why };
  }

  #keep({ session, tool_call_id }: ToolCall, value: unknown): void {
    const calls = this.#parsed.get(session) ?? new Map();
    this.#parsed.set(session, calls.set(tool_call_id, { value }));
  }
}

function entries_of(tools: unknown): [string, unknown][] {
  if (tools === undefined) return [];
  if (typeof tools !== "object" || tools === null || Array.isArray(tools)) {
    throw new SessionError(
      "INVALID_INPUT",
      `tools has to be an object that names each tool: { my_tool: … }; it is ${found(tools)}.`,
    );
  }
  return Object.entries(tools);
}

async function judge(tool: CompiledTool, input: unknown): Promise<Verdict> {
  return tool.validate ? tool.validate(input) : { ok: true, value: input };
}

interface Gate {
  ask: boolean;
  /** What the tool itself says of the call. */
  approval?: JsonObject;
}

/** Once one rule has asked, only those are asked that say what is shown. */
async function ask_gate(tool: CompiledTool, input: unknown, info: ToolCallInfo): Promise<Gate> {
  const gate: Gate = { ask: false };
  for (const rule of tool.rules) {
    if (tells(rule)) {
      const { ask, approval } = await rule(input, info);
      gate.ask ||= ask;
      gate.approval ??= approval;
    } else if (!gate.ask) {
      gate.ask = rule === undefined || (await rule(input, info)) !== false;
    }
  }
  return gate;
}

type Prepared = { invalid: string } | { error: string };

function prepared(call: ToolCall, outcome: Prepared): InputJson {
  return JSON.stringify({ input: "tool_prepared", tool_call_id: call.tool_call_id, ...outcome });
}

/** Put together as text, as the value is already there as JSON and may be large. */
function prepared_valid(call: ToolCall, value: unknown, { ask, approval }: Gate): InputJson {
  const id = JSON.stringify(call.tool_call_id);
  const told = approval === undefined ? "" : `,"approval":${normalise(approval, "approval").text}`;
  const valid = `{"input":${shown_input(call, value)},"ask":${ask}${told}}`;
  return `{"input":"tool_prepared","tool_call_id":${id},"valid":${valid}}`;
}

/** What a person is shown: the parsed value, or what the model sent where a transform left JSON. */
function shown_input(call: ToolCall, value: unknown): string {
  try {
    return normalise(value, "input").text;
  } catch (error) {
    if (!is_thrown(error, JsonError)) throw error;
    return normalise(call.input, "input").text;
  }
}

/** Put together as text, as the result is already there as JSON and may be large. */
function settled_ok({ tool_call_id }: ToolCall, result_json: string, shown?: ModelOutput): InputJson {
  const id = JSON.stringify(tool_call_id);
  const beside = shown === undefined ? "" : `,"model_output":${JSON.stringify(shown)}`;
  return `{"input":"tool_settled","tool_call_id":${id},"ok":${result_json}${beside}}`;
}

/** It must not read as if it had not been executed. */
function not_kept({ tool_name }: ToolCall, error: JsonError): string {
  return `The tool ${JSON.stringify(tool_name)} was executed, but its result cannot be kept: ${error.message}.`;
}

function settled_error(call: ToolCall, error: string): InputJson {
  return JSON.stringify({ input: "tool_settled", tool_call_id: call.tool_call_id, error });
}

function no_such_tool(name: string): string {
  return `There is no tool ${JSON.stringify(name)}.`;
}

/** Where it was entered before, what it asked stays to be answered. */
function not_entered(call: ToolCall, why: string, resumed: boolean): InputJson {
  if (resumed) return prepared(call, { invalid: why });
  return JSON.stringify({ input: "tool_settled", tool_call_id: call.tool_call_id, cannot_go_on: why });
}

/** What was approved is what runs: why the arguments are something else now, where they are. */
function becomes_another(call: ToolCall, value: unknown): string | undefined {
  if (call.validated_input === undefined) return undefined;
  const now = JSON.parse(shown_input(call, value));
  if (isDeepStrictEqual(now, JSON.parse(JSON.stringify(call.validated_input)))) return undefined;
  return (
    `The schema of ${JSON.stringify(call.tool_name)} makes something else of the recorded arguments now than when ` +
    "they were checked, so the call cannot go on."
  );
}

function deep_frozen<Value>(value: Value): Value {
  if (typeof value === "object" && value !== null) {
    for (const member of Object.values(value)) deep_frozen(member);
    Object.freeze(value);
  }
  return value;
}
