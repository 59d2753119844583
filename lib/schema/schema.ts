/** A tool's `input_schema` in the two forms it is needed in: for the model to see, and to judge arguments by. */
import { SessionError } from "../errors.js";
import { JsonError, type JsonObject, type JsonValue, normalise } from "../json.js";
import { json_schema_of } from "./describe.js";
import { native_schema } from "./native.js";
import { validator_of } from "./standard.js";

/** What a schema says is wrong, and where: the steps to the value, none for the value itself. */
export interface SchemaIssue {
  path: (string | number)[];
  message: string;
}

export type Verdict = { ok: true; value: unknown } | { ok: false; issues: SchemaIssue[] };

/** Judges arguments; the value it gives back is what `execute` receives. It may throw what the schema throws. */
export type Validator = (input: unknown) => Promise<Verdict>;

export interface InputSchema {
  /** What the model is shown: always a JSON Schema of type `object`. */
  shown: JsonObject;
  /** Set for a JSON Schema, by which the core validates. */
  json_schema?: JsonObject;
  /** Set for a Standard Schema, whose own parse decides. */
  validate?: Validator;
}

/** The property a tool with `explain: true` shows in addition. The core takes it out before validation. */
export const EXPLANATION = "model_explanation";

/**
 * @param owner how messages name the schema, such as `tool "weather"`
 * @throws SessionError `INVALID_INPUT` for a schema that cannot be shown to a model
 */
export function input_schema(schema: unknown, owner: string, explain = false): InputSchema {
  const place = `${owner}: input_schema`;
  const validate = validator_of(schema);
  const described = as_object(json_schema_of(schema, place), place);
  const object_schema = of_type_object(described, place);
  const shown = explain ? with_explanation(object_schema, place) : object_schema;
  return validate ? { shown, validate } : { shown, json_schema: native_schema(described, place) };
}

function as_object(schema: unknown, place: string): JsonObject {
  try {
    return normalise(schema, place).value as JsonObject;
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    throw new SessionError("INVALID_INPUT", `${error.message}.`, { cause: error });
  }
}

/** Arguments are always an object, and providers want the schema to say so at its top, with its properties. */
function of_type_object(referring: JsonObject, place: string): JsonObject {
  const schema = with_root(referring);
  const { type } = schema;
  const named = schema.properties === undefined ? { ...schema, properties: {} } : schema;
  if (type === "object") return named;
  if (type === undefined) return { type: "object", ...named };
  if (Array.isArray(type) && type.includes("object")) return { ...named, type: "object" };
  throw new SessionError(
    "INVALID_INPUT",
    `${place} is of type ${JSON.stringify(type)}, but a model's arguments are always an object. ` +
      "Put the value into a property of an object schema.",
  );
}

/** Of a schema that is only a reference into itself, a model would see no property: what it refers to is put in. */
function with_root(schema: JsonObject): JsonObject {
  let whole = schema;
  const seen = new Set<unknown>();
  for (let to = whole.$ref; typeof to === "string" && !seen.has(to); to = whole.$ref) {
    seen.add(to);
    const target = referred(schema, to);
    if (target === undefined) break;
    const { $ref: _, ...beside } = whole;
    whole = { ...target, ...beside };
    if (target.$ref !== undefined) whole.$ref = target.$ref;
  }
  return whole;
}

/** What a reference within the schema refers to. */
function referred(schema: JsonObject, to: string): JsonObject | undefined {
  if (!to.startsWith("#/")) return undefined;
  let value: JsonValue | undefined = schema;
  for (const step of to.slice(2).split("/")) {
    const key = decoded(step).replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as JsonObject)[key];
  }
  const is_object = typeof value === "object" && value !== null && !Array.isArray(value);
  return is_object ? (value as JsonObject) : undefined;
}

function decoded(step: string): string {
  try {
    return decodeURIComponent(step);
  } catch {
    return step;
  }
}

function with_explanation(schema: JsonObject, place: string): JsonObject {
  const properties = (schema.properties ?? {}) as JsonObject;
  if (Object.hasOwn(properties, EXPLANATION)) {
    throw new SessionError(
      "INVALID_INPUT",
      `${place}.${EXPLANATION} is taken: with explain: true this property is added to what the model sees. ` +
        "Give the property another name, or leave explain out.",
    );
  }
  const explanation = {
    type: "string",
    description:
      "For the person who may be asked to approve this call: one sentence on what it does and why.",
  };
  return { ...schema, properties: { ...properties, [EXPLANATION]: explanation } };
}
