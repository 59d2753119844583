import { type RespondInput, type SessionInteraction, with_approval } from "@downcity/agent";
import { next_interaction, spy_tool } from "@downcity/agent/testing";
import { AskQuestionsTool } from "@downcity/agent/tools";
import { expect, test } from "vitest";
import {
  approve,
  calls_of,
  deny,
  pending_of,
  refusal_of,
  results_in,
  run,
  until,
} from "../support/session.js";
import { on_each_store } from "../support/stores.js";
import { answer_to, begin, end_of, gated_tool, hand_over, of_call } from "./support.js";

const loose = <T>(value: unknown): T => value as T;
const ORDERS = [
  [0, 1, 2],
  [0, 2, 1],
  [1, 0, 2],
  [1, 2, 0],
  [2, 0, 1],
  [2, 1, 0],
];

on_each_store("Answers", (store) => {
  test.each(ORDERS)(
    "yes, no and yes in one instant, in the order %i, %i, %i: one decision is taken, stored and acted on",
    async (...order) => {
      const { tool: act, runs } = gated_tool();
      const opened = await begin(store, [[{ call: "act" }], "Done."], { tools: { act } });
      const { session, observer } = opened;
      const turn = await session.prompt({ query: "Go" });
      const { interaction_id } = await next_interaction(session);
      const inputs = [
        approve(interaction_id),
        deny(interaction_id, "no"),
        approve(interaction_id, { by: "b" }),
      ];
      const ends = await Promise.allSettled(
        order.map((index) => session.respond(inputs[index] as RespondInput)),
      );
      const won = ends.flatMap((end) => (end.status === "fulfilled" ? [end.value] : []));
      expect(won).toHaveLength(1);
      for (const end of ends) {
        if (end.status === "rejected")
          expect(end.reason).toMatchObject({ code: "INTERACTION_TERMINAL", interaction: won[0] });
      }
      await turn.finished;
      expect(runs).toHaveLength(won[0]?.status === "resolved" ? 1 : 0);
      const settled = new Set(
        observer.mutations.flatMap((mutation) => {
          if (mutation.variant !== "part" || mutation.part.type !== "tool") return [];
          return (mutation.part.interactions ?? [])
            .filter(({ status }) => status !== "pending")
            .map((item) => JSON.stringify(item));
        }),
      );
      expect([...settled]).toEqual([JSON.stringify(won[0])]);
      const later = await hand_over(opened, [], { tools: { act } });
      expect((await calls_of(later.session))[0]?.interactions).toEqual(won);
    },
  );

  test("two Sessions whose model gives the same call id: each answer reaches its own", async () => {
    const { tool: act, runs } = gated_tool();
    const script = (prompt: readonly { role: string; content: unknown }[]) =>
      prompt.at(-1)?.role === "tool"
        ? "Done."
        : [
            {
              call: "act",
              id: "call_0",
              input: { said: JSON.stringify(prompt[0]?.content).includes("One") },
            },
          ];
    const { agent, session: one } = await begin(store, script, { tools: { act } });
    const two = await agent.sessions.create();
    const turns = [await one.prompt({ query: "One" }), await two.prompt({ query: "Two" })];
    const [mine, other] = [await next_interaction(one), await next_interaction(two)];
    expect(mine.interaction_id).not.toBe(other.interaction_id);
    const trespass = await refusal_of(two.respond(deny(mine.interaction_id, "not mine")));
    expect(trespass.code).toBe("INTERACTION_NOT_FOUND");
    expect(trespass.interaction).toBeUndefined();
    expect(JSON.stringify([trespass.message, trespass.issues ?? []])).not.toContain("said");
    expect(await one.interactions()).toEqual([mine]);
    await two.respond(approve(other.interaction_id));
    expect(await one.interactions()).toEqual([mine]);
    await one.respond(approve(mine.interaction_id));
    for (const { finished } of turns) expect((await finished).text).toBe("Done.");
    expect(runs).toEqual([{ said: false }, { said: true }]);
  });

  test.each(ORDERS)(
    "three gates of one step, each answered by another Agent, in the order %i, %i, %i",
    async (...order) => {
      const names = ["a", "b", "c"];
      const { tool: act, runs } = gated_tool();
      const calls = names.map((name) => ({ call: "act", input: { name }, id: `call_${name}` }));
      const tools = { act };
      let opened = await begin(store, [calls, "Done."], { tools });
      await opened.session.prompt({ query: "Go" });
      let left: SessionInteraction[] = await pending_of(opened.session, 3);
      for (const [at, index] of order.entries()) {
        opened = await hand_over(opened, ["Done."], { tools });
        expect(await opened.session.interactions()).toEqual(left);
        expect(opened.model.requests).toHaveLength(0);
        const { interaction_id } = of_call(left, `call_${names[index]}`);
        await opened.session.respond(index === 2 ? deny(interaction_id, "not c") : approve(interaction_id));
        left = left.filter((item) => item.interaction_id !== interaction_id);
        if (at < 2) {
          expect(await opened.session.interactions()).toEqual(left);
          // What was approved has to have run before the next Agent: a call that was entered is not entered again.
          await settled(opened.session, at + 1);
        }
      }
      expect((await end_of(opened.session))?.text).toBe("Done.");
      expect(runs.map((input) => (input as { name: string }).name).sort()).toEqual(["a", "b"]);
      const results = results_in(opened.model.prompts[0]);
      expect(results.map(({ toolCallId }) => toolCallId)).toEqual(["call_a", "call_b", "call_c"]);
      expect(results[0]?.output.value).toEqual({ did: { name: "a" } });
      expect(results[1]?.output.value).toEqual({ did: { name: "b" } });
      expect(JSON.stringify(results[2]?.output)).toContain("not c");
    },
  );

  test("three pauses in a row, each answered by another Agent, keep every result for the model", async () => {
    const spies = { a: spy_tool({ execute: () => "of a" }), b: spy_tool({ execute: () => "of b" }) };
    const c = spy_tool({ execute: () => "of c" });
    const tools = { a: with_approval(spies.a), b: with_approval(spies.b), c: with_approval(c) };
    const steps = ["a", "b", "c"].map((call) => [{ call, id: `call_${call}` }]);
    let opened = await begin(store, [...steps, "Done."], { tools });
    await opened.session.prompt({ query: "Go" });
    for (let pause = 0; pause < 3; pause += 1) {
      const before = await next_interaction(opened.session);
      opened = await hand_over(opened, [...steps.slice(pause + 1), "Done."], { tools });
      expect(await opened.session.interactions()).toEqual([before]);
      await opened.session.respond(approve(before.interaction_id));
      if (pause < 2)
        await next_interaction(opened.session, ({ interaction_id: id }) => id !== before.interaction_id);
    }
    expect((await end_of(opened.session))?.text).toBe("Done.");
    const results = results_in(opened.model.prompts[0]);
    expect(results.map(({ toolCallId, output }) => [toolCallId, output.value])).toEqual([
      ["call_a", "of a"],
      ["call_b", "of b"],
      ["call_c", "of c"],
    ]);
    expect([spies.a, spies.b, c].map(({ inputs }) => inputs.length)).toEqual([1, 1, 1]);
  });

  test("an answer that was acknowledged is acted on by whoever comes next, once", async () => {
    for (let round = 0; round < 10; round += 1) {
      const { tool: act, runs } = gated_tool();
      const script = [[{ call: "act", input: { round } }], "Done."];
      const opened = await begin(store, script, { tools: { act } });
      await opened.session.prompt({ query: "Go" });
      const { interaction_id } = await next_interaction(opened.session);
      await opened.session.respond(approve(interaction_id));
      const { session, model } = await hand_over(opened, ["Done.", "More."], { tools: { act } });
      await end_of(session);
      expect(await session.interactions()).toEqual([]);
      expect((await session.status()).state).toBe("idle");
      const [call] = await calls_of(session);
      expect(call?.interactions).toMatchObject([{ interaction_id, status: "resolved" }]);
      expect(runs.length).toBeLessThanOrEqual(1);
      if (call?.state === "completed") expect(runs).toEqual([{ round }]);
      else expect(call).toMatchObject({ state: "failed", error: expect.stringMatching(/unknown/i) });
      const requests = model.requests.length;
      expect((await run(session)).success).toBe(true);
      expect(results_in(model.prompts[requests])).toHaveLength(1);
    }
  });

  test("an answer that is not understood says what is expected, and changes nothing", async () => {
    const { tool: act, runs } = gated_tool();
    const questions = [
      { question: "Why?", type: "text" },
      { question: "Which?", type: "single_select", options: [{ value: "a", label: "A" }] },
      { question: "Which ones?", type: "multi_select", options: [{ value: "x", label: "X" }] },
    ];
    const asks = questions.map((question, index) => ({
      call: "ask",
      id: `ask_${index}`,
      input: { questions: [question] },
    }));
    const tools = { act, ask: AskQuestionsTool };
    const { session, observer } = await begin(store, [[{ call: "act", id: "act" }, ...asks], "Done."], {
      tools,
    });
    const turn = await session.prompt({ query: "Go" });
    const asked = await pending_of(session, 4);
    const approval = of_call(asked, "act").interaction_id;
    const before = observer.mutations.length;
    const payloads = [
      { approve: true },
      { approved: 1 },
      { approved: "false" },
      { decision: "yes" },
      { decision: ["approved", "denied"] },
    ];
    for (const payload of payloads) {
      const response = { type: "approval", outcome: "resolved", payload };
      const error = await refusal_of(session.respond(loose({ interaction_id: approval, response })));
      expect(error.code).toBe("INVALID_RESPONSE");
      expect(JSON.stringify([error.message, error.issues])).toContain("decision");
    }
    const said = [approve(approval).response, "approved", true];
    for (const response of said) {
      const error = await refusal_of(session.respond(loose({ response })));
      expect(error.code).toBe("INVALID_INPUT");
      expect(error.message).toContain("interaction_id");
    }
    const values = ["text", "a", ["x"]];
    for (const index of values.keys()) {
      const interaction = of_call(asked, `ask_${index}`);
      const mismatch = await refusal_of(session.respond(approve(interaction.interaction_id)));
      expect(mismatch.code).toBe("RESPONSE_TYPE_MISMATCH");
      expect(mismatch.message).toContain("question");
      const others = index === 0 ? [["x"]] : index === 1 ? ["text", ["x"]] : ["text", "a"];
      for (const value of others) {
        const error = await refusal_of(session.respond(answer_to(interaction, value)));
        expect(error.code).toBe("INVALID_RESPONSE");
        expect(error.issues?.[0]?.path).toContain("answers[0].value");
      }
    }
    expect(await session.interactions()).toEqual(asked);
    expect(observer.mutations).toHaveLength(before);
    expect(runs).toEqual([]);
    await session.respond(approve(approval));
    for (const [index, value] of values.entries()) {
      const interaction = of_call(asked, `ask_${index}`);
      await session.respond(answer_to(interaction, value));
    }
    expect((await turn.finished).text).toBe("Done.");
    expect(runs).toHaveLength(1);
  });
});

/** Waits until so many calls have come to their end. */
async function settled(session: Parameters<typeof calls_of>[0], count: number): Promise<void> {
  await until(session, async () => {
    const calls = await calls_of(session);
    return calls.filter(({ state }) => state === "completed" || state === "failed").length >= count;
  });
}
