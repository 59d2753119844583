/** The whole way: an Agent whose real provider talks to a strict server on this machine. */
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import {
  Agent,
  type AgentOptions,
  AskQuestionsTool,
  memory,
  type Session,
  with_approval,
} from "@downcity/agent";
import { next_interaction, spy_tool } from "@downcity/agent/testing";
import { afterEach, describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { CALLS, journey, REASON, TEXTS } from "../support/journey.js";
import { type Chunking, OpenAiServer, type Refusal, type Reply } from "../support/openai-server.js";
import { LINES } from "../support/provider-lines.js";
import { on_each_store } from "../support/stores.js";

interface Opened {
  server: OpenAiServer;
  agent: Agent;
  session: Session;
}

const opened: Opened[] = [];

afterEach(async () => {
  for (const { agent, server } of opened.splice(0)) {
    await agent.dispose();
    await server.stop();
  }
});

async function open(
  steps: (Reply | Refusal)[],
  tools: AgentOptions["tools"] = {},
  chunking?: Chunking,
): Promise<Opened> {
  const server = await OpenAiServer.start(steps, chunking);
  const provider = createOpenAICompatible({ name: "test", baseURL: server.base_url, apiKey: "none" });
  const agent = new Agent({ id: "provider", model: provider("test"), storage: memory(), tools });
  const all = { server, agent, session: await agent.sessions.create() };
  opened.push(all);
  return all;
}

async function turn(session: Session, query: string) {
  return (await session.prompt({ query })).finished;
}

const call = (name: string, input: unknown, id = "call_0") => ({
  id,
  name,
  arguments: JSON.stringify(input),
});
const approval = (interaction_id: string, decision: "approved" | "denied", reason?: string) => ({
  interaction_id,
  response: { type: "approval" as const, outcome: "resolved" as const, payload: { decision, reason } },
});

/** The last request without its system message. */
const conversation_of = ({ server }: Opened) => server.requests.at(-1)?.messages ?? [];

const PARTY = "\u{1f389} \u00fcber \u{1f468}\u200d\u{1f469}\u200d\u{1f467} \u4e2d\u6587";

describe.each<Chunking>(["events", "merged", "bytes"])("replies that are cut by %s", (chunking) => {
  it("a tool is approved, its result sent, and the text arrives whole", async () => {
    const spy = spy_tool({ execute: ({ path }) => ({ deleted: path }) });
    const all = await open(
      [
        { text: `Let me see ${PARTY}`, calls: [call("delete_file", { path: PARTY })] },
        { text: `Gone ${PARTY}` },
      ],
      { delete_file: with_approval(spy) },
      chunking,
    );
    const { session, server } = all;
    const running = turn(session, "Delete it.");
    const { interaction_id, payload } = await next_interaction(session);
    expect(payload).toMatchObject({ validated_input: { path: PARTY } });
    await session.respond(approval(interaction_id, "approved"));
    expect(await running).toMatchObject({
      status: "completed",
      text: `Gone ${PARTY}`,
      usage: { total_tokens: 30 },
    });
    expect(spy.inputs).toEqual([{ path: PARTY }]);
    expect(conversation_of(all)).toMatchObject([
      { role: "user", content: "Delete it." },
      { role: "assistant", tool_calls: [{ id: "call_0" }] },
      { role: "tool", tool_call_id: "call_0", content: JSON.stringify({ deleted: PARTY }) },
    ]);
    expect(server.faults).toEqual([]);
  });
});

describe("people", () => {
  it("a denial is a result like any other, with the reason, and later turns go on", async () => {
    const [read, write] = [spy_tool({ execute: () => "content" }), spy_tool()];
    const calls = [call("read", { n: 1 }), call("write", { n: 2 }, "call_1")];
    const all = await open([{ calls }, { text: "Then not." }, { text: "Yes?" }], {
      read,
      write: with_approval(write),
    });
    const { session, server } = all;
    const running = turn(session, "go");
    const { interaction_id } = await next_interaction(session);
    await session.respond({
      interaction_id,
      response: { type: "approval", outcome: "denied", reason: "use /tmp instead" },
    });
    expect((await running).success).toBe(true);
    expect((await turn(session, "still there?")).text).toBe("Yes?");
    const results = conversation_of(all).filter(({ role }) => role === "tool");
    expect(results).toMatchObject([
      { tool_call_id: "call_0", content: "content" },
      { tool_call_id: "call_1", content: expect.stringMatching(/not executed.*use \/tmp instead/) },
    ]);
    expect([read.inputs.length, write.inputs.length]).toEqual([1, 0]);
    expect(server.faults).toEqual([]);
  });

  it("questions are answered within the Turn", async () => {
    const questions = [
      { question: "Where?", type: "single_select", options: [{ value: "cn", label: "China" }] },
      { question: "Why?", type: "text" },
    ];
    const all = await open(
      [{ calls: [call("ask_question", { title: "Deploy", questions })] }, { text: "ok" }],
      {
        ask_question: AskQuestionsTool,
      },
    );
    const { session } = all;
    const running = turn(session, "deploy");
    const asked = await next_interaction(session);
    if (asked.type !== "question") throw new Error("a question was expected");
    const [where, why] = asked.payload.questions.map(({ question_id }) => question_id);
    const answers = [
      { question_id: why ?? "", value: "because" },
      { question_id: where ?? "", value: "cn" },
    ];
    await session.respond({
      interaction_id: asked.interaction_id,
      response: { type: "question", outcome: "resolved", payload: { answers } },
    });
    expect((await running).success).toBe(true);
    const result = JSON.parse(String(conversation_of(all).at(-1)?.content)) as unknown;
    expect(result).toEqual({ status: "resolved", answers: [answers[1], answers[0]] });
  });

  it("bad questions are told to the model, ask nobody, and it can try again", async () => {
    const bad = { questions: [{ question: "Where?", type: "single_select" }] };
    const all = await open([{ calls: [call("ask_question", bad)] }, { text: "Sorry." }], {
      ask_question: AskQuestionsTool,
    });
    expect(await turn(all.session, "go")).toMatchObject({ success: true, text: "Sorry." });
    expect(conversation_of(all).at(-1)?.content).toMatch(/Nothing was asked.*questions\[0\]\.options/s);
  });
});

describe("what the model gets wrong", () => {
  const typed = {
    input_schema: z.object({ n: z.string().transform(Number), unit: z.string().default("C") }),
    execute: ({ n, unit }: { n: number; unit: string }) => n + unit,
  };

  it("arguments, names and repeated ids end as results, each for its own call", async () => {
    const calls = [
      call("typed", { n: "3" }),
      call("typed", { n: 3 }, "call_1"),
      { id: "call_2", name: "typed", arguments: '{"n":' },
      { id: "call_3", name: "typed", arguments: "[1]" },
      call("serch", {}, "call_4"),
      call("constructor", {}, "call_5"),
    ];
    const all = await open([{ calls }, { calls: [call("typed", { n: "4" })] }, { text: "ok" }], { typed });
    expect((await turn(all.session, "go")).success).toBe(true);
    const contents = conversation_of(all)
      .filter(({ role }) => role === "tool")
      .map(({ tool_call_id, content }) => [tool_call_id, content]);
    expect(contents).toEqual([
      ["call_0", "3C"],
      ["call_1", expect.stringMatching(/do not fit its schema.*- n \(a number\): /s)],
      ["call_2", expect.stringMatching(/not valid JSON/)],
      ["call_3", expect.stringMatching(/an array, not a JSON object/)],
      ["call_4", expect.stringMatching(/typed/)],
      ["call_5", expect.stringMatching(/typed/)],
      ["call_0", "4C"],
    ]);
    expect(all.server.faults).toEqual([]);
  });
});

describe("what goes wrong on the way", () => {
  it("a busy provider is asked again", async () => {
    const refused = (status: number): Refusal => ({
      status,
      message: "busy",
      headers: { "retry-after-ms": "1" },
    });
    const { session, server } = await open([refused(429), refused(500), { text: "fine" }]);
    expect(await turn(session, "hello")).toMatchObject({ success: true, text: "fine" });
    expect(server.requests).toHaveLength(3);
  });

  it("a refusal that would not change ends the Turn, and the next one works", async () => {
    const { session, server } = await open([{ status: 401, message: "bad key" }, { text: "fine" }]);
    expect(await turn(session, "hello")).toMatchObject({
      status: "failed",
      error: expect.stringContaining("bad key"),
    });
    expect(server.requests).toHaveLength(1);
    expect(await turn(session, "again")).toMatchObject({ success: true, text: "fine" });
    expect(server.faults).toEqual([]);
  });

  it.each<[string, Reply]>([
    ["cut midway", { text: "some text that breaks off", calls: [call("spy", {})], cut_after: 5 }],
    ["cut inside a call", { text: "x", calls: [call("spy", { a: "bcdefgh" })], cut_after: 4 }],
    ["without finish", { text: "some", calls: [call("spy", {})], finish: null }],
  ])("a stream %s runs no tool and leaves a history that can be sent", async (_name, reply) => {
    const spy = spy_tool();
    const all = await open(
      [reply, { text: "Better now." }, { text: "Better now." }, { text: "Better now." }],
      { spy },
    );
    await turn(all.session, "hello");
    expect(spy.inputs).toEqual([]);
    expect(await turn(all.session, "and now?")).toMatchObject({ success: true, text: "Better now." });
    expect(all.server.faults).toEqual([]);
  });

  it("calls of a reply that hit its length never run, and the model is told", async () => {
    const spy = spy_tool();
    const all = await open([{ calls: [call("spy", {})], finish: "length" }, { text: "Shorter." }], { spy });
    expect(await turn(all.session, "hello")).toMatchObject({ success: true, text: "Shorter." });
    expect(spy.inputs).toEqual([]);
    expect(conversation_of(all).at(-1)).toMatchObject({ role: "tool", tool_call_id: "call_0" });
    expect(all.server.faults).toEqual([]);
  });
});

describe.each(LINES)("specification $specification", ({ load }) => {
  on_each_store("around the pauses", (store) => {
    it("parallel calls are each answered, in their order", async () => {
      const server = await OpenAiServer.start([
        {
          reasoning: "Hm",
          text: TEXTS[0],
          calls: [
            call("read", CALLS.read),
            call("write", CALLS.write, "call_1"),
            call("remove", CALLS.remove, "call_2"),
          ],
        },
        // An id the provider used before.
        { calls: [call("write", CALLS.write_again)] },
        { text: TEXTS[2] },
        { text: TEXTS[3] },
      ]);
      onTestFinished(() => server.stop());
      const { createOpenAICompatible } = (await load()).compatible;
      const provider = createOpenAICompatible({ name: "test", baseURL: server.base_url, apiKey: "none" });
      await journey(store, provider("test"));
      expect(server.faults).toEqual([]);
      const results = server.requests.at(-1)?.messages.filter(({ role }) => role === "tool");
      expect(results).toMatchObject([
        { tool_call_id: "call_0", content: "content" },
        { tool_call_id: "call_1", content: '{"ok":true}' },
        { tool_call_id: "call_2", content: expect.stringContaining(REASON) },
        { tool_call_id: "call_0", content: '{"ok":true}' },
      ]);
    });
  });
});
