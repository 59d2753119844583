import { jsonSchema as ai_json_schema } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { SessionError } from "../../lib/errors.js";
import { input_schema } from "../../lib/schema/schema.js";

const refusal = (schema: unknown, explain = false): string => {
  try {
    input_schema(schema, 'tool "t"', explain);
  } catch (error) {
    expect(error).toBeInstanceOf(SessionError);
    expect((error as SessionError).code).toBe("INVALID_INPUT");
    return (error as Error).message;
  }
  throw new Error("the schema was taken");
};

const shown = (schema: unknown): unknown => {
  const { $schema, ...rest } = input_schema(schema, 'tool "t"').shown;
  return rest;
};

describe("what the model is shown of a zod schema", () => {
  it("is the input side of transforms, defaults and coercion", async () => {
    const schema = z.object({
      n: z.string().transform(Number),
      unit: z.string().default("C"),
      d: z.coerce.date(),
      big: z.coerce.bigint().optional(),
      tags: z.string().transform((text) => text.split(",")),
    });
    expect(shown(schema)).toEqual({
      type: "object",
      properties: {
        n: { type: "string" },
        unit: { default: "C", type: "string" },
        d: { type: "string", format: "date-time" },
        big: { type: "string", pattern: "^-?[0-9]+$" },
        tags: { type: "string" },
      },
      required: ["n", "d", "tags"],
    });
    const verdict = await input_schema(schema, "t").validate?.({ n: "3", d: "2020-01-01", tags: "a,b" });
    expect(verdict).toEqual({
      ok: true,
      value: { n: 3, unit: "C", d: new Date("2020-01-01"), tags: ["a", "b"] },
    });
  });

  it.each<[string, z.ZodType]>([
    ["described coercion", z.object({ at: z.coerce.date().min(new Date(0)).describe("when").optional() })],
    ["a preprocessed type", z.object({ a: z.preprocess((value) => value, z.string()) })],
    [
      "a codec",
      z.object({
        a: z.codec(z.iso.datetime(), z.date(), {
          decode: (t) => new Date(t),
          encode: (d) => d.toISOString(),
        }),
      }),
    ],
    [
      "a date that says what it takes",
      z.object({ a: z.preprocess((v) => new Date(String(v)), z.date().meta({ type: "string" })) }),
    ],
    [
      "a custom check that says what it takes",
      z.object({ a: z.custom<string>(() => true).meta({ type: "string" }) }),
    ],
    ["a record", z.object({ a: z.record(z.string(), z.number()) })],
    ["any", z.object({ a: z.any(), b: z.unknown() })],
    ["an optional union", z.object({ a: z.union([z.string(), z.undefined()]) })],
    ["a nullable enum", z.object({ a: z.enum(["x", "y"]).nullable() })],
    ["a tuple", z.object({ a: z.tuple([z.string(), z.number()]) })],
    ["a property called items", z.object({ items: z.array(z.object({ properties: z.string() })) })],
    ["an intersection", z.intersection(z.object({ a: z.string() }), z.object({ b: z.string() }))],
    ["a strict object", z.strictObject({ a: z.string().regex(/^(?!x)\p{L}$/u) })],
  ])("%s is taken", (_name, schema) => {
    const properties = (shown(schema) as { properties: object }).properties;
    expect(Object.keys(properties)).not.toHaveLength(0);
  });

  it("a recursive one keeps its reference", () => {
    const node = z.object({
      name: z.string(),
      get children() {
        return z.array(node);
      },
    });
    expect(shown(node)).toMatchObject({ properties: { children: { type: "array", items: { $ref: "#" } } } });
  });

  it("a discriminated union says that it is an object", () => {
    const union = z.discriminatedUnion("kind", [
      z.object({ kind: z.literal("a"), x: z.string() }),
      z.object({ kind: z.literal("b"), y: z.number() }),
    ]);
    expect(shown(union)).toMatchObject({ type: "object", oneOf: [{ type: "object" }, { type: "object" }] });
  });

  it("keeps the order of properties", () => {
    const keys = Object.keys(
      input_schema(z.object({ z: z.string(), a: z.string(), m: z.string() }), "t").shown.properties ?? {},
    );
    expect(keys).toEqual(["z", "a", "m"]);
  });

  it.each<[string, unknown, RegExp]>([
    [
      "a date",
      z.object({ due: z.date() }),
      /^tool "t": input_schema\.due is a date; JSON has none: use z\.coerce\.date/,
    ],
    [
      "an optional described date",
      z.object({ due: z.date().min(new Date(0)).describe("x").optional() }),
      /input_schema\.due is a date/,
    ],
    [
      "a bigint deep inside",
      z.object({ a: z.object({ list: z.array(z.bigint()) }) }),
      /input_schema\.a\.list\[\] is a bigint/,
    ],
    ["a bigint literal", z.object({ a: z.literal(1n) }), /input_schema\.a is a bigint/],
    ["a Map", z.object({ a: z.map(z.string(), z.string()) }), /input_schema\.a is a Map/],
    ["a Set", z.object({ a: z.set(z.string()) }), /input_schema\.a is a Set/],
    ["a File", z.object({ a: z.file().mime("image/png").optional() }), /input_schema\.a is a file/],
    ["an instance", z.object({ a: z.instanceof(URL) }), /input_schema\.a is a custom check/],
    ["a bare transform", z.object({ a: z.transform(Number) }), /input_schema\.a is a transform/],
    [
      "a string at the top",
      z.string(),
      /input_schema is of type "string", but a model's arguments are always an object/,
    ],
    ["a raw shape", { path: z.string() }, /holds a schema in "path".*z\.object/],
  ])("%s is refused by name and path", (_name, schema, expected) => {
    expect(refusal(schema)).toMatch(expected);
  });

  it("names every place at once", () => {
    expect(refusal(z.object({ a: z.date(), b: z.symbol() }))).toMatch(
      /input_schema\.a is a date.*; tool "t": input_schema\.b is a symbol/,
    );
  });
});

describe("other schemas", () => {
  it("a Standard Schema that describes itself is shown and validates", async () => {
    const schema = {
      "~standard": {
        version: 1,
        vendor: "own",
        validate: async (value: unknown) => ({ issues: [{ message: "no", path: ["a", { key: 0 }] }], value }),
        jsonSchema: { input: ({ target }: { target: string }) => ({ type: "object", title: target }) },
      },
    };
    const { shown, validate } = input_schema(schema, "t");
    expect(shown).toEqual({ type: "object", title: "draft-07", properties: {} });
    expect(await validate?.({})).toEqual({ ok: false, issues: [{ path: ["a", 0], message: "no" }] });
  });

  it("one that cannot describe itself is refused and told what to pass", () => {
    const vendor = { version: 1, vendor: "effect", validate: () => ({ value: 1 }) };
    expect(refusal({ "~standard": vendor })).toMatch(
      /^tool "t": input_schema is a schema of effect that cannot .*Standard JSON Schema/,
    );
  });

  it("a JSON Schema is shown as it is and left to the core", () => {
    const schema = {
      $schema: "http://json-schema.org/draft-07/schema#",
      type: "object",
      properties: { z: {}, a: { pattern: "^\\p{L}(?!x)" } },
    };
    const compiled = input_schema(schema, "t");
    expect(JSON.stringify(compiled.shown)).toBe(JSON.stringify(schema));
    expect(compiled.json_schema).toEqual(schema);
    expect(compiled.validate).toBeUndefined();
  });

  it("one that only refers into itself is shown with the properties it refers to", () => {
    const node = {
      type: "object",
      description: "A node",
      properties: { next: { $ref: "#/$defs/a~1b%20c" } },
      required: ["next"],
    };
    const schema = {
      $ref: "#/definitions/one",
      definitions: { one: { $ref: "#/$defs/a~1b%20c" } },
      $defs: { "a/b c": node },
    };
    const compiled = input_schema(schema, "t");
    expect(compiled.shown).toEqual({ ...node, definitions: schema.definitions, $defs: schema.$defs });
    expect(compiled.json_schema).toEqual(schema);
    expect(shown({ type: "object", $ref: "#/nowhere%" })).toEqual({
      type: "object",
      $ref: "#/nowhere%",
      properties: {},
    });
    expect(shown({ $ref: "#/$defs/a", $defs: { a: { $ref: "#/$defs/a" } } })).toMatchObject({
      properties: {},
    });
  });

  it("an empty JSON Schema takes any object", () => {
    expect(input_schema({}, "t")).toEqual({
      shown: { type: "object", properties: {} },
      json_schema: {},
    });
  });

  it("the AI SDK's jsonSchema() is taken", async () => {
    expect(shown(ai_json_schema({ type: "object", properties: { a: { type: "string" } } }))).toEqual({
      type: "object",
      properties: { a: { type: "string" } },
    });
    const checked = ai_json_schema(
      { type: "object" },
      { validate: () => ({ success: false, error: new Error("never") }) },
    );
    expect(await input_schema(checked, "t").validate?.({})).toEqual({
      ok: false,
      issues: [{ path: [], message: "never" }],
    });
  });

  it.each<[string, unknown, RegExp]>([
    ["nothing", undefined, /is missing.*properties: \{\}/],
    ["a string", "object", /is a string/],
    ["an array", [], /is an array/],
    ["a boolean", true, /is a boolean/],
    ["a shape in words", { path: "string" }, /has no keyword of JSON Schema/],
    [
      "a function inside",
      { type: "object", properties: { a: () => 1 } },
      /input_schema\.properties\.a is a function/,
    ],
    [
      "a pattern that is none",
      { properties: { a: { pattern: "(" } } },
      /input_schema\.properties\.a\.pattern is "\("/,
    ],
    ["an array schema", { type: "array" }, /is of type "array"/],
  ])("%s is refused", (_name, schema, expected) => {
    expect(refusal(schema)).toMatch(expected);
  });
});

describe("explain", () => {
  it("adds an optional string for the model only", () => {
    const schema = { type: "object", properties: { a: {} }, required: ["a"], additionalProperties: false };
    const { shown, json_schema } = input_schema(schema, "t", true);
    expect(shown).toMatchObject({
      properties: { a: {}, model_explanation: { type: "string" } },
      required: ["a"],
    });
    expect(json_schema).toEqual(schema);
  });

  it("refuses a schema that has the property already", () => {
    expect(refusal({ type: "object", properties: { model_explanation: {} } }, true)).toMatch(
      /model_explanation is taken/,
    );
  });
});
