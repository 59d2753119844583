/** The arguments of a tool call as a model wrote them. */
import { message_of } from "../errors.js";
import { JsonError, type JsonObject, type JsonValue, normalise, well_formed } from "../json.js";

export interface Arguments {
  input?: JsonObject;
  input_text?: string;
  problem?: string;
}

/**
 * `input` where they are a JSON object; none at all count as `{}`. Else the text as it came, and `problem`: what
 * is wrong with it, as the end of "The arguments cannot be used: …".
 */
export function arguments_of(raw: unknown): Arguments {
  if (raw === undefined || raw === null) return { input: {} };
  if (typeof raw !== "string") return checked(raw, undefined);
  if (raw.trim() === "") return { input: {} };
  try {
    return checked(JSON.parse(raw) as unknown, raw);
  } catch (thrown) {
    return { input_text: well_formed(raw), problem: `they are not valid JSON: ${message_of(thrown)}` };
  }
}

/** Specification v2 and later send text; an object from a careless provider is taken as well. */
function checked(parsed: unknown, raw: string | undefined): Arguments {
  try {
    const { value, text } = normalise(parsed, "input");
    if (is_object(value)) return { input: value };
    return { input_text: well_formed(raw ?? text), problem: `they are ${kind_of(value)}, not a JSON object` };
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    return { input_text: well_formed(raw ?? ""), problem: error.message };
  }
}

function is_object(value: JsonValue): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function kind_of(value: JsonValue): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "an array" : `a ${typeof value}`;
}
