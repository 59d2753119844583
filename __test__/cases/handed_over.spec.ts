import { type AgentTool, type SessionInteraction, with_approval } from "@downcity/agent";
import { gate, next_interaction, spy_tool } from "@downcity/agent/testing";
import { AskQuestionsTool } from "@downcity/agent/tools";
import { expect, test } from "vitest";
import { counting_schema } from "../support/counting-schema.js";
import {
  answer_next,
  approve,
  calls_of,
  deny,
  pending_of,
  refusal_of,
  results_in,
  run,
  tool,
  until,
} from "../support/session.js";
import { on_each_store } from "../support/stores.js";
import { answer_to, begin, end_of, gated_tool, hand_over, of_call } from "./support.js";

const QUESTION = { questions: [{ question: "Why?", type: "text" }] };
const because = (asked: SessionInteraction) => answer_to(asked, "so");

on_each_store("What the next Agent finds", (store) => {
  test("a denied call never runs, though the next Agent has no rule for it and the mode allows all", async () => {
    const {
      tool: act,
      plain,
      runs,
    } = gated_tool({}, { when: ({ path }: { path?: string }) => path !== "free" });
    const script = [[{ call: "act", input: { path: "a" } }], "Done."];
    const opened = await begin(store, script, { tools: { act } });
    await opened.session.prompt({ query: "Go" });
    const before = await next_interaction(opened.session);
    const { session, model } = await hand_over(opened, () => "Fine.", { tools: { act: plain } });
    expect(await session.interactions()).toEqual([before]);
    expect(runs).toEqual([]);
    await session.set({ security: { approval_mode: "always-allow" } });
    await session.respond(deny(before.interaction_id, "no"));
    expect((await end_of(session))?.text).toBe("Fine.");
    for (const query of ["And now?", "Now?"]) await run(session, query);
    expect(runs).toEqual([]);
    expect((await calls_of(session))[0]).toMatchObject({ state: "failed", error_code: "denied" });
    for (const prompt of model.prompts) {
      const results = results_in(prompt);
      expect(results).toHaveLength(1);
      expect(JSON.stringify(results[0]?.output)).toMatch(/no/);
    }
  });

  test("a gate and a question are the same as before, and the rule is asked once in all", async () => {
    let asked_rule = 0;
    const when = () => {
      asked_rule += 1;
      return true;
    };
    const { tool: act, runs } = gated_tool({}, { when });
    const calls = [
      { call: "act", id: "a", input: { n: 1 } },
      { call: "ask", id: "q", input: QUESTION },
    ];
    const tools = { act, ask: AskQuestionsTool };
    const opened = await begin(store, [calls], { tools });
    await opened.session.prompt({ query: "Go" });
    const before = await pending_of(opened.session, 2);
    const later = await hand_over(opened, ["Done."], { tools });
    expect(await later.session.interactions()).toEqual(before);
    expect((await later.agent.interactions()).items.map(({ session_id, ...item }) => item)).toEqual(before);
    expect((await later.session.status()).state).toBe("running");
    const committed = await later.session.respond(because(of_call(before, "q")));
    expect(committed.status).toBe("resolved");
    await later.session.respond(approve(of_call(before, "a").interaction_id));
    expect((await end_of(later.session))?.text).toBe("Done.");
    expect(runs).toEqual([{ n: 1 }]);
    expect(asked_rule).toBe(1);
    const made = await calls_of(later.session);
    expect(made.map(({ interactions }) => interactions?.length)).toEqual([1, 1]);
    expect(results_in(later.model.prompts[0]).map(({ output }) => output.value)).toEqual([
      { did: { n: 1 } },
      { status: "resolved", answers: [{ question_id: expect.any(String), value: "so" }] },
    ]);
  });

  test("a call that was being executed has an unknown outcome, and one that was done keeps its result", async () => {
    const held = gate();
    const effects: unknown[] = [];
    const slow = spy_tool({
      execute: async (input) => {
        effects.push(input);
        await held.wait();
        return "too late";
      },
    });
    const quick = spy_tool({ execute: () => "kept" });
    const calls = [
      { call: "quick", id: "q" },
      { call: "slow", id: "s", input: { to: "a" } },
    ];
    const tools = { slow, quick };
    const opened = await begin(store, [calls], { tools });
    await opened.session.prompt({ query: "Go" });
    await held.reached;
    await until(opened.session, async () => (await calls_of(opened.session))[0]?.state === "completed");
    const { session, model } = await hand_over(opened, () => "Fine.", { tools });
    held.open();
    await end_of(session);
    expect((await session.status()).state).toBe("idle");
    expect(await session.interactions()).toEqual([]);
    await run(session, "And now?");
    const results = results_in(model.prompts.at(-1));
    expect(results.map(({ toolCallId }) => toolCallId)).toEqual(["q", "s"]);
    expect(results[0]?.output.value).toBe("kept");
    expect(String(results[1]?.output.value)).toMatch(/unknown/i);
    expect(JSON.stringify(await calls_of(session))).not.toContain("too late");
    expect(effects).toEqual([{ to: "a" }]);
    expect(quick.inputs).toHaveLength(1);
  });

  test("an approval of yesterday fires once, whatever Turns and Agents follow", async () => {
    const { tool: act, runs } = gated_tool();
    const options = { tools: { act } };
    const opened = await begin(store, [[{ call: "act" }], "1", "2", "3", "4"], options);
    const turn = await opened.session.prompt({ query: "Go" });
    const { interaction_id } = await answer_next(opened.session);
    await turn.finished;
    for (let plain = 0; plain < 3; plain += 1) await run(opened.session);
    const { session, model } = await hand_over(opened, ["5", "6"], options);
    expect(session.active_turn()).toBeNull();
    for (let plain = 0; plain < 2; plain += 1) await run(session);
    for (const late of [approve(interaction_id), deny(interaction_id)])
      expect(await refusal_of(session.respond(late))).toMatchObject({
        code: "INTERACTION_TERMINAL",
        interaction: { status: "resolved" },
      });
    expect(runs).toHaveLength(1);
    expect(results_in(model.prompts[1])).toHaveLength(1);
  });

  test("free calls beside those that wait have run once when the next Agent gets the last answer", async () => {
    const held = gate();
    const fast = spy_tool({ execute: () => "fast" });
    const slow = spy_tool({
      execute: async () => {
        await held.wait();
        return "slow";
      },
    });
    const { tool: act, runs } = gated_tool();
    const calls = [
      { call: "fast", id: "f1" },
      { call: "slow", id: "f2" },
      { call: "act", id: "g" },
      { call: "ask", id: "q", input: QUESTION },
    ];
    const tools = { fast, slow, act, ask: AskQuestionsTool };
    const opened = await begin(store, [calls], { tools });
    await opened.session.prompt({ query: "Go" });
    const asked = await pending_of(opened.session, 2);
    await held.reached;
    await opened.session.respond(approve(of_call(asked, "g").interaction_id));
    held.open();
    const ended = async () => (await calls_of(opened.session)).filter(({ state }) => state === "completed");
    await until(opened.session, async () => (await ended()).length === 3);
    expect(opened.model.requests).toHaveLength(1);
    const { session, model } = await hand_over(opened, ["Done."], { tools });
    expect(model.requests).toHaveLength(0);
    expect(await session.interactions()).toEqual([of_call(asked, "q")]);
    await session.respond(because(of_call(asked, "q")));
    expect((await end_of(session))?.text).toBe("Done.");
    const results = results_in(model.prompts[0]);
    expect(results.map(({ toolCallId }) => toolCallId)).toEqual(["f1", "f2", "g", "q"]);
    expect(results.slice(0, 3).map(({ output }) => output.value)).toEqual(["fast", "slow", { did: {} }]);
    expect([fast.inputs, slow.inputs, runs].map(({ length }) => length)).toEqual([1, 1, 1]);
  });

  test.each(["approve", "deny"] as const)(
    "where the tool is gone, what it asked stays; to %s ends it, and nothing else",
    async (way) => {
      const { tool: act, runs } = gated_tool();
      const calls = [
        { call: "act", id: "g" },
        { call: "ask", id: "q", input: QUESTION },
      ];
      const opened = await begin(store, [calls], { tools: { act, ask: AskQuestionsTool } });
      await opened.session.prompt({ query: "Go" });
      const asked = await pending_of(opened.session, 2);
      const other = gated_tool();
      const later = await hand_over(opened, ["Done."], {
        tools: { other: other.tool, ask: AskQuestionsTool },
      });
      const { session, model } = later;
      expect(await session.interactions()).toEqual(asked);
      const { interaction_id } = of_call(asked, "g");
      const committed = await session.respond(
        way === "approve" ? approve(interaction_id) : deny(interaction_id, "no"),
      );
      expect(committed.status).toBe(way === "approve" ? "resolved" : "denied");
      expect(await session.interactions()).toEqual([of_call(asked, "q")]);
      expect((await calls_of(session))[0]).toMatchObject({ state: "failed", interactions: [committed] });
      await session.respond(because(of_call(asked, "q")));
      expect((await end_of(session))?.text).toBe("Done.");
      expect([...runs, ...other.runs]).toEqual([]);
      const [gone, answered] = results_in(model.prompts[0]);
      expect(JSON.stringify(gone?.output)).toMatch(way === "approve" ? /act/ : /no/);
      expect(answered?.output.value).toMatchObject({ answers: [{ value: "so" }] });
      const late = await refusal_of(session.respond(approve(interaction_id)));
      expect(late).toMatchObject({ code: "INTERACTION_TERMINAL", interaction: committed });
    },
  );

  test("what runs is what was shown, unit by unit, whatever a listener or another Agent does", async () => {
    const { tool: act, runs } = gated_tool();
    const text = '{"path":"/tmp/a\u200b\u202e","id":2512292042121000001,"z":1,"a":[1.50,"\\u0000"]}';
    const opened = await begin(store, [[{ call: "act", arguments: text }]], { tools: { act } });
    opened.session.subscribe((mutation) => {
      if (mutation.variant !== "part" || mutation.part.type !== "tool") return;
      for (const { payload } of mutation.part.interactions ?? [])
        (payload as { validated_input?: unknown }).validated_input = { path: "/etc" };
      mutation.part.input = { path: "/etc" };
    });
    await opened.session.prompt({ query: "Go" });
    const listed = await next_interaction(opened.session);
    const shown = JSON.stringify((listed.payload as { validated_input?: unknown }).validated_input);
    expect(shown).toBe(JSON.stringify(JSON.parse(text)));
    (listed.payload as { validated_input: { path: string } }).validated_input.path = "/etc";
    const later = await hand_over(opened, ["Done."], { tools: { act } });
    const { session, model } = later;
    const again = await next_interaction(session);
    expect(JSON.stringify((again.payload as { validated_input?: unknown }).validated_input)).toBe(shown);
    expect(model.requests).toHaveLength(0);
    await session.respond(approve(again.interaction_id));
    expect((await end_of(session))?.text).toBe("Done.");
    expect(runs.map((input) => JSON.stringify(input))).toEqual([shown]);
    const call = model.prompts[0]?.find(({ role }) => role === "assistant")?.content as { input?: unknown }[];
    expect(JSON.stringify(call[0]?.input)).toBe(shown);
    expect(JSON.stringify((await calls_of(session))[0]?.input)).toBe(shown);
  });

  test("a schema is applied anew to the raw input where the next Agent runs the call, and the card is the old one", async () => {
    const { input_schema, transforms } = counting_schema();
    const units: unknown[] = [];
    const runs: unknown[] = [];
    const plain = { input_schema, execute: (input: unknown) => void runs.push(input) };
    const act = with_approval(plain, { when: ({ unit }) => units.push(unit) > 0 });
    const input = { n: "3", d: "2020-01-01", tags: "a,b" };
    const calls = [
      { call: "act", id: "bad", input: { n: 3 } },
      { call: "act", id: "good", input },
    ];
    const opened = await begin(store, [calls], { tools: { act } });
    await opened.session.prompt({ query: "Go" });
    const before = await next_interaction(opened.session);
    expect(before.source.tool_call_id).toBe("good");
    const card = { n: 3, unit: "C", d: "2020-01-01T00:00:00.000Z", tags: ["a", "b"] };
    expect(before.payload).toMatchObject({ validated_input: card });
    expect([transforms(), units]).toEqual([1, ["C"]]);
    const { session, model } = await hand_over(opened, ["Done."], { tools: { act } });
    expect(await session.interactions()).toEqual([before]);
    await session.respond(approve(before.interaction_id));
    expect((await end_of(session))?.text).toBe("Done.");
    expect(runs).toEqual([{ n: 3, unit: "C", d: new Date("2020-01-01"), tags: ["a", "b"] }]);
    expect([transforms(), units]).toEqual([2, ["C"]]);
    const [bad] = results_in(model.prompts[0]);
    expect(bad).toMatchObject({ toolCallId: "bad", output: { type: "error-text" } });
    expect((await calls_of(session))[1]?.input).toEqual(input);
  });

  test.each(["v2", "v3", "v4"] as const)(
    "what the provider attached goes back as it came, in order, though the next Agent gets the answers (%s)",
    async (specification) => {
      const { tool: act } = gated_tool();
      const metadata = (n: number) => ({ own: { z: n, a: [{ signature: `s${n}` }] } });
      const step = [
        { reasoning: "", metadata: metadata(1) },
        { call: "act", id: "yes", input: { z: 1, a: 2 }, metadata: metadata(2) },
        { reasoning: "More", metadata: metadata(3) },
        { call: "act", id: "no", metadata: metadata(4) },
        { call: "act", id: "bad", arguments: '{"a":', metadata: metadata(5) },
        { text: "So", metadata: metadata(6) },
      ];
      const options = { tools: { act }, specification };
      const opened = await begin(store, [step], options);
      await opened.session.prompt({ query: "Go" });
      const asked = await pending_of(opened.session, 2);
      const between = await hand_over(opened, [], options);
      await between.session.respond(deny(of_call(asked, "no").interaction_id, "no"));
      const { session, model } = await hand_over(between, ["Done."], options);
      await session.respond(approve(of_call(asked, "yes").interaction_id));
      expect((await end_of(session))?.text).toBe("Done.");
      const content = model.prompts[0]?.find(({ role }) => role === "assistant")?.content;
      const parts = content as { type: string; providerOptions: unknown; input?: unknown }[];
      const [thought, call] = ["reasoning", "tool-call"];
      expect(parts.map(({ type }) => type)).toEqual([thought, call, thought, call, call, "text"]);
      expect(parts.map(({ providerOptions }) => JSON.stringify(providerOptions))).toEqual(
        [1, 2, 3, 4, 5, 6].map((n) => JSON.stringify(metadata(n))),
      );
      expect(JSON.stringify(parts[1]?.input)).toBe('{"z":1,"a":2}');
      expect(results_in(model.prompts[0]).map(({ toolCallId }) => toolCallId)).toEqual(["yes", "no", "bad"]);
    },
  );

  test("one call id in three Turns: each is decided by itself, the last one by another Agent", async () => {
    const { tool: act, runs } = gated_tool();
    const free: AgentTool = tool(({ n }) => `free ${n}`);
    const call = (name: string, n: number) => [{ call: name, id: "call_0", input: { n } }];
    const tools = { act, free };
    const script = [call("act", 1), "Denied.", call("free", 2), "Free.", call("act", 3)];
    const opened = await begin(store, script, { tools });
    const first = await opened.session.prompt({ query: "One" });
    const denied = await answer_next(opened.session, (id) => deny(id, "no"));
    await first.finished;
    await run(opened.session, "Two");
    await opened.session.prompt({ query: "Three" });
    const third = await next_interaction(opened.session);
    const { session, model } = await hand_over(opened, ["Done."], { tools });
    expect(await session.interactions()).toEqual([third]);
    await session.respond(approve(third.interaction_id));
    expect((await end_of(session))?.text).toBe("Done.");
    expect(third.interaction_id).not.toBe(denied.interaction_id);
    expect(runs).toEqual([{ n: 3 }]);
    const results = results_in(model.prompts[0]);
    expect(results).toHaveLength(3);
    expect(JSON.stringify(results[0]?.output)).toContain("no");
    expect(results.slice(1).map(({ output }) => output.value)).toEqual(["free 2", { did: { n: 3 } }]);
    const ids = (await calls_of(session)).map(({ tool_call_id }) => tool_call_id);
    expect(new Set(ids).size).toBe(3);
  });
});
