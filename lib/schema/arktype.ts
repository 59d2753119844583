/** arktype's types, which describe themselves; what they cannot say is asked for by name. */
import { message_of } from "../errors.js";
import { fields_of } from "../fields.js";
import { marked, NEVER, without_marks } from "./marked.js";
import { refused } from "./refusal.js";

/** What arktype hands over of a node it has no JSON Schema for. */
interface Unsaid {
  readonly code: string;
  readonly base: { readonly [keyword: string]: unknown };
  readonly [field: string]: unknown;
}

/** The input side. @throws SessionError `INVALID_INPUT` */
export function arktype_json_schema(schema: unknown, place: string): unknown {
  const input = fields_of(schema).in;
  const convert = fields_of(input).toJsonSchema;
  if (typeof convert !== "function") {
    const advice = "Use arktype 2.1 or later, or pass a JSON Schema object.";
    throw refused(place, "is an arktype type that cannot describe itself as a JSON Schema", advice);
  }
  try {
    return without_marks(convert.call(input, { target: "draft-07", fallback: { default: said } }), place);
  } catch (thrown) {
    if (fields_of(thrown).code === "INVALID_INPUT") throw thrown;
    const problem = `cannot be shown to a model: arktype says "${message_of(thrown)}"`;
    throw refused(place, problem, "Change that part of it, or pass a JSON Schema object.", thrown);
  }
}

/** What is only a further check is arktype's own, which judges what the model sends. */
function said(unsaid: Unsaid): unknown {
  const { code, base } = unsaid;
  switch (code) {
    case "date":
      return marked("a Date; JSON has none: use string.date.parse");
    case "domain":
      return unsaid.domain === "undefined" ? NEVER : marked(`a ${unsaid.domain}; JSON has none`);
    case "proto":
      return marked(`of the class ${String(fields_of(unsaid.proto).name)}; JSON has none`);
    case "unit":
      return unsaid.unit === undefined ? NEVER : marked(`a ${typeof unsaid.unit}; JSON has none`);
    case "symbolKey":
      return unsaid.optional === false && unsaid.key !== null
        ? marked("keyed by a symbol; JSON has none")
        : base;
    case "patternIntersection":
      return { ...base, allOf: [...list(base.allOf), { pattern: unsaid.pattern }] };
    case "arrayPostfix":
      return { ...base, items: { anyOf: [base.items, ...list(unsaid.elements)] } };
    default:
      return base;
  }
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
