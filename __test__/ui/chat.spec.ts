/** The AI SDK's own client against Sessions, over HTTP. */
import {
  type AgentOptions,
  AskQuestionsTool,
  type Session,
  type ToolPart,
  with_approval,
} from "@downcity/agent";
import { to_ui_messages, type UiMessage, type UiQuestionPart, type UiToolPart } from "@downcity/agent/ai-sdk";
import { type Gate, gate } from "@downcity/agent/testing";
import { describe, expect, it } from "vitest";
import { all_messages } from "../support/fold.js";
import { asking_tool, calls_of, open, reopen, type Script, tool } from "../support/session.js";
import { memory_store, sqlite_store } from "../support/stores.js";
import { plain, serve_chat, UI_VERSION, ui_packages } from "../support/ui.js";

type Page = InstanceType<typeof import("@ai-sdk/react").Chat<UiMessage>>;
type Client = Awaited<ReturnType<typeof client>>;

/** A page with a conversation. `url` is asked for each request, as the server may come back elsewhere. */
async function client(session: Session, url: () => string, messages: UiMessage[] = []) {
  const { ai, Chat } = await ui_packages();
  const errors: Error[] = [];
  const chat: Page = new Chat({
    id: session.id,
    messages,
    transport: new ai.DefaultChatTransport({
      api: "/api/chat",
      fetch: (path, init) => fetch(`${url()}${path}`, init),
      // The Turn the page has seen last: its end is told even when it has ended meanwhile.
      prepareReconnectToStreamRequest: ({ id }) => ({
        api: `/api/chat/${id}/stream?turn=${last_turn(chat)}`,
      }),
    }),
    sendAutomaticallyWhen: ai.lastAssistantMessageIsCompleteWithApprovalResponses,
    onError: (error) => void errors.push(error),
  });
  const part = <Type extends UiMessage["parts"][number]>(type: string) =>
    last(chat).parts.find((one) => one.type === type) as Type | undefined;
  return { chat, errors, part, tool: (name: string) => part<UiToolPart>(`tool-${name}`) };
}

function last_turn(chat: { messages: unknown[] }): string {
  return last(chat)?.metadata?.turn_id ?? "";
}

function last(chat: { messages: unknown[] }): UiMessage {
  return chat.messages.at(-1) as UiMessage;
}

/** Waits until the client has nothing in flight and something holds. */
async function settled({ chat }: Client, holds: () => boolean): Promise<void> {
  await expect.poll(() => chat.status === "ready" && holds(), { timeout: 15_000, interval: 5 }).toBe(true);
}

async function conversation(script: Script, tools: AgentOptions["tools"], store = memory_store) {
  const opened = await open(store, script, { tools });
  const server = await serve_chat(() => opened.session);
  return { ...opened, server, page: await client(opened.session, () => server.url) };
}

function approval_id(page: Client, name: string): string {
  const part = page.tool(name);
  if (part?.state !== "approval-requested") throw new Error(`${name} is ${part?.state}`);
  return part.approval.id;
}

/** What the client shows of the answer is what is stored. */
async function agrees(page: Client, session: Session): Promise<void> {
  const stored = to_ui_messages(await all_messages(session)).filter(({ role }) => role === "assistant");
  expect(page.chat.messages.filter((message) => message.role === "assistant").map(plain)).toEqual(stored);
}

describe(`a client of AI SDK ${UI_VERSION}`, () => {
  it("has a call approved: the Turn goes on in the same message", async () => {
    const { tool: act, runs } = asking_tool();
    const { session, server, page } = await conversation(
      [[{ reasoning: "hm" }, { text: "May I?" }, { call: "act", input: { path: "a" } }], "Done."],
      { act },
    );
    await page.chat.sendMessage({ text: "Go" });
    expect(page.chat.status).toBe("ready");
    const id = approval_id(page, "act");
    expect((await session.interactions()).map(({ interaction_id }) => interaction_id)).toEqual([id]);
    await page.chat.addToolApprovalResponse({ id, approved: true, reason: "fine" });
    await settled(
      page,
      () => page.tool("act")?.state === "output-available" && last(page.chat).parts.length > 6,
    );
    expect(runs).toEqual([{ path: "a" }]);
    expect(page.chat.messages).toHaveLength(2);
    expect(page.tool("act")).toMatchObject({ approval: { id, approved: true, reason: "fine" } });
    await agrees(page, session);
    expect(server.requests).toEqual(["POST /api/chat", "POST /api/chat"]);
    expect(page.errors).toEqual([]);
  });

  it("has a call denied, with the reason", async () => {
    const { session, page } = await conversation([[{ call: "act", input: {} }], "Then not."], {
      act: with_approval(tool(() => "ran")),
    });
    await page.chat.sendMessage({ text: "Go" });
    await page.chat.addToolApprovalResponse({ id: approval_id(page, "act"), approved: false, reason: "no" });
    await settled(
      page,
      () => page.tool("act")?.state === "output-denied" && last(page.chat).parts.length > 3,
    );
    const [call] = (await calls_of(session)) as [ToolPart];
    expect(call).toMatchObject({ state: "failed", error_code: "denied" });
    expect(call.interactions?.[0]).toMatchObject({ status: "denied", response: { reason: "no" } });
    await agrees(page, session);
  });

  it("answers two calls of one step before either goes on", async () => {
    const [one, two] = [asking_tool(), asking_tool()];
    const { session, server, page } = await conversation(
      [
        [
          { call: "one", input: {} },
          { call: "two", input: {} },
        ],
        "Both.",
      ],
      { one: one.tool, two: two.tool },
    );
    await page.chat.sendMessage({ text: "Go" });
    await page.chat.addToolApprovalResponse({ id: approval_id(page, "two"), approved: true });
    expect(server.requests).toHaveLength(1);
    await page.chat.addToolApprovalResponse({ id: approval_id(page, "one"), approved: false });
    await settled(page, () => last(page.chat).parts.at(-1)?.type === "text");
    expect([one.decisions, two.decisions].flat().map(({ approved }) => approved)).toEqual([false, true]);
    expect((await session.status()).state).toBe("idle");
  });

  it("is reloaded while a call waits, and answers it", async () => {
    const { tool: act, runs } = asking_tool();
    const { session, server, page } = await conversation(
      [[{ text: "May I?" }, { call: "act", input: {} }], "Done."],
      {
        act,
      },
    );
    await page.chat.sendMessage({ text: "Go" });
    const reloaded = await client(session, () => server.url, to_ui_messages(await all_messages(session)));
    const before = plain(last(reloaded.chat));
    await reloaded.chat.resumeStream();
    expect(plain(last(reloaded.chat))).toEqual(before);
    await reloaded.chat.addToolApprovalResponse({ id: approval_id(reloaded, "act"), approved: true });
    await settled(reloaded, () => last(reloaded.chat).parts.at(-1)?.type === "text");
    expect(runs).toHaveLength(1);
    expect(reloaded.chat.messages).toHaveLength(2);
    await agrees(reloaded, session);
  });

  it("is reloaded and answers without resuming: the answer goes on where the message ends", async () => {
    const { tool: act } = asking_tool();
    const { session, server, page } = await conversation(
      [[{ text: "May I?" }, { call: "act", input: {} }], "Done."],
      {
        act,
      },
    );
    await page.chat.sendMessage({ text: "Go" });
    const reloaded = await client(session, () => server.url, to_ui_messages(await all_messages(session)));
    await reloaded.chat.addToolApprovalResponse({ id: approval_id(reloaded, "act"), approved: true });
    await settled(reloaded, () => last(reloaded.chat).parts.at(-1)?.type === "text");
    await agrees(reloaded, session);
  });

  it("loses the connection in the middle of a text, and resumes without loss or repeats", async () => {
    const held: Gate = gate();
    const { session, server, page } = await conversation(
      [[{ text: ["One ", "two "] }, { hold: held }, { text: "three" }]],
      {},
    );
    const sent = page.chat.sendMessage({ text: "Go" });
    await expect.poll(() => (last(page.chat)?.parts.at(-1) as { text?: string })?.text).toBe("One two ");
    server.break_off();
    await sent;
    expect(page.chat.status).toBe("error");
    const resumed = page.chat.resumeStream();
    held.open();
    await resumed;
    expect(page.chat.messages).toHaveLength(2);
    await agrees(page, session);
  });

  it("goes on with a server that was started anew, and answers there what was asked before", async () => {
    const runs: unknown[] = [];
    const tools = { act: with_approval(tool((input) => void runs.push(input))) };
    const opened = await open(sqlite_store, [[{ text: "May I?" }, { call: "act", input: { n: 1 } }]], {
      tools,
    });
    const first = await serve_chat(() => opened.session);
    let { url } = first;
    const page = await client(opened.session, () => url);
    await page.chat.sendMessage({ text: "Go" });
    await opened.agent.detach();
    await first.close();
    const later = await reopen(opened, ["Done."], { tools });
    url = (await serve_chat(() => later.session)).url;
    await page.chat.addToolApprovalResponse({ id: approval_id(page, "act"), approved: true });
    await settled(page, () => last(page.chat).parts.at(-1)?.type === "text");
    expect(runs).toEqual([{ n: 1 }]);
    expect(page.chat.messages).toHaveLength(2);
    await agrees(page, later.session);
  });

  it("shows a question as a data part, and its answers reach the tool", async () => {
    const questions = [
      { question: "Which?", type: "single_select", options: [{ value: "cn", label: "China" }] },
    ];
    const { session, server, page } = await conversation(
      [[{ call: "ask", input: { questions } }], "Noted."],
      {
        ask: AskQuestionsTool,
      },
    );
    await page.chat.sendMessage({ text: "Go" });
    const asked = page.part<UiQuestionPart>("data-question");
    const { questions: put } = (asked?.data.payload ?? {}) as { questions?: { question_id: string }[] };
    const [question] = put ?? [];
    expect(asked?.data).toMatchObject({ status: "pending", source: { tool_name: "ask" } });
    const answers = [{ question_id: question?.question_id, value: "cn" }];
    const headers = { "content-type": "application/json" };
    const body = JSON.stringify({ id: asked?.id, answers });
    await fetch(`${server.url}/api/chat/answers`, { method: "POST", headers, body });
    await page.chat.resumeStream();
    await settled(page, () => last(page.chat).parts.at(-1)?.type === "text");
    expect(page.tool("ask")).toMatchObject({ output: { status: "resolved", answers } });
    await agrees(page, session);
  });

  it("is told when a Turn fails, and finds nothing to resume where nothing runs", async () => {
    const { session, server, page } = await conversation(
      [[{ text: "Well" }, { error: "the model is ill" }]],
      {},
    );
    await page.chat.sendMessage({ text: "Go" });
    expect(page.chat.status).toBe("error");
    expect(page.chat.error?.message).toContain("the model is ill");
    await agrees(page, session);
    const nothing = await fetch(`${server.url}/api/chat/${session.id}/stream`);
    expect([nothing.status, await nothing.text()]).toEqual([204, ""]);
    const empty = await client(session, () => server.url);
    await empty.chat.resumeStream();
    expect([empty.chat.status, empty.chat.messages]).toEqual(["ready", []]);
  });
});
