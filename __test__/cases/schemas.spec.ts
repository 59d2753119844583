import { Agent, type AgentTool, type AnyTool, memory, SessionError } from "@downcity/agent";
import { expect, test } from "vitest";
import { z } from "zod";
import { z as z3 } from "zod-3";
import { results_in, run, tool } from "../support/session.js";
import { on_each_store } from "../support/stores.js";
import { begin } from "./support.js";

interface Node {
  name: string;
  children: Node[];
}
const recursive: z.ZodType<Node> = z.lazy(() => z.object({ name: z.string(), children: z.array(recursive) }));

/** A schema, the properties a model has to see, and inputs that pass and that do not. */
const TAKEN: { [name: string]: [unknown, string[], object, object?] } = {
  "a transform": [z.object({ n: z.string().transform(Number) }), ["n"], { n: "3" }, { n: 3 }],
  "a pipe": [
    z.object({ n: z.string().transform(Number).pipe(z.number().min(2)) }),
    ["n"],
    { n: "3" },
    { n: "1" },
  ],
  "a recursive one": [
    z.object({ tree: recursive }),
    ["tree"],
    { tree: { name: "a", children: [{ name: "b", children: [] }] } },
    { tree: { name: "a", children: [{ name: 7, children: [] }] } },
  ],
  "a union by kind": [
    z.object({
      of: z.discriminatedUnion("kind", [
        z.object({ kind: z.literal("a"), x: z.string() }),
        z.object({ kind: z.literal("b"), y: z.number() }),
      ]),
    }),
    ["of"],
    { of: { kind: "b", y: 1 } },
    { of: { kind: "b", x: "1" } },
  ],
  "a record": [
    z.object({ map: z.record(z.string(), z.number()) }),
    ["map"],
    { map: { a: 1 } },
    { map: { a: "1" } },
  ],
  "zod 4": [
    z.object({ path: z.string(), depth: z.number().default(1) }),
    ["path", "depth"],
    { path: "a" },
    {},
  ],
  "zod 3": [
    z3.object({ path: z3.string(), depth: z3.number().default(1) }),
    ["path", "depth"],
    { path: "a" },
    {},
  ],
  "draft-07 with definitions": [
    {
      $schema: "http://json-schema.org/draft-07/schema#",
      type: "object",
      properties: { at: { $ref: "#/definitions/point" } },
      required: ["at"],
      definitions: { point: { type: "object", properties: { x: { type: "number" } }, required: ["x"] } },
    },
    ["at"],
    { at: { x: 1 } },
    { at: {} },
  ],
  "2020-12 with $defs": [
    {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "object",
      properties: { at: { $ref: "#/$defs/point" } },
      required: ["at"],
      $defs: { point: { type: "object", properties: { x: { type: "number" } }, required: ["x"] } },
    },
    ["at"],
    { at: { x: 1 } },
    { at: {} },
  ],
  "a pattern that looks ahead": [
    { type: "object", properties: { s: { type: "string", pattern: "^(?!x)" } } },
    ["s"],
    { s: "ax" },
    { s: "xa" },
  ],
  "a pattern of letters": [
    { type: "object", properties: { s: { type: "string", pattern: "^\\p{L}+$" } } },
    ["s"],
    { s: "é" },
    { s: "1" },
  ],
  "no parameters": [{ type: "object" }, [], {}],
  "no parameters in zod": [z.object({}), [], {}],
};

const REFUSED: { [name: string]: [unknown, RegExp] } = {
  "a date": [z.object({ due: z.date() }), /due/],
  "a bigint": [z.object({ deep: z.object({ n: z.bigint() }) }), /deep\.n/],
  "a date of zod 3": [z3.object({ due: z3.date() }), /due/],
  "no JSON Schema": [{ type: "object", properties: { s: { type: "strng" } } }, /strng|properties/],
};

on_each_store("Schemas of tools", (store) => {
  test.each(Object.keys(TAKEN))(
    "%s: its properties reach the model, and it decides over inputs",
    async (name) => {
      const [schema, properties, good, bad] = TAKEN[name] as [never, string[], object, object?];
      const runs: unknown[] = [];
      const odd: AgentTool = { input_schema: schema, execute: (input: unknown) => void runs.push(input) };
      const plain = tool(() => "plain");
      const calls = [
        { call: "odd", input: good },
        { call: "plain" },
        ...(bad ? [{ call: "odd", input: bad }] : []),
      ];
      const { session, model } = await begin(store, [calls, "Done."], { tools: { odd, plain } });
      expect((await run(session)).text).toBe("Done.");
      const shown = model.requests[0]?.tools.find((offered) => offered.name === "odd")?.inputSchema;
      expect(shown).toMatchObject({ type: "object" });
      expect(Object.keys((shown as { properties?: object }).properties ?? {})).toEqual(properties);
      const results = results_in(model.prompts[1]);
      expect(runs).toHaveLength(1);
      expect(results[1]?.output.value).toBe("plain");
      if (bad) expect(results[2]?.output.type).toBe("error-text");
    },
  );

  test("all of them beside each other, in one Agent, leave the plain tool as it is", async () => {
    const tools: { [name: string]: AnyTool } = { plain: tool(() => "plain") };
    for (const [index, [schema]] of Object.values(TAKEN).entries())
      tools[`odd_${index}`] = { input_schema: schema as never, execute: () => index };
    const { session, model } = await begin(store, [[{ call: "plain" }], "Done."], { tools });
    expect((await run(session)).text).toBe("Done.");
    expect(model.requests[0]?.tools).toHaveLength(1 + Object.keys(TAKEN).length);
    expect(results_in(model.prompts[1])[0]?.output.value).toBe("plain");
  });
});

test.each(Object.keys(REFUSED))(
  "%s is refused when the Agent is made, with the tool's name and the place",
  (name) => {
    const [schema, place] = REFUSED[name] as [never, RegExp];
    const odd: AgentTool = { input_schema: schema, execute: () => null };
    let refusal: unknown;
    try {
      new Agent({ id: "schemas", tools: { plain: tool(() => 1), odd }, storage: memory() });
    } catch (error) {
      refusal = error;
    }
    expect(refusal).toBeInstanceOf(SessionError);
    expect(refusal).toMatchObject({ code: "INVALID_INPUT" });
    expect((refusal as Error).message).toContain("odd");
    expect((refusal as Error).message).toMatch(place);
  },
);
