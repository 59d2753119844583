import { describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { SessionError } from "../../lib/errors.js";
import type { FunctionTool } from "../../lib/tools/compile.js";
import { define_agent_tool, with_approval } from "../../lib/tools/define.js";
import { ToolRegistry } from "../../lib/tools/registry.js";
import type { ToolContext } from "../../types/tool.js";

const context = { tool_call_id: "call_1", tool_name: "t" } as unknown as ToolContext;
const call = (input: unknown, tool_name = "t") => ({ session: 1, tool_call_id: "call_1", tool_name, input });
const any = { type: "object" };
const THEN = ["then"].join();
const trap = (): never => {
  throw new Error("trap");
};

async function prepare(tool: unknown, input: unknown): Promise<unknown> {
  return JSON.parse(await new ToolRegistry({ t: tool }).prepare(call(input), context));
}

async function enter(
  tool: unknown,
  input: unknown,
): Promise<{ ok?: unknown; error?: string; cannot_go_on?: string }> {
  return JSON.parse(await new ToolRegistry({ t: tool }).enter(call(input), context));
}

const refusal = (tools: unknown): string => {
  try {
    new ToolRegistry(tools);
  } catch (error) {
    expect((error as SessionError).code).toBe("INVALID_INPUT");
    return (error as Error).message;
  }
  throw new Error("the tools were taken");
};

describe("registration", () => {
  it("tells the core and the model about each tool", () => {
    const schema = { type: "object", properties: { path: { type: "string" } } };
    const registry = new ToolRegistry({
      plain: {
        description: "Reads.",
        title: "Read",
        input_schema: schema,
        execute: () => 1,
        resume: "replay",
        explain: true,
      },
      typed: define_agent_tool({ input_schema: z.object({ n: z.string() }), execute: ({ n }) => n }),
    });
    expect(registry.settings).toMatchObject([
      {
        name: "plain",
        title: "Read",
        description: "Reads.",
        schema,
        gate: "none",
        explain: true,
        replay: true,
      },
      { name: "typed", gate: "none", explain: false, replay: false },
    ]);
    expect(registry.settings[1]?.schema).toBeUndefined();
    expect(registry.model_tools[0]).toMatchObject({
      type: "function",
      name: "plain",
      description: "Reads.",
      inputSchema: { properties: { path: {}, model_explanation: {} } },
    });
    const [, shown] = registry.model_tools as readonly FunctionTool[];
    expect(shown?.inputSchema.properties).toBeDefined();
    expect(Object.isFrozen(shown?.inputSchema.properties)).toBe(true);
  });

  it.each<[string, unknown, RegExp]>([
    ["a tool that is none", { t: 1 }, /^tool "t": it has to be an object/],
    ["no execute", { t: { input_schema: any } }, /^tool "t": it has no execute/],
    [
      "another resume",
      { t: { input_schema: any, execute: () => 1, resume: "always" } },
      /resume can only be "replay".*"always"/,
    ],
    [
      "explain as text",
      { t: { input_schema: any, execute: () => 1, explain: "yes" } },
      /explain has to be a boolean, not "yes"/,
    ],
    [
      "a bad name",
      { "get weather": { input_schema: any, execute: () => 1 } },
      /^tool "get weather": its name/,
    ],
    [
      "an unusable schema",
      { t: { input_schema: z.object({ d: z.date() }), execute: () => 1 } },
      /^tool "t": input_schema\.d is a date/,
    ],
    [
      "a throwing getter",
      {
        t: {
          get input_schema() {
            throw new Error("boom");
          },
        },
      },
      /^tool "t": it cannot be read: boom/,
    ],
    [
      "a provider's tool without an id",
      { t: { type: "provider", inputSchema: any, execute: () => 1 } },
      /tool of a provider/,
    ],
    ["a list", [], /tools has to be an object/],
  ])("refuses %s by name", (_name, tools, expected) => {
    expect(refusal(tools)).toMatch(expected);
  });

  it("takes no tools at all", () => {
    expect(new ToolRegistry(undefined).model_tools).toEqual([]);
  });
});

describe("prepare", () => {
  const schema = z.object({
    n: z.string().transform(Number),
    unit: z.string().default("C"),
    d: z.coerce.date(),
  });

  it("parses once and shows the JSON of what passed", async () => {
    expect(await prepare({ input_schema: schema, execute: () => 1 }, { n: "3", d: "2020-01-01" })).toEqual({
      input: "tool_prepared",
      tool_call_id: "call_1",
      valid: { input: { n: 3, unit: "C", d: "2020-01-01T00:00:00.000Z" }, ask: false },
    });
  });

  it("shows what the model sent where a transform left JSON", async () => {
    const to_map = z.object({ a: z.string().transform((text) => new Map([[text, 1]])) });
    expect(await prepare({ input_schema: to_map, execute: () => 1 }, { a: "x" })).toMatchObject({
      valid: { input: { a: "x" } },
    });
  });

  it("tells the model what to mend", async () => {
    const { invalid } = (await prepare({ input_schema: schema, execute: () => 1 }, { n: 3, d: "never" })) as {
      invalid: string;
    };
    expect(invalid).toMatch(
      /^The arguments of "t" do not fit its schema\. Correct them and call it again:\n- n \(a number\): .*\n- d \(a string\): /,
    );
  });

  it("asks the gate with the validated input, and keeps its answer", async () => {
    const when = vi.fn(({ unit }: { unit: string }) => unit === "C");
    const tool = with_approval(define_agent_tool({ input_schema: schema, execute: () => 1 }), { when });
    expect(await prepare(tool, { n: "3", d: 0 })).toMatchObject({ valid: { ask: true } });
    expect(await prepare(tool, { n: "3", d: 0, unit: "F" })).toMatchObject({ valid: { ask: false } });
    expect(when).toHaveBeenCalledTimes(2);
    expect(when.mock.calls[0]?.[0]).toEqual({ n: 3, unit: "C", d: new Date(0) });
  });

  it.each<[string, unknown, boolean]>([
    ["false", false, false],
    ["true", true, true],
    ["undefined", undefined, true],
    ["0", 0, true],
    ["a promise of false", Promise.resolve(false), false],
    ["a promise of null", Promise.resolve(null), true],
  ])("only a plain false opens the gate: %s", async (_name, answer, ask) => {
    const tool = with_approval({ input_schema: any, execute: () => 1 }, { when: () => answer as boolean });
    expect(await prepare(tool, {})).toMatchObject({ valid: { ask } });
  });

  it.each<[string, () => never]>([
    [
      "an Error",
      () => {
        throw new Error("boom");
      },
    ],
    [
      "a string",
      () => {
        throw "boom";
      },
    ],
  ])("a gate that throws %s fails the call", async (_name, when) => {
    expect(await prepare(with_approval({ input_schema: any, execute: () => 1 }, { when }), {})).toEqual({
      input: "tool_prepared",
      tool_call_id: "call_1",
      error: "boom",
    });
  });

  it("a schema that throws fails the call", async () => {
    const throwing = z.object({
      a: z.string().transform(() => {
        throw new TypeError("bad transform");
      }),
    });
    expect(await prepare({ input_schema: throwing, execute: () => 1 }, { a: "x" })).toMatchObject({
      error: "bad transform",
    });
  });

  it("knows no inherited names", async () => {
    const registry = new ToolRegistry({});
    for (const name of ["__proto__", "constructor", "toString", ""]) {
      expect(JSON.parse(await registry.prepare(call({}, name), context)).error).toContain("There is no tool");
      expect(JSON.parse(await registry.enter(call({}, name), context)).error).toContain("There is no tool");
    }
  });
});

describe("enter", () => {
  it("uses what prepare has parsed, so that a transform runs once", async () => {
    const transform = vi.fn(Number);
    const execute = vi.fn((_input: unknown, _context: unknown) => ({ ok: true }));
    const registry = new ToolRegistry({
      t: { input_schema: z.object({ n: z.string().transform(transform) }), execute },
    });
    await registry.prepare(call({ n: "3" }), context);
    await registry.enter(call({ n: "3" }), context);
    expect(execute).toHaveBeenCalledWith({ n: 3 }, context);
    expect(transform).toHaveBeenCalledTimes(1);
  });

  it("parses again where nothing was kept, as after a restart", async () => {
    const execute = vi.fn((_input: unknown) => "done");
    const tool = { input_schema: z.object({ n: z.string().transform(Number) }), execute };
    expect(await enter(tool, { n: "3" })).toMatchObject({ ok: "done" });
    expect(execute.mock.calls[0]?.[0]).toEqual({ n: 3 });
    expect((await enter(tool, { n: 3 })).cannot_go_on).toMatch(/do not fit its schema/);
    expect(execute).toHaveBeenCalledTimes(1);
  });

  it("keeps the inputs of Sessions apart and forgets them", async () => {
    const transform = vi.fn(Number);
    const execute = vi.fn((_input: unknown) => 1);
    const registry = new ToolRegistry({
      t: { input_schema: z.object({ n: z.string().transform(transform) }), execute },
    });
    await registry.prepare({ ...call({ n: "1" }), session: 1 }, context);
    await registry.prepare({ ...call({ n: "2" }), session: 11 }, context);
    registry.forget(1);
    await registry.enter({ ...call({ n: "2" }), session: 11 }, context);
    await registry.enter({ ...call({ n: "1" }), session: 1 }, context);
    expect(execute.mock.calls.map(([input]) => input)).toEqual([{ n: 2 }, { n: 1 }]);
    expect(transform).toHaveBeenCalledTimes(3);
  });

  it.each<[string, () => unknown, unknown]>([
    ["a plain value", () => 17, 17],
    ["undefined", () => undefined, null],
    ["a promise", async () => ({ a: 1 }), { a: 1 }],
    ["a Date", () => new Date(0), "1970-01-01T00:00:00.000Z"],
    ["half an emoji", () => "a\ud83c", "a\ufffd"],
  ])("%s is a result", async (_name, execute, ok) => {
    expect(await enter({ input_schema: any, execute }, {})).toEqual({
      input: "tool_settled",
      tool_call_id: "call_1",
      ok,
    });
  });

  it.each<[string, () => unknown, RegExp]>([
    [
      "a thrown Error",
      () => {
        throw new Error("no");
      },
      /^no$/,
    ],
    [
      "a thrown undefined",
      () => {
        throw undefined;
      },
      /^undefined was thrown$/,
    ],
    ["a rejection with a string", () => Promise.reject("no"), /^no$/],
    ["a thenable that throws", () => Object.defineProperty({}, THEN, { get: trap }), /^trap$/],
    ["a Map", () => new Map(), /^The tool "t" was executed, but its result cannot be kept: result is a Map/],
  ])("%s fails the call", async (_name, execute, expected) => {
    const { error } = await enter({ input_schema: any, execute }, {});
    expect(error).toMatch(expected);
    expect(error).not.toContain("tools.spec");
  });

  it("keeps `this` for tools that are instances of a class", async () => {
    class Counter {
      input_schema = any;
      #count = 0;
      execute(): number {
        this.#count += 1;
        return this.#count;
      }
    }
    const counter = new Counter();
    expect(await enter(counter, {})).toMatchObject({ ok: 1 });
    expect(await enter(with_approval(counter), {})).toMatchObject({ ok: 2 });
  });
});

describe("gates", () => {
  const tool = define_agent_tool({ input_schema: any, execute: () => 1 });
  const gate_of = (given: unknown): string | undefined => new ToolRegistry({ t: given }).settings[0]?.gate;

  it("are told to the core, and leave the original alone", () => {
    expect(gate_of(with_approval(tool))).toBe("always");
    expect(gate_of(with_approval(tool, { when: () => false }))).toBe("host");
    expect(gate_of(with_approval(with_approval(tool), { when: () => false }))).toBe("always");
    expect(gate_of(tool)).toBe("none");
  });

  it("add up: any that asks asks", async () => {
    const both = with_approval(with_approval(tool, { when: () => true }), { when: () => false });
    expect(await prepare(both, {})).toMatchObject({ valid: { ask: true } });
  });
});

describe("a gate that would be passed over is refused", () => {
  const tool = { input_schema: any, execute: () => 1 };

  it.each<[string, unknown, unknown]>([
    ["no tool", undefined, {}],
    ["a misspelt option", tool, { wen: () => false }],
    ["a rule that is no function", tool, { when: true }],
    ["options that are none", tool, null],
  ])("%s", (_name, given, options) => {
    expect(() => with_approval(given as never, options as never)).toThrow(SessionError);
  });

  it("needsApproval on a tool that is not the AI SDK's", () => {
    expect(refusal({ t: { ...tool, needsApproval: true } })).toMatch(
      /^tool "t": needsApproval belongs to.*with_approval/,
    );
  });
});
