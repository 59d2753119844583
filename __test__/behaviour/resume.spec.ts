import { Agent, type AgentTool, with_approval } from "@downcity/agent";
import { next_interaction, ScriptedModel } from "@downcity/agent/testing";
import { AskQuestionsTool } from "@downcity/agent/tools";
import { expect, onTestFinished, test } from "vitest";
import { answer, approve, open, results_in } from "../support/session.js";
import { on_each_store } from "../support/stores.js";

on_each_store("A process that let go", (store) => {
  test("a gate survives it: the same Interaction is pending, and approval enters the tool once", async () => {
    const runs: unknown[] = [];
    const definition: AgentTool = {
      input_schema: { type: "object" },
      execute: (input) => void runs.push(input),
    };
    const tools = { write: with_approval(definition) };
    const opened = await open(store, [[{ call: "write", input: { n: 1 } }], "Done."], {
      tools,
      observed: false,
    });
    await opened.session.prompt({ query: "Go" });
    const before = await next_interaction(opened.session);
    await opened.agent.detach();
    const model = new ScriptedModel(["Done."]);
    const agent = new Agent({ id: "behaviour", model, tools, storage: opened.place.storage() });
    onTestFinished(() => agent.dispose());
    const session = await agent.sessions.get(opened.session.id);
    expect(await session.interactions()).toEqual([before]);
    await session.respond(approve(before.interaction_id));
    expect((await session.active_turn()?.finished)?.text).toBe("Done.");
    expect(runs).toEqual([{ n: 1 }]);
  });

  test("questions survive it: they keep their ids, and the answer reaches the model", async () => {
    const script = [[{ call: "ask", input: { questions: [{ question: "Why?", type: "text" }] } }], "Done."];
    const tools = { ask: AskQuestionsTool };
    const opened = await open(store, script, { tools, observed: false });
    await opened.session.prompt({ query: "Go" });
    const before = await next_interaction(opened.session);
    await opened.agent.detach();
    const model = new ScriptedModel(["Done."]);
    const agent = new Agent({ id: "behaviour", model, tools, storage: opened.place.storage() });
    onTestFinished(() => agent.dispose());
    const session = await agent.sessions.get(opened.session.id);
    expect(await session.interactions()).toEqual([before]);
    const question_id = before.type === "question" ? (before.payload.questions[0]?.question_id ?? "") : "";
    await session.respond(answer(before.interaction_id, [{ question_id, value: "so" }]));
    expect((await session.active_turn()?.finished)?.text).toBe("Done.");
    expect(results_in(model.prompts[0])[0]?.output.value).toMatchObject({ answers: [{ value: "so" }] });
  });
});
