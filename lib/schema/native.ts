/** A JSON Schema as the native side is given it; the model is shown the original. */
import { message_of } from "../errors.js";
import { type JsonObject, type JsonValue, path_segment } from "../json.js";
import { native_pattern } from "./pattern.js";
import { refused } from "./refusal.js";

/** Keywords whose values are data. */
const DATA = new Set(["const", "enum", "default", "examples"]);
/** Keywords whose values are schemas by name. */
const NAMED = new Set([
  "properties",
  "patternProperties",
  "$defs",
  "definitions",
  "dependentSchemas",
  "dependencies",
]);

/** @throws SessionError `INVALID_INPUT` naming the pattern that is no regular expression */
export function native_schema(schema: JsonObject, place: string): JsonObject {
  return of_schema(schema, place) as JsonObject;
}

function of_schema(schema: JsonValue, place: string): JsonValue {
  if (Array.isArray(schema)) return schema.map((item, index) => of_schema(item, place + path_segment(index)));
  if (typeof schema !== "object" || schema === null) return schema;
  const entries = Object.entries(schema).map(([keyword, value]) => {
    return [keyword, of_keyword(keyword, value, place + path_segment(keyword))] as const;
  });
  return Object.fromEntries(entries);
}

function of_keyword(keyword: string, value: JsonValue, place: string): JsonValue {
  if (DATA.has(keyword)) return value;
  if (keyword === "pattern" && typeof value === "string") return pattern_of(value, place);
  if (NAMED.has(keyword)) return of_named(value, place, keyword === "patternProperties");
  return of_schema(value, place);
}

function of_named(schemas: JsonValue, place: string, by_pattern: boolean): JsonValue {
  if (typeof schemas !== "object" || schemas === null || Array.isArray(schemas)) return schemas;
  const entries = Object.entries(schemas).map(([name, schema]) => {
    const where = place + path_segment(name);
    return [by_pattern ? pattern_of(name, where) : name, of_schema(schema, where)] as const;
  });
  return Object.fromEntries(entries);
}

function pattern_of(pattern: string, place: string): string {
  try {
    return native_pattern(pattern);
  } catch (thrown) {
    const problem = `is ${JSON.stringify(pattern)}, which is no regular expression (${message_of(thrown)})`;
    throw refused(place, problem, "Correct it.", thrown);
  }
}
