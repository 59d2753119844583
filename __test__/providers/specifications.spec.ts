/** Sessions whose models are of each specification, every prompt checked as the strictest provider would. */
import { Agent, type AgentOptions, memory, type Session, with_approval } from "@downcity/agent";
import {
  assert_strict_prompt,
  next_interaction,
  type ScriptedAction,
  ScriptedModel,
  type ScriptedStep,
  spy_tool,
} from "@downcity/agent/testing";
import { afterEach, describe, expect, it } from "vitest";
import { counting_schema } from "../support/counting-schema.js";

const SPECIFICATIONS = ["v2", "v3", "v4"] as const;

const agents: Agent[] = [];
afterEach(async () => {
  for (const agent of agents.splice(0)) await agent.dispose();
});

interface Options extends Partial<AgentOptions> {
  specification?: "v2" | "v3" | "v4";
  chunk_size?: number;
}

async function open(script: ScriptedStep[], { specification, chunk_size, ...options }: Options = {}) {
  const model = new ScriptedModel(script, { specification, chunk_size });
  const agent = new Agent({ id: "specifications", storage: memory(), model, ...options });
  agents.push(agent);
  return { model, session: await agent.sessions.create() };
}

const turn = async (session: Session, query = "go") => (await session.prompt({ query })).finished;

async function answer(session: Session, decision: "approved" | "denied", reason?: string): Promise<void> {
  const { interaction_id } = await next_interaction(session);
  const response = { type: "approval" as const, outcome: "resolved" as const, payload: { decision, reason } };
  await session.respond({ interaction_id, response });
}

interface Loose {
  type: string;
  toolCallId: string;
  input: unknown;
  output: { type: string; value?: unknown; reason?: string };
  providerOptions?: unknown;
}

/** The parts of the last prompt's messages of one role. */
function last_parts(model: ScriptedModel, role: "assistant" | "tool"): Loose[] {
  const prompt = model.prompts.at(-1) ?? [];
  return prompt.filter((message) => message.role === role).flatMap((message) => message.content as Loose[]);
}

describe.each(SPECIFICATIONS)("specification %s", (specification) => {
  it("a denial is a result in its own form, with the reason, in every later prompt", async () => {
    const [read, write] = [spy_tool({ execute: () => "content" }), spy_tool()];
    const { session, model } = await open(
      [[{ call: "read" }, { call: "write" }], "Then not.", "One.", "Two."],
      { specification, tools: { read, write: with_approval(write) } },
    );
    const first = turn(session);
    await answer(session, "denied", "use /tmp instead");
    expect((await first).success).toBe(true);
    for (const text of ["One.", "Two."]) expect((await turn(session)).text).toBe(text);
    const [done, denied] = last_parts(model, "tool");
    expect(done?.output).toEqual({ type: "text", value: "content" });
    expect(denied?.output.type).toBe(specification === "v2" ? "error-text" : "execution-denied");
    expect(denied?.output.value ?? denied?.output.reason).toMatch(/not executed.*use \/tmp instead/);
    expect(write.inputs).toEqual([]);
  });

  it("what the provider attached comes back as it was, in order, after approval, denial and a bad call", async () => {
    const metadata = (n: number) => ({ own: { z: n, a: { signature: `s${n}` } } });
    const step: ScriptedAction[] = [
      { reasoning: "", metadata: metadata(1) },
      { call: "write", input: { z: 1, a: 2 }, metadata: metadata(2) },
      { reasoning: "more", metadata: metadata(3) },
      { call: "write", input: {}, metadata: metadata(4) },
      { call: "write", arguments: '{"a":', metadata: metadata(5) },
      { text: "so", metadata: metadata(6) },
    ];
    const write = with_approval(spy_tool());
    const { session, model } = await open([step, "Done."], { specification, tools: { write } });
    const running = turn(session);
    await answer(session, "approved");
    await answer(session, "denied");
    expect((await running).text).toBe("Done.");
    const parts = last_parts(model, "assistant");
    expect(parts.map(({ type }) => type)).toEqual([
      "reasoning",
      "tool-call",
      "reasoning",
      "tool-call",
      "tool-call",
      "text",
    ]);
    expect(parts.map(({ providerOptions }) => providerOptions)).toEqual([1, 2, 3, 4, 5, 6].map(metadata));
    expect(JSON.stringify(parts[1]?.input)).toBe('{"z":1,"a":2}');
    expect(parts[4]?.input).toEqual({});
  });

  it("an emoji that is cut between deltas is whole in text and arguments", async () => {
    const spy = spy_tool();
    const text = "a\u{1f389}b\u{1f600}";
    const { session } = await open([[{ call: "spy", input: { text } }], text], {
      specification,
      chunk_size: 1,
      tools: { spy },
    });
    expect((await turn(session)).text).toBe(text);
    expect(spy.inputs).toEqual([{ text }]);
  });
});

describe("what models emit", () => {
  it("bad arguments ask nobody, run nothing, and are told to the model", async () => {
    const spy = spy_tool();
    const texts = ['{"a":', '"text"', "[1]", "null", '{"a":1}{"b":2}'];
    const { session, model } = await open(
      [texts.map((text) => ({ call: "spy", arguments: text })), [{ call: "spy", arguments: "" }], "ok"],
      { tools: { spy: with_approval(spy, { when: () => true }) } },
    );
    const running = turn(session);
    await answer(session, "approved");
    expect((await running).success).toBe(true);
    expect(spy.inputs).toEqual([{}]);
    const results = last_parts(model, "tool");
    expect(results).toHaveLength(6);
    for (const { output } of results.slice(0, 5)) {
      expect(output).toEqual({ type: "error-text", value: expect.stringContaining("cannot be used") });
    }
    const { items } = await session.messages();
    const raw = items
      .flatMap(({ parts }) => parts)
      .flatMap((part) => (part.type === "tool" ? [part.input_text] : []));
    expect(raw.slice(0, 5)).toEqual(texts);
  });

  it("invented names never reach anything inherited, and repeating them is bounded", async () => {
    const spy = spy_tool();
    const names = ["serch", "", "__proto__", "constructor", "toString"];
    const invented = names.map((call) => ({ call }));
    const again = Array.from({ length: 20 }, (): ScriptedStep => [{ call: "serch" }]);
    const { session, model } = await open([[...invented, { call: "spy" }], ...again], {
      tools: { spy },
      max_steps: 10,
    });
    expect(await turn(session)).toMatchObject({ status: "failed", error_code: "MAX_STEPS" });
    expect(spy.inputs).toEqual([{}]);
    expect(model.requests).toHaveLength(10);
    for (const { output } of last_parts(model, "tool").slice(0, 5)) {
      expect(output).toEqual({ type: "error-text", value: expect.stringContaining("spy") });
    }
  });

  it("the same id in later turns, empty and missing ids: each call has its own result", async () => {
    const echo = spy_tool({ execute: ({ n }) => n });
    const call = (id: string | undefined, n: number): ScriptedAction =>
      id === undefined
        ? { raw: { type: "tool-call", toolName: "echo", input: JSON.stringify({ n }) } }
        : { call: "echo", id, input: { n } };
    const { session, model } = await open(
      [
        [call("call_0", 1)],
        "one",
        [call("call_0", 2)],
        "two",
        [call("", 3), call("", 4), call(undefined, 5), call("x", 6), call("x", 7)],
        "three",
        "four",
      ],
      { tools: { echo } },
    );
    for (const text of ["one", "two", "three", "four"]) expect((await turn(session)).text).toBe(text);
    expect(echo.inputs.map(({ n }) => n)).toEqual([1, 2, 3, 4, 5, 6, 7]);
    expect(last_parts(model, "tool").map(({ output }) => output.value)).toEqual([1, 2, 3, 4, 5, 6, 7]);
    const { items } = await session.messages();
    const ids = items
      .flatMap(({ parts }) => parts)
      .flatMap((part) => (part.type === "tool" ? [part.tool_call_id] : []));
    expect(new Set(ids).size).toBe(7);
    expect(ids).not.toContain("");
  });

  it("a schema is applied once to what the model sent, before anybody is asked", async () => {
    const seen: unknown[] = [];
    const { input_schema, transforms } = counting_schema();
    const tool = {
      input_schema,
      execute: (input: unknown) => {
        seen.push(input);
        return "ok";
      },
    };
    const good = { n: "3", d: "2020-01-01", tags: "a,b" };
    const gated = with_approval(tool, { when: ({ unit }) => unit === "C" });
    const { session } = await open(
      [
        [
          { call: "tool", input: { n: 3 } },
          { call: "tool", input: good },
        ],
        "ok",
      ],
      { tools: { tool: gated } },
    );
    const running = turn(session);
    const { payload } = await next_interaction(session);
    expect(payload).toMatchObject({
      validated_input: { n: 3, unit: "C", d: "2020-01-01T00:00:00.000Z", tags: ["a", "b"] },
    });
    expect(await session.interactions()).toHaveLength(1);
    await answer(session, "approved");
    expect((await running).success).toBe(true);
    expect(seen).toEqual([{ n: 3, unit: "C", d: new Date("2020-01-01"), tags: ["a", "b"] }]);
    expect(transforms()).toBe(1);
  });

  it("a Session can change to a model of another specification", async () => {
    const write = with_approval(spy_tool());
    const { session } = await open([[{ call: "write" }], "no"], { specification: "v3", tools: { write } });
    const running = turn(session);
    await answer(session, "denied");
    await running;
    const older = new ScriptedModel(["fine"], { specification: "v2" });
    await session.set({ model: older });
    expect((await turn(session)).text).toBe("fine");
    expect(() => assert_strict_prompt(older.prompts[0] ?? [], "v2")).not.toThrow();
  });
});

describe("what tools return", () => {
  it.each<[string, () => unknown, unknown]>([
    ["undefined", () => undefined, { type: "json", value: null }],
    ["an empty string", () => "", { type: "text", value: "(empty result)" }],
    ["NaN", () => Number.NaN, { type: "json", value: null }],
    ["a Date", () => new Date(0), { type: "text", value: "1970-01-01T00:00:00.000Z" }],
    ["an Error", () => new Error("x"), { type: "json", value: { name: "Error", message: "x" } }],
    ["half an emoji", () => "a\ud83c", { type: "text", value: "a\ufffd" }],
    ["NUL", () => "a\0b", { type: "text", value: "a\0b" }],
    [
      "a Map",
      () => new Map(),
      { type: "error-text", value: expect.stringMatching(/was executed, but.*is a Map/) },
    ],
    [
      "a BigInt inside",
      () => ({ a: [1n] }),
      { type: "error-text", value: expect.stringContaining("result.a[0] is a BigInt") },
    ],
    [
      "too much",
      () => "x".repeat(17 * 1024 * 1024),
      { type: "error-text", value: expect.stringContaining("16 MiB") },
    ],
    [
      "a long text",
      () => "x".repeat(300_000),
      { type: "text", value: expect.stringMatching(/^x{262144}\n\[37856 of 300000 /) },
    ],
  ])("%s", async (_name, execute, output) => {
    const { session, model } = await open([[{ call: "spy" }], "ok"], {
      tools: { spy: spy_tool({ execute }) },
    });
    expect((await turn(session)).success).toBe(true);
    expect(last_parts(model, "tool")[0]?.output).toEqual(output);
  });
});
