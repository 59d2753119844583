/** Tools made with the AI SDK's `tool()`, of its lines 5, 6 and 7; so also those of its MCP client. */
import { type Fields, fields_of } from "../fields.js";
import { type JsonObject, normalise } from "../json.js";
import { standard_of } from "../schema/standard.js";
import type { GateRule } from "./define.js";
import { type Definition, type Execute, refuse, rules_of } from "./definition.js";
import { is_provider_tool } from "./provider.js";
import { is_async_iterable, run_through } from "./streaming.js";

/** @throws SessionError `INVALID_INPUT` for what only the AI SDK's own loop can run */
export function read_ai_sdk(fields: Fields, owner: string): Definition {
  const { type, contextSchema, toModelOutput } = fields;
  if (type !== undefined && type !== "function" && type !== "dynamic" && !is_provider_tool(fields)) {
    throw refuse(owner, `its type ${JSON.stringify(type)} is not known`);
  }
  if (contextSchema !== undefined) {
    throw refuse(
      owner,
      "it wants a context (contextSchema), which only generateText and streamText give. Let its execute close over " +
        "what it needs, and leave contextSchema out",
    );
  }
  if (toModelOutput !== undefined && typeof toModelOutput !== "function") {
    throw refuse(owner, `toModelOutput has to be a function, not a ${typeof toModelOutput}`);
  }
  return {
    description: description_of(fields.description),
    title: fields.title,
    schema: schema_of(fields.inputSchema),
    execute: fields.execute,
    resume: undefined,
    explain: undefined,
    rules: gates_of(fields),
    is_ai_sdk: true,
    to_model_output: toModelOutput as Definition["to_model_output"],
    more: more_of(fields, owner),
  };
}

/** AI SDK 7 allows a function of the context; here there is none. */
function description_of(description: unknown): unknown {
  return typeof description === "function"
    ? (description as (options: object) => unknown)({ context: {} })
    : description;
}

/** The AI SDK allows a function that makes the schema when it is first needed. */
function schema_of(schema: unknown): unknown {
  const is_lazy = typeof schema === "function" && standard_of(schema) === undefined;
  return is_lazy ? (schema as () => unknown)() : schema;
}

type AiSdkRule = (input: unknown, options: object) => unknown;

/** `needsApproval` is a gate: true always asks, a function says for each call. */
function gates_of(fields: Fields): GateRule[] {
  const { needsApproval } = fields;
  const rules = [...rules_of(fields)];
  if (typeof needsApproval === "function") {
    rules.push((input, call) => (needsApproval as AiSdkRule)(input, ai_sdk_options(call as object)));
  } else if (needsApproval !== undefined && needsApproval !== false) rules.push(undefined);
  return rules;
}

/** What a provider's adapter reads of a tool besides its schema. */
function more_of({ providerOptions, strict, inputExamples }: Fields, owner: string): JsonObject {
  const more = Object.entries({ providerOptions, strict, inputExamples });
  const given = more.filter(([, value]) => value !== undefined);
  return normalise(Object.fromEntries(given), owner).value as JsonObject;
}

/** The history is not given to such tools: it is the Session's, and they may run long after it has grown. */
function ai_sdk_options(context: object): object {
  const { tool_call_id, abort_signal } = fields_of(context);
  return {
    toolCallId: tool_call_id,
    messages: [],
    abortSignal: abort_signal,
    context,
    experimental_context: context,
  };
}

/** Such a tool may yield preliminary results; the last one counts. */
export function as_ai_sdk(run: (input: unknown, options: object) => unknown): Execute {
  return async (input, context, preliminary) => {
    const result = await run(input, ai_sdk_options(context));
    if (!is_async_iterable(result)) return result;
    const signal = fields_of(context).abort_signal as AbortSignal | undefined;
    return run_through(result, { returns: false, signal, preliminary });
  };
}
