import { expect, test } from "vitest";
import { PATTERNS, SAMPLES } from "../support/patterns.js";
import { calls_of, open, run, tool } from "../support/session.js";
import { memory_store } from "../support/stores.js";

/** JSON Schema asks for Unicode mode; what only the older mode takes is read in that. */
function ecmascript(pattern: string): RegExp {
  try {
    return new RegExp(pattern, "u");
  } catch {
    return new RegExp(pattern);
  }
}

test.each(PATTERNS)("a JSON Schema's pattern %s takes what ECMAScript takes", async (pattern) => {
  const act = (a: object) => tool(() => "taken", { input_schema: { type: "object", ...a } });
  const tools = {
    value: act({ properties: { a: { type: "string", pattern } } }),
    name: act({ patternProperties: { [pattern]: { type: "string" } }, additionalProperties: false }),
  };
  const calls = SAMPLES.flatMap((sample) => [
    { call: "value", input: { a: sample } },
    { call: "name", input: { [sample]: "x" } },
  ]);
  const { session } = await open(memory_store, [calls, "Done."], { tools, observed: false });
  expect((await run(session)).status).toBe("completed");
  const judged = (await calls_of(session)).map(({ tool_name, input, state }) => [tool_name, input, state]);
  const expression = ecmascript(pattern);
  const expected = SAMPLES.flatMap((sample) => {
    const state = expression.test(sample) ? "completed" : "failed";
    return [
      ["value", { a: sample }, state],
      ["name", { [sample]: "x" }, state],
    ];
  });
  expect(judged).toEqual(expected);
});
