import { execFileSync } from "node:child_process";
import { next_interaction } from "@downcity/agent/testing";
import { AskQuestionsTool } from "@downcity/agent/tools";
import { expect, test } from "vitest";
import { calls_of, open, refusal_of, reopen, results_in, run, tool } from "../support/session.js";
import { memory_store, on_each_store, sqlite_store } from "../support/stores.js";
import { answer_to } from "./support.js";

const MIB = 2 ** 20;

function nested(depth: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < depth; level += 1) value = { a: value };
  return value;
}

/** Runs with a memory of its own; prints what the call came to, and the memory held at the end in MiB. */
const HUGE = `
  import { Agent, memory, sqlite } from "@downcity/agent";
  import { ScriptedModel } from "@downcity/agent/testing";
  const act = { input_schema: { type: "object" }, execute: () => Buffer.alloc(300 * 2 ** 20, "x").latin1Slice() };
  const model = new ScriptedModel([[{ call: "act" }], "Done."]);
  const storage = process.env.FILE ? sqlite(process.env.FILE) : memory();
  const agent = new Agent({ id: "sizes", storage, model, tools: { act } });
  const session = await agent.sessions.create();
  await (await session.prompt({ query: "Go" })).finished;
  const { items } = await session.messages();
  const { state } = items.flatMap(({ parts }) => parts).find(({ type }) => type === "tool");
  await agent.dispose();
  const held = () => Math.round(process.memoryUsage().rss / 2 ** 20);
  let now = held();
  // One collection need not find all of it: a register or a stack slot may still name what is gone.
  for (let round = 0; round < 50 && now > 100; round += 1) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    gc();
    now = held();
  }
  console.log(JSON.stringify({ state, now }));
`;

test.each([memory_store, sqlite_store])(
  "a result of 300 MiB is let go of: memory returns to within 100 MiB of an empty process ($name)",
  (store) => {
    const env = { ...process.env, FILE: store.place().file };
    const measure = (program: string) => {
      const flags = ["--expose-gc", "--input-type=module", "-e", program];
      return JSON.parse(execFileSync(process.execPath, flags, { encoding: "utf8", env }));
    };
    const empty = measure("console.log(Math.round(process.memoryUsage().rss / 2 ** 20))");
    const { state, now } = measure(HUGE);
    expect(state).toBe("failed");
    expect(now).toBeLessThan(empty + 100);
  },
  60_000,
);

on_each_store("Sizes", (store) => {
  const results: [string, () => unknown, "completed" | "failed"][] = [
    ["1 MiB", () => "x".repeat(MIB), "completed"],
    ["16 MiB, quotes included", () => "x".repeat(16 * MIB - 2), "completed"],
    ["a byte over 16 MiB", () => "x".repeat(16 * MIB - 1), "failed"],
    ["64 MiB", () => "x".repeat(64 * MIB), "failed"],
    ["300 MiB", () => "x".repeat(300 * MIB), "failed"],
    ["300 MiB in a list", () => Array.from({ length: 300 }, () => "x".repeat(MIB)), "failed"],
    ["128 levels", () => nested(128), "completed"],
    ["129 levels", () => nested(129), "failed"],
    ["100,000 levels", () => nested(100_000), "failed"],
  ];
  test.each(results)(
    "a result of %s: the call has an end, and the Session opens and goes on",
    { timeout: 60_000 },
    async (_, make, state) => {
      const tools = { make: tool(make) };
      const opened = await open(store, [[{ call: "make" }], "Done."], { tools });
      expect((await run(opened.session)).text).toBe("Done.");
      const [call] = await calls_of(opened.session);
      expect(call?.state).toBe(state);
      if (state === "failed")
        expect(call).toMatchObject({ error_code: "tool_failed", error: expect.stringMatching(/16 MiB|128/) });
      const [sent] = results_in(opened.model.prompts[1]);
      const text = JSON.stringify(sent?.output);
      expect(text.length).toBeLessThan(300_000);
      if (state === "failed") expect(sent?.output.type).toBe("error-text");
      const again = await reopen(opened, ["Fine."], { tools });
      expect((await calls_of(again.session))[0]).toEqual(call);
      expect((await run(again.session)).text).toBe("Fine.");
      expect(JSON.stringify(results_in(again.model.prompts[0])[0]?.output)).toBe(text);
    },
  );

  test("a question with 10,000 options is listed whole and answered with the last of them", {
    timeout: 60_000,
  }, async () => {
    const options = Array.from({ length: 10_000 }, (_, index) => ({
      value: `v${index}`,
      label: `Option ${index}`,
    }));
    const input = { questions: [{ question: "Which?", type: "multi_select", options }] };
    const tools = { ask: AskQuestionsTool };
    const opened = await open(store, [[{ call: "ask", input }], "Done."], { tools });
    const turn = await opened.session.prompt({ query: "Go" });
    const asked = await next_interaction(opened.session);
    expect(asked.payload).toMatchObject({ questions: [{ options }] });
    const refused = await refusal_of(opened.session.respond(answer_to(asked, ["v9999", "Option 1"])));
    expect(refused.code).toBe("INVALID_RESPONSE");
    await opened.session.respond(
      answer_to(
        asked,
        options.map(({ value }) => value),
      ),
    );
    expect((await turn.finished).text).toBe("Done.");
    const again = await reopen(opened, ["Fine."], { tools });
    expect((await run(again.session)).text).toBe("Fine.");
  });

  test("a free text of 5 MiB is an answer and still there later, one of 17 MiB leaves the question open", {
    timeout: 60_000,
  }, async () => {
    const tools = { ask: AskQuestionsTool };
    const input = { questions: [{ question: "Why?", type: "text" }] };
    const opened = await open(store, [[{ call: "ask", input }], "Done."], { tools });
    const turn = await opened.session.prompt({ query: "Go" });
    const asked = await next_interaction(opened.session);
    const refused = await refusal_of(opened.session.respond(answer_to(asked, "x".repeat(17 * MIB))));
    expect(refused.code).toBe("INVALID_RESPONSE");
    expect(await opened.session.interactions()).toEqual([asked]);
    const long = "\u{1f600}é".repeat((5 * MIB) / 6);
    const committed = await opened.session.respond(answer_to(asked, long));
    expect((await turn.finished).text).toBe("Done.");
    const again = await reopen(opened, ["Fine."], { tools });
    expect((await calls_of(again.session))[0]?.interactions).toEqual([committed]);
    expect((await run(again.session)).text).toBe("Fine.");
    const [sent] = results_in(again.model.prompts[0]);
    expect(JSON.stringify(sent?.output).length).toBeLessThan(600_000);
  });

  test("wherever a limit falls into an emoji, what the model gets is well formed", async () => {
    const emoji = "\u{1f600}";
    const whole = (offset: number) => ({ [`k${emoji}`]: "a".repeat(offset) + emoji.repeat(100) });
    const text = tool(({ n }) => "a".repeat(n as number) + emoji.repeat(100));
    const json = tool(({ n }) => whole(n as number));
    const fails = tool(({ n }) => {
      throw new Error("a".repeat(n as number) + emoji.repeat(100));
    });
    const calls = Array.from({ length: 20 }, (_, n) =>
      ["text", "json", "fails"].map((call) => ({ call, input: { n } })),
    ).flat();
    const options = { tools: { text, json, fails }, max_tool_result_chars: 77 };
    const { session, model } = await open(store, [calls, "Done."], options);
    expect((await run(session)).text).toBe("Done.");
    const sent = results_in(model.prompts[1]).map(({ output }) => String(output.value));
    expect(sent).toHaveLength(60);
    for (const value of sent) {
      expect(Buffer.from(value).toString()).toBe(value);
      expect(value).toContain(emoji);
      expect(value).not.toContain("\ufffd");
    }
    const stored = (await calls_of(session)).filter(({ tool_name }) => tool_name === "json");
    expect(stored.map(({ output }) => output)).toEqual(Array.from({ length: 20 }, (_, n) => whole(n)));
  });
});
