/** A JSON Schema that would keep the process busy is refused where it is given. */
import { Agent } from "@downcity/agent";
import { gate, ScriptedModel } from "@downcity/agent/testing";
import { expect, onTestFinished, test } from "vitest";
import { open, refusal_of, tool } from "../support/session.js";
import { memory_store } from "../support/stores.js";

/** Each definition names the next one twice: 2 to the power of `levels` evaluations of one value. */
function doubling(levels: number) {
  const $defs: { [name: string]: object } = { [`n${levels}`]: { type: "object" } };
  for (let level = 0; level < levels; level += 1) {
    const next = { $ref: `#/$defs/n${level + 1}` };
    $defs[`n${level}`] = { allOf: [next, next] };
  }
  return { type: "object", allOf: [{ $ref: "#/$defs/n0" }], $defs };
}

const endless = { type: "object", allOf: [{ $ref: "#" }] };

test.each([
  ["doubles with each definition", doubling(40), /more than 10000 times over/],
  ["refers to itself without end", endless, /refers to itself without end/],
])(
  "a tool's schema that %s is refused with the Agent, by the tool's name",
  async (_name, input_schema, expected) => {
    const act = tool(() => 1, { input_schema });
    const refusal = await refusal_of(
      () => new Agent({ id: "a", model: new ScriptedModel([]), tools: { act } }),
    );
    expect(refusal.code).toBe("INVALID_INPUT");
    expect(refusal.message).toContain("act");
    expect(refusal.message).toMatch(expected);
  },
);

test("one that stays within the bound is taken and enforced", async () => {
  const act = tool(() => "done", { input_schema: doubling(10) });
  const { session } = await open(memory_store, [[{ call: "act", input: {} }], "Done."], { tools: { act } });
  const turn = await session.prompt({ query: "Go" });
  expect((await turn.finished).text).toBe("Done.");
});

test("so is a response_schema, and nothing is asked", async () => {
  const held = gate();
  onTestFinished(() => held.open());
  const act = tool(async () => void (await held.wait()));
  const { session } = await open(memory_store, [[{ call: "act" }], "Done."], { tools: { act } });
  const turn = await session.prompt({ query: "Go" });
  await held.reached;
  const request = { type: "word", turn_id: turn.id, payload: {}, response_schema: doubling(40) } as never;
  const refusal = await refusal_of(session.interactions.request(request));
  expect(refusal.code).toBe("INVALID_INPUT");
  expect(refusal.message).toMatch(
    /response_schema is not a usable JSON Schema: it looks at one value more than/,
  );
  expect(await session.interactions()).toEqual([]);
  held.open();
  await turn.finished;
});
