import type { RespondInput, Session, SessionError, SessionInteraction } from "@downcity/agent";
import { gate, next_interaction } from "@downcity/agent/testing";
import { expect, test } from "vitest";
import {
  approve,
  asking_tool,
  calls_of,
  deny,
  open,
  pending_of,
  random_numbers,
  results_in,
  tool,
} from "../support/session.js";
import { on_each_store, type Store } from "../support/stores.js";

const RESPONDERS = 64;
const ROUNDS = 50;

interface Outcome {
  won: SessionInteraction[];
  lost: SessionError[];
}

/** All answers are sent before any of them is awaited. */
async function race(session: Session, inputs: readonly RespondInput[]): Promise<Outcome> {
  const ends = await Promise.allSettled(inputs.map((input) => session.respond(input)));
  const outcome: Outcome = { won: [], lost: [] };
  for (const end of ends) {
    if (end.status === "fulfilled") outcome.won.push(end.value);
    else outcome.lost.push(end.reason as SessionError);
  }
  return outcome;
}

/** Some say yes and some say no, and everyone but the winner is told what the winner said. */
async function race_in_a_session(store: Store, random: () => number): Promise<void> {
  const { tool: act, runs, decisions } = asking_tool();
  const { session, observer } = await open(store, asking_steps(ROUNDS), {
    tools: { act },
    max_steps: ROUNDS + 1,
  });
  const turn = await session.prompt({ query: "Go" });
  let approvals = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    const { interaction_id } = await next_interaction(session);
    const inputs = Array.from({ length: RESPONDERS }, (_, index) =>
      random() < 0.5 ? approve(interaction_id, { index }) : deny(interaction_id, `no ${index}`),
    );
    const { won, lost } = await race(session, inputs);
    expect([won.length, lost.length]).toEqual([1, RESPONDERS - 1]);
    expect(new Set(lost.map(({ code }) => code))).toEqual(new Set(["INTERACTION_TERMINAL"]));
    const told = new Set(lost.map(({ interaction }) => JSON.stringify(interaction)));
    expect([...told]).toEqual([JSON.stringify(won[0])]);
    if (won[0]?.status === "resolved") approvals += 1;
  }
  expect((await turn.finished).text).toBe("Done.");
  expect(runs).toHaveLength(approvals);
  expect(decisions).toHaveLength(ROUNDS);
  const went_on = observer.mutations.filter(
    (mutation) =>
      mutation.variant === "part" && mutation.part.type === "tool" && mutation.part.state === "running",
  );
  expect(went_on).toHaveLength(2 * ROUNDS);
}

/** A Turn that asks for approval in each of so many steps. */
const asking_steps = (count: number) => (_: unknown, step: number) =>
  step < count ? [{ call: "act", input: { step } }] : "Done.";

on_each_store("Concurrent answers", (store) => {
  // In Sessions of 50 rounds: what is measured here is answers, not the length of a history.
  const sessions = store.name === "memory" ? 20 : 4;

  test(`of 64 responders one wins, ${sessions * ROUNDS} times`, { timeout: 120_000 }, async () => {
    for (let seed = 0; seed < sessions; seed += 1) await race_in_a_session(store, random_numbers(seed));
  });

  test("the decision that won is the one that is stored and the one the tool got", async () => {
    const { tool: act, decisions } = asking_tool();
    const opened = await open(store, asking_steps(1), { tools: { act } });
    const { session } = opened;
    const turn = await session.prompt({ query: "Go" });
    const { interaction_id } = await next_interaction(session);
    const { won, lost } = await race(session, [
      deny(interaction_id, "a"),
      approve(interaction_id),
      deny(interaction_id),
    ]);
    expect([won.length, lost.length]).toEqual([1, 2]);
    await turn.finished;
    expect(decisions[0]?.approved).toBe(won[0]?.status === "resolved");
    expect((await calls_of(session))[0]?.interactions).toEqual(won);
    const late = session.respond(approve(interaction_id));
    await expect(late).rejects.toMatchObject({ code: "INTERACTION_TERMINAL", interaction: won[0] });
  });

  test("an answer for another Session's Interaction is not found there, and leaves it pending", async () => {
    const { tool: act } = asking_tool();
    const script = () => [{ call: "act", id: "call_0" }];
    const { agent, session: one } = await open(store, script, { tools: { act } });
    const other = await agent.sessions.create();
    const turns = [await one.prompt({ query: "Go" }), await other.prompt({ query: "Go" })];
    const [mine, theirs] = [await next_interaction(one), await next_interaction(other)];
    const trespass = other.respond(approve(mine.interaction_id));
    await expect(trespass).rejects.toMatchObject({ code: "INTERACTION_NOT_FOUND" });
    expect(await trespass.catch((error: Error) => error.message)).not.toContain("validated_input");
    expect(await one.interactions()).toEqual([mine]);
    expect(await other.interactions()).toEqual([theirs]);
    await Promise.all([one.stop(), other.stop()]);
    await Promise.all(turns.map(({ finished }) => finished));
  });

  const orders = [
    [0, 1, 2],
    [0, 2, 1],
    [1, 0, 2],
    [1, 2, 0],
    [2, 0, 1],
    [2, 1, 0],
  ];
  test.each(orders)("three approvals are answered in the order %i, %i, %i", async (...order) => {
    const { tool: act, runs } = asking_tool();
    const calls = ["a", "b", "c"].map((name) => ({ call: "act", input: { name }, id: `call_${name}` }));
    const { session, model, observer } = await open(store, [calls, "Done."], { tools: { act } });
    const turn = await session.prompt({ query: "Go" });
    const asked = await pending_of(session, 3);
    const of_call = (index: number) =>
      asked.find(({ source }) => source.tool_call_id === calls[index]?.id)?.interaction_id ?? "";
    for (const [at, index] of order.entries()) {
      expect(model.requests).toHaveLength(1);
      const left = await session.interactions();
      expect(left).toHaveLength(3 - at);
      await session.respond(index === 2 ? deny(of_call(index), "not c") : approve(of_call(index)));
      const now = await session.interactions();
      expect(now).toEqual(left.filter(({ interaction_id }) => interaction_id !== of_call(index)));
      await observer.agrees_at_once();
    }
    await turn.finished;
    expect(runs.map((input) => (input as { name: string }).name).sort()).toEqual(["a", "b"]);
    const results = results_in(model.prompts[1]);
    expect(results.map(({ toolCallId }) => toolCallId)).toEqual(["call_a", "call_b", "call_c"]);
    expect(results.map(({ output }) => output.value)).toEqual([
      { success: true },
      { success: true },
      { success: false, error: "denied", reason: "not c" },
    ]);
  });

  test("a denied call leaves its siblings as they are, and the model is asked when all have ended", async () => {
    const { tool: act } = asking_tool();
    const held = gate();
    const slow = tool(async (_, context) => {
      const { approved } = await context.interactions.approval.request({ payload: { operation: "tool" } });
      await held.wait();
      return { approved };
    });
    const script = [
      [
        { call: "slow", id: "call_a" },
        { call: "act", id: "call_b" },
        { call: "act", id: "call_c" },
        { call: "free", id: "call_d" },
      ],
      "Done.",
    ];
    const free = tool(() => "free");
    const { session, model } = await open(store, script, { tools: { act, slow, free } });
    const turn = await session.prompt({ query: "Go" });
    const asked = await pending_of(session, 3);
    const of_call = (id: string) =>
      asked.find(({ source }) => source.tool_call_id === id)?.interaction_id ?? "";
    await session.respond(approve(of_call("call_a")));
    await held.reached;
    await session.respond(deny(of_call("call_b")));
    const states = async () =>
      Object.fromEntries((await calls_of(session)).map((c) => [c.tool_call_id, c.state]));
    expect(await states()).toMatchObject({ call_a: "running", call_c: "waiting-user", call_d: "completed" });
    expect((await session.interactions()).map(({ source }) => source.tool_call_id)).toEqual(["call_c"]);
    held.open();
    expect(model.requests).toHaveLength(1);
    await session.respond(approve(of_call("call_c")));
    await turn.finished;
    expect(results_in(model.prompts[1]).map(({ output }) => output.value)).toEqual([
      { approved: true },
      { success: false, error: "denied", reason: null },
      { success: true },
      "free",
    ]);
  });

  test("one call may have several Interactions pending, and goes on when it has its answers", async () => {
    const act = tool(async (_, { interactions }) => {
      const asked = [1, 2, 3].map((part) =>
        interactions.approval.request({ payload: { operation: "tool", part } }),
      );
      const decisions = await Promise.all(asked);
      const last = await interactions.approval.request({ payload: { operation: "tool", part: 4 } });
      return [...decisions, last].map(({ approved }) => approved);
    });
    const { session, model } = await open(store, [[{ call: "act" }], "Done."], { tools: { act } });
    const turn = await session.prompt({ query: "Go" });
    const asked = await pending_of(session, 3);
    expect(asked.map(({ payload }) => (payload as { part?: number }).part)).toEqual([1, 2, 3]);
    const ids = asked.map(({ interaction_id }) => interaction_id);
    await session.respond(approve(ids[2] ?? ""));
    await session.respond(deny(ids[0] ?? ""));
    expect((await calls_of(session))[0]?.state).toBe("waiting-user");
    await session.respond(approve(ids[1] ?? ""));
    const { interaction_id } = await next_interaction(session);
    expect(ids).not.toContain(interaction_id);
    await session.respond(approve(interaction_id));
    await turn.finished;
    expect(results_in(model.prompts[1])[0]?.output.value).toEqual([false, true, true, true]);
  });
});
