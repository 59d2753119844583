/** Finds the JSON Schema of a schema's input side, through the schema object itself. */
import { message_of } from "../errors.js";
import { refused } from "./refusal.js";
import { fields_of, is_ai_sdk_schema, standard_of } from "./standard.js";
import { zod_json_schema } from "./zod.js";

/**
 * @param place how messages name the schema, such as `tool "weather": input_schema`
 * @throws SessionError `INVALID_INPUT` when it cannot be shown to a model
 */
export function json_schema_of(schema: unknown, place: string): unknown {
  if (is_ai_sdk_schema(schema)) return ai_sdk_json_schema(schema, place);
  const fields = fields_of(schema);
  if (fields._zod !== undefined) return zod_json_schema(schema, place);
  const standard = standard_of(schema);
  if (standard) return standard_json_schema(standard, place);
  if (fields._def !== undefined) throw refused(place, "is a schema of an old zod", "Use zod 4.2 or later.");
  return plain_json_schema(schema, place);
}

function ai_sdk_json_schema(schema: unknown, place: string): unknown {
  const { jsonSchema } = fields_of(schema);
  if (typeof fields_of(jsonSchema).then === "function") {
    throw refused(place, "makes its JSON Schema asynchronously", "Await it and pass the JSON Schema itself.");
  }
  return plain_json_schema(jsonSchema, place);
}

/** Standard JSON Schema, the optional part of the contract by which a schema describes itself. */
function standard_json_schema(standard: { readonly [key: PropertyKey]: unknown }, place: string): unknown {
  const vendor = typeof standard.vendor === "string" ? standard.vendor : "unknown";
  const converter = fields_of(standard.jsonSchema);
  if (typeof converter.input !== "function") throw refused(place, ...without_json_schema(vendor));
  try {
    return (converter as { input(options: object): unknown }).input({ target: "draft-07" });
  } catch (thrown) {
    throw refused(
      place,
      `cannot be shown to a model: ${vendor} says "${message_of(thrown)}"`,
      "Use types that JSON has on the input side, or pass a JSON Schema object.",
      thrown,
    );
  }
}

function without_json_schema(vendor: string): [problem: string, advice: string] {
  const problem = `is a ${vendor} schema that cannot describe itself as a JSON Schema`;
  if (vendor === "zod")
    return [problem, 'Use zod 4.2 or later (import from "zod"), or pass a JSON Schema object.'];
  if (vendor === "valibot") {
    return [
      problem,
      "Wrap it with toStandardJsonSchema() of @valibot/to-json-schema, or pass a JSON Schema object.",
    ];
  }
  return [
    problem,
    "Use a version with Standard JSON Schema (`~standard.jsonSchema`), or pass a JSON Schema object.",
  ];
}

const KEYWORDS = new Set(
  (
    "$schema $id $ref $defs $comment definitions type properties patternProperties additionalProperties required " +
    "oneOf anyOf allOf not if enum const title description minProperties maxProperties propertyNames " +
    "unevaluatedProperties dependentRequired dependentSchemas default examples"
  ).split(" "),
);

/** Anything but a JSON Schema object is refused: read as one, it would silently allow everything. */
function plain_json_schema(schema: unknown, place: string): unknown {
  if (schema === undefined || schema === null) {
    const advice = 'A tool without parameters has { type: "object", properties: {} }.';
    throw refused(place, "is missing", advice);
  }
  if (typeof schema !== "object" || Array.isArray(schema)) {
    throw refused(
      place,
      `is ${kind_of(schema)}`,
      "Pass a Standard Schema such as z.object({ … }), or a JSON Schema object.",
    );
  }
  const entries = Object.entries(schema);
  const bare = entries.find(([, value]) => standard_of(value));
  if (bare) {
    throw refused(
      place,
      `holds a schema in "${bare[0]}" but is none itself`,
      "Wrap the properties, as in z.object({ … }).",
    );
  }
  if (entries.length > 0 && !entries.some(([key]) => KEYWORDS.has(key))) {
    throw refused(
      place,
      "has no keyword of JSON Schema",
      'List parameters under "properties": { type: "object", properties: { … } }.',
    );
  }
  return schema;
}

function kind_of(value: unknown): string {
  if (Array.isArray(value)) return "an array";
  return typeof value === "function" ? "a function" : `a ${typeof value}`;
}
