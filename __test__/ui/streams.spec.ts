/** UI messages and streams, judged by the `ai` package's own schemas and reader. */
import { Agent, AskQuestionsTool, type Session, with_approval } from "@downcity/agent";
import {
  respond_from_ui,
  to_ui_message_stream,
  to_ui_messages,
  to_ui_response,
  type UiMessage,
  type UiMessageChunk,
} from "@downcity/agent/ai-sdk";
import { gate, next_interaction } from "@downcity/agent/testing";
import { describe, expect, it, onTestFinished } from "vitest";
import { all_messages } from "../support/fold.js";
import { asking_tool, open, pending_of, refusal_of, tool, until } from "../support/session.js";
import { memory_store, type Store, sqlite_store } from "../support/stores.js";
import { all_of, folded, UI_VERSION, ui_packages } from "../support/ui.js";

const PNG = "iVBORw0KGgo=";

/** Turns with everything that can be in them; the second prompt joins the first Turn. */
async function eventful(store: Store) {
  const at_work = gate();
  const act = asking_tool();
  const count = tool(async function* () {
    yield { at: 1 };
    yield { at: 2 };
    return { at: 3 };
  });
  const opened = await open(
    store,
    [
      [
        { reasoning: ["let ", "me ", "see"], metadata: { own: { signature: "s" } } },
        { text: ["I ", "ask ", "twice."] },
        { call: "act", input: { path: "a" } },
        { call: "ask", input: { questions: [{ question: "Which?", type: "text" }] } },
        { call: "guarded", input: { n: 1 } },
        { call: "count", input: {} },
        { call: "unknown", input: {} },
        { call: "act", arguments: "{ no json" },
      ],
      [{ hold: at_work }, { text: ["Both ", "are ", "in."] }],
      [
        { raw: { type: "file", mediaType: "image/png", data: PNG } },
        {
          raw: { type: "source", sourceType: "url", id: "s1", url: "https://example.org/", title: "Example" },
        },
        {
          raw: { type: "source", sourceType: "document", id: "s2", mediaType: "text/plain", title: "Notes" },
        },
        { text: "Joined." },
      ],
    ],
    {
      tools: { act: act.tool, ask: AskQuestionsTool, guarded: with_approval(tool(() => "ran")), count },
      chunk_size: 4,
    },
  );
  const { session } = opened;
  const turn = await session.prompt({
    query: [
      { type: "text", text: "Go" },
      { type: "file", media_type: "image/png", data: PNG, filename: "a.png" },
      { type: "data", name: "selection", data: { lines: [1, 2] } },
    ],
  });
  return { ...opened, turn, at_work };
}

/** Answers what the eventful Turn asks, and has the second prompt join it. */
async function answer_all({ session, turn, at_work }: Awaited<ReturnType<typeof eventful>>): Promise<void> {
  for (const { interaction_id: id, type, source, payload } of await pending_of(session, 3)) {
    if (type === "approval") {
      await respond_from_ui(session, { id, approved: source.tool_name === "act", reason: "because" });
    } else {
      const [question] = payload.questions;
      await respond_from_ui(session, {
        id,
        answers: [{ question_id: question?.question_id ?? "", value: "v" }],
      });
    }
  }
  await at_work.reached;
  await session.set({ security: { approval_mode: "always-allow" } });
  await session.prompt({ query: "And this" });
  at_work.open();
  expect(await turn.finished).toMatchObject({ status: "completed", text: "Joined." });
}

async function stored(session: Session): Promise<UiMessage[]> {
  return JSON.parse(JSON.stringify(to_ui_messages(await all_messages(session))));
}

/** What is asked comes in the order of asking, which is not fixed for calls that run at the same time. */
function kind_of({ type }: { type: string }): string {
  return type === "data-approval" || type === "data-question" ? "data-asked" : type;
}

/** The chunks of a response, each with the revision it is complete with. */
async function events_of(response: Response): Promise<{ revision: number; chunk: UiMessageChunk }[]> {
  const events = (await response.text()).split("\n\n").filter((event) => event !== "");
  expect(events.pop()).toBe("data: [DONE]");
  let revision = Number.POSITIVE_INFINITY;
  const read = events.reverse().map((event) => {
    const [, id, data] = /^(?:id: (\d+)\n)?data: (.*)$/s.exec(event) ?? [];
    // An event without an id belongs to the Mutation of the next one that has it.
    if (id !== undefined) revision = Number(id);
    return { revision, chunk: JSON.parse(data ?? "") as UiMessageChunk };
  });
  return read.reverse();
}

/** A text that was read in two goes is two parts for the AI SDK's reader. */
function joined(message: UiMessage): UiMessage {
  const parts: UiMessage["parts"] = [];
  for (const part of message.parts) {
    const before = parts.at(-1);
    const goes_on = before?.type === part.type && "state" in before && before.state === "streaming";
    if (goes_on && "text" in before && "text" in part)
      parts.splice(-1, 1, { ...part, text: before.text + part.text });
    else parts.push(part);
  }
  return { ...message, parts };
}

/** Version 6 cannot be told of an answer by a stream; only its own client knows it. */
function without_answers(message: UiMessage): UiMessage {
  if (UI_VERSION === 7) return message;
  const bare = (part: object) => ({ ...part, approval: undefined });
  return { ...message, parts: message.parts.map(bare) as UiMessage["parts"] };
}

const ai = UI_VERSION;

describe.each([memory_store, sqlite_store])(`AI SDK ${UI_VERSION} reads a Session ($name)`, (store) => {
  it("as UI messages that are valid, one for each Message", async () => {
    const eventful_turn = await eventful(store);
    const { session } = eventful_turn;
    const { validateUIMessages } = (await ui_packages()).ai;
    await pending_of(session, 3);
    const waiting = await stored(session);
    // What validation gives back lacks the titles in version 6.
    expect(waiting).toMatchObject(await validateUIMessages({ messages: waiting }));
    await answer_all(eventful_turn);
    const messages = await stored(session);
    expect(messages).toMatchObject(await validateUIMessages({ messages }));
    expect(messages.map(({ role, parts }) => [role, parts.map(kind_of).join(" ")])).toEqual([
      ["user", "text file data-selection"],
      [
        "assistant",
        "step-start reasoning text tool-act tool-ask tool-guarded tool-count tool-unknown tool-act " +
          "data-asked data-asked data-asked step-start text data-action",
      ],
      ["user", "text"],
      ["assistant", "step-start file source-url source-document text"],
    ]);
    const states = messages[1]?.parts.flatMap((part) =>
      "toolCallId" in part ? [[part.type, part.state]] : [],
    );
    expect(states).toEqual([
      ["tool-act", "output-available"],
      ["tool-ask", "output-available"],
      ["tool-guarded", "output-denied"],
      ["tool-count", "output-available"],
      ["tool-unknown", "output-error"],
      ["tool-act", "output-error"],
    ]);
  });

  it("as a stream of chunks that are valid, and that fold to the same messages", async () => {
    const eventful_turn = await eventful(store);
    const { session, turn } = eventful_turn;
    const live = all_of(to_ui_message_stream(session, { turn, ai }));
    await answer_all(eventful_turn);
    const { uiMessageChunkSchema } = (await ui_packages()).ai;
    const later = await all_of(to_ui_message_stream(session, { turn: turn.id, ai }));
    for (const chunks of [await live, later]) {
      for (const chunk of chunks) {
        const judged = await uiMessageChunkSchema().validate?.(chunk);
        expect(judged, JSON.stringify(chunk)).toMatchObject({ success: true });
      }
      const expected = (await stored(session))
        .filter(({ role }) => role === "assistant")
        .map(without_answers);
      expect((await folded(chunks)).map(without_answers)).toEqual(expected);
    }
  });

  it("again from every revision: what came before and what comes then are the whole", async () => {
    const eventful_turn = await eventful(store);
    const { session, turn } = eventful_turn;
    await answer_all(eventful_turn);
    const all = await events_of(to_ui_response(session, { turn: turn.id, ai }));
    const whole = await folded(all.map(({ chunk }) => chunk));
    const { snapshot } = await session.watch(() => {});
    expect(snapshot.revision_of_session).toBeGreaterThan(50);
    for (let revision = 0; revision <= snapshot.revision_of_session; revision += 1) {
      const before = all.filter((event) => event.revision <= revision).map(({ chunk }) => chunk);
      const seen = await folded(before);
      const after = await all_of(to_ui_message_stream(session, { after_revision: revision, ai }));
      const last = seen.pop();
      const rest = await folded(after, last);
      const left = last !== undefined && rest[0]?.id !== last.id ? [last] : [];
      expect([...seen, ...left, ...rest].map(joined), `after ${revision}`).toEqual(whole);
    }
  });
});

describe(`a UI message stream for AI SDK ${UI_VERSION}`, () => {
  it("ends with the Turn where it is named, and where it waits for a person else", async () => {
    const { tool: act } = asking_tool();
    const { session } = await open(memory_store, [[{ call: "act", input: {} }], "Done."], { tools: { act } });
    const turn = await session.prompt({ query: "Go" });
    const whole = all_of(to_ui_message_stream(session, { turn }));
    const first = await all_of(to_ui_message_stream(session));
    expect(first.at(-1)).toMatchObject({ type: "finish", finishReason: "tool-calls" });
    const { interaction_id } = await next_interaction(session);
    await respond_from_ui(session, { id: interaction_id, approved: true });
    expect((await whole).at(-1)).toMatchObject({ type: "finish", finishReason: "stop" });
    const ends = first.at(-1) as Extract<UiMessageChunk, { type: "finish" }>;
    const after_revision = ends.messageMetadata?.revision_of_session;
    const rest = await all_of(to_ui_message_stream(session, { after_revision }));
    expect(rest.map(({ type }) => type)).toEqual([
      ...["start", "data-approval", "tool-output-available", "finish-step"],
      ...["start-step", "text-start", "text-delta", "text-end", "finish-step", "finish"],
    ]);
  });

  it("pauses for a person while a provider's own call is still without its result", async () => {
    const act = with_approval(tool(() => "ran"));
    const { session } = await open(
      memory_store,
      [
        [
          { call: "web", id: "p", input: {}, provider_executed: true },
          { call: "act", input: {} },
        ],
        [{ result: "found", id: "p", name: "web" }, { text: "Done." }],
      ],
      { tools: { act } },
    );
    const turn = await session.prompt({ query: "Go" });
    const first = await all_of(to_ui_message_stream(session));
    expect(first.at(-1)).toMatchObject({ type: "finish", finishReason: "tool-calls" });
    const [asked] = await session.interactions();
    await respond_from_ui(session, { id: asked?.interaction_id ?? "", approved: true });
    expect((await turn.finished).text).toBe("Done.");
    const whole = await folded(await all_of(to_ui_message_stream(session, { turn, ai })));
    expect(whole.map(without_answers)).toEqual((await stored(session)).slice(1).map(without_answers));
  });

  it("asks for one approval after the other where a call wants two at once", async () => {
    const twice = tool(async (_, { interactions }) => {
      const asked = [1, 2].map(() => interactions.approval.request({ payload: { operation: "tool" } }));
      return (await Promise.all(asked)).map(({ approved }) => approved);
    });
    const { session } = await open(memory_store, [[{ call: "twice", input: {} }], "Done."], {
      tools: { twice },
    });
    const turn = await session.prompt({ query: "Go" });
    const whole = all_of(to_ui_message_stream(session, { turn, ai }));
    const [one, two] = await pending_of(session, 2);
    await respond_from_ui(session, { id: one?.interaction_id ?? "", approved: true });
    await respond_from_ui(session, { id: two?.interaction_id ?? "", approved: false });
    await turn.finished;
    const asked = (await whole).flatMap((chunk) =>
      chunk.type === "tool-approval-request" ? chunk.approvalId : [],
    );
    expect(asked).toEqual([one?.interaction_id, two?.interaction_id]);
  });

  it("is the same for a process beside the owner of the Session, which answers there", async () => {
    const place = sqlite_store.place();
    const act = with_approval(tool(() => "ran"));
    const tools = { act };
    const { session } = await open(sqlite_store, [[{ text: "May I?" }, { call: "act" }], "Done."], {
      tools,
      place,
    });
    const turn = await session.prompt({ query: "Go" });
    await next_interaction(session);
    const other = new Agent({ id: "behaviour", storage: place.storage(), tools });
    onTestFinished(() => other.dispose());
    const beside = await other.sessions.get(session.id);
    const [here, there] = [session, beside].map((one) =>
      all_of(to_ui_message_stream(one, { turn: turn.id, ai })),
    );
    const [asked] = await beside.interactions();
    await respond_from_ui(beside, { id: asked?.interaction_id ?? "", approved: true });
    const told = await here;
    expect(told?.at(-1)).toMatchObject({ type: "finish", finishReason: "stop" });
    expect(await there).toEqual(told);
  });

  it("is read slowly, or late, at no cost in what is said", async () => {
    const words = Array.from({ length: 3000 }, (_, index) => `word${index} `);
    const { session } = await open(memory_store, [[{ text: words }]]);
    const stream = to_ui_message_stream(session, { turn: await session.prompt({ query: "Go" }) });
    await session.active_turn()?.finished;
    const told = (await all_of(stream)).flatMap((chunk) => (chunk.type === "text-delta" ? chunk.delta : []));
    expect(told.join("")).toBe(words.join(""));
  });

  it("tells a Turn that was stopped as such, also when the Session is closed", async () => {
    for (const end of ["stop", "close"] as const) {
      const held = gate();
      const { session } = await open(memory_store, [[{ text: "One" }, { hold: held }]], { observed: false });
      const turn = await session.prompt({ query: "Go" });
      const chunks = all_of(to_ui_message_stream(session, { turn }));
      await held.reached;
      await session[end]();
      expect((await chunks).slice(-4).map(({ type }) => type)).toEqual([
        ...["text-end", "finish-step", "abort", "finish"],
      ]);
    }
  });

  it("fails when the handle is let go, as the Turn goes on elsewhere", async () => {
    const { tool: act } = asking_tool();
    const { session } = await open(memory_store, [[{ call: "act", input: {} }]], {
      tools: { act },
      observed: false,
    });
    const turn = await session.prompt({ query: "Go" });
    const chunks = all_of(to_ui_message_stream(session, { turn }));
    await next_interaction(session);
    await session.detach();
    expect((await refusal_of(chunks)).code).toBe("SESSION_CLOSED");
  });

  it("waits for a Turn that is queued, ends with a prompt that is withdrawn, and refuses any other", async () => {
    const { tool: act } = asking_tool();
    const { session } = await open(memory_store, [[{ call: "act", input: {} }], "Done.", "Next."], {
      tools: { act },
    });
    const unknown = await refusal_of(all_of(to_ui_message_stream(session, { turn: "turn:none" })));
    expect(unknown).toMatchObject({ code: "INVALID_INPUT", message: expect.stringContaining("turn:none") });
    expect(await all_of(to_ui_message_stream(session))).toEqual([]);
    const gone = new AbortController();
    const turn = await session.prompt({ query: "Go", signal: gone.signal });
    const chunks = all_of(to_ui_message_stream(session, { turn: turn.id }));
    await until(session, async () => (await session.interactions()).length > 0);
    gone.abort();
    expect((await turn.finished).status).toBe("stopped");
    expect((await chunks).at(-1)?.type).toBe("finish");
  });

  it("takes a Session and options that mean something", async () => {
    const { session } = await open(memory_store, []);
    const calls: (() => unknown)[] = [
      () => to_ui_message_stream({} as Session),
      () => to_ui_message_stream(session, { turn: 1 } as never),
      () => to_ui_message_stream(session, { after_revision: -1 }),
      () => to_ui_message_stream(session, { until: "ever" } as never),
      () => to_ui_response(session, { ai: 5 } as never),
      () => to_ui_response(session, { since: 1 } as never),
      () => to_ui_messages({} as never),
    ];
    for (const call of calls) expect((await refusal_of(call)).code).toBe("INVALID_INPUT");
  });
});
