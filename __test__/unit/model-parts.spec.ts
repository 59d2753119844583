/** Every part of the stream protocol that says something of its own, in the versions that have it. */
import { describe, expect, it, onTestFinished } from "vitest";
import { PromptHistory } from "../../lib/model/history.js";
import { assert_strict_prompt, type ScriptedModel } from "../../lib/testing/index.js";
import type { AssistantMessage } from "../../types/message.js";
import { assistant, tool, user } from "../support/messages.js";
import { FINISH, raw, run, type Seen, SPECIFICATIONS, scripted } from "../support/model-run.js";

const UNFINISHED = expect.objectContaining({ type: "failed", retryable: true });
const of_type = (seen: Seen[], type: string): Seen[] =>
  seen.filter((event) => "type" in event && event.type === type);

describe("parts that are passed over on purpose", () => {
  it.each<[string, object]>([
    ["response-metadata", { id: "r", modelId: "m", timestamp: new Date(0) }],
    ["raw", { rawValue: { any: 1n } }],
    ["custom", { kind: "own.kind", providerMetadata: { own: { a: 1 } } }],
    ["ping", {}],
    ["from-the-future", { id: "1" }],
  ])("%s", async (type, fields) => {
    expect(await run(raw({ type, ...fields }, FINISH))).toMatchObject([{ type: "finish" }]);
  });

  it("raw chunks are never asked for", async () => {
    let asked: object = {};
    const doStream = (options: object) => {
      asked = options;
      return Promise.resolve({ stream: new ReadableStream() });
    };
    const controller = new AbortController();
    const reading = run(
      { specificationVersion: "v4", provider: "p", modelId: "m", doStream },
      { signal: controller.signal },
    );
    controller.abort();
    await reading;
    expect(asked).toMatchObject({ includeRawChunks: false });
  });
});

describe("tools of the provider", () => {
  const call = (id: string, name = "search") => ({
    type: "tool-call",
    toolCallId: id,
    toolName: name,
    input: "{}",
    providerExecuted: true,
  });
  const result = (id: string, more: object) => ({
    type: "tool-result",
    toolCallId: id,
    toolName: "search",
    ...more,
  });

  it("a preliminary result gives way to the final one, which keeps what is attached to it", async () => {
    const providerMetadata = { own: { signature: "s" } };
    const seen = await run(
      raw(
        call("1"),
        result("1", { result: "half", preliminary: true }),
        result("1", { result: "whole", providerMetadata }),
        FINISH,
      ),
    );
    expect(of_type(seen, "tool_result")).toEqual([
      { type: "tool_result", ref: 1, output: "whole", provider_metadata: providerMetadata },
    ]);
  });

  it("an error that is data is told in words and kept as data", async () => {
    const data = { type: "web_search_tool_result_error", errorCode: "max_uses_exceeded" };
    const seen = await run(
      raw(
        call("1"),
        call("2"),
        result("1", { result: data, isError: true }),
        result("2", { result: { message: "No." }, isError: true }),
        FINISH,
      ),
    );
    expect(of_type(seen, "tool_result")).toEqual([
      { type: "tool_result", ref: 1, error: JSON.stringify(data), output: data },
      { type: "tool_result", ref: 2, error: "No.", output: { message: "No." } },
    ]);
  });

  it("a request for an approval is told under its call, and the call may still have its result", async () => {
    const request = { type: "tool-approval-request", approvalId: "a", toolCallId: "1" };
    const seen = await run(
      raw(call("1", "mcp"), request, { ...request, toolCallId: "other" }, result("1", { result: 1 }), FINISH),
    );
    expect(seen.slice(1)).toMatchObject([
      { type: "approval_request", ref: 1, approval_id: "a" },
      { type: "tool_result", ref: 1, output: 1 },
      { type: "finish" },
    ]);
  });

  it("a request for an approval counts as a call: without a word of an end, it broke off", async () => {
    const request = { type: "tool-approval-request", approvalId: "a", toolCallId: "1" };
    const no_word = { ...FINISH, finishReason: { unified: "other", raw: undefined } };
    expect((await run(raw(call("1", "mcp"), request, no_word))).at(-1)).toEqual(UNFINISHED);
  });

  it.each<[string, "v2" | "v3", string]>([
    ["specification v2", "v2", "a"],
    ["no id", "v3", ""],
    ["half a character as its id", "v3", "\ud83c"],
  ])(
    "a request for an approval that cannot be answered ends its call: %s",
    async (_name, line, approvalId) => {
      const request = { type: "tool-approval-request", approvalId, toolCallId: "1" };
      const parts = [call("1", "mcp"), request].map((part) => ({ raw: part }));
      expect(of_type(await run(scripted([...parts, { finish: "stop" }], line)), "tool_result")).toEqual([
        { type: "tool_result", ref: 1, error: expect.stringContaining("was not executed") },
      ]);
    },
  );

  it("go back in their own message, errors as data, with what was attached to the result", () => {
    const history = new PromptHistory({ max_tool_result_chars: 1000 });
    const [a, b] = [{ own: { call: 1 } }, { own: { result: 1 } }];
    const by_provider = { provider_executed: true, provider_metadata: a, result_metadata: b };
    history.append([
      user("hi"),
      assistant("s1", [
        tool("c1", { ...by_provider, output: 1 } as never),
        tool("c2", { ...by_provider, state: "failed", error: "No.", output: { code: 7 } } as never),
        tool("c3", { output: 2, provider_metadata: a }),
      ]),
    ]);
    const [, message, results] = history.prompt(undefined, "v3");
    expect(message?.content).toMatchObject([
      { type: "tool-call", toolCallId: "c1", providerOptions: a },
      { type: "tool-result", toolCallId: "c1", output: { type: "json", value: 1 }, providerOptions: b },
      { type: "tool-call", toolCallId: "c2" },
      { type: "tool-result", toolCallId: "c2", output: { type: "error-json", value: { code: 7 } } },
      { type: "tool-call", toolCallId: "c3" },
    ]);
    // What the provider attached to a call of ours stands on its result too.
    expect(results?.content).toMatchObject([{ toolCallId: "c3", providerOptions: a }]);
  });
});

describe("a result that the provider gives in a later step", () => {
  const call = { type: "tool", tool_call_id: "p1", tool_name: "code", provider_executed: true, input: {} };
  const parts = (own: object): [AssistantMessage, AssistantMessage] => [
    assistant("s1", [{ ...call, ...own }, tool("c1", { output: 1 })]),
    assistant("s2", [{ type: "text", text: "Done.", state: "done" }]),
  ];

  it("is not there as long as the provider is at it, and then stands where it came", () => {
    const history = new PromptHistory({ max_tool_result_chars: 1000 });
    const [first, second] = parts({ state: "running", part_id: "part:p1", sequence: 0 });
    history.append([user("go"), first]);
    const open = history.prompt(undefined, "v3");
    assert_strict_prompt(open, "v3");
    expect(open[1]?.content).toMatchObject([
      { type: "tool-call", toolCallId: "p1" },
      { type: "tool-call", toolCallId: "c1" },
    ]);
    const ended = { state: "completed", output: 7, result_step_id: "s2", part_id: "part:p1", sequence: 0 };
    history.append([{ ...first, parts: parts(ended)[0].parts.slice(0, 1) }, second, user("and?")]);
    const prompt = history.prompt(undefined, "v3");
    assert_strict_prompt(prompt, "v3");
    expect(prompt.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "assistant", "user"]);
    expect(prompt[1]).toEqual(open[1]);
    expect(prompt[3]?.content).toMatchObject([
      { type: "tool-result", toolCallId: "p1", output: { type: "json", value: 7 } },
      { type: "text", text: "Done." },
    ]);
  });

  it("keeps its place behind what the user said meanwhile, also when all is read from the store", () => {
    const history = new PromptHistory({ max_tool_result_chars: 1000 });
    const [first, second] = parts({ state: "completed", output: 7, result_step_id: "s2" });
    history.append([user("go"), first, user("faster"), second]);
    const prompt = history.prompt(undefined, "v3");
    expect(prompt.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "user", "assistant"]);
    expect(prompt[4]?.content).toMatchObject([{ type: "tool-result", toolCallId: "p1" }, { type: "text" }]);
  });

  it("is told also where its step brought nothing else", () => {
    const history = new PromptHistory({ max_tool_result_chars: 1000 });
    const [first] = parts({ state: "completed", output: 7, result_step_id: "s2" });
    history.append([user("go"), first, user("and?")]);
    const prompt = history.prompt(undefined, "v3");
    assert_strict_prompt(prompt, "v3");
    expect(prompt.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "assistant", "user"]);
    expect(prompt[3]?.content).toMatchObject([{ type: "tool-result", toolCallId: "p1" }]);
  });
});

describe("what a provider is told that wants its own call to be approved", () => {
  const call = { type: "tool", tool_call_id: "p1", tool_name: "mcp", provider_executed: true, input: {} };
  const step = (approval: object, own: object): AssistantMessage =>
    assistant("s1", [{ ...call, provider_approval: { approval_id: "a", ...approval }, ...own }]);
  const prompt_of = (message: AssistantMessage, specification: "v2" | "v3" | "v4" = "v3") => {
    const history = new PromptHistory({ max_tool_result_chars: 1000 });
    history.append([
      user("go"),
      message,
      assistant("s2", [{ type: "text", text: "Done.", state: "done" }]),
      user("and?"),
    ]);
    const prompt = history.prompt(undefined, specification);
    assert_strict_prompt(prompt, specification);
    return prompt;
  };
  const denied = { approved: false, reason: "No." };
  const failed = { state: "failed", error: "No.", error_code: "denied" };

  it.each(["v3", "v4"] as const)("a denial stands in for the result, in %s", (specification) => {
    const [, said, told] = prompt_of(step(denied, failed), specification);
    expect(said?.content).toEqual([
      { type: "tool-call", toolCallId: "p1", toolName: "mcp", input: {}, providerExecuted: true },
    ]);
    expect(told).toEqual({
      role: "tool",
      content: [{ type: "tool-approval-response", approvalId: "a", approved: false, reason: "No." }],
    });
  });

  it("a model of v2, which knows no such answer, gets a result in words", () => {
    const [, said, next] = prompt_of(step(denied, failed), "v2");
    expect(said?.content).toMatchObject([
      { type: "tool-call" },
      { type: "tool-result", toolCallId: "p1", output: { type: "error-text", value: "No." } },
    ]);
    expect(next?.role).toBe("assistant");
  });

  it("what was approved has its result where it came", () => {
    const ran = { state: "completed", output: 7, result_step_id: "s2" };
    const [, , told, result] = prompt_of(step({ approved: true }, ran));
    expect(told?.content).toEqual([{ type: "tool-approval-response", approvalId: "a", approved: true }]);
    expect(result?.content).toMatchObject([{ type: "tool-result", toolCallId: "p1" }, { type: "text" }]);
  });

  it("nothing of an answer that broke off: the provider has not kept what it asked", () => {
    const prompt = prompt_of(step(denied, { ...failed, interrupted: true }));
    expect(prompt.map(({ role }) => role)).toEqual(["user", "assistant", "user"]);
    expect(JSON.stringify(prompt)).not.toContain("mcp");
  });
});

describe("metadata", () => {
  it("of a call counts where only its arguments had it", async () => {
    const providerMetadata = { google: { thoughtSignature: "t" } };
    const seen = await run(
      raw(
        { type: "tool-input-start", id: "1", toolName: "t", providerMetadata },
        { type: "tool-call", toolCallId: "1", toolName: "t", input: "{}" },
        { ...FINISH, finishReason: "tool-calls" },
      ),
    );
    expect(of_type(seen, "tool_call")).toMatchObject([{ provider_metadata: providerMetadata }]);
  });

  it("of an empty text keeps that text", () => {
    const history = new PromptHistory({ max_tool_result_chars: 1000 });
    const provider_metadata = { google: { thoughtSignature: "t" } };
    history.append([
      user("hi"),
      assistant("s1", [{ type: "text", text: "", state: "done", provider_metadata }]),
    ]);
    const content = [{ type: "text", text: "", providerOptions: provider_metadata }];
    expect(history.prompt(undefined, "v3")[1]).toEqual({ role: "assistant", content });
  });
});

describe("files of the reasoning", () => {
  const part = { type: "file", media_type: "image/png", data: "AAAA", reasoning: true };

  it("are told apart", async () => {
    const file = { mediaType: "image/png", data: { type: "data", data: "AAAA" } };
    const seen = await run(raw({ type: "file", ...file }, { type: "reasoning-file", ...file }, FINISH));
    expect(seen.slice(0, 2)).toEqual([
      { type: "file", media_type: "image/png", data: "AAAA" },
      { type: "file", media_type: "image/png", data: "AAAA", reasoning: true },
    ]);
  });

  it.each(SPECIFICATIONS)("go back as what %s has for them", (specification) => {
    const history = new PromptHistory({ max_tool_result_chars: 1000 });
    history.append([user("hi"), assistant("s1", [part, { type: "text", text: "so", state: "done" }])]);
    const content = history.prompt(undefined, specification)[1]?.content;
    expect(content).toMatchObject([
      specification === "v4"
        ? { type: "reasoning-file", mediaType: "image/png", data: { type: "data", data: "AAAA" } }
        : { type: "file", mediaType: "image/png", data: "AAAA" },
      { type: "text", text: "so" },
    ]);
  });
});

describe("an end that nobody has confirmed", () => {
  const call = { type: "tool-call", toolCallId: "1", toolName: "t", input: "{}" };

  it.each<[unknown, boolean]>([
    ["unknown", false],
    [{ unified: "other", raw: undefined }, false],
    [{ unified: "other", raw: "pause" }, true],
    [{ unified: "stop", raw: undefined }, true],
    [{ unified: "tool-calls", raw: undefined }, true],
    ["other", true],
    ["tool-calls", true],
  ])("after calls, %j counts: %s", async (finishReason, counts) => {
    const seen = await run(raw(call, { ...FINISH, finishReason }));
    expect(seen.at(-1)).toEqual(counts ? expect.objectContaining({ type: "finish" }) : UNFINISHED);
  });

  it("after text it counts", async () => {
    const seen = await run(
      raw({ type: "text-delta", id: "1", delta: "a" }, { ...FINISH, finishReason: "unknown" }),
    );
    expect(seen.at(-1)).toMatchObject({ type: "finish", reason: "other" });
  });
});

describe("warnings", () => {
  const warned: string[] = [];
  const listen = ({ name, message }: Error): void => {
    if (name === "ModelWarning") warned.push(message);
  };

  it("are said once per model and wording, whatever their shape", async () => {
    process.on("warning", listen);
    onTestFinished(() => void process.off("warning", listen));
    const warnings = [
      { type: "unsupported-setting", setting: "seed", details: "No seed." },
      { type: "unsupported", feature: "topK" },
      { type: "unsupported-tool", tool: { type: "function", name: "t" } },
      { type: "other", message: "Left out." },
      null,
      {
        get type() {
          throw new Error("unreadable");
        },
      },
    ];
    const warning = (): ScriptedModel =>
      scripted([{ raw: { type: "stream-start", warnings } }, { text: "ok" }]);
    await run(warning());
    await run(warning());
    await run(scripted([{ raw: { type: "stream-start", warnings: "odd" } }, { text: "ok" }]));
    // Node hands warnings out on the next tick.
    await new Promise(process.nextTick);
    expect(warned).toEqual([
      "The model scripted/script warns: unsupported-setting: seed: No seed.",
      "The model scripted/script warns: unsupported: topK",
      "The model scripted/script warns: unsupported-tool: t",
      "The model scripted/script warns: other: Left out.",
      "The model scripted/script warns: other",
    ]);
  });
});

describe("errors within the stream", () => {
  it.each<[unknown, string, boolean]>([
    [{ type: "overloaded_error", message: "Overloaded" }, "Overloaded", true],
    [{ type: "error", error: { code: "server_error", message: "Sorry." } }, "Sorry.", true],
    [{ code: 503, status: "UNAVAILABLE", message: "busy" }, "busy", true],
    [{ type: "invalid_request_error", message: "No." }, "No.", false],
    [new Error("broken"), "broken", false],
    ["plain", "plain", false],
  ])("%j", async (error, message, retryable) => {
    const seen = await run(scripted([{ error }, { text: "never" }]));
    expect(seen).toEqual([{ type: "failed", code: "MODEL_FAILED", message, retryable }]);
  });
});
