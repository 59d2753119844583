/** A program that was changed between asking and going on: never another input than the one that was approved. */
import { Agent, define_agent_tool, with_approval } from "@downcity/agent";
import { next_interaction, ScriptedModel } from "@downcity/agent/testing";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { approve, open, results_in } from "../support/session.js";
import { on_each_store } from "../support/stores.js";

on_each_store("A gate whose schema is another one in the next process", (store) => {
  const runs: unknown[] = [];
  const tools_with = (input_schema: z.ZodType) => ({
    pay: with_approval(define_agent_tool({ input_schema, execute: async (input) => void runs.push(input) })),
  });
  const amount = z.object({ amount: z.coerce.number() });

  /** Asked under one schema, opened under the next. */
  async function reopened(first: z.ZodType, next: z.ZodType, input: object) {
    runs.length = 0;
    const opened = await open(store, [[{ call: "pay", input }], "Done."], {
      tools: tools_with(first),
      observed: false,
    });
    await opened.session.prompt({ query: "Go" });
    const { interaction_id } = await next_interaction(opened.session);
    await opened.agent.detach();
    const model = new ScriptedModel(["I see."]);
    const storage = opened.place.storage();
    const agent = new Agent({ id: "behaviour", model, tools: tools_with(next), storage });
    onTestFinished(() => agent.dispose());
    const session = await agent.sessions.get(opened.session.id);
    const call = async () => {
      const { items } = await session.messages();
      return items.flatMap(({ parts }) => parts).find(({ type }) => type === "tool");
    };
    return { session, interaction_id, model, call };
  }

  test("and refuses the arguments is answered, and its call cannot go on", async () => {
    const { session, interaction_id, model, call } = await reopened(
      amount,
      z.object({ amount: z.coerce.number().max(10) }),
      { amount: "100" },
    );
    expect(await session.interactions()).toMatchObject([{ interaction_id, status: "pending" }]);
    expect(await session.respond(approve(interaction_id))).toMatchObject({ status: "resolved" });
    expect(await session.active_turn()?.finished).toMatchObject({ status: "completed", text: "I see." });
    expect(await call()).toMatchObject({ state: "failed", error_code: "cannot_go_on" });
    expect(runs).toEqual([]);
    expect(JSON.stringify(results_in(model.prompts[0]))).toContain("amount");
  });

  test("and makes something else of them never runs what nobody approved", async () => {
    const { session, interaction_id, call } = await reopened(
      amount,
      z.object({ amount: z.coerce.number().transform((value) => value * 100) }),
      { amount: "1" },
    );
    await session.respond(approve(interaction_id));
    await session.active_turn()?.finished;
    expect(await call()).toMatchObject({
      state: "failed",
      error_code: "cannot_go_on",
      error: expect.stringContaining("something else"),
    });
    expect(runs).toEqual([]);
  });

  test("and is denied ends as denied", async () => {
    const { session, interaction_id, call } = await reopened(amount, z.object({ other: z.string() }), {
      amount: 1,
    });
    await session.respond({
      interaction_id,
      response: { type: "approval", outcome: "denied", reason: "no" },
    });
    await session.active_turn()?.finished;
    expect(await call()).toMatchObject({ state: "failed", error_code: "denied" });
  });

  test("and means the same goes on with what it makes of them", async () => {
    const { session, interaction_id } = await reopened(
      amount,
      z.object({ amount: z.coerce.number().positive() }),
      { amount: "7" },
    );
    await session.respond(approve(interaction_id));
    expect(await session.active_turn()?.finished).toMatchObject({ status: "completed" });
    expect(runs).toEqual([{ amount: 7 }]);
  });
});
