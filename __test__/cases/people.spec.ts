import type { ApprovalMode, Session, SessionInteraction } from "@downcity/agent";
import { gate, next_interaction } from "@downcity/agent/testing";
import { AskQuestionsTool } from "@downcity/agent/tools";
import { expect, test } from "vitest";
import {
  approve,
  calls_of,
  deny,
  parts_of,
  pending_of,
  refusal_of,
  results_in,
  run,
  tool,
  until,
} from "../support/session.js";
import { on_each_store } from "../support/stores.js";
import { answer_to, begin, end_of, gated_tool, hand_over, of_call } from "./support.js";

const OPTIONS = [
  { value: "a", label: "b" },
  { value: "b", label: "a" },
  { value: "x", label: "Yes, always" },
  { value: "y", label: "Yes" },
];
const asks = (id: string, type: string, options?: object[]) => ({
  call: "ask",
  id,
  input: { questions: [{ question: "Which, then?", type, options }] },
});
const ALL_KINDS = [
  asks("t", "text"),
  asks("s", "single_select", OPTIONS),
  asks("m", "multi_select", OPTIONS),
];
const set = (session: Session, approval_mode: ApprovalMode) => session.set({ security: { approval_mode } });
const by_call = (items: SessionInteraction[]) => items.map(({ source }) => source.tool_call_id).sort();

on_each_store("People who are asked", (store) => {
  test("values are answers, labels are not, and the model finds the words of its options in its own call", async () => {
    const { session, model } = await begin(store, [ALL_KINDS, "Done."], { tools: { ask: AskQuestionsTool } });
    const turn = await session.prompt({ query: "Go" });
    const asked = await pending_of(session, 3);
    for (const [id, value] of [
      ["s", "Yes"],
      ["s", "0"],
      ["m", ["Yes", "x"]],
      ["m", "x,y"],
      ["m", ["x,y"]],
    ] as const) {
      const refused = await refusal_of(session.respond(answer_to(of_call(asked, id), value as string)));
      expect(refused.code).toBe("INVALID_RESPONSE");
    }
    expect(await session.interactions()).toEqual(asked);
    const typed = 'only on Mondays, please "a", Yes';
    await session.respond(answer_to(of_call(asked, "t"), typed));
    await session.respond(answer_to(of_call(asked, "s"), "a"));
    await session.respond(answer_to(of_call(asked, "m"), ["x", "y"]));
    await turn.finished;
    const results = results_in(model.prompts[1]).map(({ output }) => output.value);
    const values = results.map((result) =>
      (result as { answers: { value: unknown }[] }).answers.map(({ value }) => value),
    );
    expect(values).toEqual([[typed], ["a"], [["x", "y"]]]);
    const call = model.prompts[1]?.find(({ role }) => role === "assistant")?.content as { input: unknown }[];
    expect(call[1]?.input).toMatchObject({ questions: [{ options: OPTIONS }] });
  });

  const MODES: ApprovalMode[][] = [
    ["ask"],
    ["always-allow"],
    ["ask", "always-allow"],
    ["always-allow", "ask"],
  ];
  test.each(MODES)("no mode answers a question (%s, then %s)", async (...modes) => {
    const { tool: act, runs } = gated_tool();
    const calls = [...ALL_KINDS, { call: "act", id: "g" }];
    const { session, model } = await begin(store, [calls, "Done."], {
      tools: { act, ask: AskQuestionsTool },
      session: { security: { approval_mode: modes[0] } },
    });
    const turn = await session.prompt({ query: "Go" });
    if (modes[0] === "ask")
      await session.respond(approve(of_call(await pending_of(session, 4), "g").interaction_id));
    await pending_of(session, 3);
    await until(session, async () => (await calls_of(session)).some(({ state }) => state === "completed"));
    if (modes[1]) await set(session, modes[1]);
    const asked = await session.interactions();
    expect(by_call(asked)).toEqual(["m", "s", "t"]);
    expect(await session.status()).toMatchObject({ state: "running", active_turn_id: turn.id });
    expect(model.requests).toHaveLength(1);
    expect((await calls_of(session)).filter((call) => call.output !== undefined)).toHaveLength(1);
    expect(runs).toHaveLength(1);
    for (const [id, value] of [
      ["t", ""],
      ["s", "b"],
      ["m", []],
    ] as const)
      await session.respond(answer_to(of_call(asked, id), value as string));
    expect((await turn.finished).text).toBe("Done.");
    expect(model.requests).toHaveLength(2);
  });

  test("a change of mode settles nothing that is pending, rules later calls, and is there for the next Agent", async () => {
    const { tool: act, runs } = gated_tool();
    const call = (id: string, n: number) => ({ call: "act", id, input: { n } });
    const tools = { act, ask: AskQuestionsTool };
    const script = [[call("x", 1), asks("q", "text")], [call("later", 2)]];
    const opened = await begin(store, script, { tools });
    const { session } = opened;
    await session.prompt({ query: "Go" });
    const asked = await pending_of(session, 2);
    for (const mode of ["always-allow", "ask", "always-allow"] as const) {
      await set(session, mode);
      expect(await session.interactions()).toEqual(asked);
    }
    expect(runs).toEqual([]);
    const racing = [
      set(session, "ask"),
      session.respond(deny(of_call(asked, "x").interaction_id, "no")),
    ] as const;
    expect((await Promise.all(racing))[1].status).toBe("denied");
    await set(session, "always-allow");
    const next = await hand_over(opened, [[call("later", 2)], "Done."], { tools });
    const { security } = await next.session.status();
    expect(security.approval_mode).toBe("always-allow");
    await next.session.respond(answer_to(of_call(asked, "q"), "so"));
    expect((await end_of(next.session))?.text).toBe("Done.");
    expect(runs).toEqual([{ n: 2 }]);
    expect((await next.session.status()).security).toEqual({
      approval_mode: "always-allow",
      effective_approval_mode: "always-allow",
    });
    const calls = await calls_of(next.session);
    expect(calls.map(({ error_code }) => error_code)).toEqual(["denied", undefined, undefined]);
    expect((await parts_of(next.session)).filter(({ type }) => type === "action")).toHaveLength(1);
  });

  test("a message instead of an answer waits, and what was asked can still be answered", async () => {
    const { tool: act, runs } = gated_tool();
    const script = [[{ call: "act", id: "g" }, asks("q", "text")], "Then B."];
    const { session, model } = await begin(store, script, { tools: { act, ask: AskQuestionsTool } });
    const turn = await session.prompt({ query: "Use A" });
    const asked = await pending_of(session, 2);
    const second = await session.prompt({ query: "Actually use B" });
    expect(second.id).toBe(turn.id);
    expect(await session.interactions()).toEqual(asked);
    expect(model.requests).toHaveLength(1);
    await session.respond(deny(of_call(asked, "g").interaction_id));
    await session.respond(answer_to(of_call(asked, "q"), "B"));
    expect(await second.finished).toMatchObject({ turn_id: turn.id, text: "Then B." });
    expect(model.prompts[1]?.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "user"]);
    expect(runs).toEqual([]);
  });

  const STOPS: { [name: string]: (session: Session) => unknown } = {
    "stop()": (session) => session.stop(),
    "stop() twice": (session) => Promise.all([session.stop(), session.stop()]),
    "stop() as an answer is given": (session) =>
      session
        .interactions()
        .then(([first]) =>
          Promise.allSettled([session.stop(), session.respond(approve(first?.interaction_id ?? ""))]),
        ),
  };
  test.each(Object.keys(STOPS))(
    "%s while three gates and a question wait: cancelled, not denied, and usable at once",
    async (way) => {
      const { tool: act, runs } = gated_tool();
      const calls = [1, 2, 3].map((n) => ({ call: "act", id: `g${n}`, input: { n } }));
      const tools = { act, ask: AskQuestionsTool };
      const { session, model, observer } = await begin(store, [[...calls, asks("q", "text")], "Next."], {
        tools,
      });
      const turn = await session.prompt({ query: "Go" });
      const asked = await pending_of(session, 4);
      await STOPS[way]?.(session);
      expect((await turn.finished).status).toBe("stopped");
      expect(await session.interactions()).toEqual([]);
      expect((await session.status()).state).toBe("idle");
      const made = await calls_of(session);
      const ends = made.flatMap(({ interactions }) => interactions ?? []);
      const answered = ends.filter(({ status }) => status === "resolved");
      expect(runs.length).toBeLessThanOrEqual(answered.length);
      expect(ends).toHaveLength(4);
      for (const end of ends.filter((item) => !answered.includes(item)))
        expect(end).toMatchObject({ status: "cancelled", cancel_reason: "turn_stopped" });
      const before = observer.mutations.length;
      expect((await run(session, "Again")).text).toBe("Next.");
      const results = results_in(model.prompts[1]);
      expect(results.map(({ toolCallId }) => toolCallId)).toEqual(["g1", "g2", "g3", "q"]);
      for (const { output } of results.slice(answered.length)) {
        expect(output.type).not.toBe("execution-denied");
        expect(JSON.stringify(output)).toMatch(/stopp|cancel/i);
      }
      expect(JSON.stringify(observer.mutations.slice(before))).not.toContain('"pending"');
      for (const { interaction_id } of asked)
        expect((await refusal_of(session.respond(approve(interaction_id)))).code).toBe(
          "INTERACTION_TERMINAL",
        );
    },
  );

  test("as long as one of two waits, or a free tool runs beside one that waits, it is running with a list", async () => {
    const held = gate();
    const { tool: act } = gated_tool();
    const slow = tool(() => held.wait());
    const calls = [
      { call: "act", id: "one" },
      { call: "act", id: "two" },
      { call: "slow", id: "free" },
    ];
    const { session } = await begin(store, [calls, "Done."], { tools: { act, slow } });
    const turn = await session.prompt({ query: "Go" });
    const asked = await pending_of(session, 2);
    await held.reached;
    const running = { state: "running", active_turn_id: turn.id };
    expect(await session.status()).toMatchObject(running);
    await session.respond(approve(of_call(asked, "one").interaction_id));
    expect(by_call(await session.interactions())).toEqual(["two"]);
    expect(await session.status()).toMatchObject(running);
    await session.respond(deny((await next_interaction(session)).interaction_id));
    expect(await session.interactions()).toEqual([]);
    expect(await session.status()).toMatchObject(running);
    held.open();
    await turn.finished;
    expect((await session.status()).state).toBe("idle");
  });
});
