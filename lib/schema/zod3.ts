/** zod 3 schemas, which cannot describe themselves: the input side, read off their definitions. */
import { type Fields, fields_of } from "../fields.js";
import { JsonError, normalise } from "../json.js";
import { marked, NEVER, without_marks } from "./marked.js";
import { number_schema, string_schema } from "./zod3-checks.js";

type Described = { [keyword: string]: unknown };

/** Deeper than this there is no end: a lazy schema that makes a new one each time. */
const MAX_DEPTH = 200;

/** @throws SessionError `INVALID_INPUT` naming each place that cannot be shown to a model */
export function zod3_json_schema(schema: unknown, place: string): unknown {
  const conversion = new Conversion();
  const described = conversion.of(schema);
  const { definitions } = conversion;
  const whole = Object.keys(definitions).length === 0 ? described : { ...described, definitions };
  return without_marks({ $schema: "http://json-schema.org/draft-07/schema#", ...whole }, place);
}

function type_of(definition: Fields): string {
  const { typeName } = definition;
  return typeof typeName === "string" && typeName.startsWith("Zod") ? typeName.slice(3) : "";
}

class Conversion {
  /** Lazy schemas, which may contain themselves. */
  readonly definitions: { [name: string]: Described } = {};
  readonly #names = new Map<unknown, string>();
  #depth = 0;

  of(schema: unknown): Described {
    this.#depth += 1;
    const { _def } = fields_of(schema);
    const definition = fields_of(_def);
    const described =
      this.#depth > MAX_DEPTH ? marked("nested without end") : this.#by_type(schema, definition);
    this.#depth -= 1;
    const { description } = definition;
    return typeof description === "string" ? { ...described, description } : described;
  }

  #by_type(schema: unknown, definition: Fields): Described {
    const type = type_of(definition);
    const leaf = LEAVES[type];
    if (leaf) return leaf(definition);
    if (type === "Effects" && is_bare_check(definition)) return marked(NOT_JSON.Custom as string);
    const inner = INNER[type];
    if (inner !== undefined) return this.of(definition[inner]);
    switch (type) {
      case "Object":
        return this.#object(definition);
      case "Array":
        return this.#array(definition);
      case "Tuple":
        return this.#tuple(definition);
      case "Record":
        return this.#record(definition);
      case "Union":
      case "DiscriminatedUnion":
        return { anyOf: this.#list(definition.options) };
      case "Intersection":
        return { allOf: [this.of(definition.left), this.of(definition.right)] };
      case "Nullable":
        return { anyOf: [this.of(definition.innerType), { type: "null" }] };
      case "Default":
        return { ...this.of(definition.innerType), ...default_of(definition) };
      case "Lazy":
        return this.#lazy(schema, definition);
      default:
        return marked(NOT_JSON[type] ?? `of zod's type ${type || "unknown"}, which is not known here`);
    }
  }

  #list(schemas: unknown): Described[] {
    const list =
      schemas instanceof Map || !Array.isArray(schemas) ? Object.values(fields_of(schemas)) : schemas;
    return list.map((schema) => this.of(schema));
  }

  #object(definition: Fields): Described {
    const shape = fields_of((definition.shape as () => unknown)());
    const properties = Object.fromEntries(
      Object.entries(shape).map(([name, schema]) => [name, this.of(schema)]),
    );
    const required = Object.keys(shape).filter((name) => !may_be_absent(shape[name], 0));
    const catchall = fields_of(definition.catchall);
    const rest = type_of(fields_of(catchall._def));
    const described: Described = { type: "object", properties };
    if (required.length > 0) described.required = required;
    if (rest !== "" && rest !== "Never") described.additionalProperties = this.of(catchall);
    else if (definition.unknownKeys === "strict") described.additionalProperties = false;
    return described;
  }

  #array(definition: Fields): Described {
    const limit = (name: string): unknown => fields_of(definition[name]).value;
    const exact = limit("exactLength");
    return without_undefined({
      type: "array",
      items: this.of(definition.type),
      minItems: exact ?? limit("minLength"),
      maxItems: exact ?? limit("maxLength"),
    });
  }

  #tuple(definition: Fields): Described {
    const items = this.#list(definition.items);
    const rest = definition.rest ? this.of(definition.rest) : undefined;
    const maxItems = rest ? undefined : items.length;
    return without_undefined({
      type: "array",
      items,
      minItems: items.length,
      maxItems,
      additionalItems: rest,
    });
  }

  #record(definition: Fields): Described {
    const { type: _, ...names } = this.of(definition.keyType);
    const described: Described = { type: "object", additionalProperties: this.of(definition.valueType) };
    if (Object.keys(names).length > 0) described.propertyNames = names;
    return described;
  }

  #lazy(schema: unknown, definition: Fields): Described {
    let name = this.#names.get(schema);
    if (name === undefined) {
      name = `schema${this.#names.size + 1}`;
      this.#names.set(schema, name);
      this.definitions[name] = this.of((definition.getter as () => unknown)());
    }
    // In draft 7 nothing counts beside a reference.
    return { allOf: [{ $ref: `#/definitions/${name}` }] };
  }
}

/** Types that only wrap another, and under which name; of two sides, the one a model sends. */
const INNER: { readonly [type: string]: string | undefined } = Object.assign(Object.create(null), {
  Optional: "innerType",
  Readonly: "innerType",
  Catch: "innerType",
  Branded: "type",
  Effects: "schema",
  Pipeline: "in",
});

/** What `z.instanceof` and `z.custom` make: a check, and nothing that says which values it takes. */
function is_bare_check({ effect, schema }: Fields): boolean {
  return fields_of(effect).type === "refinement" && type_of(fields_of(fields_of(schema)._def)) === "Any";
}

/** Whether an object may leave the property out. */
function may_be_absent(schema: unknown, depth: number): boolean {
  const definition = fields_of(fields_of(schema)._def);
  const type = type_of(definition);
  if (ABSENT.has(type)) return true;
  if (depth > MAX_DEPTH) return false;
  const inner = type === "Nullable" ? "innerType" : INNER[type];
  if (inner !== undefined) return may_be_absent(definition[inner], depth + 1);
  return type === "Union" && (definition.options as unknown[]).some((one) => may_be_absent(one, depth + 1));
}

const ABSENT = new Set(["Optional", "Default", "Catch", "Undefined", "Void", "Any", "Unknown"]);

type Leaf = (definition: Fields) => Described;

const LEAVES: { readonly [type: string]: Leaf | undefined } = Object.assign(Object.create(null), {
  String: string_schema,
  Number: number_schema,
  Boolean: () => ({ type: "boolean" }),
  Null: () => ({ type: "null" }),
  Any: () => ({}),
  Unknown: () => ({}),
  Never: () => NEVER,
  Undefined: () => NEVER,
  Void: () => NEVER,
  Literal: literal_schema,
  Enum: (definition: Fields) => ({ type: "string", enum: definition.values }),
  NativeEnum: (definition: Fields) => ({ enum: enum_values(fields_of(definition.values)) }),
  Date: (definition: Fields) =>
    definition.coerce === true ? { type: "string", format: "date-time" } : marked(NOT_JSON.Date as string),
  BigInt: (definition: Fields) =>
    definition.coerce === true
      ? { type: "string", pattern: "^-?[0-9]+$" }
      : marked(NOT_JSON.BigInt as string),
});

function literal_schema({ value }: Fields): Described {
  if (value === undefined) return NEVER;
  if (typeof value === "bigint" || typeof value === "symbol")
    return marked(`a ${typeof value}; JSON has none`);
  return { const: value };
}

/** TypeScript writes the names of numbers back into a numeric enum. */
function enum_values(values: Fields): unknown[] {
  const names = Object.keys(values).filter((name) => typeof values[String(values[name])] !== "number");
  return [...new Set(names.map((name) => values[name]))];
}

function default_of(definition: Fields): Described {
  try {
    return { default: normalise((definition.defaultValue as () => unknown)(), "default").value };
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    return {};
  }
}

const NOT_JSON: { readonly [type: string]: string | undefined } = Object.assign(Object.create(null), {
  Date: "a date; JSON has none: use z.coerce.date(), or z.string().datetime()",
  BigInt: "a bigint; JSON has none: use z.coerce.bigint(), or z.number()",
  Symbol: "a symbol; JSON has none: use z.string()",
  Map: "a Map; JSON has none: use z.record()",
  Set: "a Set; JSON has none: use z.array()",
  NaN: "NaN; JSON has none: use z.number()",
  Function: "a function; JSON has none",
  Promise: "a Promise; JSON has none",
  Custom:
    "an instance, or a custom check that does not say what it takes: refine a type, as in z.string().refine(…), or " +
    "z.unknown() where it takes any",
});

function without_undefined(described: Described): Described {
  return Object.fromEntries(Object.entries(described).filter(([, value]) => value !== undefined));
}
