import type { Interaction, QuestionInteraction } from "@downcity/agent";
import { gate, next_interaction } from "@downcity/agent/testing";
import { expect, test } from "vitest";
import {
  answer,
  approve,
  calls_of,
  deny,
  open,
  parts_of,
  refusal_of,
  reopen,
  run,
  tool,
} from "../support/session.js";
import { on_each_store, type Store } from "../support/stores.js";

interface Vote extends Interaction<"vote", { options: string[] } | null, { choice: string }> {}

const question = (text: string) => ({ questions: [{ question: text, type: "text" as const }] });

/** A Turn whose only tool runs until the gate is opened. */
async function held_turn(store: Store) {
  const held = gate();
  const act = tool(async () => {
    await held.wait();
    return "done";
  });
  const opened = await open(store, [[{ call: "act", id: "call_0" }], "Done.", "Next."], { tools: { act } });
  const turn = await opened.session.prompt({ query: "Go" });
  await held.reached;
  return { ...opened, held, turn };
}

on_each_store("What a host asks itself", (store) => {
  test("a question beside a call is pending in its Tool Part, and its result is the answered Interaction", async () => {
    const { session, turn, held } = await held_turn(store);
    const handle = await session.interactions.request<QuestionInteraction>({
      type: "question",
      turn_id: turn.id,
      tool_call_id: "call_0",
      title: "One thing",
      description: "Before it goes on",
      payload: question("Why?"),
    });
    const [pending] = await session.interactions();
    expect(pending).toMatchObject({
      interaction_id: handle.interaction_id,
      title: "One thing",
      description: "Before it goes on",
      source: { type: "tool", tool_call_id: "call_0", tool_name: "act" },
    });
    expect((await calls_of(session))[0]?.state).toBe("waiting-user");
    const question_id = pending?.type === "question" ? (pending.payload.questions[0]?.question_id ?? "") : "";
    const committed = await session.respond(answer(handle.interaction_id, [{ question_id, value: "so" }]));
    expect(await handle.result).toEqual(committed);
    expect((await calls_of(session))[0]?.state).toBe("running");
    held.open();
    expect((await turn.finished).text).toBe("Done.");
  });

  test("without a call it is a Part of its own, holds nothing up, and ends with the Turn", async () => {
    const { session, turn, held } = await held_turn(store);
    const handle = await session.interactions.request({
      type: "question",
      turn_id: turn.id,
      payload: question("Anything else?"),
    });
    const part = (await parts_of(session)).find(({ type }) => type === "interaction");
    expect(part).toMatchObject({ interaction: { status: "pending", source: { type: "execution" } } });
    held.open();
    expect((await turn.finished).text).toBe("Done.");
    await expect(handle.result).rejects.toMatchObject({ name: "AbortError" });
    const ended = (await parts_of(session)).find(({ type }) => type === "interaction");
    expect(ended).toMatchObject({ interaction: { status: "cancelled", cancel_reason: "turn_ended" } });
    const late = await refusal_of(session.respond(deny(handle.interaction_id)));
    expect(late.code).toBe("INTERACTION_TERMINAL");
    expect(late.interaction).toMatchObject({ cancel_reason: "turn_ended" });
  });

  test("what is pending when its call ends is cancelled in that commit", async () => {
    const { session, turn, held, observer } = await held_turn(store);
    const handle = await session.interactions.request({
      type: "question",
      turn_id: turn.id,
      tool_call_id: "call_0",
      payload: question("Too late?"),
    });
    held.open();
    expect((await turn.finished).status).toBe("completed");
    await expect(handle.result).rejects.toMatchObject({ name: "AbortError" });
    const [call] = await calls_of(session);
    expect(call).toMatchObject({
      state: "completed",
      output: "done",
      interactions: [{ status: "cancelled", cancel_reason: "tool_ended" }],
    });
    await observer.agrees();
  });

  test("any type of one's own works, with a schema that its answers are checked against", async () => {
    const { session, turn, held } = await held_turn(store);
    const response_schema = {
      type: "object",
      properties: { choice: { enum: ["a", "b"] } },
      required: ["choice"],
    };
    const handle = await session.interactions.request<Vote>({
      type: "vote",
      turn_id: turn.id,
      response_schema,
      payload: { options: ["a", "b"] },
    });
    const { interaction_id } = handle;
    expect(await session.interactions<Vote>()).toMatchObject([
      { type: "vote", payload: { options: ["a", "b"] }, response_schema },
    ]);
    const vote = (choice: string) =>
      session.respond<Vote>({
        interaction_id,
        response: { type: "vote", outcome: "resolved", payload: { choice } },
      });
    const refused = await refusal_of(vote("c"));
    expect(refused).toMatchObject({ code: "INVALID_RESPONSE" });
    expect(refused.issues?.[0]?.path).toBe("payload.choice");
    expect((await vote("b")).response?.payload).toEqual({ choice: "b" });
    expect((await handle.result).status).toBe("resolved");
    held.open();
    await turn.finished;
  });

  test("a request for a Turn or call that is not going on is refused", async () => {
    const { session, turn, held } = await held_turn(store);
    const ask = (fields: { turn_id: string; tool_call_id?: string }) =>
      session.interactions.request({ type: "question", payload: question("?"), ...fields });
    for (const fields of [{ turn_id: "turn:none" }, { turn_id: turn.id, tool_call_id: "call_9" }]) {
      expect((await refusal_of(ask(fields))).code).toBe("TOOL_CALL_NOT_ACTIVE");
    }
    held.open();
    await turn.finished;
    const late = { turn_id: turn.id, tool_call_id: "call_0" };
    expect((await refusal_of(ask(late))).code).toBe("TOOL_CALL_NOT_ACTIVE");
    expect((await refusal_of(ask({ turn_id: turn.id }))).code).toBe("TOOL_CALL_NOT_ACTIVE");
    expect(await session.interactions()).toEqual([]);
    expect((await run(session)).text).toBe("Next.");
  });

  test("a host's approval has the same decision as a tool's, and an AbortError when it is cancelled", async () => {
    const { session, turn } = await held_turn(store);
    const ask = () =>
      session.interactions.approval.request({
        turn_id: turn.id,
        payload: { operation: "exec", command: "ls" },
      });
    const first = ask();
    const { interaction_id, payload } = await next_interaction(session);
    expect(payload).toEqual({ operation: "exec", command: "ls" });
    await session.respond(approve(interaction_id, { reason: "fine" }));
    expect(await first).toEqual({
      approved: true,
      auto_approved: false,
      interaction_id,
      reason: "fine",
      payload: { decision: "approved", reason: "fine" },
    });
    const second = ask();
    const third = ask();
    await next_interaction(session);
    await session.stop();
    await turn.finished;
    await expect(second).rejects.toMatchObject({ name: "AbortError" });
    await expect(third).rejects.toMatchObject({ name: "AbortError" });
  });

  test("handles that nobody awaits never become unhandled rejections", async () => {
    const unhandled: unknown[] = [];
    const listen = (reason: unknown) => void unhandled.push(reason);
    process.on("unhandledRejection", listen);
    const act = tool(async (_, { interactions, turn_id, tool_call_id }) => {
      void interactions.approval.request({ payload: { operation: "tool" } });
      await interactions.request({ type: "question", turn_id, tool_call_id, payload: question("?") });
      return "gone";
    });
    const { session } = await open(store, [[{ call: "act" }, { call: "act" }], "Done."], { tools: { act } });
    expect((await run(session)).text).toBe("Done.");
    await new Promise(setImmediate);
    process.off("unhandledRejection", listen);
    expect(unhandled).toEqual([]);
    const ends = (await calls_of(session)).flatMap(({ interactions }) => interactions ?? []);
    expect(ends.length).toBeGreaterThanOrEqual(2);
    expect(ends.every(({ cancel_reason }) => cancel_reason === "tool_ended")).toBe(true);
  });

  test("null is a value like any other: in a payload, an answer and a prompt", async () => {
    const opened = await held_turn(store);
    const { session, turn, held } = opened;
    const handle = await session.interactions.request<Vote>({
      type: "vote",
      turn_id: turn.id,
      payload: null,
    });
    const response = { type: "vote", outcome: "resolved", payload: null } as never;
    const committed = await session.respond({ interaction_id: handle.interaction_id, response });
    held.open();
    await turn.finished;
    await (await session.prompt({ query: [{ type: "data", name: "nothing", data: null }] })).finished;
    const live = await parts_of(session);
    expect(live.find(({ type }) => type === "interaction")).toMatchObject({ interaction: committed });
    expect(live.find(({ type }) => type === "data")).toHaveProperty("data", null);
    const again = await reopen(opened, []);
    expect(await parts_of(again.session)).toEqual(live);
  });
});
