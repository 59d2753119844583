import { tool as ai_6, jsonSchema } from "ai";
import { tool as ai_5 } from "ai-5";
import { describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { z as z3 } from "zod-3";
import { ToolRegistry } from "../../lib/tools/registry.js";
import type { ToolContext } from "../../types/tool.js";

const context = { tool_call_id: "call_1", tool_name: "t" } as unknown as ToolContext;
const call = (input: unknown) => ({ session: 1, tool_call_id: "call_1", tool_name: "t", input });
const inputSchema = z.object({ n: z.number() });

const prepare = async (tool: unknown, input: unknown): Promise<unknown> =>
  JSON.parse(await new ToolRegistry({ t: tool }).prepare(call(input), context));

const enter = async (tool: unknown, input: unknown = {}): Promise<{ ok?: unknown; model_output?: unknown }> =>
  JSON.parse(await new ToolRegistry({ t: tool }).enter(call(input), context));

const refusal = (tool: unknown): string => {
  try {
    new ToolRegistry({ t: tool });
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error("the tool was taken");
};

/** Its own types, of three schema libraries at once, keep the type checker busy for minutes. */
type MakeTool = (definition: {
  description?: string;
  inputSchema: unknown;
  execute(input: never, options: never): unknown;
}) => object;

describe.each([
  ["5", ai_5 as unknown as MakeTool],
  ["6", ai_6 as unknown as MakeTool],
])("tool() of AI SDK %s", (_line, tool) => {
  it("is taken as it is", async () => {
    const weather = tool({
      description: "Weather.",
      inputSchema: z.object({ city: z.string().default("Rome") }),
      execute: async ({ city }: { city: string }, { toolCallId }: { toolCallId: string }) =>
        `${city} ${toolCallId}`,
    });
    const registry = new ToolRegistry({ t: weather });
    expect(registry.settings[0]).toMatchObject({ description: "Weather.", gate: "none", replay: false });
    expect(await enter(weather)).toMatchObject({ ok: "Rome call_1" });
    expect((await prepare(weather, { city: 1 })) as object).toHaveProperty("invalid");
  });

  it("has its schema of zod 3, or as JSON Schema", async () => {
    const of_zod3 = tool({
      inputSchema: z3.object({ n: z3.coerce.number() }),
      execute: ({ n }: { n: number }) => n + 1,
    });
    expect(await enter(of_zod3, { n: "2" })).toMatchObject({ ok: 3 });
    const schema = { type: "object" as const, properties: { n: { type: "number" as const } } };
    const registry = new ToolRegistry({ t: tool({ inputSchema: jsonSchema(schema), execute: () => 1 }) });
    expect(registry.settings[0]?.schema).toEqual(schema);
  });

  it("needsApproval is a gate", async () => {
    const always = { ...tool({ inputSchema, execute: () => 1 }), needsApproval: true };
    const sometimes = {
      ...tool({ inputSchema, execute: () => 1 }),
      needsApproval: ({ n }: { n: number }) => n > 1,
    };
    const { settings } = new ToolRegistry({ always, sometimes });
    expect(settings.map(({ gate }) => gate)).toEqual(["always", "host"]);
    expect(await prepare(sometimes, { n: 1 })).toMatchObject({ valid: { ask: false } });
    expect(await prepare(sometimes, { n: 2 })).toMatchObject({ valid: { ask: true } });
  });

  it("the last value of a stream of results counts, and what is returned does not", async () => {
    const streaming = tool({
      inputSchema: z.object({}),
      async *execute() {
        yield "half";
        yield "whole";
        return "beside";
      },
    });
    expect(await enter(streaming)).toMatchObject({ ok: "whole" });
  });
});

describe("toModelOutput", () => {
  const asked = (toModelOutput: unknown, output: unknown = { secret: 1, text: "shown" }) =>
    enter({ inputSchema: jsonSchema({}), execute: () => output, toModelOutput }, { a: 1 });

  it("is asked once, beside the result that is kept whole", async () => {
    const toModelOutput = vi.fn(({ toolCallId, input, output }) => ({
      type: "text" as const,
      value: `${toolCallId} ${JSON.stringify(input)} ${output.text}`,
    }));
    const tool = ai_6({
      inputSchema: jsonSchema({}),
      execute: () => ({ secret: 1, text: "shown" }),
      toModelOutput,
    });
    expect(await enter(tool, { a: 1 })).toEqual({
      input: "tool_settled",
      tool_call_id: "call_1",
      ok: { secret: 1, text: "shown" },
      model_output: { type: "text", text: 'call_1 {"a":1} shown' },
    });
    expect(toModelOutput).toHaveBeenCalledTimes(1);
  });

  it.each<[string, unknown, unknown, unknown]>([
    [
      "a member",
      { text: "x" },
      ({ text }: { text: string }) => ({ type: "text", value: text }),
      { type: "text", text: "x" },
    ],
    ["a text", "x", (text: string) => ({ type: "text", value: text }), { type: "text", text: "x" }],
    ["the whole", { a: 1 }, (value: object) => ({ type: "json", value }), { type: "json", value: { a: 1 } }],
    ["nothing", 1, () => ({ type: "json", value: null }), { type: "json", value: null }],
    [
      "a list",
      [1, 2],
      (list: number[]) => ({ type: "text", value: list.join("+") }),
      { type: "text", text: "1+2" },
    ],
    [
      "a promise",
      { text: "x" },
      async (output: { text: string }) => ({ type: "error-text", value: output.text }),
      { type: "error-text", text: "x" },
    ],
  ])("of AI SDK 5 is given the output itself: %s", async (_name, output, toModelOutput, expected) => {
    expect((await asked(toModelOutput, output)).model_output).toEqual(expected);
  });

  it("has files in one shape, whichever line says them", async () => {
    const value = [
      { type: "text", text: "half \ud83d", providerOptions: { own: { a: 1 } } },
      { type: "media", data: "AA==", mediaType: "image/png" },
      { type: "image-data", data: "AA==", mediaType: "image/png" },
      { type: "file-data", data: "AA==", mediaType: "text/plain", filename: "a.txt" },
      { type: "image-url", url: "https://example.com/a.png" },
      { type: "file-id", fileId: "file_1" },
      { type: "file", mediaType: "image/png", data: { type: "data", data: new Uint8Array([0]) } },
      { type: "file", mediaType: "a/b", data: { type: "url", url: new URL("https://example.com/b") } },
      { type: "custom", providerOptions: { own: { b: 2 } } },
    ];
    expect(
      (await asked(({ output: _ }: { output: unknown }) => ({ type: "content", value }))).model_output,
    ).toEqual({
      type: "content",
      content: [
        { type: "text", text: "half \ufffd", provider_options: { own: { a: 1 } } },
        { type: "file", media_type: "image/png", data: "AA==" },
        { type: "file", media_type: "image/png", data: "AA==" },
        { type: "file", media_type: "text/plain", data: "AA==", filename: "a.txt" },
        { type: "file", media_type: "image/*", url: "https://example.com/a.png" },
        { type: "file", media_type: "application/octet-stream", reference: "file_1" },
        { type: "file", media_type: "image/png", data: "AA==" },
        { type: "file", media_type: "a/b", url: "https://example.com/b" },
        { type: "custom", provider_options: { own: { b: 2 } } },
      ],
    });
  });

  it.each<[string, (options: { output: unknown }) => unknown, RegExp]>([
    [
      "throws",
      ({ output: _ }) => {
        throw new Error("no view");
      },
      /toModelOutput failed: no view$/,
    ],
    ["gives nothing", ({ output: _ }) => undefined, /failed: nothing is no type of output$/],
    ["gives another type", ({ output: _ }) => ({ type: "html" }), /failed: "html" is no type of output$/],
    [
      "gives content of an unknown type",
      ({ output: _ }) => ({ type: "content", value: [{ type: "x" }] }),
      /value\[0\] is of the type "x"/,
    ],
    [
      "gives a text that is none",
      ({ output: _ }) => ({ type: "text", value: 1 }),
      /failed: value is not a string$/,
    ],
  ])(
    "that %s keeps the result, and shows the model no more of it",
    async (_name, toModelOutput, expected) => {
      const { ok, model_output } = await asked(toModelOutput);
      expect(ok).toEqual({ secret: 1, text: "shown" });
      expect(model_output).toMatchObject({ type: "error-text", text: expect.stringMatching(expected) });
      expect(JSON.stringify(model_output)).not.toContain("secret");
    },
  );
});

describe("what the AI SDK 7 adds", () => {
  it("a description that is a function, and the context of a call", async () => {
    const seen: unknown[] = [];
    const tool = {
      description: () => "Told.",
      inputSchema: jsonSchema({}),
      execute: (_input: unknown, options: { context: unknown }) => seen.push(options.context),
    };
    expect(new ToolRegistry({ t: tool }).model_tools[0]).toMatchObject({ description: "Told." });
    await enter(tool);
    expect(seen).toEqual([context]);
  });

  it("what a provider's adapter reads goes with the tool", () => {
    const more = {
      providerOptions: { own: { cache: true } },
      strict: true,
      inputExamples: [{ input: { n: 1 } }],
    };
    const tool = ai_6({ inputSchema, execute: () => 1, ...more });
    expect(new ToolRegistry({ t: tool }).model_tools[0]).toMatchObject(more);
  });

  it("a provider's tool is told as such, and is executed here only where it has an execute", () => {
    const search = { type: "provider", id: "own.search", args: { most: 2 } };
    const bash = { type: "provider-defined", id: "own.bash", args: {}, inputSchema, execute: () => "ran" };
    const registry = new ToolRegistry({ search, bash });
    expect(registry.model_tools).toEqual([
      { type: "provider", id: "own.search", name: "search", args: { most: 2 } },
      { type: "provider", id: "own.bash", name: "bash", args: {} },
    ]);
    expect(registry.settings.map(({ name }) => name)).toEqual(["bash"]);
  });

  it.each<[string, object, RegExp]>([
    [
      "a context that nobody gives",
      { contextSchema: z.object({}) },
      /^tool "t": it wants a context.*close over/,
    ],
    ["a type that nobody knows", { type: "odd" }, /^tool "t": its type "odd" is not known/],
    ["a provider's tool without its id", { type: "provider", args: {} }, /^tool "t": .*<provider>\.<tool>/],
    [
      "a provider's tool with args that are no JSON",
      { type: "provider", id: "own.search", args: { n: 1n } },
      /^tool "t": its args have to be JSON/,
    ],
    [
      "a gate before what the provider runs",
      { type: "provider", id: "own.search", args: {}, execute: undefined, needsApproval: true },
      /^tool "t": its provider runs it itself, so no approval/,
    ],
    [
      "a provider's tool that nobody runs",
      { type: "provider", id: "own.bash", args: {}, execute: undefined, isProviderExecuted: false },
      /^tool "t": its provider does not run it: give it an execute/,
    ],
    [
      "a toModelOutput that is none",
      { toModelOutput: "text" },
      /toModelOutput has to be a function, not a string/,
    ],
  ])("%s is refused by name", (_name, more, expected) => {
    expect(refusal({ inputSchema, execute: () => 1, ...more })).toMatch(expected);
  });
});
