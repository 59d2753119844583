/** Tools as each line of the AI SDK makes them, in Sessions. */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { with_approval } from "@downcity/agent";
import * as ai_6 from "ai";
import * as ai_5 from "ai-5";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { z as z3 } from "zod-3";
import {
  answer_next,
  approve,
  calls_of,
  deny,
  open,
  pending_of,
  reopen,
  results_in,
  run,
} from "../support/session.js";
import { memory_store, sqlite_store } from "../support/stores.js";

type Ai = Pick<typeof ai_6, "tool" | "jsonSchema" | "dynamicTool">;

/** AI SDK 7 is installed apart, where the newest Node is tested. */
const NEWEST = resolve("__test__/node24/node_modules/ai/dist/index.js");

/** Untyped: the SDK's types take minutes to compare with those of a zod 3 that is not its own. */
const OF_ZOD_3 = z3.object({ n: z3.string().transform(Number) }) as unknown as z.ZodType<{ n: number }>;

const LINES: [string, () => Promise<Ai>][] = [
  ["5", async () => ai_5 as unknown as Ai],
  ["6", async () => ai_6],
];
if (existsSync(NEWEST)) LINES.push(["7", async () => (await import(pathToFileURL(NEWEST).href)) as Ai]);

describe.each(LINES)("Tools of AI SDK %s", (_line, load) => {
  test("run with what their schema made of the input, whichever schema it is", async () => {
    const { tool, jsonSchema, dynamicTool } = await load();
    const inputs = new Map<string, unknown>();
    const as = (name: string) => (input: unknown) => void inputs.set(name, input);
    const described = jsonSchema({ type: "object", properties: { n: { type: "string" } }, required: ["n"] });
    const tools = {
      of_zod: tool({
        description: "Of zod.",
        inputSchema: z.object({ n: z.coerce.number() }),
        execute: as("of_zod"),
      }),
      of_zod_3: tool({
        inputSchema: OF_ZOD_3,
        execute: as("of_zod_3"),
      }),
      of_json: tool({ inputSchema: described, execute: as("of_json") }),
      dynamic: dynamicTool({ inputSchema: described, execute: async (input) => as("dynamic")(input) }),
    };
    const calls = Object.keys(tools).map((call) => ({ call, input: { n: "3" } }));
    const { session, model } = await open(memory_store, [calls, "Done."], { tools });
    expect((await run(session)).status).toBe("completed");
    expect(Object.fromEntries(inputs)).toEqual({
      of_zod: { n: 3 },
      of_zod_3: { n: 3 },
      of_json: { n: "3" },
      dynamic: { n: "3" },
    });
    const shown = model.requests[0]?.tools ?? [];
    expect(shown[0]).toMatchObject({ name: "of_zod", description: "Of zod." });
    for (const { inputSchema } of shown)
      expect(inputSchema).toMatchObject({ type: "object", properties: { n: {} } });
  });

  test("needsApproval asks a person, by the rule's word, and lets nothing run that was denied", async () => {
    const { tool } = await load();
    const runs: number[] = [];
    const inputSchema = z.object({ n: z.number() });
    const asked: unknown[] = [];
    const needsApproval = (input: { n: number }, options: { toolCallId: string }) => {
      asked.push([input, typeof options.toolCallId]);
      return input.n > 1;
    };
    const act = { ...tool({ inputSchema, execute: ({ n }) => runs.push(n) }), needsApproval };
    const always = { ...tool({ inputSchema, execute: ({ n }) => runs.push(n) }), needsApproval: true };
    const calls = [
      { call: "act", input: { n: 1 } },
      { call: "act", input: { n: 2 } },
      { call: "always", input: { n: 3 } },
    ];
    const { session, model } = await open(sqlite_store, [calls, "Done."], { tools: { act, always } });
    const turn = await session.prompt({ query: "Go" });
    for (const { interaction_id, source } of await pending_of(session, 2)) {
      await session.respond(
        source.tool_name === "act" ? approve(interaction_id) : deny(interaction_id, "not now"),
      );
    }
    expect((await turn.finished).status).toBe("completed");
    expect(runs).toEqual([1, 2]);
    expect(asked).toEqual([
      [{ n: 1 }, "string"],
      [{ n: 2 }, "string"],
    ]);
    const results = results_in(model.prompts[1]).map(({ output }) => output);
    expect(results.slice(0, 2).map(({ type }) => type)).toEqual(["json", "json"]);
    expect(results[2]).toMatchObject({
      type: "execution-denied",
      reason: expect.stringContaining("not now"),
    });
  });

  test("a gate of ours stands before them as well", async () => {
    const { tool } = await load();
    const runs: number[] = [];
    const act = with_approval(
      tool({ inputSchema: z.object({ n: z.number() }), execute: ({ n }) => runs.push(n) }),
    );
    const { session } = await open(memory_store, [[{ call: "act", input: { n: 1 } }], "Done."], {
      tools: { act },
    });
    const turn = await session.prompt({ query: "Go" });
    await answer_next(session, (id) => deny(id));
    await turn.finished;
    expect(runs).toEqual([]);
    expect(await calls_of(session)).toMatchObject([{ state: "failed", error_code: "denied" }]);
  });

  test("a stream of results ends as its last one, live, stored and for the model", async () => {
    const { tool } = await load();
    const act = tool({
      inputSchema: z.object({}),
      async *execute() {
        yield { progress: 1 };
        yield { progress: 2 };
        yield { whole: true };
      },
    });
    const opened = await open(sqlite_store, [[{ call: "act" }], "Done."], { tools: { act } });
    expect((await run(opened.session)).status).toBe("completed");
    const calls = await calls_of(opened.session);
    expect(calls).toMatchObject([{ state: "completed", output: { whole: true } }]);
    expect(results_in(opened.model.prompts[1])[0]?.output).toEqual({ type: "json", value: { whole: true } });
    expect(await calls_of((await reopen(opened, [])).session)).toEqual(calls);
  });

  test("stopping closes a stream of results where it next yields", async () => {
    const { tool } = await load();
    const steps: string[] = [];
    const act = tool({
      inputSchema: z.object({}),
      async *execute(_input, { abortSignal }) {
        try {
          yield "first";
          await new Promise((stopped) => abortSignal?.addEventListener("abort", stopped));
          yield "second";
          steps.push("went on");
        } finally {
          steps.push("closed");
          closed();
        }
      },
    });
    let closed = (): void => {};
    const ended = new Promise<void>((resolve) => {
      closed = resolve;
    });
    const { session, observer: _ } = await open(memory_store, [[{ call: "act" }]], { tools: { act } });
    const turn = await session.prompt({ query: "Go" });
    session.subscribe((mutation) => {
      if (mutation.variant === "part" && mutation.part.type === "tool" && mutation.part.state === "running")
        void session.stop();
    });
    expect((await turn.finished).status).toBe("stopped");
    await ended;
    expect(steps).toEqual(["closed"]);
  });
});
