import { describe, expect, it } from "vitest";
import { ToolRegistry } from "../../lib/tools/registry.js";
import type { ToolContext } from "../../types/tool.js";

const context = { tool_call_id: "call_1", tool_name: "t" } as unknown as ToolContext;
const call = (input: unknown) => ({ session: 1, tool_call_id: "call_1", tool_name: "t", input });
const any = { type: "object" };

async function enter(tool: unknown, input: unknown): Promise<{ ok?: unknown; error?: string }> {
  return JSON.parse(await new ToolRegistry({ t: tool }).enter(call(input), context));
}

describe("a generator", () => {
  it.each<[string, () => unknown, unknown, unknown[]]>([
    [
      "that returns",
      async function* () {
        yield { done: 1 };
        yield { done: 2 };
        return "whole";
      },
      "whole",
      [{ done: 1 }, { done: 2 }],
    ],
    [
      "that only yields",
      async function* () {
        yield "half";
        yield "whole";
      },
      "whole",
      ["half", "whole"],
    ],
    ["that yields nothing", async function* () {}, null, []],
  ])("%s has preliminary results and one at the end", async (_name, execute, ok, expected) => {
    const yielded: unknown[] = [];
    const registry = new ToolRegistry({ t: { input_schema: any, execute } });
    const settled = await registry.enter(call({}), context, (json) => yielded.push(JSON.parse(json)));
    expect(JSON.parse(settled)).toMatchObject({ ok });
    expect(yielded).toEqual(expected);
  });

  it("is closed where it next yields once the call is aborted", async () => {
    const abort = new AbortController();
    const steps: string[] = [];
    const execute = async function* () {
      try {
        yield 1;
        abort.abort();
        yield 2;
        steps.push("went on");
      } finally {
        steps.push("closed");
      }
    };
    const registry = new ToolRegistry({ t: { input_schema: any, execute } });
    const yielded: string[] = [];
    const aborted = { ...context, abort_signal: abort.signal };
    await registry.enter(call({}), aborted, (json) => yielded.push(json));
    expect(steps).toEqual(["closed"]);
    expect(yielded).toEqual(["1"]);
  });

  it("fails the call with what JSON cannot hold, and is closed", async () => {
    let closed = false;
    const execute = async function* () {
      try {
        yield new Map();
      } finally {
        closed = true;
      }
    };
    const registry = new ToolRegistry({ t: { input_schema: any, execute } });
    const { error } = JSON.parse(await registry.enter(call({}), context, () => {}));
    expect(error).toMatch(/^The tool "t" was executed, but its result cannot be kept: result is a Map/);
    expect(closed).toBe(true);
  });

  it("a stream is none, but a result that JSON cannot hold", async () => {
    const execute = () => new ReadableStream();
    expect((await enter({ input_schema: any, execute }, {})).error).toMatch(/result is a stream/);
  });
});
