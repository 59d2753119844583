/** A real provider package against a strict server; this line of the package makes models of specification v3. */
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { Conversation } from "../support/conversation.js";
import { type Chunking, OpenAiServer, type Refusal, type Reply } from "../support/openai-server.js";

let server: OpenAiServer | undefined;
afterEach(() => server?.stop());

const write = {
  description: "Writes a file.",
  input_schema: z.object({ path: z.string(), text: z.string().default("") }),
  execute: () => "ok",
};

async function conversation(steps: (Reply | Refusal)[], chunking?: Chunking): Promise<Conversation> {
  server = await OpenAiServer.start(steps, chunking);
  const provider = createOpenAICompatible({ name: "test", baseURL: server.base_url, apiKey: "none" });
  return new Conversation(provider("test"), { write });
}

/** What the server was given by the last request, without the system message. */
const last_messages = (): unknown[] => server?.requests.at(-1)?.messages.slice(1) ?? [];

const PARTY = "\u{1f389} \u00fcber \u{1f468}\u200d\u{1f469}\u200d\u{1f467} \u4e2d\u6587 ok";

describe.each<Chunking>(["events", "merged", "bytes"])("replies that are cut by %s", (chunking) => {
  it("text, reasoning and arguments arrive whole, and come back in the next request", async () => {
    const args = JSON.stringify({ path: `/tmp/${PARTY}`, text: "x" });
    const steps = [
      { reasoning: `Think ${PARTY}`, text: PARTY, calls: [{ id: "call_0", name: "write", arguments: args }] },
      { text: "Done." },
    ];
    const talk = await conversation(steps, chunking);
    talk.say("Write a file.");
    const first = await talk.ask();
    expect(first.parts).toEqual([
      expect.objectContaining({ type: "reasoning", text: `Think ${PARTY}` }),
      expect.objectContaining({ type: "text", text: PARTY }),
      expect.objectContaining({
        type: "tool",
        tool_call_id: "call_0",
        input: { path: `/tmp/${PARTY}`, text: "x" },
      }),
    ]);
    expect(first.end).toEqual({
      type: "finish",
      reason: "tool-calls",
      usage: expect.objectContaining({ input_tokens: 12, output_tokens: 3, total_tokens: 15 }),
    });
    talk.end_step(first, [{ output: { written: PARTY } }]);
    expect((await talk.ask()).end).toMatchObject({ type: "finish", reason: "stop" });
    expect(last_messages()).toMatchObject([
      { role: "user", content: "Write a file." },
      {
        role: "assistant",
        content: PARTY,
        tool_calls: [{ id: "call_0", function: { name: "write", arguments: args } }],
      },
      { role: "tool", tool_call_id: "call_0", content: JSON.stringify({ written: PARTY }) },
    ]);
    expect(server?.faults).toEqual([]);
  });
});

describe("tools", () => {
  it("are offered by their input side", async () => {
    const talk = await conversation([{ text: "hi" }]);
    talk.say("hello");
    await talk.ask();
    expect(server?.requests[0]?.tools?.[0]?.function).toMatchObject({
      name: "write",
      parameters: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
    });
  });

  it("every way a call can end is taken by the strict server, in the order of the calls", async () => {
    const args = ['{"path":"a"}', '{"path":', '"text"', "[1]", "", '{"path":"b"}', '{"path":"c"}'];
    const calls = args.map((text, index) => ({
      id: `call_${index}`,
      name: index === 6 ? "serch" : "write",
      arguments: text,
    }));
    const talk = await conversation([{ calls }, { text: "ok" }, { text: "still ok" }]);
    talk.say("go");
    const step = await talk.ask();
    talk.end_step(step, [
      { output: "" },
      { state: "failed", error: "The arguments cannot be used." },
      { state: "failed", error: "" },
      { state: "failed", error_code: "stopped", error: "Stopped." },
      { output: "x".repeat(5000) },
      {
        state: "failed",
        error_code: "denied",
        error: "The user denied this call, so it was not executed. Reason: use /tmp",
      },
      { state: "failed", error_code: "unknown_tool", error: "There is no tool named serch." },
    ]);
    talk.end_step(await talk.ask());
    talk.say("and now?");
    expect((await talk.ask()).end).toMatchObject({ type: "finish" });
    expect(server?.faults).toEqual([]);
    const results = last_messages().filter((message) => (message as { role: string }).role === "tool");
    expect(results).toMatchObject(calls.map(({ id }) => ({ tool_call_id: id })));
    expect(results[5]).toMatchObject({
      content: "The user denied this call, so it was not executed. Reason: use /tmp",
    });
    expect((results[4] as { content: string }).content).toMatch(
      /^x{1000}\n\[4000 of 5000 characters were left out here\]$/,
    );
  });

  const user = { role: "user", content: "hi" };
  const calling = (id: string, text = "{}") => ({
    role: "assistant",
    tool_calls: [{ id, type: "function", function: { name: "write", arguments: text } }],
  });
  const result = (tool_call_id: string, content = "ok") => ({ role: "tool", tool_call_id, content });
  it.each<[string, object[], RegExp]>([
    ["a call without its result", [user, calling("a")], /call a has no tool message/],
    [
      "a result that comes late",
      [user, calling("a"), user, result("a")],
      /call a has no tool message before/,
    ],
    ["a result of no call", [user, result("a")], /answers the unknown call a/],
    ["an empty result", [user, calling("a"), result("a", "")], /has no content/],
    [
      "arguments that are no object",
      [user, calling("a", "[1]"), result("a")],
      /arguments that are no object/,
    ],
    ["a call without id", [user, calling(""), result("")], /a call without id/],
    ["half a character", [{ role: "user", content: "a\ud83c" }], /half a character/],
    [
      "an assistant that says nothing",
      [user, { role: "assistant", content: "" }],
      /neither content nor calls/,
    ],
  ])("the server does refuse %s", async (_name, messages, words) => {
    server = await OpenAiServer.start([{ text: "taken" }]);
    const answer = await fetch(`${server.base_url}/chat/completions`, {
      method: "POST",
      body: JSON.stringify({ messages }),
    });
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({ error: { message: expect.stringMatching(words) } });
  });

  it("the same id in a later step is paired within its own step", async () => {
    const call = (path: string) => ({
      calls: [{ id: "call_0", name: "write", arguments: `{"path":"${path}"}` }],
    });
    const talk = await conversation([call("a"), call("b"), { text: "ok" }]);
    talk.say("go");
    const first = talk.end_step(await talk.ask(), [{ output: "one" }]);
    const second = talk.end_step(await talk.ask(), [{ output: "two" }]);
    await talk.ask();
    const ids = [first, second].map(({ parts: [part] }) =>
      part?.type === "tool" ? part.tool_call_id : undefined,
    );
    expect(new Set(ids).size).toBe(2);
    expect(last_messages()).toMatchObject([
      { role: "user" },
      { tool_calls: [{ id: "call_0", function: { arguments: '{"path":"a"}' } }] },
      { tool_call_id: "call_0", content: "one" },
      { tool_calls: [{ id: "call_0", function: { arguments: '{"path":"b"}' } }] },
      { tool_call_id: "call_0", content: "two" },
    ]);
    expect(server?.faults).toEqual([]);
  });
});

describe("what goes wrong", () => {
  it.each<[number, boolean]>([
    [429, true],
    [500, true],
    [503, true],
    [401, false],
    [400, false],
  ])("status %i: retryable is %s", async (status, retryable) => {
    const talk = await conversation([
      { status, message: "not now", headers: { "retry-after": "3" } },
      { text: "fine" },
    ]);
    talk.say("hello");
    expect((await talk.ask()).end).toEqual({
      type: "failed",
      code: "MODEL_FAILED",
      message: "not now",
      retryable,
      retry_after_ms: 3000,
    });
    expect((await talk.ask()).end).toMatchObject({ type: "finish" });
  });

  it("a connection that is cut midway", async () => {
    const reply = "a long reply that never ends";
    const talk = await conversation([{ text: reply, cut_after: 4 }]);
    talk.say("hello");
    const { parts, end } = await talk.ask();
    // How much of it was still read when the cut was noticed is the network's business.
    expect(reply.startsWith(parts.map(({ text }) => text).join(""))).toBe(true);
    expect(end).toMatchObject({ type: "failed", code: "MODEL_FAILED" });
  });

  it("a call that is cut midway is never complete", async () => {
    const calls = [{ id: "call_0", name: "write", arguments: '{"path":"/tmp/a"}' }];
    const talk = await conversation([{ calls, cut_after: 4 }]);
    talk.say("hello");
    const { parts, end } = await talk.ask();
    expect(parts).toEqual([]);
    expect(end).toMatchObject({ type: "failed" });
  });

  it("a stream that ends without a finish reason", async () => {
    const talk = await conversation([{ text: "half", finish: null }]);
    talk.say("hello");
    expect((await talk.ask()).end).toMatchObject({ type: "failed", code: "MODEL_FAILED" });
  });

  it.each<[string, string]>([
    ["length", "length"],
    ["content_filter", "content-filter"],
  ])("finish reason %s", async (finish, reason) => {
    const talk = await conversation([{ text: "half", finish }]);
    talk.say("hello");
    expect((await talk.ask()).end).toMatchObject({ type: "finish", reason });
  });

  it("nobody listens", async () => {
    const talk = await conversation([]);
    await server?.stop();
    talk.say("hello");
    expect((await talk.ask()).end).toMatchObject({ type: "failed", retryable: true });
  });
});
