import type { Session } from "@downcity/agent";
import { gate, next_interaction } from "@downcity/agent/testing";
import { AskQuestionsTool } from "@downcity/agent/tools";
import { expect, test } from "vitest";
import {
  answer,
  answer_next,
  approve,
  asking_tool,
  calls_of,
  deny,
  open,
  pending_of,
  refusal_of,
  reopen,
  results_in,
  run,
  tool,
} from "../support/session.js";
import { on_each_store } from "../support/stores.js";

const QUESTION = { questions: [{ question: "Why?", type: "text" }] };

async function answer_question(session: Session): Promise<void> {
  const asked = await next_interaction(session, ({ type }) => type === "question");
  if (asked.type !== "question") return;
  const [question] = asked.payload.questions;
  await session.respond(
    answer(asked.interaction_id, [{ question_id: question?.question_id ?? "", value: "so" }]),
  );
}

on_each_store("What is pending", (store) => {
  test("status() and interactions() never contradict each other, at no Mutation", async () => {
    const { tool: act } = asking_tool();
    const calls = [{ call: "act" }, { call: "ask", input: QUESTION }, { call: "act" }];
    const { session } = await open(store, [calls, [{ call: "act" }], "Done."], {
      tools: { act, ask: AskQuestionsTool },
    });
    const looks: Promise<void>[] = [];
    const contradictions: string[] = [];
    const look = async () => {
      // Asked for together, so what is read is one moment or two that follow each other.
      const [before, pending, after] = await Promise.all([
        session.status(),
        session.interactions(),
        session.status(),
      ]);
      const idle = before.state === "idle" && after.state === "idle";
      if (idle && pending.length > 0) contradictions.push(`idle with ${pending.length} pending`);
      for (const { state, active_turn_id } of [before, after]) {
        if ((state === "running") !== (active_turn_id !== undefined))
          contradictions.push(`${state} without Turn`);
      }
    };
    const unsubscribe = session.subscribe(() => void looks.push(look()));
    const turn = await session.prompt({ query: "Go" });
    await pending_of(session, 3);
    await answer_question(session);
    for (let left = 3; left > 0; left -= 1) await answer_next(session);
    expect((await turn.finished).text).toBe("Done.");
    unsubscribe();
    await Promise.all(looks);
    expect(contradictions).toEqual([]);
  });

  test("free siblings run while others wait, and the model is asked when the last has ended", async () => {
    const { tool: act } = asking_tool();
    const held = gate();
    const slow = tool(async () => {
      await held.wait();
      return "slow";
    });
    const fast = tool(() => "fast");
    const calls = [
      { call: "fast", id: "f1" },
      { call: "slow", id: "f2" },
      { call: "act", id: "g" },
      { call: "ask", input: QUESTION, id: "q" },
    ];
    const tools = { act, slow, fast, ask: AskQuestionsTool };
    const { session, model } = await open(store, [calls, "Done."], { tools });
    const turn = await session.prompt({ query: "Go" });
    const [one] = (await pending_of(session, 2)).filter(({ type }) => type === "approval");
    await session.respond(approve(one?.interaction_id ?? ""));
    await held.reached;
    held.open();
    expect(model.requests).toHaveLength(1);
    await answer_question(session);
    await turn.finished;
    const results = results_in(model.prompts[1]);
    expect(results.map(({ toolCallId }) => toolCallId)).toEqual(["f1", "f2", "g", "q"]);
    expect(results.slice(0, 3).map(({ output }) => output.value)).toEqual([
      "fast",
      "slow",
      { success: true },
    ]);
  });

  test("three pauses in a row keep every result for the model", async () => {
    const { tool: act, runs } = asking_tool();
    const script = [1, 2, 3].map((n) => [{ call: "act", input: { n }, id: `call_${n}` }]);
    const { session, model } = await open(store, [...script, "Done."], { tools: { act } });
    const turn = await session.prompt({ query: "Go" });
    for (let pause = 0; pause < 3; pause += 1) await answer_next(session);
    expect((await turn.finished).text).toBe("Done.");
    expect(runs).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }]);
    expect(results_in(model.prompts[3]).map(({ toolCallId }) => toolCallId)).toEqual([
      "call_1",
      "call_2",
      "call_3",
    ]);
  });

  test("what was approved once never runs again, in later Turns or later processes", async () => {
    const { tool: act, runs } = asking_tool();
    const options = { tools: { act } };
    const opened = await open(store, [[{ call: "act" }], "Done.", "2", "3"], options);
    const turn = await opened.session.prompt({ query: "Go" });
    const { interaction_id } = await answer_next(opened.session);
    await turn.finished;
    await run(opened.session);
    await run(opened.session);
    const again = await reopen(opened, ["4", "5"], options);
    await run(again.session);
    await run(again.session);
    const late = await refusal_of(again.session.respond(approve(interaction_id)));
    expect(late).toMatchObject({ code: "INTERACTION_TERMINAL", interaction: { status: "resolved" } });
    expect(runs).toHaveLength(1);
  });

  test("after each way an item can end it is gone, and an answer to it is told how it ended", async () => {
    const { tool: act } = asking_tool();
    const script = (prompt: readonly { role: string }[]) =>
      prompt.at(-1)?.role === "user" ? [{ call: "act" }] : "Done.";
    const opened = await open(store, script, { tools: { act } });
    const { agent } = opened;
    let { session } = opened;
    const ways: [string, object, (id: string) => Promise<unknown>][] = [
      ["approved", { status: "resolved" }, (id) => session.respond(approve(id))],
      ["denied", { status: "denied" }, (id) => session.respond(deny(id))],
      ["stopped", { status: "cancelled", cancel_reason: "turn_stopped" }, () => session.stop()],
      ["closed", { status: "cancelled", cancel_reason: "session_disposed" }, () => session.close()],
    ];
    for (const [name, end, act_on] of ways) {
      const turn = await session.prompt({ query: name });
      const { interaction_id } = await next_interaction(session);
      await act_on(interaction_id);
      await turn.finished;
      if (name === "closed") session = await agent.sessions.get(session.id);
      expect(await session.interactions(), name).toEqual([]);
      for (const input of [approve(interaction_id), deny(interaction_id)]) {
        const error = await refusal_of(session.respond(input));
        expect(error.code, name).toBe("INTERACTION_TERMINAL");
        expect(error.interaction, name).toMatchObject({ interaction_id, ...end });
      }
    }
    expect((await calls_of(session)).filter(({ state }) => state === "waiting-user")).toEqual([]);
  });

  test("an Agent lists what is pending in all its Sessions, oldest first, in pages", async () => {
    const { tool: act } = asking_tool();
    const { agent, session } = await open(store, () => [{ call: "act" }], { tools: { act } });
    const all = [session, await agent.sessions.create(), await agent.sessions.create()];
    const turns = [];
    for (const one of all) {
      turns.push(await one.prompt({ query: "Go" }));
      await next_interaction(one);
    }
    const listed = await agent.interactions();
    expect(listed.items.map(({ session_id }) => session_id)).toEqual(all.map(({ id }) => id));
    const first = await agent.interactions({ limit: 2 });
    expect(first.items).toEqual(listed.items.slice(0, 2));
    const second = await agent.interactions({ limit: 2, after: first.next });
    expect([...first.items, ...second.items]).toEqual(listed.items);
    const [own] = await session.interactions();
    expect(listed.items[0]).toEqual({ ...own, session_id: session.id });
    await Promise.all(all.map((one) => one.stop()));
    await Promise.all(turns.map(({ finished }) => finished));
    expect(await agent.interactions()).toEqual({ items: [] });
  });

  test("sessions.list tells state, pending and messages of each, the most recent first", async () => {
    const { tool: act } = asking_tool();
    const metadata = { tags: ["a"], nested: { z: 1, a: null } };
    const { agent, session } = await open(store, [[{ call: "act" }], "Done."], {
      tools: { act },
      session: { session_id: "first", metadata },
    });
    await agent.sessions.create({ session_id: "second" });
    const turn = await session.prompt({ query: "Go" });
    await next_interaction(session);
    const { items } = await agent.sessions.list();
    expect(items).toMatchObject([
      { session_id: "first", state: "running", pending: 1, message_count: 2, metadata },
      { session_id: "second", state: "idle", pending: 0, message_count: 0 },
    ]);
    expect(items[1]).not.toHaveProperty("metadata");
    await answer_next(session);
    await turn.finished;
    const [first] = (await agent.sessions.list()).items;
    expect(first).toMatchObject({ session_id: "first", state: "idle", pending: 0 });
    await agent.sessions.archive("second");
    expect((await agent.sessions.list()).items).toHaveLength(1);
    expect((await agent.sessions.archived()).items).toMatchObject([{ session_id: "second" }]);
    await agent.sessions.remove("second");
    expect((await agent.sessions.archived()).items).toEqual([]);
  });
});
