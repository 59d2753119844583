import { next_interaction, type ScriptedAction } from "@downcity/agent/testing";
import { expect, test } from "vitest";
import {
  answer_next,
  approve,
  calls_of,
  deny,
  open,
  pending_of,
  results_in,
  run,
  tool,
} from "../support/session.js";
import { on_each_store } from "../support/stores.js";
import { begin, end_of, gated_tool, hand_over } from "./support.js";

/** A call as a model emits it that leaves the id out, or gives one that is no text. */
const raw_call = (toolName: string, n: number, toolCallId?: unknown): ScriptedAction => ({
  raw: { type: "tool-call", toolCallId, toolName, input: JSON.stringify({ n }) },
});

on_each_store("What a model emits", (store) => {
  test.each(["v2", "v3", "v4"] as const)(
    "calls without an id, with an empty one or with the same one keep apart, also for the next Agent (%s)",
    async (specification) => {
      const { tool: act, runs } = gated_tool();
      const free = tool(({ n }) => n);
      const pairs: ScriptedAction[] = [
        { call: "act", id: "", input: { n: 1 } },
        { call: "free", id: "", input: { n: 2 } },
        raw_call("act", 3),
        raw_call("free", 4),
        { call: "act", id: "same", input: { n: 5 } },
        { call: "free", id: "same", input: { n: 6 } },
      ];
      const options = { tools: { act, free }, specification };
      const opened = await begin(store, [pairs], options);
      await opened.session.prompt({ query: "Go" });
      const asked = await pending_of(opened.session, 3);
      const before = await calls_of(opened.session);
      const ids = before.map(({ tool_call_id }) => tool_call_id);
      expect(new Set(ids).size).toBe(6);
      expect(ids.every((id) => typeof id === "string" && id !== "")).toBe(true);
      expect(asked.map(({ source }) => source.tool_call_id).sort()).toEqual([ids[0], ids[2], ids[4]].sort());
      const { session, model } = await hand_over(opened, ["Done."], options);
      expect((await calls_of(session)).map(({ tool_call_id }) => tool_call_id)).toEqual(ids);
      for (const { interaction_id, source } of asked)
        await session.respond(
          source.tool_call_id === ids[2] ? deny(interaction_id, "no") : approve(interaction_id),
        );
      expect((await end_of(session))?.text).toBe("Done.");
      const results = results_in(model.prompts[0]);
      expect(results).toHaveLength(6);
      expect(new Set(results.map(({ toolCallId }) => toolCallId)).size).toBe(6);
      expect(results.map(({ output }) => output.value ?? output.reason)).toEqual([
        { did: { n: 1 } },
        2,
        expect.stringContaining("no"),
        4,
        { did: { n: 5 } },
        6,
      ]);
      expect(runs).toEqual([{ n: 1 }, { n: 5 }]);
    },
  );

  test("an invented name that comes a hundred times ends the Turn at the limit, and the next one works", async () => {
    const free = tool(() => "worked");
    const again = Array.from({ length: 100 }, () => [{ call: "serch", input: { q: "x" } }]);
    const { session, model } = await open(store, [...again, "Hi."], { tools: { free }, max_steps: 100 });
    const result = await run(session);
    expect(result).toMatchObject({ status: "failed", error_code: "MAX_STEPS" });
    expect(result.error).toMatch(/100/);
    expect(model.requests).toHaveLength(100);
    const calls = await calls_of(session);
    expect(calls).toHaveLength(100);
    expect(new Set(calls.map(({ error_code }) => error_code))).toEqual(new Set(["unknown_tool"]));
    expect((await run(session, "And now?")).text).toBe("Hi.");
    expect(results_in(model.prompts.at(-1))).toHaveLength(100);
  });

  test("without a limit of its own, a Turn of invented names ends after 50 steps", async () => {
    const { session, model } = await open(store, () => [{ call: "serch" }], {
      tools: { free: tool(() => 1) },
    });
    expect(await run(session)).toMatchObject({ status: "failed", error_code: "MAX_STEPS" });
    expect(model.requests).toHaveLength(50);
  });

  test("names that objects inherit, and none at all, are no tools", async () => {
    const free = tool(() => "worked");
    const names = ["serch", "", "__proto__", "constructor", "toString", "valueOf"];
    const calls = [...names.map((call) => ({ call, input: {} })), { call: "free" }];
    const { session, model } = await begin(store, [calls, "Done."], { tools: { free } });
    expect((await run(session)).text).toBe("Done.");
    const results = results_in(model.prompts[1]);
    expect(results).toHaveLength(7);
    for (const { output } of results.slice(0, 6)) {
      expect(output.type).toBe("error-text");
      expect(output.value).toContain("free");
    }
    expect(results[6]?.output.value).toBe("worked");
  });

  const BROKEN = ['{"a":', '""', '"text"', "[1]", "null", '{"a":1}{"b":2}'];
  test("after arguments that are no object a good call is asked for and run, also by the next Agent", async () => {
    const { tool: act, runs } = gated_tool();
    const free = tool((input) => input);
    const bad = BROKEN.flatMap((text) => ["act", "free"].map((call) => ({ call, arguments: text })));
    const tools = { act, free };
    const script = [bad, [{ call: "act", arguments: '{"a":1}' }], "Done."];
    const opened = await begin(store, script, { tools });
    const turn = await opened.session.prompt({ query: "Go" });
    const asked = await next_interaction(opened.session);
    expect(asked.payload).toMatchObject({ validated_input: { a: 1 } });
    await answer_next(opened.session);
    expect((await turn.finished).text).toBe("Done.");
    expect(runs).toEqual([{ a: 1 }]);
    const calls = await calls_of(opened.session);
    expect(calls.slice(0, bad.length).map(({ input_text }) => input_text)).toEqual(
      BROKEN.flatMap((text) => [text, text]),
    );
    expect(calls.slice(0, bad.length).flatMap(({ interactions }) => interactions ?? [])).toEqual([]);
    const later = await hand_over(opened, ["Fine."], { tools });
    expect((await run(later.session)).text).toBe("Fine.");
    const results = results_in(later.model.prompts[0]);
    expect(results).toHaveLength(bad.length + 1);
    for (const { output } of results.slice(0, bad.length)) expect(output.type).toBe("error-text");
  });

  test("no arguments at all are an empty object", async () => {
    const { tool: act, runs } = gated_tool();
    const script = [[{ call: "act", arguments: "" }], "Done."];
    const { session } = await begin(store, script, { tools: { act } });
    const turn = await session.prompt({ query: "Go" });
    await answer_next(session);
    expect((await turn.finished).text).toBe("Done.");
    expect(runs).toEqual([{}]);
  });
});
