/** What waits when a process is killed: the next one finds it as it was, and nothing happens twice. */
import { join } from "node:path";
import { type SessionInteraction, with_approval } from "@downcity/agent";
import { spy_tool } from "@downcity/agent/testing";
import { AskQuestionsTool } from "@downcity/agent/tools";
import { expect, test } from "vitest";
import { counting_schema } from "../support/counting-schema.js";
import { goes_on, killed, next, runs_in } from "../support/killed.js";
import { approve, calls_of, deny, results_in, run, type Script } from "../support/session.js";
import { temporary_folder } from "../support/stores.js";
import { answer_to, of_call } from "./support.js";

test.each(["ungated", "gated"] as const)(
  "a call (%s) that was being executed has an unknown outcome, and is not repeated",
  async (name) => {
    const ends: { [instant: string]: [string, number] } = {
      "before its effect": ["() => die()", 0],
      "after its effect": ['() => { appendFileSync(folder + "/effects", "1\\n"); die(); }', 1],
    };
    for (const [instant, [execute, effects]] of Object.entries(ends)) {
      const folder = temporary_folder();
      await killed(
        folder,
        `const plain = { input_schema: ANY, execute: ${execute} };
         const tools = { gated: with_approval(plain), ungated: plain };
         const { session } = await begin([[{ call: ${JSON.stringify(name)} }]], tools);
         await session.prompt({ query: "Go" });
         if (${name === "gated"}) await session.respond(approve(await next_interaction(session)));`,
      );
      const plain = spy_tool({ file: join(folder, "effects") });
      const { session, model } = await next(folder, () => "I will check.", {
        gated: with_approval(plain),
        ungated: plain,
      });
      await goes_on(session);
      expect(await calls_of(session), instant).toMatchObject([
        { state: "failed", error_code: "interrupted" },
      ]);
      expect((await run(session, "And now?")).text).toBe("I will check.");
      const results = results_in(model.prompts.at(-1));
      expect(results).toHaveLength(1);
      expect(String(results[0]?.output.value)).toMatch(/unknown/i);
      expect(runs_in(folder, "effects")).toHaveLength(effects);
    }
  },
);

test("a call whose result was stored keeps it, and is not repeated", async () => {
  const folder = temporary_folder();
  await killed(
    folder,
    `const { session } = await begin([[{ call: "act" }]], { act: note("act") });
     session.subscribe(({ part }) => { if (part?.state === "completed") die(); });
     await session.prompt({ query: "Go" });`,
  );
  const { session, model } = await next(folder, ["Done."], {
    act: spy_tool({ file: join(folder, "act") }),
  });
  expect(await goes_on(session)).toMatchObject({ status: "completed", text: "Done." });
  expect(results_in(model.prompts[0]).map(({ output }) => output.value)).toEqual([{ ok: true }]);
  expect(runs_in(folder, "act")).toHaveLength(1);
});

test("a denied call never runs, though the next process has no rule for it and the mode allows all", async () => {
  const folder = temporary_folder();
  const [before] = await killed(
    folder,
    `const act = with_approval(note("act"), { when: ({ path }) => path !== "free" });
     const { session } = await begin([[{ call: "act", input: { path: "a" } }]], { act });
     await session.prompt({ query: "Go" });
     die(await pending(session, 1));`,
  );
  const plain = spy_tool({ file: join(folder, "act") });
  const { session, model } = await next(folder, () => "Fine.", { act: plain });
  expect(await session.interactions()).toEqual([before]);
  await session.set({ security: { approval_mode: "always-allow" } });
  await session.respond(deny(before?.interaction_id ?? "", "no"));
  expect((await goes_on(session))?.text).toBe("Fine.");
  await run(session, "And now?");
  expect(runs_in(folder, "act")).toEqual([]);
  expect(await calls_of(session)).toMatchObject([{ state: "failed", error_code: "denied" }]);
  expect(JSON.stringify(results_in(model.prompts[1]))).toMatch(/no/);
});

test("a gate and a question are the same as before, and the rule is asked once in all", async () => {
  const folder = temporary_folder();
  const before = await killed(
    folder,
    `const when = () => { appendFileSync(folder + "/rule", "1\\n"); return true; };
     const tools = { act: with_approval(note("act"), { when }), ask: AskQuestionsTool };
     const calls = [{ call: "act", id: "a", input: { n: 1 } }, { call: "ask", id: "q", input: QUESTION }];
     const { session } = await begin([calls], tools);
     await session.prompt({ query: "Go" });
     die(await pending(session, 2));`,
  );
  const when = () => {
    throw new Error("asked again");
  };
  const act = with_approval(spy_tool({ file: join(folder, "act") }), { when });
  const { agent, session, model } = await next(folder, ["Done."], { act, ask: AskQuestionsTool });
  expect(await session.interactions()).toEqual(before);
  expect((await agent.interactions()).items.map(({ session_id, ...item }) => item)).toEqual(before);
  await session.respond(answer_to(of_call(before, "q"), "so"));
  await session.respond(approve(of_call(before, "a").interaction_id));
  expect((await goes_on(session))?.text).toBe("Done.");
  expect(runs_in(folder, "act")).toEqual([{ n: 1 }]);
  expect(runs_in(folder, "rule")).toHaveLength(1);
  const made = await calls_of(session);
  expect(made.map(({ interactions }) => interactions?.length)).toEqual([1, 1]);
  expect(results_in(model.prompts[0]).map(({ output }) => output.value)).toEqual([
    { ok: true },
    { status: "resolved", answers: [{ question_id: expect.any(String), value: "so" }] },
  ]);
});

test.each(["has ended", "is being executed"])(
  "a question waits on beside calls that are done, where a slow one %s",
  async (way) => {
    const folder = temporary_folder();
    const is_done = way === "has ended";
    const [before] = await killed(
      folder,
      `const held = gate();
       const slow = spy_tool({ file: folder + "/slow", execute: async () => { await held.wait(); return "slow"; } });
       const tools = { fast: note("fast"), slow, act: with_approval(note("act")), ask: AskQuestionsTool };
       const calls = [
         { call: "fast", id: "f1" }, { call: "slow", id: "f2" }, { call: "act", id: "g" },
         { call: "ask", id: "q", input: QUESTION },
       ];
       const { model, session } = await begin([calls], tools);
       await session.prompt({ query: "Go" });
       const asked = await pending(session, 2);
       await held.reached;
       await completed(session, 1);
       await session.respond(approve(of_call(asked, "g")));
       if (${is_done}) held.open();
       await completed(session, ${is_done ? 3 : 2});
       if (model.requests.length !== 1) throw new Error("the model was asked too early");
       die([of_call(asked, "q")]);`,
    );
    const spy = (name: string) => spy_tool({ file: join(folder, name) });
    const tools = { fast: spy("fast"), slow: spy("slow"), act: with_approval(spy("act")) };
    const { session, model } = await next(folder, ["Done."], { ...tools, ask: AskQuestionsTool });
    expect(await session.interactions()).toEqual([before]);
    expect(model.requests).toHaveLength(0);
    await session.respond(answer_to(before as SessionInteraction, "so"));
    expect((await goes_on(session))?.text).toBe("Done.");
    const results = results_in(model.prompts[0]);
    expect(results.map(({ toolCallId }) => toolCallId)).toEqual(["f1", "f2", "g", "q"]);
    expect(results.map(({ output }) => output.value)).toEqual([
      { ok: true },
      is_done ? "slow" : expect.stringMatching(/unknown/i),
      { ok: true },
      { status: "resolved", answers: [{ question_id: expect.any(String), value: "so" }] },
    ]);
    for (const name of ["fast", "slow", "act"]) expect(runs_in(folder, name)).toHaveLength(1);
  },
);

test("what runs is what was shown, unit by unit, and the model is not asked before", async () => {
  const folder = temporary_folder();
  const text = '{"path":"/tmp/a\u200b\u202e","id":2512292042121000001,"z":1,"a":[1.50,"\\u0000"]}';
  const [before] = await killed(
    folder,
    `const call = { call: "act", arguments: ${JSON.stringify(text)} };
     const { session } = await begin([[call]], { act: with_approval(note("act")) });
     session.subscribe(({ part }) => {
       if (part?.type !== "tool") return;
       part.input = { path: "/etc" };
       for (const { payload } of part.interactions ?? []) payload.validated_input = { path: "/etc" };
     });
     await session.prompt({ query: "Go" });
     const asked = await pending(session, 1);
     const [listed] = await session.interactions();
     listed.payload.validated_input.path = "/etc";
     die(asked);`,
  );
  const shown = JSON.stringify(
    (before as { payload?: { validated_input?: unknown } } | undefined)?.payload?.validated_input,
  );
  expect(shown).toBe(JSON.stringify(JSON.parse(text)));
  const act = with_approval(spy_tool({ file: join(folder, "act") }));
  const script: Script = (prompt) =>
    prompt.at(-1)?.role === "tool" ? "Done." : [{ call: "act", input: { path: "/etc" } }];
  const { session, model } = await next(folder, script, { act });
  expect(await session.interactions()).toEqual([before]);
  expect(model.requests).toHaveLength(0);
  await session.respond(approve(before?.interaction_id ?? ""));
  expect((await goes_on(session))?.text).toBe("Done.");
  expect(runs_in(folder, "act").map((input) => JSON.stringify(input))).toEqual([shown]);
  const said = model.prompts[0]?.find(({ role }) => role === "assistant")?.content as { input?: unknown }[];
  expect(JSON.stringify(said[0]?.input)).toBe(shown);
});

test("a schema is applied to the raw input in each process, once, and the card is the old one", async () => {
  const folder = temporary_folder();
  const input = { n: "3", d: "2020-01-01", tags: "a,b" };
  const [before] = await killed(
    folder,
    `let transforms = 0;
     const units = [];
     const input_schema = z.object({
       n: z.string().transform((text) => { transforms += 1; return Number(text); }),
       unit: z.string().default("C"),
       d: z.coerce.date(),
       tags: z.string().transform((text) => text.split(",")),
     });
     const plain = { input_schema, execute: () => "too early" };
     const act = with_approval(plain, { when: ({ unit }) => units.push(unit) > 0 });
     const calls = [
       { call: "act", id: "bad", input: { n: 3 } },
       { call: "act", id: "good", input: ${JSON.stringify(input)} },
     ];
     const { session } = await begin([calls], { act });
     await session.prompt({ query: "Go" });
     const asked = await pending(session, 1);
     if (transforms !== 1 || units.join() !== "C") throw new Error(transforms + " transforms, units " + units);
     die(asked);`,
  );
  expect(before).toMatchObject({
    source: { tool_call_id: "good" },
    payload: { validated_input: { n: 3, unit: "C", d: "2020-01-01T00:00:00.000Z", tags: ["a", "b"] } },
  });
  const { input_schema, transforms } = counting_schema();
  const runs: unknown[] = [];
  const act = with_approval({ input_schema, execute: (parsed: unknown) => void runs.push(parsed) });
  const { session, model } = await next(folder, ["Done."], { act });
  expect(await session.interactions()).toEqual([before]);
  await session.respond(approve(before?.interaction_id ?? ""));
  expect((await goes_on(session))?.text).toBe("Done.");
  expect(runs).toEqual([{ n: 3, unit: "C", d: new Date("2020-01-01"), tags: ["a", "b"] }]);
  expect(transforms()).toBe(1);
  expect(results_in(model.prompts[0])[0]).toMatchObject({
    toolCallId: "bad",
    output: { type: "error-text" },
  });
  expect((await calls_of(session))[1]?.input).toEqual(input);
});

test("one call id in three Turns: each is decided by itself, the last one after a kill", async () => {
  const folder = temporary_folder();
  const [denied, third] = await killed(
    folder,
    `const call = (name, n) => [{ call: name, id: "call_0", input: { n } }];
     const tools = { act: with_approval(note("act")), free: note("free") };
     const { session } = await begin([call("act", 1), "Denied.", call("free", 2), "Free.", call("act", 3)], tools);
     const first = await session.prompt({ query: "One" });
     const { interaction_id } = await next_interaction(session);
     const denied = await session.respond({ interaction_id, response: { type: "approval", outcome: "denied", reason: "no" } });
     await first.finished;
     await (await session.prompt({ query: "Two" })).finished;
     await session.prompt({ query: "Three" });
     die([denied, ...(await pending(session, 1))]);`,
  );
  const spy = (name: string) => spy_tool({ file: join(folder, name) });
  const { session, model } = await next(folder, ["Done."], {
    act: with_approval(spy("act")),
    free: spy("free"),
  });
  expect(await session.interactions()).toEqual([third]);
  expect(third?.interaction_id).not.toBe(denied?.interaction_id);
  await session.respond(approve(third?.interaction_id ?? ""));
  expect((await goes_on(session))?.text).toBe("Done.");
  expect(runs_in(folder, "act")).toEqual([{ n: 3 }]);
  expect(runs_in(folder, "free")).toEqual([{ n: 2 }]);
  const results = results_in(model.prompts[0]);
  expect(results).toHaveLength(3);
  expect(JSON.stringify(results[0]?.output)).toContain("no");
  expect(results.slice(1).map(({ output }) => output.value)).toEqual([{ ok: true }, { ok: true }]);
  const ids = (await calls_of(session)).map(({ tool_call_id }) => tool_call_id);
  expect(new Set(ids).size).toBe(3);
});

test.each(["v2", "v3", "v4"] as const)(
  "what a provider attached comes back as it was, in order, after a kill (%s)",
  async (specification) => {
    const folder = temporary_folder();
    const metadata = (n: number) => ({ scripted: { z: n, a: [n, { deep: `s${n}` }] } });
    const step = [
      { reasoning: "First thought", metadata: metadata(1) },
      { call: "act", id: "one", input: { z: 1, a: 2 }, metadata: metadata(2) },
      { reasoning: "", metadata: metadata(3) },
      { call: "act", id: "two", input: { n: 2 }, metadata: metadata(4) },
      { text: "Words", metadata: metadata(5) },
      { call: "act", id: "bad", arguments: "nonsense", metadata: metadata(6) },
    ];
    const input_schema = { type: "object", properties: { z: {}, n: {}, a: {} }, additionalProperties: true };
    const { asked, tools } = await killed<{ asked: SessionInteraction[]; tools: string }>(
      folder,
      `const act = with_approval({ input_schema: ${JSON.stringify(input_schema)}, execute: (input) => input });
       const step = ${JSON.stringify(step)};
       const { model, session } = await begin([step], { act }, { specification: ${JSON.stringify(specification)} });
       await session.prompt({ query: "Go" });
       const asked = await pending(session, 2);
       await session.respond(approve(of_call(asked, "one")));
       await completed(session, 1);
       die({ asked, tools: JSON.stringify(model.requests[0].tools) });`,
    );
    const act = with_approval({ input_schema, execute: (input: unknown) => input });
    const { session, model } = await next(folder, () => "Done.", { act }, specification);
    expect(await session.interactions()).toEqual([of_call(asked, "two")]);
    await session.respond(deny(of_call(asked, "two").interaction_id, "no"));
    expect((await goes_on(session))?.text).toBe("Done.");
    await run(session, "And now?");
    expect(model.requests).toHaveLength(2);
    for (const request of model.requests) {
      expect(JSON.stringify(request.tools)).toBe(tools);
      const said = request.prompt.find(({ role }) => role === "assistant")?.content;
      const content = said as { type: string; providerOptions: unknown; input?: object }[];
      const types = ["reasoning", "tool-call", "reasoning", "tool-call", "text", "tool-call"];
      expect(content.map(({ type }) => type)).toEqual(types);
      expect(content.map(({ providerOptions }) => JSON.stringify(providerOptions))).toEqual(
        [1, 2, 3, 4, 5, 6].map((n) => JSON.stringify(metadata(n))),
      );
      expect(Object.keys(content[1]?.input ?? {})).toEqual(["z", "a"]);
    }
  },
);

test("what a host asked without a call waits on as long as its Turn goes on", async () => {
  const folder = temporary_folder();
  const before = await killed(
    folder,
    `const { session } = await begin([[{ call: "act" }]], { act: with_approval(note("act")) });
     const turn = await session.prompt({ query: "Go" });
     await pending(session, 1);
     await session.interactions.request({ type: "question", turn_id: turn.id, payload: QUESTION });
     die(await pending(session, 2));`,
  );
  const act = with_approval(spy_tool({ file: join(folder, "act") }));
  const { session } = await next(folder, ["Done."], { act });
  expect(await session.interactions()).toEqual(before);
  const [gate, question] = before as [SessionInteraction, SessionInteraction];
  const answered = await session.respond(answer_to(question, "so"));
  expect(answered).toMatchObject({ interaction_id: question.interaction_id, status: "resolved" });
  await session.respond(approve(gate.interaction_id));
  expect((await goes_on(session))?.text).toBe("Done.");
});
