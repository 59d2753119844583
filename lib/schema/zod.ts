/** zod 4 schemas, whose `toJSONSchema` lets each node be looked at. This package does not depend on zod. */
import { message_of, SessionError } from "../errors.js";
import { fields_of } from "../fields.js";
import { path_segment } from "../json.js";
import { load_installed } from "./load.js";
import { ADVICE } from "./marked.js";
import { refused } from "./refusal.js";

/** What zod hands to `override` for every node. */
interface Node {
  zodSchema: unknown;
  jsonSchema: { [keyword: string]: unknown };
  path: (string | number)[];
}

type Converter = (options: object) => unknown;

/** Node types whose values never come out of JSON. */
const NOT_JSON: { readonly [type: string]: string | undefined } = Object.assign(Object.create(null), {
  date: "a date; JSON has none: use z.coerce.date(), or z.iso.datetime()",
  bigint: "a bigint; JSON has none: use z.coerce.bigint(), or z.number()",
  symbol: "a symbol; JSON has none: use z.string()",
  map: "a Map; JSON has none: use z.record()",
  set: "a Set; JSON has none: use z.array()",
  nan: "NaN; JSON has none: use z.number()",
  file: "a file; JSON has none: use z.string() for its path or its base64",
  function: "a function; JSON has none",
  custom:
    "a custom check that does not say what it takes: add .meta({ type: … }) or another keyword of JSON Schema",
  transform: "a transform that does not say what it takes: start from a type, as in z.string().transform(…)",
});

/** What a coercing node takes from JSON. */
const COERCED: { readonly [type: string]: object | undefined } = Object.assign(Object.create(null), {
  date: { type: "string", format: "date-time" },
  bigint: { type: "string", pattern: "^-?[0-9]+$" },
});

/** These say nothing about which values are taken. */
const ANNOTATIONS = new Set([
  "title",
  "description",
  "default",
  "examples",
  "deprecated",
  "readOnly",
  "writeOnly",
  "id",
]);

/**
 * The JSON Schema of the input side.
 * @throws SessionError `INVALID_INPUT` naming each place that cannot be shown to a model
 */
export function zod_json_schema(schema: unknown, place: string): unknown {
  const problems = new Map<string, string>();
  const options = {
    io: "input",
    target: "draft-7",
    // Nodes without a JSON form are judged one by one below; on their own, some would end the conversion and
    // others, such as a coerced date, would end it although they work.
    unrepresentable: "any",
    override: (node: Node) => judge(node, place, problems),
  };
  const described = convert(schema, options, place);
  if (problems.size > 0) {
    // zod visits the last property first.
    const list = [...problems.values()].reverse().join("; ");
    throw new SessionError("INVALID_INPUT", `${list}. ${ADVICE}`);
  }
  return described;
}

function convert(schema: unknown, options: object, place: string): unknown {
  const converter = converter_of(schema);
  if (converter === undefined) {
    throw refused(
      place,
      "is a zod schema that cannot describe itself as a JSON Schema",
      'Import it from "zod", version 4.2 or later, or pass z.toJSONSchema(schema).',
    );
  }
  try {
    return converter(options);
  } catch (thrown) {
    throw refused(
      place,
      `cannot be shown to a model: zod says "${message_of(thrown)}"`,
      "Change that part of it.",
      thrown,
    );
  }
}

/** The schemas of zod/mini, and of zod before 4.2, have no such method; the library has the function. */
function converter_of(schema: unknown): Converter | undefined {
  const { toJSONSchema: method } = fields_of(schema);
  if (typeof method === "function") return (options) => method.call(schema, options);
  const { toJSONSchema: convert } = load_installed("zod/v4/core") ?? {};
  return typeof convert === "function" ? (options) => convert(schema, options) : undefined;
}

/** A node is visited after the nodes it refines, so a later visit to the same path settles an earlier problem. */
function judge(node: Node, place: string, problems: Map<string, string>): void {
  const { jsonSchema } = node;
  const definition = fields_of(fields_of(fields_of(node.zodSchema)._zod).def);
  const type = String(definition.type);
  const where = place + readable(node.path);
  if (type === "undefined" || type === "void") {
    // Only an absent property is undefined: no value in JSON matches.
    if (!has_substance(jsonSchema)) jsonSchema.not = {};
    return;
  }
  if (definition.coerce === true && COERCED[type] && !has_substance(jsonSchema)) {
    Object.assign(jsonSchema, COERCED[type]);
  }
  const bigint_literal =
    type === "literal" && [definition.values].flat().some((value) => typeof value === "bigint");
  const problem = bigint_literal ? NOT_JSON.bigint : NOT_JSON[type];
  if (problem === undefined) return;
  // Of these zod says something all the same, though it takes nothing that JSON has.
  const is_never_taken = bigint_literal || type === "file";
  if (has_substance(jsonSchema) && !is_never_taken) problems.delete(where);
  else problems.set(where, `${where} is ${problem}`);
}

function has_substance(schema: object): boolean {
  return Object.keys(schema).some((keyword) => !ANNOTATIONS.has(keyword));
}

const KEYWORDS_ON_THE_WAY = new Set([
  "properties",
  "$defs",
  "definitions",
  "anyOf",
  "oneOf",
  "allOf",
  "prefixItems",
]);

/** A place in the schema as the place in the arguments it stands for. */
function readable(path: (string | number)[]): string {
  let text = "";
  for (let index = 0; index < path.length; index += 1) {
    const key = path[index] as string | number;
    if (key === "properties") {
      // What follows is a name, whatever it is called.
      index += 1;
      text += path_segment(path[index] ?? "");
    } else if (key === "items") text += "[]";
    else if (key === "additionalProperties") text += "[key]";
    else if (!KEYWORDS_ON_THE_WAY.has(String(key)) && typeof key !== "number") text += path_segment(key);
  }
  return text;
}
