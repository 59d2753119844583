import { expect, test } from "vitest";
import { open, run, tool } from "../support/session.js";
import { on_each_store } from "../support/stores.js";

on_each_store("A model's explanation", (store) => {
  test.each([
    ["first", { model_explanation: "It is old.", path: "a", mode: 1 }],
    ["in the middle", { path: "a", model_explanation: "It is old.", mode: 1 }],
    ["last", { path: "a", mode: 1, model_explanation: "It is old." }],
  ])("that came %s goes back in its place", async (_place, input) => {
    const inputs: unknown[] = [];
    const act = tool((given) => void inputs.push(given), { explain: true });
    const { session, model } = await open(store, [[{ call: "act", input }], "Done."], { tools: { act } });
    expect((await run(session)).text).toBe("Done.");
    expect(inputs).toEqual([{ path: "a", mode: 1 }]);
    const content = model.prompts[1]?.[1]?.content as unknown as { input: object }[];
    expect(JSON.stringify(content[0]?.input)).toBe(JSON.stringify(input));
  });
});
