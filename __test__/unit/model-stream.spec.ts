import { describe, expect, it } from "vitest";
import { PromptHistory } from "../../lib/model/history.js";
import { FINISH, raw, run, SPECIFICATIONS, scripted } from "../support/model-run.js";

describe.each(SPECIFICATIONS)("a stream of specification %s", (specification) => {
  it("becomes events in order, with finish last", async () => {
    const metadata = { own: { signature: "s" } };
    const seen = await run(
      scripted(
        [
          { reasoning: ["why", " not"], metadata },
          { text: "Sure." },
          { call: "read", id: "call_0", input: { z: 1, a: [2] }, metadata },
          { finish: "tool-calls", usage: { input: 7, output: 3 } },
        ],
        specification,
      ),
    );
    expect(seen).toEqual([
      { type: "reasoning_start", ref: 1 },
      { delta: "why", ref: 1 },
      { delta: " not", ref: 1 },
      { type: "reasoning_end", ref: 1, provider_metadata: metadata },
      { type: "text_start", ref: 2 },
      { delta: "Sure.", ref: 2 },
      { type: "text_end", ref: 2 },
      { type: "tool_input_start", ref: 3, tool_name: "read", tool_call_id: "call_0" },
      { delta: '{"z":1,"a":[2]}', ref: 3 },
      {
        type: "tool_call",
        ref: 3,
        tool_name: "read",
        tool_call_id: "call_0",
        input: { z: 1, a: [2] },
        provider_metadata: metadata,
      },
      {
        type: "finish",
        reason: "tool-calls",
        usage: expect.objectContaining({ input_tokens: 7, output_tokens: 3, total_tokens: 10 }),
      },
    ]);
  });

  it("holds an emoji together, wherever the deltas are cut", async () => {
    const text = "a\u{1f389}b\u{1f600}\u{1f600}";
    for (const size of [1, 2, 3]) {
      const deltas = (await run(scripted([{ text }], specification, size))).flatMap((seen) =>
        "delta" in seen ? [seen.delta] : [],
      );
      expect(deltas.join("")).toBe(text);
      expect(deltas.every((delta) => encodeURIComponent(delta) !== "")).toBe(true);
    }
  });

  it("results of the provider's own calls are told apart from errors", async () => {
    const seen = await run(
      scripted(
        [
          { call: "search", id: "s1", provider_executed: true },
          { call: "search", id: "s2", provider_executed: true },
          { result: [{ url: "x" }], id: "s1", name: "search" },
          { result: "quota", id: "s2", name: "search", is_error: true },
          { result: "lost", id: "unknown", name: "search" },
        ],
        specification,
      ),
    );
    const is_result = (type: string) => type === "tool_result" || type === "late_tool_result";
    expect(seen.filter((event) => "type" in event && is_result(event.type))).toEqual([
      { type: "tool_result", ref: 1, output: [{ url: "x" }] },
      { type: "tool_result", ref: 2, error: "quota" },
      // Begun in an earlier stream, perhaps: the Session knows.
      { type: "late_tool_result", provider_tool_call_id: "unknown", output: "lost" },
    ]);
    expect(seen).toContainEqual(
      expect.objectContaining({ type: "tool_call", ref: 1, provider_executed: true, input: {} }),
    );
  });
});

describe("finish", () => {
  it.each<[unknown, string]>([
    ["stop", "stop"],
    ["unknown", "other"],
    ["content-filter", "content-filter"],
    [{ unified: "length", raw: "max_tokens" }, "length"],
    [{ unified: "brand-new", raw: "?" }, "other"],
    [undefined, "other"],
  ])("reason %j is %s", async (finishReason, reason) => {
    const told = finishReason === "unknown" ? { unconfirmed: true } : {};
    expect(await run(raw({ ...FINISH, finishReason }))).toEqual([
      { type: "finish", reason, usage: {}, ...told },
    ]);
  });

  it("counts of v2 and of v3 are read, and what is no count is left out", async () => {
    const v2 = {
      inputTokens: 1,
      outputTokens: Number.NaN,
      totalTokens: 3,
      reasoningTokens: 1,
      cachedInputTokens: 0,
    };
    expect(await run(raw({ ...FINISH, usage: v2 }))).toMatchObject([
      { usage: { input_tokens: 1, total_tokens: 3, reasoning_tokens: 1, cached_input_tokens: 0 } },
    ]);
    const v3 = { inputTokens: { total: 5, cacheRead: 2 }, outputTokens: { total: 4, reasoning: 3 } };
    expect(await run(raw({ ...FINISH, usage: v3 }))).toEqual([
      {
        type: "finish",
        reason: "stop",
        usage: {
          input_tokens: 5,
          output_tokens: 4,
          total_tokens: 9,
          reasoning_tokens: 3,
          cached_input_tokens: 2,
        },
      },
    ]);
  });
});

describe("call ids", () => {
  it("empty, missing and repeated ones are left to the core, and each call keeps its own arguments", async () => {
    const call = (id: string | undefined, n: number) => ({
      raw: { type: "tool-call", toolCallId: id, toolName: "t", input: `{"n":${n}}` },
    });
    const seen = await run(
      scripted([
        { call: "t", id: "", input: { n: 1 } },
        { call: "t", id: "", input: { n: 2 } },
        call(undefined, 3),
        { call: "t", id: "x", input: { n: 4 } },
        { call: "t", id: "x", input: { n: 5 } },
      ]),
    );
    const calls = seen.filter((event) => "type" in event && event.type === "tool_call");
    expect(calls).toEqual([
      { type: "tool_call", ref: 1, tool_name: "t", provider_tool_call_id: "", input: { n: 1 } },
      { type: "tool_call", ref: 2, tool_name: "t", provider_tool_call_id: "", input: { n: 2 } },
      { type: "tool_call", ref: 3, tool_name: "t", provider_tool_call_id: "", input: { n: 3 } },
      { type: "tool_call", ref: 4, tool_name: "t", tool_call_id: "x", input: { n: 4 } },
      { type: "tool_call", ref: 5, tool_name: "t", provider_tool_call_id: "x", input: { n: 5 } },
    ]);
  });

  it("two calls that begin before either is complete are told apart by their order", async () => {
    const start = { type: "tool-input-start", id: "", toolName: "t" };
    const call = (n: number) => ({ type: "tool-call", toolCallId: "", toolName: "t", input: `{"n":${n}}` });
    const seen = await run(raw(start, start, call(1), call(2), FINISH));
    expect(seen.filter((event) => "type" in event && event.type === "tool_call")).toMatchObject([
      { ref: 1, input: { n: 1 } },
      { ref: 2, input: { n: 2 } },
    ]);
  });

  it("an id of an earlier turn is not used again", async () => {
    const ids = new PromptHistory({ max_tool_result_chars: 1000 });
    const first = await run(scripted([{ call: "t", id: "call_0" }]), { ids });
    const second = await run(scripted([{ call: "t", id: "call_0" }]), { ids });
    expect(first).toContainEqual(expect.objectContaining({ type: "tool_call", tool_call_id: "call_0" }));
    expect(second).toContainEqual(
      expect.objectContaining({ type: "tool_call", provider_tool_call_id: "call_0" }),
    );
  });
});

describe("arguments", () => {
  it.each<[string, object]>([
    ["", { input: {} }],
    ["  ", { input: {} }],
    ['{"a":1}', { input: { a: 1 } }],
    ['{"a":', { input_text: '{"a":', problem: expect.stringMatching(/^they are not valid JSON: /) }],
    [
      '{"a":1}{"b":2}',
      { input_text: '{"a":1}{"b":2}', problem: expect.stringMatching(/^they are not valid JSON: /) },
    ],
    ['"text"', { input_text: '"text"', problem: "they are a string, not a JSON object" }],
    ["[1]", { input_text: "[1]", problem: "they are an array, not a JSON object" }],
    ["null", { input_text: "null", problem: "they are null, not a JSON object" }],
    ['{"k\\ud83c":"\\udf89"}', { input: { "k\ufffd": "\ufffd" } }],
    [`{"a":${"[".repeat(200)}${"]".repeat(200)}}`, { problem: "input is nested deeper than 128 levels" }],
  ])("%j", async (text, expected) => {
    const seen = await run(scripted([{ call: "t", arguments: text }]));
    const call = seen.find((event) => "type" in event && event.type === "tool_call");
    expect(call).toMatchObject(expected);
    expect("input" in (call as object)).toBe(!("problem" in expected));
  });

  it("a prototype is never set", async () => {
    const seen = await run(scripted([{ call: "t", arguments: '{"__proto__":{"x":1}}' }]));
    const { input } = seen.find((event) => "type" in event && event.type === "tool_call") as {
      input: object;
    };
    expect(JSON.stringify(input)).toBe('{"__proto__":{"x":1}}');
  });
});

describe("lenience", () => {
  it("deltas without start open a part, ends without start are nothing", async () => {
    const seen = await run(
      raw(
        { type: "text-end", id: "9" },
        { type: "text-delta", id: "1", delta: "a" },
        { type: "text-delta", id: "1", delta: undefined },
        { type: "tool-input-delta", id: "no", delta: "x" },
        { type: "from-the-future", id: "1" },
        { type: "ping" },
        null as never,
        FINISH,
      ),
    );
    expect(seen).toEqual([
      { type: "text_start", ref: 1 },
      { delta: "a", ref: 1 },
      { type: "text_end", ref: 1 },
      expect.objectContaining({ type: "finish" }),
    ]);
  });

  it("a start with an id that is still open ends the former part; open parts end before finish", async () => {
    const seen = await run(raw({ type: "text-start", id: "1" }, { type: "text-start", id: "1" }, FINISH));
    expect(
      seen.map((event) => ("type" in event ? `${event.type} ${"ref" in event ? event.ref : ""}` : "")),
    ).toEqual(["text_start 1", "text_end 1", "text_start 2", "text_end 2", "finish "]);
  });

  it("metadata that comes with a fragment is kept", async () => {
    const providerMetadata = { google: { thoughtSignature: "t" } };
    const seen = await run(
      raw(
        { type: "reasoning-start", id: "1" },
        { type: "reasoning-delta", id: "1", delta: "", providerMetadata },
        { type: "reasoning-end", id: "1" },
        FINISH,
      ),
    );
    expect(seen[1]).toEqual({ type: "reasoning_end", ref: 1, provider_metadata: providerMetadata });
  });

  it("files and sources", async () => {
    const seen = await run(
      raw(
        { type: "file", mediaType: "image/png", data: "AAAA" },
        { type: "file", mediaType: "image/png", data: new Uint8Array([0, 0, 0]) },
        { type: "file", mediaType: "image/png", data: { type: "data", data: new Uint8Array([0]) } },
        {
          type: "file",
          mediaType: "image/png",
          data: { type: "url", url: new URL("https://example.org/a.png") },
        },
        { type: "file", mediaType: "image/png", data: 7 },
        { type: "source", sourceType: "url", id: "s", url: "https://example.org", title: "T" },
        FINISH,
      ),
    );
    expect(seen.slice(0, -1)).toEqual([
      { type: "file", media_type: "image/png", data: "AAAA" },
      { type: "file", media_type: "image/png", data: "AAAA" },
      { type: "file", media_type: "image/png", data: "AA==" },
      { type: "file", media_type: "image/png", url: "https://example.org/a.png" },
      { type: "source", source_type: "url", source_id: "s", url: "https://example.org", title: "T" },
    ]);
  });
});
