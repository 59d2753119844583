/** Tools whose schemas are of every library, side by side: what the model is shown, what runs, what is refused. */
import { Agent, type AgentTool, with_approval } from "@downcity/agent";
import { ScriptedModel } from "@downcity/agent/testing";
import { Type as old_type } from "@sinclair/typebox";
import { type } from "arktype";
import { Type } from "typebox";
import * as v from "valibot";
import { describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import * as mini from "zod/mini";
import { z as z3 } from "zod-3";
import {
  answer_next,
  calls_of,
  type Opened,
  open,
  pending_of,
  refusal_of,
  results_in,
  run,
  type Tools,
  tool,
} from "../support/session.js";
import { memory_store, on_each_store, sqlite_store } from "../support/stores.js";

/** The same tool in each library: a city, and days as text that reach the tool as a number where a library can. */
const OF_LIBRARY: { [name: string]: { schema: AgentTool["input_schema"]; input: unknown } } = {
  zod: {
    schema: z.object({ city: z.string(), days: z.string().transform(Number), unit: z.string().default("C") }),
    input: { city: "Rome", days: 3, unit: "C" },
  },
  zod_mini: {
    schema: mini.object({
      city: mini.string(),
      days: mini.coerce.number(),
      unit: mini._default(mini.string(), "C"),
    }),
    input: { city: "Rome", days: 3, unit: "C" },
  },
  zod_3: {
    schema: z3.object({
      city: z3.string(),
      days: z3.string().transform(Number),
      unit: z3.string().default("C"),
    }),
    input: { city: "Rome", days: 3, unit: "C" },
  },
  valibot: {
    schema: v.object({
      city: v.string(),
      days: v.pipe(v.string(), v.transform(Number)),
      unit: v.optional(v.string(), "C"),
    }),
    input: { city: "Rome", days: 3, unit: "C" },
  },
  arktype: {
    schema: type({ city: "string", days: "string.numeric.parse", unit: "string = 'C'" }),
    input: { city: "Rome", days: 3, unit: "C" },
  },
  typebox: {
    schema: Type.Object({ city: Type.String(), days: Type.String() }),
    input: { city: "Rome", days: "3" },
  },
  typebox_old: {
    schema: old_type.Object({ city: old_type.String(), days: old_type.String() }),
    input: { city: "Rome", days: "3" },
  },
  draft_7: {
    schema: {
      $schema: "http://json-schema.org/draft-07/schema#",
      type: "object",
      definitions: { text: { type: "string" } },
      properties: { city: { $ref: "#/definitions/text" }, days: { type: "string", pattern: "^(?!0)\\d+$" } },
      required: ["city", "days"],
    },
    input: { city: "Rome", days: "3" },
  },
  draft_2020_12: {
    schema: {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      $ref: "#/$defs/weather",
      $defs: {
        weather: {
          type: "object",
          properties: { city: { type: "string" }, days: { $ref: "#/$defs/days" } },
          required: ["city", "days"],
          unevaluatedProperties: false,
        },
        days: { type: "string", pattern: "^(?<n>\\d)\\k<n>*$" },
      },
    },
    input: { city: "Rome", days: "3" },
  },
};

const NAMES = Object.keys(OF_LIBRARY);

function tools_with(taken: { [name: string]: unknown[] }) {
  const entries = NAMES.map((name) => {
    taken[name] = [];
    const act = tool((input) => taken[name]?.push(input), { input_schema: OF_LIBRARY[name]?.schema });
    return [name, act] as const;
  });
  return { ...Object.fromEntries(entries), plain: tool(() => "plain", { input_schema: {} }) };
}

on_each_store("Schemas of every library", (store) => {
  test("are shown with their properties, run what fits and tell the model what does not", async () => {
    const taken: { [name: string]: unknown[] } = {};
    const good = [...NAMES.map((call) => ({ call, input: { city: "Rome", days: "3" } })), { call: "plain" }];
    const bad = NAMES.map((call) => ({ call, input: { city: 5, days: "3" } }));
    const { session, model } = await open(store, [good, bad, "Done."], { tools: tools_with(taken) });
    expect((await run(session)).status).toBe("completed");
    const shown = Object.fromEntries(
      (model.requests[0]?.tools ?? []).map((given) => [given.name, given.inputSchema]),
    );
    for (const name of NAMES) {
      expect([name, shown[name]]).toMatchObject([
        name,
        { type: "object", properties: { city: {}, days: {} } },
      ]);
      expect([name, taken[name]]).toEqual([name, [OF_LIBRARY[name]?.input]]);
    }
    const refused = results_in(model.prompts[2]).slice(good.length);
    expect(refused.map(({ toolName, output }) => [toolName, output.type])).toEqual(
      NAMES.map((name) => [name, "error-text"]),
    );
    for (const { output } of refused) {
      expect(output.value).toContain("city");
      expect(output.value).not.toMatch(/\n\s+at /);
    }
    const failed = (await calls_of(session)).filter(({ state }) => state === "failed");
    expect(failed.map(({ error_code }) => error_code)).toEqual(NAMES.map(() => "invalid_input"));
  });
});

describe("A schema that cannot be shown", () => {
  const cases: [string, unknown, string][] = [
    ["a date of zod", z.object({ due: z.date() }), "input_schema.due"],
    ["a date of zod 3", z3.object({ due: z3.date() }), "input_schema.due"],
    ["a date of valibot", v.object({ due: v.date() }), "input_schema.due"],
    ["a date of arktype", type({ due: "Date" }), "input_schema.due"],
    ["a bigint of zod", z.object({ list: z.array(z.bigint()) }), "input_schema.list[]"],
    ["a bigint of arktype", type({ list: "bigint[]" }), "input_schema.list[]"],
    ["a type that JSON Schema has not", Type.Object({ n: Type.BigInt() }), "/properties/n/type"],
    [
      "a pattern that is none",
      { type: "object", properties: { p: { pattern: "(" } } },
      "input_schema.properties.p.pattern",
    ],
    ["a reference to nowhere", { type: "object", properties: { p: { $ref: "#/$defs/none" } } }, "none"],
    [
      "a reference that would have to be fetched",
      { type: "object", properties: { p: { $ref: "http://127.0.0.1:1/s.json" } } },
      "127.0.0.1",
    ],
    ["nothing", undefined, "input_schema"],
  ];

  test.each(cases)("%s is refused with the Agent, by tool and place", async (_name, schema, place) => {
    const bad = tool(() => 1, { input_schema: schema as AgentTool["input_schema"] });
    const refusal = await refusal_of(
      () => new Agent({ id: "schemas", tools: { plain: tool(() => 1), "bad.tool": bad } }),
    );
    expect(refusal.code).toBe("INVALID_INPUT");
    expect(refusal.message).toContain('tool "bad.tool"');
    expect(refusal.message).toContain(place);
    expect(refusal.message).not.toMatch(/\n\s+at /);
  });
});

/** The Session in an Agent of a later process. */
async function later({ agent, place, session }: Opened, tools: Tools) {
  await agent.detach();
  const model = new ScriptedModel(["Done."]);
  const another = new Agent({ id: "behaviour", model, storage: place.storage(), tools });
  onTestFinished(() => another.dispose());
  return another.sessions.get(session.id);
}

describe("A schema that transforms, before a person is asked", () => {
  const counted = { runs: 0 };
  const schemas: [string, AgentTool["input_schema"]][] = [
    [
      "zod 3",
      z3.object({
        n: z3.string().transform((text) => {
          counted.runs += 1;
          return Number(text);
        }),
        d: z3.coerce.date(),
      }),
    ],
    [
      "valibot",
      v.object({
        n: v.pipe(
          v.string(),
          v.transform((text) => {
            counted.runs += 1;
            return Number(text);
          }),
        ),
        d: v.pipe(
          v.string(),
          v.transform((text) => new Date(text)),
        ),
      }),
    ],
    [
      "arktype",
      type({
        n: type("string").pipe((text) => {
          counted.runs += 1;
          return Number(text);
        }),
        d: "string.date.parse",
      }),
    ],
  ];

  const input = { n: "3", d: "2020-01-01T00:00:00.000Z" };
  const expected = { n: 3, d: new Date("2020-01-01") };

  test.each(schemas)(
    "of %s is applied once, and again only in a process that knows nothing of it",
    async (_name, input_schema) => {
      for (const restart of [false, true]) {
        counted.runs = 0;
        const taken: unknown[] = [];
        const asked: unknown[] = [];
        const when = (given: unknown) => Boolean(asked.push(given));
        const act = with_approval(
          tool((given) => taken.push(given), { input_schema }),
          { when },
        );
        const opened = await open(sqlite_store, [[{ call: "act", input }], "Done."], {
          tools: { act },
          observed: false,
        });
        await opened.session.prompt({ query: "Go" });
        const [pending] = await pending_of(opened.session, 1);
        expect(pending?.payload).toMatchObject({ validated_input: { n: 3, d: input.d } });
        const session = restart ? await later(opened, { act }) : opened.session;
        const turn = session.active_turn();
        await answer_next(session);
        expect((await turn?.finished)?.status).toBe("completed");
        expect([taken, asked, counted.runs]).toEqual([[expected], [expected], restart ? 2 : 1]);
      }
    },
  );

  test("is not asked for input that breaks it", async () => {
    const act = with_approval(tool(() => 1, { input_schema: v.object({ n: v.number() }) }));
    const opened = await open(memory_store, [[{ call: "act", input: { n: "3" } }], "Done."], {
      tools: { act },
    });
    expect((await run(opened.session)).status).toBe("completed");
    const [part] = await calls_of(opened.session);
    expect(part).toMatchObject({ state: "failed", error_code: "invalid_input" });
    expect(part?.error).toMatch(/^The arguments of "act" do not fit its schema\..*\n- n \(a string\): /);
    expect(part?.interactions ?? []).toEqual([]);
  });
});
