import { next_interaction, type ScriptedAction } from "@downcity/agent/testing";
import { expect, test } from "vitest";
import {
  answer_next,
  asking_tool,
  calls_of,
  deny,
  open,
  parts_of,
  pending_of,
  reopen,
  results_in,
  run,
  tool,
} from "../support/session.js";
import { on_each_store } from "../support/stores.js";

const texts = (output: { value?: unknown; reason?: string } | undefined) =>
  String(output?.value ?? output?.reason);

on_each_store("Whatever a model sends", (store) => {
  test("a failing request is retried when it may be, and its Turn fails when it may not", async () => {
    const busy = { reject: new Error("busy"), retryable: true };
    const { session, model } = await open(store, [
      busy,
      "Hi.",
      { reject: new Error("no such model") },
      "Again.",
    ]);
    expect((await run(session)).text).toBe("Hi.");
    expect(model.requests).toHaveLength(2);
    const failed = await run(session);
    expect(failed).toMatchObject({
      status: "failed",
      success: false,
      error_code: "MODEL_FAILED",
      error: expect.stringContaining("no such model"),
    });
    expect(model.requests).toHaveLength(3);
    expect((await parts_of(session)).at(-1)).toMatchObject({
      type: "error",
      error_code: "MODEL_FAILED",
      message: expect.stringContaining("no such model"),
    });
    expect((await run(session)).text).toBe("Again.");
  });

  test("what a broken stream said is kept, its calls are not run, and nothing is asked", async () => {
    const { tool: act, runs } = asking_tool();
    const broken = [{ text: "Let me " }, { call: "act", id: "call_0" }, { break_off: new Error("gone") }];
    const { session, model, observer } = await open(store, [broken, "Sorry."], { tools: { act } });
    expect(await run(session)).toMatchObject({ status: "completed", text: "Sorry." });
    expect(runs).toEqual([]);
    expect(await calls_of(session)).toMatchObject([{ state: "failed", error_code: "not_run" }]);
    expect(results_in(model.prompts[1])).toHaveLength(1);
    expect(
      observer.mutations.some((m) => m.variant === "part" && JSON.stringify(m).includes("pending")),
    ).toBe(false);
  });

  const cuts: { [name: string]: ScriptedAction } = {
    "breaks off": { break_off: new Error("gone") },
    "hits the length limit": { finish: "length" },
    "is filtered": { finish: "content-filter" },
    "reports an error": { error: new Error("overloaded") },
    "ends without a finish": { no_finish: true },
    "finishes with an error": { finish: "error" },
  };
  test.each(Object.keys(cuts))(
    "a model whose answer %s each time ends the Turn after 3 steps",
    async (name) => {
      const { tool: act, runs } = asking_tool();
      const script = () => [{ call: "act" }, cuts[name] as ScriptedAction];
      const { session, model } = await open(store, script, { tools: { act } });
      expect(await run(session)).toMatchObject({ status: "failed", error_code: "MODEL_FAILED" });
      expect(model.requests).toHaveLength(3);
      expect(runs).toEqual([]);
      expect((await calls_of(session)).map(({ error_code }) => error_code)).toEqual([
        "not_run",
        "not_run",
        "not_run",
      ]);
      expect((await session.status()).state).toBe("idle");
    },
  );

  test("a Turn of endless calls ends with MAX_STEPS, and the next one works", async () => {
    const free = tool(() => "again");
    const script = (prompt: readonly { role: string }[], step: number) =>
      step < 3 ? [{ call: "free" }] : prompt.at(-1)?.role === "user" ? "Hi." : [{ call: "free" }];
    const { session, model } = await open(store, script, { tools: { free }, max_steps: 3 });
    expect(await run(session)).toMatchObject({ status: "failed", error_code: "MAX_STEPS" });
    expect(model.requests).toHaveLength(3);
    expect((await parts_of(session)).at(-1)).toMatchObject({ type: "error", error_code: "MAX_STEPS" });
    expect((await run(session)).text).toBe("Hi.");
  });

  test("without a model the Turn fails with MODEL_MISSING, and goes on once one was set", async () => {
    const { session, model } = await open(store, ["Hi."], { model: undefined });
    expect(await run(session)).toMatchObject({ status: "failed", error_code: "MODEL_MISSING" });
    await session.set({ model });
    expect((await run(session)).text).toBe("Hi.");
  });

  test("names that are no tools get an error that lists what there is, beside a call that works", async () => {
    const free = tool(() => "worked");
    const names = ["serch", "__proto__", "constructor", "toString", "hasOwnProperty"];
    const calls = [...names.map((name) => ({ call: name, input: { a: 1 } })), { call: "free" }];
    const { session, model } = await open(store, [calls, "Done."], { tools: { free } });
    expect((await run(session)).status).toBe("completed");
    const results = results_in(model.prompts[1]);
    expect(results).toHaveLength(6);
    for (const { output } of results.slice(0, 5)) {
      expect(output.type).toBe("error-text");
      expect(texts(output)).toContain("free");
    }
    expect(results[5]?.output.value).toBe("worked");
    expect((await calls_of(session)).slice(0, 5).every((call) => call.error_code === "unknown_tool")).toBe(
      true,
    );
  });

  const bad = ['{"a":', '"text"', "[1]", "null", '{"a":1}{"b":2}', "12", "true", "nonsense"];
  test.each(bad)("arguments %s become an error for the model, and nobody is asked", async (text) => {
    const { tool: act, runs } = asking_tool();
    const free = tool(() => "never");
    const calls = [
      { call: "act", arguments: text },
      { call: "free", arguments: text },
    ];
    const options = { tools: { act, free } };
    const opened = await open(store, [calls, "I see."], options);
    expect((await run(opened.session)).status).toBe("completed");
    expect(runs).toEqual([]);
    const results = results_in(opened.model.prompts[1]);
    expect(results.map(({ output }) => output.type)).toEqual(["error-text", "error-text"]);
    const made = await calls_of(opened.session);
    expect(made.map(({ error_code }) => error_code)).toEqual(["invalid_input", "invalid_input"]);
    expect(made.map(({ input_text }) => input_text)).toEqual([text, text]);
    const again = await reopen(opened, ["Still here."], options);
    expect((await run(again.session)).text).toBe("Still here.");
    expect(results_in(again.model.prompts[0])).toEqual(results);
  });

  test("an input that the schema refuses is told to the model with the place, and nobody is asked", async () => {
    const input_schema = { type: "object", properties: { path: { type: "string" } }, required: ["path"] };
    const { tool: act, runs } = asking_tool({ input_schema });
    const script = [
      [
        { call: "act", input: { path: 7 } },
        { call: "act", input: {} },
      ],
      "I see.",
    ];
    const { session, model } = await open(store, script, { tools: { act } });
    await run(session);
    expect(runs).toEqual([]);
    for (const { output } of results_in(model.prompts[1])) {
      expect(output.type).toBe("error-text");
      expect(texts(output)).toContain("path");
    }
    expect((await calls_of(session)).map(({ error_code }) => error_code)).toEqual([
      "invalid_input",
      "invalid_input",
    ]);
  });

  test("call ids that repeat in later Turns are separate calls with results of their own", async () => {
    const { tool: act, runs } = asking_tool();
    const free = tool(() => "free");
    const call = (name: string, n: number) => [{ call: name, input: { n }, id: "call_0" }];
    const script = [call("act", 1), "Denied.", call("free", 2), "Free.", call("act", 3), "Approved."];
    const options = { tools: { act, free } };
    const opened = await open(store, script, options);
    const { session } = opened;
    const first = await session.prompt({ query: "One" });
    await answer_next(session, (id) => deny(id, "no"));
    await first.finished;
    await run(session, "Two");
    const third = await session.prompt({ query: "Three" });
    await answer_next(session);
    await third.finished;
    const calls = await calls_of(session);
    expect(new Set(calls.map(({ tool_call_id }) => tool_call_id)).size).toBe(3);
    const asked = calls.flatMap(({ interactions }) => interactions ?? []);
    expect(new Set(asked.map(({ interaction_id }) => interaction_id)).size).toBe(2);
    expect(runs).toEqual([{ n: 3 }]);
    const again = await reopen(opened, ["Fine."], options);
    await run(again.session);
    expect(results_in(again.model.prompts[0]).map(({ output }) => output.value)).toEqual([
      { success: false, error: "denied", reason: "no" },
      "free",
      { success: true },
    ]);
    expect(await calls_of(again.session)).toEqual(calls);
  });

  test.each([
    ["empty", "", ""],
    ["the same", "same", "same"],
  ])("two calls of one step whose ids are %s are both run and paired", async (_, one, other) => {
    const { tool: act, runs } = asking_tool();
    const echo = tool((input) => input);
    const calls = [
      { call: "echo", input: { n: 1 }, id: one },
      { call: "echo", input: { n: 2 }, id: other },
      { call: "act", input: { n: 3 }, id: one },
    ];
    const { session, model } = await open(store, [calls, "Done."], { tools: { act, echo } });
    const turn = await session.prompt({ query: "Go" });
    await answer_next(session);
    await turn.finished;
    expect(runs).toEqual([{ n: 3 }]);
    const ids = (await calls_of(session)).map(({ tool_call_id }) => tool_call_id);
    expect(new Set(ids).size).toBe(3);
    expect(ids.every((id) => id.length > 0)).toBe(true);
    const results = results_in(model.prompts[1]);
    expect(results.map(({ output }) => output.value)).toEqual([{ n: 1 }, { n: 2 }, { success: true }]);
    expect(new Set(results.map(({ toolCallId }) => toolCallId)).size).toBe(3);
  });

  test.each(["v2", "v3", "v4"] as const)(
    "provider metadata goes back as it came, in order (%s)",
    async (specification) => {
      const { tool: act } = asking_tool();
      const metadata = (n: number) => ({ scripted: { z: n, a: [n, { deep: `s${n}` }] } });
      const step = [
        { reasoning: "First thought", metadata: metadata(1) },
        { call: "act", input: { z: 1, a: 2 }, metadata: metadata(2) },
        { reasoning: "", metadata: metadata(3) },
        { call: "act", input: { n: 2 }, metadata: metadata(4) },
        { text: "Words", metadata: metadata(5) },
        { call: "act", arguments: "nonsense", metadata: metadata(6) },
      ];
      const options = { tools: { act }, specification };
      const opened = await open(store, [step, "Done."], options);
      const turn = await opened.session.prompt({ query: "Go" });
      const [one, other] = await pending_of(opened.session, 2);
      await opened.session.respond(deny(other?.interaction_id ?? ""));
      await answer_next(opened.session);
      expect(one?.status).toBe("pending");
      expect((await turn.finished).text).toBe("Done.");
      const again = await reopen(opened, ["Again."], options);
      await run(again.session);
      for (const prompt of [opened.model.prompts[1], again.model.prompts[0]]) {
        const assistant = prompt?.find(({ role }) => role === "assistant")?.content;
        const content = assistant as { type: string; providerOptions: unknown; input?: object }[];
        expect(content.map(({ type }) => type)).toEqual([
          "reasoning",
          "tool-call",
          "reasoning",
          "tool-call",
          "text",
          "tool-call",
        ]);
        expect(content.map(({ providerOptions }) => JSON.stringify(providerOptions))).toEqual(
          [1, 2, 3, 4, 5, 6].map((n) => JSON.stringify(metadata(n))),
        );
        expect(Object.keys(content[1]?.input ?? {})).toEqual(["z", "a"]);
      }
    },
  );

  test("half characters in two deltas become the whole one, live and stored", async () => {
    const script = [
      [{ text: ["a\ud83c", "\udf89b"] }, { reasoning: ["\ud83d", "\ude00"] }, { text: ["lone \ud800"] }],
    ];
    const opened = await open(store, script);
    const live: string[] = [];
    opened.session.subscribe((m) => m.variant === "delta" && live.push(m.delta));
    await run(opened.session);
    for (const delta of live) expect(delta).toBe(Buffer.from(delta).toString());
    const stored = await parts_of(opened.session);
    const texts = stored.map((part) => "text" in part && part.text);
    expect(texts).toEqual(["Go", "a\u{1f389}b", "\u{1f600}", "lone \ufffd"]);
    const again = await reopen(opened, []);
    expect(await parts_of(again.session)).toEqual(stored);
  });

  test("usage is summed over the steps, and each step's text is its own", async () => {
    const free = tool(() => "ok");
    const usage = (input: number, output: number) => ({
      finish: "tool-calls" as const,
      usage: { input, output },
    });
    const script = [[{ text: "Step one." }, { call: "free" }, usage(100, 10)], [{ text: "Step two." }]];
    const { session, observer } = await open(store, script, { tools: { free } });
    const result = await run(session);
    expect(result.text).toBe("Step two.");
    expect(result.usage).toMatchObject({ input_tokens: 110, output_tokens: 15, total_tokens: 125 });
    expect(observer.mutations.at(-1)).toMatchObject({ text: "Step two.", usage: result.usage });
  });

  test("a call that waits shows the model nothing until it is answered", async () => {
    const { tool: act } = asking_tool();
    const { session, model } = await open(store, [[{ call: "act" }], "Done."], { tools: { act } });
    const turn = await session.prompt({ query: "Go" });
    await next_interaction(session);
    await session.set({ security: { approval_mode: "always-allow" } });
    await session.set({ security: { approval_mode: "ask" } });
    expect(await session.interactions()).toHaveLength(1);
    expect(model.requests).toHaveLength(1);
    await answer_next(session);
    await turn.finished;
    expect(model.requests).toHaveLength(2);
  });
});
