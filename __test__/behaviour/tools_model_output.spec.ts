import { jsonSchema } from "ai";
import { expect, test } from "vitest";
import { open, results_in } from "../support/session.js";
import { on_each_store } from "../support/stores.js";

on_each_store("A tool that says what the model is shown", (store) => {
  test("shows that to the model, and keeps the whole result for everyone else", async () => {
    const lookup = {
      description: "Looks a customer up.",
      inputSchema: jsonSchema({ type: "object", properties: {} }),
      execute: () => ({ name: "Ada", secret: "4711" }),
      toModelOutput: ({ output }: { output: { name: string } }) => ({ type: "text", value: output.name }),
    };
    const script = [[{ call: "lookup", input: {} }], "Done."];
    const { session, model } = await open(store, script, { tools: { lookup: lookup as never } });
    const turn = await session.prompt({ query: "Who?" });
    expect(await turn.finished).toMatchObject({ success: true });
    expect(results_in(model.prompts[1])[0]?.output).toEqual({ type: "text", value: "Ada" });
    expect(JSON.stringify(model.prompts[1])).not.toContain("4711");
    const { items } = await session.messages();
    const part = items.flatMap(({ parts }) => parts).find(({ type }) => type === "tool");
    expect(part).toMatchObject({ state: "completed", output: { name: "Ada", secret: "4711" } });
  });
});
