import { Agent, type Session } from "@downcity/agent";
import { gate, next_interaction } from "@downcity/agent/testing";
import { expect, test } from "vitest";
import { all_messages } from "../support/fold.js";
import {
  answer_next,
  asking_tool,
  calls_of,
  open,
  parts_of,
  refusal_of,
  reopen,
  results_in,
  run,
  tool,
} from "../support/session.js";
import { on_each_store } from "../support/stores.js";

const ACT = [{ call: "act", input: {} }];
const texts_of = async (session: Session) =>
  (await all_messages(session)).map(({ role, parts }) => [
    role,
    (parts as { type: string; text?: string }[]).map(({ type, text }) => text ?? type).join(" "),
  ]);

on_each_store("Turns and their queue", (store) => {
  test("prompts that come while a person is asked join the Turn at its next step", async () => {
    const { tool: act } = asking_tool();
    const { session, model, observer } = await open(store, [ACT, "Both."], { tools: { act } });
    const first = await session.prompt({ query: "First" });
    await next_interaction(session);
    const second = await session.prompt({ query: "Second" });
    const third = await session.prompt({ query: [{ type: "text", text: "Third" }] });
    expect([second.id, third.id]).toEqual([first.id, first.id]);
    expect(await texts_of(session)).toEqual([
      ["user", "First"],
      ["assistant", "tool"],
    ]);
    await answer_next(session);
    const results = await Promise.all([first, second, third].map(({ finished }) => finished));
    expect(results[1]).toEqual(results[0]);
    expect(results[2]).toEqual(results[0]);
    expect(await texts_of(session)).toEqual([
      ["user", "First"],
      ["assistant", "tool"],
      ["user", "Second"],
      ["user", "Third"],
      ["assistant", "Both."],
    ]);
    expect(model.prompts[1]?.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "user", "user"]);
    const turns = observer.mutations.filter(({ variant }) => variant === "turn");
    expect(turns.map(({ type }) => type)).toEqual(["start", "finish"]);
  });

  test("a prompt that comes while the last text streams keeps the Turn going", async () => {
    const held = gate();
    const { session } = await open(store, [[{ text: "One." }, { hold: held }], "Two."]);
    const first = await session.prompt({ query: "First" });
    await held.reached;
    const second = await session.prompt({ query: "Second" });
    held.open();
    expect((await first.finished).text).toBe("Two.");
    expect(await second.finished).toEqual(await first.finished);
  });

  test("when a Turn fails, what is queued starts the next one and its handle follows", async () => {
    const held = gate();
    const script = [
      [{ text: "Half" }, { hold: held }, { break_off: new Error("The line broke.") }],
      "Second answer.",
    ];
    const { session } = await open(store, script);
    const first = await session.prompt({ query: "First" });
    await held.reached;
    const second = await session.prompt({ query: "Second" });
    expect(second.id).toBe(first.id);
    held.open();
    expect(await first.finished).toMatchObject({ status: "failed", error_code: "MODEL_FAILED" });
    const result = await second.finished;
    expect(result).toMatchObject({ status: "completed", text: "Second answer." });
    expect(second.id).toBe(result.turn_id);
    expect(second.id).not.toBe(first.id);
  });

  test("a signal withdraws a queued prompt, and stops the Turn of one that was absorbed", async () => {
    const { tool: act, runs } = asking_tool();
    const { session } = await open(store, [ACT, "Done.", ACT], { tools: { act } });
    const first = await session.prompt({ query: "First" });
    await next_interaction(session);
    const queued = new AbortController();
    const second = await session.prompt({ query: "Second", signal: queued.signal });
    queued.abort();
    expect(await second.finished).toMatchObject({ status: "stopped", success: false });
    await answer_next(session);
    expect((await first.finished).status).toBe("completed");
    expect((await texts_of(session)).flat()).not.toContain("Second");
    const absorbed = new AbortController();
    const third = await session.prompt({ query: "Third", signal: absorbed.signal });
    await next_interaction(session);
    absorbed.abort();
    expect((await third.finished).status).toBe("stopped");
    expect(await session.interactions()).toEqual([]);
    expect(runs).toHaveLength(1);
    const gone = session.prompt({ query: "x", signal: absorbed.signal });
    await expect(gone).rejects.toMatchObject({ name: "AbortError" });
  });

  test("stop() tells what it stopped, and drops what was queued", async () => {
    const { tool: act, decisions } = asking_tool();
    const { session, model, observer } = await open(store, [ACT, "Fine."], { tools: { act } });
    expect(await session.stop()).toEqual({ stopped: false, cancelled_prompts: 0, reason: "idle" });
    const first = await session.prompt({ query: "First" });
    const { interaction_id } = await next_interaction(session);
    const queued = [await session.prompt({ query: "a" }), await session.prompt({ query: "b" })];
    expect(await session.stop()).toEqual({
      stopped: true,
      turn_id: first.id,
      cancelled_prompts: 2,
      reason: "stopped",
    });
    expect(await first.finished).toMatchObject({ status: "stopped", success: false, turn_id: first.id });
    for (const { finished } of queued) expect((await finished).status).toBe("stopped");
    expect(await session.stop()).toEqual({ stopped: false, cancelled_prompts: 0, reason: "idle" });
    const [call] = await calls_of(session);
    expect(call).toMatchObject({ state: "failed", error_code: "stopped" });
    expect(call?.interactions).toMatchObject([
      { interaction_id, status: "cancelled", cancel_reason: "turn_stopped", resolved_at: expect.any(Number) },
    ]);
    await observer.agrees();
    expect((await run(session, "Go on")).text).toBe("Fine.");
    expect(results_in(model.prompts[1])).toHaveLength(1);
    expect(decisions).toEqual([]);
  });

  test("stop() does not wait for a tool that ignores it, and drops what it returns later", async () => {
    const held = gate();
    let signal: AbortSignal | undefined;
    const stubborn = tool(async (_, context) => {
      signal = context.abort_signal;
      await held.wait();
      return "too late";
    });
    const { session, observer } = await open(store, [[{ call: "stubborn" }], "Next."], {
      tools: { stubborn },
    });
    const turn = await session.prompt({ query: "Go" });
    await held.reached;
    expect(signal?.aborted).toBe(false);
    await session.stop();
    expect((await turn.finished).status).toBe("stopped");
    expect(signal?.aborted).toBe(true);
    const before = JSON.stringify(await all_messages(session));
    held.open();
    await new Promise(setImmediate);
    expect(JSON.stringify(await all_messages(session))).toBe(before);
    await run(session);
    await observer.agrees();
    expect(JSON.stringify(await all_messages(session))).not.toContain("too late");
  });

  test("stop() aborts the model and keeps what it had said", async () => {
    const held = gate();
    const script = [[{ reasoning: "Thinking" }, { text: "Half an ans" }, { hold: held }], "Next."];
    const { session, model } = await open(store, script);
    const turn = await session.prompt({ query: "Go" });
    await held.reached;
    await session.stop();
    expect((await turn.finished).status).toBe("stopped");
    expect(model.requests[0]?.signal?.aborted).toBe(true);
    held.open();
    const parts = await parts_of(session);
    expect(parts.slice(1)).toMatchObject([
      { type: "reasoning", text: "Thinking", state: "done" },
      { type: "text", text: "Half an ans", state: "done" },
    ]);
    expect((await run(session)).text).toBe("Next.");
  });

  test("close() ends everything, answers SESSION_CLOSED afterwards, and the Session can be opened again", async () => {
    const { tool: act } = asking_tool();
    const { agent, session, observer } = await open(store, [ACT, "Again."], { tools: { act } });
    const turn = await session.prompt({ query: "Go" });
    const { interaction_id } = await next_interaction(session);
    const closing = [session.close(), session.close()];
    await Promise.all(closing);
    await session.close();
    expect((await turn.finished).status).toBe("stopped");
    expect(observer.mutations.at(-1)).toMatchObject({ variant: "session", type: "closed" });
    const methods: (() => unknown)[] = [
      () => session.prompt({ query: "x" }),
      () => session.stop(),
      () => session.messages(),
      () => session.interactions(),
      () => session.status(),
      () => session.set({ security: { approval_mode: "ask" } }),
      () => session.respond({ interaction_id, response: { type: "approval", outcome: "denied" } }),
      () => session.subscribe(() => {}),
      () => session.watch(() => {}),
      () => session.mutations(),
      () => session.active_turn(),
      () => session.interactions.request({ type: "question", turn_id: turn.id, payload: { questions: [] } }),
      () => session.interactions.approval.request({ turn_id: turn.id, payload: { operation: "tool" } }),
    ];
    for (const method of methods) expect((await refusal_of(method)).code).toBe("SESSION_CLOSED");
    const again = await agent.sessions.get(session.id);
    expect(again).not.toBe(session);
    expect(await agent.sessions.get(session.id)).toBe(again);
    const [call] = await calls_of(again);
    expect(call?.interactions).toMatchObject([{ status: "cancelled", cancel_reason: "session_disposed" }]);
    expect((await run(again)).text).toBe("Again.");
  });

  test("dispose() cancels what is pending in every Session of the Agent", async () => {
    const { tool: act } = asking_tool();
    const options = { tools: { act } };
    const opened = await open(store, () => ACT, options);
    const other = await opened.agent.sessions.create();
    const turns = [await opened.session.prompt({ query: "Go" }), await other.prompt({ query: "Go" })];
    await next_interaction(opened.session);
    await next_interaction(other);
    const again = await reopen(opened, ["Fine."], options);
    for (const { finished } of turns) expect((await finished).status).toBe("stopped");
    for (const id of [opened.session.id, other.id]) {
      const [call] = await calls_of(await again.agent.sessions.get(id));
      expect(call).toMatchObject({ state: "failed", interactions: [{ cancel_reason: "session_disposed" }] });
    }
    expect((await run(again.session)).text).toBe("Fine.");
    expect((await refusal_of(opened.agent.sessions.list())).code).toBe("SESSION_CLOSED");
    expect((await refusal_of(opened.session.status())).code).toBe("SESSION_CLOSED");
  });

  test("await using closes the Session, then disposes the Agent", async () => {
    const place = store.place();
    let left: { agent: Agent; session: Session } | undefined;
    {
      await using agent = new Agent({ id: "behaviour", storage: place.storage() });
      await using session = await agent.sessions.create({ session_id: "s" });
      left = { agent, session };
      expect((await session.status()).state).toBe("idle");
    }
    expect((await refusal_of(left.session.status())).code).toBe("SESSION_CLOSED");
    expect((await refusal_of(left.agent.sessions.get("s"))).code).toBe("SESSION_CLOSED");
    const { session } = await open(store, ["Hi."], { place, session: { session_id: "other" } });
    expect((await run(session)).text).toBe("Hi.");
  });

  test("when a Turn has finished, the Session is idle and every Mutation was delivered", async () => {
    const { session, observer } = await open(store, () => "Done.", { chunk_size: 1 });
    for (let turn = 0; turn < 20; turn += 1) {
      const handle = await session.prompt({ query: "Go" });
      expect(session.active_turn()?.id).toBe(handle.id);
      await handle.finished;
      const last = observer.mutations.at(-1);
      expect(last).toMatchObject({ variant: "turn", type: "finish", turn_id: handle.id });
      expect(session.active_turn()).toBeNull();
      expect(await session.status()).not.toHaveProperty("active_turn_id");
      expect((await session.status()).state).toBe("idle");
    }
  });

  test("messages() gives pages of the newest, ascending", async () => {
    const { session } = await open(store, () => "Done.");
    for (let turn = 0; turn < 6; turn += 1) await run(session, `Turn ${turn}`);
    const stored = await all_messages(session);
    expect(stored.map(({ sequence }) => sequence)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
    const newest = await session.messages({ limit: 5 });
    expect(newest).toEqual({ items: stored.slice(7), next_before_sequence: 8 });
    const before = await session.messages({ limit: 5, before_sequence: newest.next_before_sequence });
    expect(before).toEqual({ items: stored.slice(2, 7), next_before_sequence: 3 });
    expect(await session.messages({ limit: 5, before_sequence: 3 })).toEqual({ items: stored.slice(0, 2) });
    expect(await session.messages({ before_sequence: 1 })).toEqual({ items: [] });
  });
});
