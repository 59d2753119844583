import { Agent, type AgentTool, define_agent_tool, with_approval } from "@downcity/agent";
import { next_interaction, ScriptedModel } from "@downcity/agent/testing";
import { expect, onTestFinished, test } from "vitest";
import { approve, open } from "../support/session.js";
import { on_each_store } from "../support/stores.js";

const harmless: AgentTool = { input_schema: { type: "object" }, execute: async () => "done" };

on_each_store("A Session that somebody else opens meanwhile", (store) => {
  const script = [[{ call: "t", input: {} }], "Done."];

  test("stays with its owner, and is answered from beside", async () => {
    const tools = { t: with_approval(harmless) };
    const first = await open(store, script, { tools, observed: false });
    const turn = await first.session.prompt({ query: "Go" });
    const { interaction_id } = await next_interaction(first.session);
    const request = { type: "vote", turn_id: turn.id, payload: {} } as const;
    const own = await first.session.interactions.request<never>(request as never);
    const storage = first.place.storage();
    const second = new Agent({ id: "behaviour", model: new ScriptedModel(["Done."]), tools, storage });
    onTestFinished(() => second.dispose());
    const session = await second.sessions.get(first.session.id);
    const beside = session.active_turn();
    expect(beside?.id).toBe(turn.id);
    expect(await session.status()).toEqual(await first.session.status());
    expect(await session.interactions()).toEqual(await first.session.interactions());

    await session.respond({
      interaction_id: own.interaction_id,
      response: { type: "vote", outcome: "denied" },
    } as never);
    expect(await own.result).toMatchObject({ status: "denied" });
    await session.respond(approve(interaction_id));
    expect(await turn.finished).toMatchObject({ status: "completed", text: "Done." });
    expect(await beside?.finished).toEqual(await turn.finished);
    expect(await session.messages()).toEqual(await first.session.messages());
  });
});

on_each_store("A replay tool that asks something else when it is entered again", (store) => {
  test("is told REPLAY_MISMATCH, its call fails, and the model is told", async () => {
    let word = "first";
    const codes: unknown[] = [];
    const asks = define_agent_tool({
      input_schema: { type: "object" },
      resume: "replay",
      execute: async (_, context) => {
        const payload = { operation: "tool" as const, word };
        const { turn_id, tool_call_id } = context;
        const asked = context.interactions.approval.request({ turn_id, tool_call_id, payload });
        const decision = await asked.catch((error: { code?: string }) => {
          codes.push(error.code);
          throw error;
        });
        return { approved: decision.approved };
      },
    });
    const first = await open(store, [[{ call: "t", input: {} }], "Done."], {
      tools: { t: asks },
      observed: false,
    });
    await first.session.prompt({ query: "Go" });
    const { interaction_id } = await next_interaction(first.session);
    await first.agent.detach();

    word = "second";
    const model = new ScriptedModel(["I see."]);
    const agent = new Agent({ id: "behaviour", model, tools: { t: asks }, storage: first.place.storage() });
    onTestFinished(() => agent.dispose());
    const session = await agent.sessions.get(first.session.id);
    expect((await session.active_turn()?.finished)?.text).toBe("I see.");
    expect(codes).toEqual(["REPLAY_MISMATCH"]);
    const late = session.respond(approve(interaction_id));
    await expect(late).rejects.toMatchObject({
      code: "INTERACTION_TERMINAL",
      interaction: { status: "failed" },
    });
    const { items } = await session.messages();
    const part = items.flatMap(({ parts }) => parts).find(({ type }) => type === "tool");
    expect(part).toMatchObject({ state: "failed", error_code: "replay_mismatch" });
  });
});
