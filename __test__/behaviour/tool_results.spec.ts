import { type AnyTool, type ToolContext, with_approval } from "@downcity/agent";
import { gate, next_interaction } from "@downcity/agent/testing";
import { AskQuestionsTool } from "@downcity/agent/tools";
import { expect, test } from "vitest";
import { all_messages } from "../support/fold.js";
import {
  answer,
  answer_next,
  asking_tool,
  calls_of,
  deny,
  type Opened,
  open,
  parts_of,
  refusal_of,
  reopen,
  results_in,
  run,
  tool,
} from "../support/session.js";
import { on_each_store } from "../support/stores.js";

const circular: { self?: unknown; list: unknown[] } = { list: [] };
circular.list.push({ circular });

class Money {
  constructor(
    readonly amount: number,
    readonly currency: string,
  ) {}
}

const THROWING = {
  get field() {
    throw new Error("not today");
  },
};

/** What a tool returns, and the JSON it is from then on. */
const JSON_OF: { [name: string]: [unknown, unknown] } = {
  undefined: [undefined, null],
  null: [null, null],
  NaN: [Number.NaN, null],
  Infinity: [Number.POSITIVE_INFINITY, null],
  "minus zero": [-0, 0],
  "a small number": [17, 17],
  "a number beyond 2^53": [2 ** 53 + 2, 9007199254740994],
  "an empty text": ["", ""],
  "a Date": [new Date(0), "1970-01-01T00:00:00.000Z"],
  "an object with toJSON": [{ toJSON: (key: string) => ({ key, plain: true }) }, { key: "", plain: true }],
  "a class instance": [new Money(3, "EUR"), { amount: 3, currency: "EUR" }],
  "a sparse array": [Object.assign([1], { 2: 3 }), [1, null, 3]],
  "undefined within": [
    { a: undefined, b: [undefined], c: 1 },
    { b: [null], c: 1 },
  ],
  "a Proxy": [new Proxy({ a: 1 }, {}), { a: 1 }],
  "keys in their order": [
    { z: 1, a: 2, m: 3 },
    { z: 1, a: 2, m: 3 },
  ],
  "a NUL": ["a\u0000b", "a\u0000b"],
  "half a character": [{ "k\ud83d": "v\ud83d" }, { "k\ufffd": "v\ufffd" }],
};

/** What JSON cannot hold, and the place that has to be named. */
const REFUSED: { [name: string]: [unknown, string] } = {
  "a BigInt": [{ a: [10n] }, "a[0]"],
  "a Map": [{ map: new Map([["a", 1]]) }, "map"],
  "a Set": [new Set([1]), "Set"],
  "a function": [{ run: () => 1 }, "run"],
  "a symbol": [{ deep: { symbol: Symbol("s") } }, "deep.symbol"],
  "a circle": [circular, "list[0]"],
  "a Promise within": [{ later: Promise.resolve(1) }, "later"],
  "a getter that throws": [THROWING, "field"],
};

/** Throws what throws by itself as soon as anybody looks at it, at its kind even. */
function throw_unreadable(): never {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  throw proxy;
}

const ANY = { input: () => ({ type: "object" }) };

async function told(opened: Opened) {
  const [result] = results_in(opened.model.prompts[1]);
  const [call] = await calls_of(opened.session);
  return { result, call };
}

on_each_store("What tools return", (store) => {
  test.each(Object.keys(JSON_OF))("%s is the same JSON live, stored, and for the model", async (name) => {
    const [returned, expected] = JSON_OF[name] as [unknown, unknown];
    const options = { tools: { act: tool(() => returned) } };
    const opened = await open(store, [[{ call: "act" }], "Done."], options);
    const live: unknown[] = [];
    opened.session.subscribe((mutation) => {
      if (mutation.variant !== "part" || mutation.part.type !== "tool") return;
      if (mutation.part.state === "completed") live.push(mutation.part.output);
    });
    expect((await run(opened.session)).status).toBe("completed");
    const { call, result } = await told(opened);
    expect(live).toEqual([expected]);
    expect(JSON.stringify(call?.output)).toBe(JSON.stringify(expected));
    if (result?.output.type === "json") {
      expect(JSON.stringify(result.output.value)).toBe(JSON.stringify(expected));
    } else
      expect(result?.output).toMatchObject({ type: "text", value: expected || expect.stringMatching(/./) });
    const again = await reopen(opened, ["Fine."], options);
    expect(await calls_of(again.session)).toEqual([call]);
    await run(again.session);
    expect(results_in(again.model.prompts[0])).toEqual([result]);
  });

  test.each(Object.keys(REFUSED))(
    "%s fails the call with its place, and never reads as not executed",
    async (name) => {
      const [returned, place] = REFUSED[name] as [unknown, string];
      const runs: unknown[] = [];
      const act = tool((input) => {
        runs.push(input);
        return returned;
      });
      const opened = await open(store, [[{ call: "act" }], "Done."], { tools: { act } });
      expect((await run(opened.session)).status).toBe("completed");
      const { call, result } = await told(opened);
      expect(runs).toHaveLength(1);
      expect(call).toMatchObject({ state: "failed", error_code: "tool_failed" });
      expect(call?.error).toContain(place);
      expect(call?.error).not.toMatch(/not (been )?(executed|run)/);
      expect(result?.output).toEqual({ type: "error-text", value: call?.error });
    },
  );

  test("whatever a tool throws becomes a message, without a stack", async () => {
    const thrown = [
      new TypeError("typed"),
      "a text",
      { message: "an object" },
      undefined,
      null,
      7,
      Symbol("s"),
    ];
    const act = tool(({ n }) => {
      throw thrown[n as number];
    });
    const later = tool(async () => Promise.reject(new Error("rejected")));
    const calls = [...thrown.map((_, n) => ({ call: "act", input: { n } })), { call: "later" }];
    const { session, model } = await open(store, [calls, "Done."], { tools: { act, later } });
    expect((await run(session)).status).toBe("completed");
    const made = await calls_of(session);
    expect(made.every(({ state, error_code }) => state === "failed" && error_code === "tool_failed")).toBe(
      true,
    );
    const errors = made.map(({ error }) => error ?? "");
    expect(errors[0]).toContain("typed");
    expect(errors[1]).toContain("a text");
    expect(errors[2]).toContain("an object");
    expect(errors.at(-1)).toContain("rejected");
    for (const error of errors) {
      expect(error.length).toBeGreaterThan(0);
      expect(error).not.toMatch(/\n\s+at /);
    }
    expect(results_in(model.prompts[1]).map(({ output }) => output.value)).toEqual(errors);
  });

  const within = { "~standard": { version: 1, vendor: "own", validate: throw_unreadable, jsonSchema: ANY } };
  const THROWERS: { [name: string]: AnyTool } = {
    execute: tool(throw_unreadable),
    "execute, later": tool(async () => throw_unreadable()),
    "a generator": tool(async function* () {
      yield 1;
      throw_unreadable();
    }),
    "a getter of the result": tool(() => ({
      get field() {
        return throw_unreadable();
      },
    })),
    "the result's toJSON": tool(() => ({ toJSON: throw_unreadable })),
    "the schema": tool(() => 1, { input_schema: within as never }),
    "the gate's rule": with_approval(
      tool(() => 1),
      { when: throw_unreadable },
    ),
  };
  test.each(Object.keys(THROWERS))(
    "what %s throws may be a Proxy that cannot be looked at: the call fails, and the Turn goes on",
    async (name) => {
      const tools = { act: THROWERS[name] as AnyTool };
      const { session, model } = await open(store, [[{ call: "act" }], "Done."], { tools });
      expect((await run(session)).text).toBe("Done.");
      const [call] = await calls_of(session);
      expect(call).toMatchObject({
        state: "failed",
        error: expect.stringContaining("a value that cannot be read was thrown"),
      });
      expect(results_in(model.prompts[1])[0]?.output).toEqual({ type: "error-text", value: call?.error });
    },
  );

  test("a result over the model's limit is stored whole and goes to the model cut, well formed and marked", async () => {
    const emoji = "\u{1f600}";
    for (let offset = 0; offset < 8; offset += 1) {
      const whole = "a".repeat(offset) + emoji.repeat(200);
      const act = tool(() => whole);
      const opened = await open(store, [[{ call: "act" }], "Done."], {
        tools: { act },
        max_tool_result_chars: 150,
      });
      await run(opened.session);
      const { call, result } = await told(opened);
      expect(call?.output).toBe(whole);
      const sent = String(result?.output.value);
      expect(Buffer.from(sent).toString()).toBe(sent);
      expect(sent).not.toBe(whole);
      expect(sent).toMatch(/\d+/);
      expect(sent.startsWith("a".repeat(offset) + emoji)).toBe(true);
      expect(sent.length).toBeLessThan(whole.length);
      await opened.session.close();
    }
  });

  test("a big result under 16 MiB is kept, one over it fails the call, and the Session goes on", {
    timeout: 60_000,
  }, async () => {
    const sizes = [5 * 2 ** 20, 17 * 2 ** 20];
    const act = tool(({ n }) => "x".repeat(sizes[n as number] ?? 0));
    const calls = sizes.map((_, n) => ({ call: "act", input: { n } }));
    const opened = await open(store, [calls, "Done."], { tools: { act } });
    expect((await run(opened.session)).status).toBe("completed");
    const [kept, refused] = await calls_of(opened.session);
    expect(String(kept?.output).length).toBe(sizes[0]);
    expect(refused).toMatchObject({ state: "failed", error_code: "tool_failed" });
    expect(refused?.error).toMatch(/16|large|big/);
    const [sent] = results_in(opened.model.prompts[1]);
    expect(String(sent?.output.value).length).toBeLessThan(300_000);
    const again = await reopen(opened, ["Fine."], { tools: { act } });
    expect((await run(again.session)).text).toBe("Fine.");
  });

  test("a result nested deeper than 128 fails the call, and 100,000 levels do no harm", async () => {
    const nested = (depth: number) => {
      let value: unknown = 1;
      for (let level = 0; level < depth; level += 1) value = [value];
      return value;
    };
    const depths = [100, 129, 100_000];
    const act = tool(({ n }) => nested(depths[n as number] ?? 0));
    const calls = depths.map((_, n) => ({ call: "act", input: { n } }));
    const { session } = await open(store, [calls, "Done."], { tools: { act } });
    expect((await run(session)).status).toBe("completed");
    expect((await calls_of(session)).map(({ state }) => state)).toEqual(["completed", "failed", "failed"]);
  });

  test("NUL travels unchanged through every text there is", async () => {
    const nul = "\u0000a\u0000b\u0000";
    const { tool: act, decisions } = asking_tool();
    const questions = [{ question: `Why${nul}?`, type: "text" }];
    const script = [
      [
        { text: nul },
        { call: "echo", input: { [nul]: nul } },
        { call: "ask", input: { questions } },
        { call: "act", input: { nul } },
      ],
      "Done.",
    ];
    const options = { tools: { act, echo: tool((input) => input), ask: AskQuestionsTool } };
    const opened = await open(store, script, options);
    const { session } = opened;
    const turn = await session.prompt({ query: nul });
    const asked = await next_interaction(session, ({ type }) => type === "question");
    const [question] = asked.type === "question" ? asked.payload.questions : [];
    expect(question?.question).toBe(`Why${nul}?`);
    await session.respond(
      answer(asked.interaction_id, [{ question_id: question?.question_id ?? "", value: nul }]),
    );
    await answer_next(session, (id) => deny(id, nul));
    expect((await turn.finished).status).toBe("completed");
    expect(decisions[0]?.reason).toBe(nul);
    const stored = await all_messages(session);
    const again = await reopen(opened, ["Fine."], options);
    expect(await all_messages(again.session)).toEqual(stored);
    expect((await calls_of(again.session))[0]?.output).toEqual({ [nul]: nul });
    expect((await parts_of(again.session))[0]).toMatchObject({ text: nul });
    expect((await run(again.session)).text).toBe("Fine.");
  });

  test("a free text of 5 MiB is an answer, one over 16 MiB is refused and leaves the question open", {
    timeout: 60_000,
  }, async () => {
    const questions = [{ question: "Why?", type: "text" }];
    const { session } = await open(store, [[{ call: "ask", input: { questions } }], "Done."], {
      tools: { ask: AskQuestionsTool },
    });
    const turn = await session.prompt({ query: "Go" });
    const asked = await next_interaction(session);
    const question_id = asked.type === "question" ? (asked.payload.questions[0]?.question_id ?? "") : "";
    const input = (length: number) =>
      answer(asked.interaction_id, [{ question_id, value: "x".repeat(length) }]);
    const refused = await refusal_of(session.respond(input(17 * 2 ** 20)));
    expect(refused.code).toBe("INVALID_RESPONSE");
    expect(refused.issues?.length).toBeGreaterThan(0);
    expect(await session.interactions()).toHaveLength(1);
    expect((await session.respond(input(5 * 2 ** 20))).status).toBe("resolved");
    expect((await turn.finished).text).toBe("Done.");
  });

  test("a tool is told which call of which Session it is, and where it may look", async () => {
    const seen: ToolContext[] = [];
    const act = tool((_, context) => void seen.push(context));
    const { session } = await open(store, [[{ call: "act", id: "call_a" }], "Done."], { tools: { act } });
    const turn = await session.prompt({ query: "Go" });
    await turn.finished;
    const [call] = await calls_of(session);
    expect(seen.map((context) => Object.fromEntries(Object.entries(context)))).toEqual([
      {
        session_id: session.id,
        turn_id: turn.id,
        step_id: call?.step_id,
        tool_call_id: "call_a",
        tool_name: "act",
        workspace: null,
        abort_signal: expect.any(AbortSignal),
        resumed: false,
        interactions: expect.objectContaining({
          request: expect.any(Function),
          approval: { request: expect.any(Function) },
        }),
      },
    ]);
    expect(call?.step_id).toMatch(/^step:/);
  });

  test("three tools of one step run at the same time", async () => {
    const gates = [gate(), gate(), gate()];
    const act = tool(async ({ n }) => {
      await gates[n as number]?.wait();
      return n;
    });
    const calls = gates.map((_, n) => ({ call: "act", input: { n } }));
    const { session, model } = await open(store, [calls, "Done."], { tools: { act } });
    const turn = await session.prompt({ query: "Go" });
    await Promise.all(gates.map(({ reached }) => reached));
    for (const held of gates.toReversed()) held.open();
    await turn.finished;
    expect(results_in(model.prompts[1]).map(({ output }) => output.value)).toEqual([0, 1, 2]);
  });
});
