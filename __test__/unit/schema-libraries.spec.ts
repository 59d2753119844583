/** Schemas of each library: what the model is shown, what passes, and what is refused by name and path. */
import { Type as old_type } from "@sinclair/typebox";
import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import { Type } from "typebox";
import * as v from "valibot";
import { describe, expect, it } from "vitest";
import * as mini from "zod/mini";
import { z } from "zod-3";
import type { SessionError } from "../../lib/errors.js";
import { input_schema } from "../../lib/schema/schema.js";

const shown = (schema: unknown): unknown => {
  const { $schema: _, ...rest } = input_schema(schema, 'tool "t"').shown;
  return rest;
};

const property = (schema: unknown): unknown => (shown(schema) as { properties: { a: unknown } }).properties.a;

const verdict = (schema: unknown, input: unknown) => input_schema(schema, 'tool "t"').validate?.(input);

const refusal = (schema: unknown): string => {
  try {
    input_schema(schema, 'tool "t"');
  } catch (error) {
    expect((error as SessionError).code).toBe("INVALID_INPUT");
    return (error as SessionError).message;
  }
  throw new Error("the schema was taken");
};

describe("zod 3", () => {
  it("is shown by its input side, and its own parse decides", async () => {
    const schema = z.object({
      n: z.string().transform(Number),
      unit: z.string().default("C").describe("of temperature"),
      d: z.coerce.date(),
      tags: z.string().transform((text) => text.split(",")),
      big: z.coerce.bigint().optional(),
    });
    expect(shown(schema)).toEqual({
      type: "object",
      properties: {
        n: { type: "string" },
        unit: { type: "string", default: "C", description: "of temperature" },
        d: { type: "string", format: "date-time" },
        tags: { type: "string" },
        big: { type: "string", pattern: "^-?[0-9]+$" },
      },
      required: ["n", "d", "tags"],
    });
    expect(await verdict(schema, { n: "3", d: "2020-01-01", tags: "a,b" })).toEqual({
      ok: true,
      value: { n: 3, unit: "C", d: new Date("2020-01-01"), tags: ["a", "b"] },
    });
    expect(await verdict(schema, { n: 3, d: "2020-01-01", tags: "" })).toMatchObject({
      ok: false,
      issues: [{ path: ["n"] }],
    });
  });

  enum Level {
    low = 1,
    high = 2,
  }

  it.each<[string, z.ZodTypeAny, object]>([
    [
      "a string with checks",
      z.string().min(1).max(9).email(),
      { type: "string", minLength: 1, maxLength: 9, format: "email" },
    ],
    ["a pattern", z.string().regex(/^\p{L}$/u), { type: "string", pattern: "^\\p{L}$" }],
    ["a pattern that ignores case", z.string().regex(/a/i), { type: "string" }],
    [
      "several patterns",
      z.string().startsWith("a.").endsWith("b"),
      { type: "string", allOf: [{ pattern: "^a\\." }, { pattern: "b$" }] },
    ],
    ["a number", z.number().int().gt(1).lte(9), { type: "integer", exclusiveMinimum: 1, maximum: 9 }],
    ["a literal", z.literal("x"), { const: "x" }],
    ["an enum", z.enum(["x", "y"]), { type: "string", enum: ["x", "y"] }],
    ["a native enum", z.nativeEnum(Level), { enum: [1, 2] }],
    ["a nullable", z.string().nullable(), { anyOf: [{ type: "string" }, { type: "null" }] }],
    [
      "an array",
      z.array(z.boolean()).nonempty().max(3),
      { type: "array", items: { type: "boolean" }, minItems: 1, maxItems: 3 },
    ],
    [
      "a tuple",
      z.tuple([z.string()]).rest(z.number()),
      { type: "array", items: [{ type: "string" }], minItems: 1, additionalItems: { type: "number" } },
    ],
    [
      "a record",
      z.record(z.string().min(2), z.number()),
      { type: "object", additionalProperties: { type: "number" }, propertyNames: { minLength: 2 } },
    ],
    ["a union", z.union([z.string(), z.number()]), { anyOf: [{ type: "string" }, { type: "number" }] }],
    [
      "an intersection",
      z.intersection(z.object({ b: z.null() }), z.object({}).strict()),
      {
        allOf: [
          { type: "object", properties: { b: { type: "null" } }, required: ["b"] },
          { type: "object", properties: {}, additionalProperties: false },
        ],
      },
    ],
    ["a pipeline", z.string().pipe(z.coerce.number()), { type: "string" }],
    [
      "branded, read-only, refined",
      z
        .string()
        .brand("b")
        .readonly()
        .refine(() => true),
      { type: "string" },
    ],
    ["preprocessed", z.preprocess(String, z.string()), { type: "string" }],
    [
      "a catch-all",
      z.object({}).catchall(z.number()),
      { type: "object", properties: {}, additionalProperties: { type: "number" } },
    ],
    ["any", z.any(), {}],
    ["anything that a check takes", z.unknown().refine(() => true), {}],
  ])("%s", (_name, schema, expected) => {
    expect(property(z.object({ a: schema }))).toEqual(expected);
  });

  it("a discriminated union and a recursive schema are whole", async () => {
    interface Tree {
      kids: Tree[];
    }
    const tree: z.ZodType<Tree> = z.object({ kids: z.lazy(() => z.array(tree)) });
    const kids = { allOf: [{ $ref: "#/definitions/schema1" }] };
    const node = { type: "object", properties: { kids }, required: ["kids"] };
    expect(shown(tree)).toEqual({ ...node, definitions: { schema1: { type: "array", items: node } } });
    expect(await verdict(tree, { kids: [{ kids: [] }] })).toMatchObject({ ok: true });
    const union = z.discriminatedUnion("kind", [
      z.object({ kind: z.literal("a") }),
      z.object({ kind: z.literal("b"), n: z.number() }),
    ]);
    expect(shown(union)).toMatchObject({
      type: "object",
      anyOf: [{ type: "object" }, { required: ["kind", "n"] }],
    });
  });

  it.each<[string, z.ZodTypeAny, RegExp]>([
    ["a date", z.date(), /^tool "t": input_schema\.a is a date; JSON has none: use z\.coerce\.date\(\)/],
    [
      "a bigint in a list",
      z.array(z.object({ "b c": z.bigint() })),
      /input_schema\.a\[\]\["b c"\] is a bigint/,
    ],
    ["a Map", z.map(z.string(), z.string()).optional(), /input_schema\.a is a Map/],
    ["a value of a record", z.record(z.set(z.string())), /input_schema\.a\[key\] is a Set/],
    ["a bigint literal", z.literal(1n), /input_schema\.a is a bigint/],
    ["an instance", z.instanceof(URL).optional(), /input_schema\.a is an instance, or a custom check/],
    [
      "a custom check",
      z.array(z.custom(() => true)),
      /input_schema\.a\[\] is an instance, or a custom check/,
    ],
  ])("%s is refused by name and path", (_name, schema, expected) => {
    expect(refusal(z.object({ a: schema }))).toMatch(expected);
  });

  it("before it was a Standard Schema", async () => {
    const schema = z.object({ a: z.string() });
    const old = { _def: schema._def, safeParseAsync: schema.safeParseAsync.bind(schema) };
    expect(await verdict(old, { a: "x" })).toEqual({ ok: true, value: { a: "x" } });
    expect(await verdict(old, { a: 1 })).toMatchObject({ ok: false, issues: [{ path: ["a"] }] });
  });
});

it("zod/mini is shown by the installed zod", async () => {
  const schema = mini.object({ a: mini.string(), n: mini._default(mini.number(), 1) });
  expect(shown(schema)).toMatchObject({
    properties: { a: { type: "string" }, n: { default: 1 } },
    required: ["a"],
  });
  expect(await verdict(schema, { a: "x" })).toEqual({ ok: true, value: { a: "x", n: 1 } });
  expect(refusal(mini.object({ a: mini.date() }))).toMatch(/input_schema\.a is a date/);
});

describe("valibot", () => {
  const schema = v.object({
    n: v.pipe(v.string(), v.transform(Number)),
    unit: v.optional(v.string(), "C"),
    even: v.pipe(
      v.number(),
      v.check((number) => number % 2 === 0, "has to be even"),
    ),
  });

  it("is shown by its input side, and its own parse decides", async () => {
    const expected = {
      type: "object",
      properties: { n: { type: "string" }, unit: { type: "string", default: "C" }, even: { type: "number" } },
      required: ["n", "even"],
    };
    expect(shown(schema)).toEqual(expected);
    expect(await verdict(schema, { n: "3", even: 2 })).toEqual({
      ok: true,
      value: { n: 3, unit: "C", even: 2 },
    });
    expect(await verdict(schema, { n: "3", even: 3 })).toEqual({
      ok: false,
      issues: [{ path: ["even"], message: "has to be even" }],
    });
  });

  it("that describes itself is asked itself", () => {
    expect(property(toStandardJsonSchema(v.object({ a: v.string() })))).toEqual({ type: "string" });
  });

  it("an undefined in a union is no value, and a recursive one refers to itself", () => {
    expect(property(v.object({ a: v.union([v.string(), v.undefined()]) }))).toEqual({
      anyOf: [{ type: "string" }, { not: {} }],
    });
    interface Tree {
      kids: Tree[];
    }
    const tree: v.GenericSchema<Tree> = v.object({ kids: v.array(v.lazy(() => tree)) });
    expect(JSON.stringify(shown(tree))).toContain("$ref");
  });

  it.each<[string, v.GenericSchema, RegExp]>([
    ["a date", v.date(), /^tool "t": input_schema\.a is a date; JSON has none: use v\.pipe/],
    ["a bigint in a list", v.array(v.object({ b: v.bigint() })), /input_schema\.a\[\]\.b is a bigint/],
    ["an instance", v.instance(URL), /input_schema\.a is an instance/],
    ["a custom check", v.custom<string>(() => true), /input_schema\.a is a custom check/],
  ])("%s is refused by name and path", (_name, given, expected) => {
    expect(refusal(v.object({ a: given }))).toMatch(expected);
  });
});

describe("arktype", () => {
  it("is shown by its input side, and its own parse decides", async () => {
    const schema = type({
      n: "string.numeric.parse",
      d: "string.date.parse",
      unit: "string = 'C'",
      "o?": "number",
    });
    expect(shown(schema)).toMatchObject({
      type: "object",
      properties: {
        n: { type: "string" },
        d: { type: "string" },
        unit: { type: "string" },
        o: { type: "number" },
      },
      required: ["d", "n"],
    });
    expect(await verdict(schema, { n: "3", d: "2020-01-01T00:00:00.000Z" })).toEqual({
      ok: true,
      value: { n: 3, d: new Date("2020-01-01"), unit: "C" },
    });
    expect(await verdict(schema, { n: 3, d: "2020-01-01" })).toMatchObject({
      ok: false,
      issues: [{ path: ["n"] }],
    });
  });

  it.each<[string, () => unknown, object]>([
    ["a check of one's own", () => type("string").narrow(() => true), { type: "string" }],
    [
      "two patterns",
      () => type(/^a/).and(/b$/),
      { type: "string", pattern: "^a", allOf: [{ pattern: "b$" }] },
    ],
    ["undefined in a union", () => type("string | undefined"), { anyOf: [{ type: "string" }, { not: {} }] }],
    ["unknown", () => type("unknown"), {}],
  ])("%s", (_name, make, expected) => {
    expect(property(type({ a: make() as "string" }))).toEqual(expected);
  });

  it("a recursive one is shown with its properties", () => {
    const { node } = type.module({ node: { name: "string", "kids?": "node[]" } });
    expect(shown(node)).toMatchObject({
      type: "object",
      properties: { name: { type: "string" } },
      required: ["name"],
    });
  });

  it.each<[string, () => unknown, RegExp]>([
    [
      "a date",
      () => type({ a: "Date" }),
      /^tool "t": input_schema\.a is a Date; JSON has none: use string\.date\.parse/,
    ],
    ["a bigint deep inside", () => type({ a: { b: "bigint" } }), /input_schema\.a\.b is a bigint/],
    ["a Map", () => type({ a: "Map" }), /input_schema\.a is of the class Map/],
    [
      "an instance in a list",
      () => type({ a: type.instanceOf(URL).array() }),
      /input_schema\.a\[\] is of the class URL/,
    ],
  ])("%s is refused by name and path", (_name, make, expected) => {
    expect(refusal(make())).toMatch(expected);
  });
});

describe("TypeBox", () => {
  it.each([
    [
      "of @sinclair/typebox",
      old_type.Object({ a: old_type.String(), n: old_type.Optional(old_type.Integer()) }),
    ],
    ["of typebox", Type.Object({ a: Type.String(), n: Type.Optional(Type.Integer()) })],
  ])("%s is JSON Schema, which the core judges", (_name, schema) => {
    const { shown, json_schema, validate } = input_schema(schema, "t");
    const expected = {
      type: "object",
      required: ["a"],
      properties: { a: { type: "string" }, n: { type: "integer" } },
    };
    expect(shown).toEqual(expected);
    expect(json_schema).toEqual(expected);
    expect(validate).toBeUndefined();
  });
});
