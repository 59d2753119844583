import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { generateText as of_6 } from "ai";
import { generateText as of_5 } from "ai-5";
import { afterAll, describe, expect, it } from "vitest";
import {
  assert_strict_prompt,
  gate,
  next_interaction,
  type ObservedSession,
  ScriptedModel,
  type ScriptedStep,
  StrictPromptError,
  spied_runs,
  spy_tool,
} from "../../lib/testing/index.js";
import type { Mutation } from "../../types/message.js";
import type { ToolContext } from "../../types/tool.js";

const user = { role: "user", content: [{ type: "text", text: "hi" }] };
const call = (id: string, input: unknown = {}, more: object = {}) => ({
  type: "tool-call",
  toolCallId: id,
  toolName: "t",
  input,
  ...more,
});
const result = (id: string, output: unknown = { type: "json", value: null }) => ({
  type: "tool-result",
  toolCallId: id,
  toolName: "t",
  output,
});
const said = (...content: object[]) => ({ role: "assistant", content });
const results = (...content: object[]) => ({ role: "tool", content });

describe("assert_strict_prompt", () => {
  it("takes what every provider takes", () => {
    const prompt = [
      { role: "system", content: "Be brief." },
      user,
      said(
        { type: "reasoning", text: "", providerOptions: { p: { s: 1 } } },
        call("a"),
        call("b"),
        call("p", {}, { providerExecuted: true }),
        result("p"),
      ),
      results(result("b"), result("a")),
      said({ type: "text", text: "done" }),
      {
        role: "user",
        content: [{ type: "file", mediaType: "image/png", data: new URL("https://example.org/a.png") }],
      },
    ];
    expect(() => assert_strict_prompt(prompt, "v3")).not.toThrow();
  });

  it.each<[string, object[], RegExp]>([
    ["S1: a call without result", [user, said(call("a"))], /before the end: call a has no result/],
    [
      "S1: a result too late",
      [user, said(call("a")), user, results(result("a"))],
      /before message 2: call a has no result directly/,
    ],
    [
      "S1: two results",
      [user, said(call("a")), results(result("a"), result("a"))],
      /a result for a, which is no open call/,
    ],
    [
      "S1: a provider's call without result",
      [user, said(call("p", {}, { providerExecuted: true }))],
      /the provider's call p has no result/,
    ],
    ["S2: a result without call", [user, results(result("a"))], /a result for a, which is no open call/],
    [
      "S3: a text as input",
      [user, said(call("a", "{}")), results(result("a"))],
      /the input of call a is no object/,
    ],
    [
      "S3: a list as input",
      [user, said(call("a", [])), results(result("a"))],
      /the input of call a is no object/,
    ],
    ["S4: an empty text", [{ role: "user", content: [{ type: "text", text: "" }] }], /an empty text/],
    [
      "S4: an empty text with nothing beside it",
      [{ role: "assistant", content: [{ type: "text", text: "", providerOptions: {} }] }],
      /an empty text/,
    ],
    ["S4: an empty message", [user, said()], /message 1 has no content/],
    [
      "S4: an empty output",
      [user, said(call("a")), results(result("a", { type: "text", value: "" }))],
      /the result of a is empty/,
    ],
    [
      "S5: half a character",
      [{ role: "user", content: [{ type: "text", text: "\ud83c" }] }],
      /half a character/,
    ],
    [
      "S5: half a character in a key",
      [user, said(call("a", { "\ud83c": 1 })), results(result("a"))],
      /half a character/,
    ],
    [
      "S5: undefined",
      [user, said(call("a", { x: undefined })), results(result("a"))],
      /a undefined is not JSON/,
    ],
    [
      "S5: undefined in a result",
      [user, said(call("a")), results(result("a", { type: "json", value: { x: undefined } }))],
      /a undefined is not JSON/,
    ],
    ["S5: a Date", [user, said(call("a", { x: new Date(0) })), results(result("a"))], /Date\] is not JSON/],
    ["S5: NaN", [user, said(call("a", { x: Number.NaN })), results(result("a"))], /NaN is not JSON/],
    [
      "S6: an id twice",
      [user, said(call("a"), call("a")), results(result("a"), result("a"))],
      /two tool calls have the id a/,
    ],
    ["S6: an empty id", [user, said(call("")), results(result(""))], /a tool call without id/],
    [
      "S7: a later kind",
      [user, said(call("a")), results(result("a", { type: "execution-denied", reason: "no" }))],
      /execution-denied, which this specification lacks/,
    ],
  ])("%s is refused", (_name, prompt, expected) => {
    expect(() => assert_strict_prompt(prompt, "v2")).toThrow(expected);
  });

  describe("approvals that a provider wants for its own calls", () => {
    const own = (id: string) => call(id, {}, { providerExecuted: true });
    const told = (approvalId: unknown, approved: unknown) => ({
      type: "tool-approval-response",
      approvalId,
      approved,
    });
    const done = said({ type: "text", text: "done" });

    it("takes an answer for each, and a result of what was approved", () => {
      const answers = results(result("a"), told("x", true), told("y", false));
      const prompt = [user, said(own("p"), own("q"), call("a")), answers, user, said(result("p")), user];
      expect(() => assert_strict_prompt(prompt, "v3")).not.toThrow();
    });

    it.each<[string, object[], RegExp]>([
      ["no answer", [user, said(own("p")), done], /the provider's call p has no result/],
      [
        "one of two",
        [user, said(own("p"), own("q")), results(told("x", false)), done],
        /call q has no result/,
      ],
      ["approved and no result", [user, said(own("p")), results(told("x", true)), done], /p has no result/],
      [
        "nothing asked",
        [user, said(call("a")), results(result("a"), told("x", true))],
        /no call of the prov/,
      ],
      [
        "twice",
        [user, said(own("p"), own("q")), results(told("x", false), told("x", false)), done],
        /answer to approval x is there twice/,
      ],
      ["neither", [user, said(own("p")), results(told("x", "yes")), done], /neither yes nor no/],
      ["without id", [user, said(own("p")), results(told("", false)), done], /has no id/],
    ])("%s is refused", (_name, prompt, expected) => {
      expect(() => assert_strict_prompt(prompt, "v3")).toThrow(expected);
    });

    it("v2 has no such answers", () => {
      const prompt = [user, said(own("p")), results(told("x", false)), done];
      expect(() => assert_strict_prompt(prompt, "v2")).toThrow(/of a kind this specification lacks/);
    });
  });

  it("lists every fault", () => {
    try {
      assert_strict_prompt([said(call("a", "x")), { role: "clown", content: [] }], "v3");
      throw new Error("it was taken");
    } catch (error) {
      expect((error as StrictPromptError).faults).toHaveLength(3);
    }
  });
});

describe("ScriptedModel", () => {
  it("keeps every request and checks its prompt", async () => {
    const model = new ScriptedModel(["one", "two"]);
    await model.doStream({ prompt: [user], tools: [{ name: "t" }] });
    await expect(model.doStream({ prompt: [said(call("a"))] })).rejects.toBeInstanceOf(StrictPromptError);
    expect(model.prompts).toHaveLength(2);
    expect(model.requests[0]?.tools).toEqual([{ name: "t" }]);
  });

  it("says so when the script is over, and can be a function of the prompt", async () => {
    await expect(new ScriptedModel([]).doStream({ prompt: [user] })).rejects.toThrow(
      "The script has 0 steps",
    );
    const echo = new ScriptedModel((prompt, step) => `${prompt.length} ${step}`);
    const { stream } = await echo.doStream({ prompt: [user] });
    const parts: unknown[] = [];
    for await (const part of stream) parts.push(part);
    expect(parts).toContainEqual({ type: "text-delta", id: "text_1", delta: "1 0" });
  });

  type Generate = (options: { model: never; prompt: string; maxRetries: number }) => Promise<object>;
  it.each<[string, "v2" | "v3", Generate]>([
    ["5", "v2", of_5],
    ["6", "v3", of_6],
  ])("generates for AI SDK %s what it would stream", async (_line, specification, generateText) => {
    const metadata = { own: { signature: "s" } };
    const step: ScriptedStep = [
      { reasoning: "Because", metadata },
      { text: ["Half ", "and half"] },
      { call: "t", input: { a: 1 }, id: "call_7" },
      { finish: "length", usage: { input: 3, output: 4 } },
    ];
    const model = new ScriptedModel([step, [{ error: new Error("no") }], [{ no_finish: true }]], {
      specification,
      chunk_size: 2,
    });
    const ask = () => generateText({ model: model as never, prompt: "hi", maxRetries: 0 });
    const { text, reasoning, toolCalls, finishReason, usage } = (await ask()) as Awaited<
      ReturnType<typeof of_6>
    >;
    expect(text).toBe("Half and half");
    expect(reasoning).toMatchObject([{ text: "Because", providerMetadata: metadata }]);
    expect(toolCalls).toMatchObject([{ toolCallId: "call_7", toolName: "t", input: { a: 1 } }]);
    expect(finishReason).toBe("length");
    expect(usage).toMatchObject({ inputTokens: 3, outputTokens: 4 });
    await expect(ask()).rejects.toThrow("no");
    await expect(ask()).rejects.toThrow(/without a finish/);
  });

  it("a gate holds back what comes after it", async () => {
    const hold = gate();
    const { stream } = await new ScriptedModel([[{ text: "a" }, { hold }, { text: "b" }]]).doStream({
      prompt: [user],
    });
    const reader = stream.getReader();
    const seen: unknown[] = [];
    const reading = (async () => {
      for (let part = await reader.read(); !part.done; part = await reader.read())
        seen.push((part.value as { delta?: string }).delta);
    })();
    await hold.reached;
    expect(seen).not.toContain("b");
    hold.open();
    await reading;
    expect(seen.filter(Boolean)).toEqual(["a", "b"]);
  });
});

describe("spy_tool", () => {
  const folder = mkdtempSync(join(tmpdir(), "spy-"));
  afterAll(() => rmSync(folder, { recursive: true }));

  it("notes each run in memory and on disk before it goes on", async () => {
    const file = join(folder, "runs");
    expect(spied_runs(file)).toEqual([]);
    const spy = spy_tool({ file, execute: () => spied_runs(file).length });
    const context = {} as ToolContext;
    expect(await spy.execute({ a: 1 }, context)).toBe(1);
    expect(await spy.execute({ a: 2 }, context)).toBe(2);
    expect(spy.inputs).toEqual([{ a: 1 }, { a: 2 }]);
    expect(spied_runs(file)).toEqual([{ a: 1 }, { a: 2 }]);
  });
});

describe("next_interaction", () => {
  /** A Session that holds these Interactions and tells of new ones. */
  function session_with(pending: object[]) {
    const listeners = new Set<(mutation: Mutation) => unknown>();
    const session = {
      id: "s",
      interactions: async () => [...pending],
      subscribe: (listener: (mutation: Mutation) => unknown) => {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    } as unknown as ObservedSession;
    const ask = (interaction: { interaction_id: string; type: string }): void => {
      const asked = { status: "pending", ...interaction };
      pending.push(asked);
      const part = { type: "tool", interactions: [asked] };
      for (const listener of [...listeners])
        listener({ variant: "part", type: "tool", part } as unknown as Mutation);
    };
    return { session, ask, listeners };
  }

  it("finds what is pending already", async () => {
    const { session, listeners } = session_with([{ interaction_id: "1", type: "approval" }]);
    expect(await next_interaction(session)).toMatchObject({ interaction_id: "1" });
    expect(listeners.size).toBe(0);
  });

  it("waits for one the predicate takes", async () => {
    const { session, ask } = session_with([]);
    const waiting = next_interaction(session, ({ type }) => type === "question");
    ask({ interaction_id: "1", type: "approval" });
    ask({ interaction_id: "2", type: "question" });
    expect(await waiting).toMatchObject({ interaction_id: "2" });
  });

  it("ends with its signal", async () => {
    const { session, listeners } = session_with([]);
    const controller = new AbortController();
    const waiting = next_interaction(session, undefined, { signal: controller.signal });
    controller.abort();
    await expect(waiting).rejects.toMatchObject({ name: "AbortError" });
    await expect(next_interaction(session, undefined, { signal: controller.signal })).rejects.toMatchObject({
      name: "AbortError",
    });
    expect(listeners.size).toBe(0);
  });

  it("rejects when the Session cannot be asked", async () => {
    const { session } = session_with([]);
    session.interactions = () => Promise.reject(new Error("closed"));
    await expect(next_interaction(session)).rejects.toThrow("closed");
  });
});
