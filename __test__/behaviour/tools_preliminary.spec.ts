import type { AgentTool, ToolPart } from "@downcity/agent";
import { gate } from "@downcity/agent/testing";
import { expect, test } from "vitest";
import { open, results_in } from "../support/session.js";
import { on_each_store } from "../support/stores.js";

on_each_store("A tool that streams its result", (store) => {
  test("shows what it has so far, and only what it ends with is the result", async () => {
    const seen = gate();
    const count: AgentTool = {
      input_schema: { type: "object" },
      async *execute() {
        yield { done: 1 };
        await seen.wait();
        return { done: 2 };
      },
    };
    const opened = await open(store, [[{ call: "count", input: {} }], "Done."], { tools: { count } });
    const shown: unknown[] = [];
    opened.session.subscribe((mutation) => {
      if (mutation.variant !== "part" || mutation.part.type !== "tool") return;
      const { state, output, preliminary } = mutation.part;
      if (output !== undefined) shown.push({ state, output, preliminary });
      if (preliminary) seen.open();
    });
    const turn = await opened.session.prompt({ query: "Count" });
    expect(await turn.finished).toMatchObject({ success: true });
    expect(shown).toEqual([
      { state: "running", output: { done: 1 }, preliminary: true },
      { state: "completed", output: { done: 2 }, preliminary: undefined },
    ]);
    expect(results_in(opened.model.prompts[1])[0]?.output).toEqual({ type: "json", value: { done: 2 } });
    const { items } = await opened.session.messages();
    const part = items.flatMap(({ parts }) => parts).find((item): item is ToolPart => item.type === "tool");
    expect(part?.output).toEqual({ done: 2 });
  });
});
