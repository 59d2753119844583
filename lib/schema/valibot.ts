/** valibot schemas, described by `@valibot/to-json-schema` of the user's own installation. */
import { message_of } from "../errors.js";
import { fields_of } from "../fields.js";
import { load_installed } from "./load.js";
import { marked, NEVER, without_marks } from "./marked.js";
import { refused } from "./refusal.js";

const CONVERTER = "@valibot/to-json-schema";

type Convert = (schema: unknown, options: object) => unknown;

/** The input side. @throws SessionError `INVALID_INPUT` */
export function valibot_json_schema(schema: unknown, place: string): unknown {
  const convert = load_installed(CONVERTER)?.toJsonSchema;
  if (typeof convert !== "function") {
    const advice = `Install ${CONVERTER} beside valibot, or pass a JSON Schema object.`;
    throw refused(place, "is a valibot schema, which cannot describe itself as a JSON Schema", advice);
  }
  return without_marks(converted(convert as Convert, schema, place), place);
}

function converted(convert: Convert, schema: unknown, place: string): unknown {
  try {
    return convert(schema, OPTIONS);
  } catch (thrown) {
    const problem = `cannot be shown to a model: valibot says "${message_of(thrown)}"`;
    throw refused(place, problem, "Change that part of it, or pass a JSON Schema object.", thrown);
  }
}

const OPTIONS = {
  target: "draft-07",
  typeMode: "input",
  overrideSchema: ({ valibotSchema, errors }: { valibotSchema: unknown; errors: unknown }): unknown => {
    const type = String(fields_of(valibotSchema).type);
    if (type === "undefined" || type === "void") return NEVER;
    return errors === undefined ? undefined : marked(KINDS[type] ?? `of valibot's type ${type}`);
  },
  // A check without a JSON form is valibot's own, which judges what the model sends.
  overrideAction: ({ jsonSchema, errors }: { jsonSchema: unknown; errors: unknown }): unknown =>
    errors === undefined ? undefined : jsonSchema,
};

const KINDS: { readonly [type: string]: string | undefined } = Object.assign(Object.create(null), {
  date: "a date; JSON has none: use v.pipe(v.string(), v.isoTimestamp(), v.transform((text) => new Date(text)))",
  bigint: "a bigint; JSON has none: use v.pipe(v.string(), v.digits(), v.transform(BigInt))",
  symbol: "a symbol; JSON has none: use v.string()",
  map: "a Map; JSON has none: use v.record()",
  set: "a Set; JSON has none: use v.array()",
  nan: "NaN; JSON has none: use v.number()",
  function: "a function; JSON has none",
  promise: "a Promise; JSON has none",
  instance: "an instance of a class; JSON has none: start from v.string() or v.object()",
  custom:
    "a custom check that does not say what it takes: start from a type, as in v.pipe(v.string(), v.check(…))",
});
