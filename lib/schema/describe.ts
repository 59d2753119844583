/** Finds the JSON Schema of a schema's input side, through the schema object itself. */
import { message_of } from "../errors.js";
import { type Fields, fields_of } from "../fields.js";
import { arktype_json_schema } from "./arktype.js";
import { refused } from "./refusal.js";
import { is_ai_sdk_schema, is_zod3, standard_of } from "./standard.js";
import { valibot_json_schema } from "./valibot.js";
import { zod_json_schema } from "./zod.js";
import { zod3_json_schema } from "./zod3.js";

/**
 * @param place how messages name the schema, such as `tool "weather": input_schema`
 * @throws SessionError `INVALID_INPUT` when it cannot be shown to a model
 */
export function json_schema_of(schema: unknown, place: string): unknown {
  if (is_ai_sdk_schema(schema)) return ai_sdk_json_schema(schema, place);
  const fields = fields_of(schema);
  if (fields._zod !== undefined) return zod_json_schema(schema, place);
  if (is_zod3(schema)) return zod3_json_schema(schema, place);
  const standard = standard_of(schema);
  if (standard) return standard_schema(schema, standard, place);
  return plain_json_schema(schema, place);
}

function ai_sdk_json_schema(schema: unknown, place: string): unknown {
  const { jsonSchema } = fields_of(schema);
  if (typeof fields_of(jsonSchema).then === "function") {
    throw refused(place, "makes its JSON Schema asynchronously", "Await it and pass the JSON Schema itself.");
  }
  return plain_json_schema(jsonSchema, place);
}

function standard_schema(schema: unknown, standard: Fields, place: string): unknown {
  if (standard.vendor === "arktype") return arktype_json_schema(schema, place);
  const converter = fields_of(standard.jsonSchema);
  if (typeof converter.input === "function") return standard_json_schema(standard, place);
  if (standard.vendor === "valibot") return valibot_json_schema(schema, place);
  throw refused(
    place,
    `is a schema of ${vendor_of(standard)} that cannot describe itself as a JSON Schema`,
    "Use a version with Standard JSON Schema (`~standard.jsonSchema`), or pass a JSON Schema object.",
  );
}

/** Standard JSON Schema, the optional part of the contract by which a schema describes itself. */
function standard_json_schema(standard: Fields, place: string): unknown {
  try {
    return (standard.jsonSchema as { input(options: object): unknown }).input({ target: "draft-07" });
  } catch (thrown) {
    throw refused(
      place,
      `cannot be shown to a model: ${vendor_of(standard)} says "${message_of(thrown)}"`,
      "Use types that JSON has on the input side, or pass a JSON Schema object.",
      thrown,
    );
  }
}

function vendor_of({ vendor }: Fields): string {
  return typeof vendor === "string" && vendor !== "" ? vendor : "an unknown library";
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
  return `a ${typeof value}`;
}
