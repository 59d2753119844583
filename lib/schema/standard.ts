/** Standard Schema v1 and the AI SDK's own schema objects, recognised by what they offer. */
import { message_of } from "../errors.js";
import { type Fields, fields_of } from "../fields.js";
import type { SchemaIssue, Validator, Verdict } from "./schema.js";

/** Whether it is a schema of zod 3, of any version and any copy of it. */
export function is_zod3(schema: unknown): boolean {
  const { _def: definition, _zod: newer, safeParseAsync } = fields_of(schema);
  const { typeName } = fields_of(definition);
  return newer === undefined && typeof safeParseAsync === "function" && typeof typeName === "string";
}

/** The `~standard` member of a Standard Schema v1. */
export function standard_of(schema: unknown): Fields | undefined {
  const standard = fields_of(fields_of(schema)["~standard"]);
  return typeof standard.validate === "function" ? standard : undefined;
}

/** How the AI SDK marks what its `jsonSchema()` and `zodSchema()` return. */
const AI_SDK_SCHEMA = Symbol.for("vercel.ai.schema");

export function is_ai_sdk_schema(schema: unknown): boolean {
  return fields_of(schema)[AI_SDK_SCHEMA] === true;
}

/** The schema's own parse, or nothing for a plain JSON Schema. */
export function validator_of(schema: unknown): Validator | undefined {
  const standard = standard_of(schema);
  if (standard) return async (input) => standard_verdict(await call(standard, "validate", input));
  if (is_zod3(schema))
    return async (input) => zod3_verdict(await call(fields_of(schema), "safeParseAsync", input));
  if (is_ai_sdk_schema(schema) && typeof fields_of(schema).validate === "function") {
    return async (input) => ai_sdk_verdict(await call(fields_of(schema), "validate", input));
  }
  return undefined;
}

function call(owner: Fields, method: string, input: unknown): unknown {
  return (owner as { [key: string]: (value: unknown) => unknown })[method]?.(input);
}

function standard_verdict(result: unknown): Verdict {
  const { issues, value } = fields_of(result);
  if (issues === undefined || issues === null) return { ok: true, value };
  // arktype's list is an array of its own kind, other libraries' may be any iterable.
  const list =
    typeof fields_of(issues)[Symbol.iterator] === "function" ? [...(issues as Iterable<unknown>)] : [];
  return { ok: false, issues: list.map(issue_of) };
}

/** An issue's path holds keys, or objects that carry a key. */
function issue_of(issue: unknown): SchemaIssue {
  const { message, path } = fields_of(issue);
  // An array of our own: arktype's would make more of its kind.
  const keys = Array.isArray(path) ? Array.from(path, (segment) => fields_of(segment).key ?? segment) : [];
  return {
    path: keys.map((key) => (typeof key === "number" ? key : String(key))),
    message: typeof message === "string" && message !== "" ? message : "is not valid",
  };
}

/** zod before 3.24, which is no Standard Schema yet; its issues have the same fields. */
function zod3_verdict(result: unknown): Verdict {
  const { success, data, error } = fields_of(result);
  return success === true ? { ok: true, value: data } : standard_verdict({ issues: fields_of(error).issues });
}

function ai_sdk_verdict(result: unknown): Verdict {
  const { success, value, error } = fields_of(result);
  if (success === true) return { ok: true, value };
  return { ok: false, issues: [{ path: [], message: message_of(error) }] };
}
