/** What an AI SDK client sends back, as answers of a Session. */
import { AskQuestionsTool } from "@downcity/agent";
import {
  respond_from_ui,
  to_ui_message_stream,
  to_ui_messages,
  type UiMessage,
} from "@downcity/agent/ai-sdk";
import { next_interaction } from "@downcity/agent/testing";
import { describe, expect, it } from "vitest";
import { all_messages } from "../support/fold.js";
import { asking_tool, open, refusal_of, run } from "../support/session.js";
import { memory_store } from "../support/stores.js";
import { all_of } from "../support/ui.js";

describe("answers from a UI", () => {
  async function asked() {
    const { tool: act, decisions } = asking_tool();
    const { session } = await open(memory_store, [[{ call: "act", input: {} }], "Done."], { tools: { act } });
    const turn = await session.prompt({ query: "Go" });
    return { session, turn, decisions, id: (await next_interaction(session)).interaction_id };
  }

  it("give the committed Interaction, and refuse a second one with it", async () => {
    const { session, id, turn, decisions } = await asked();
    const committed = await respond_from_ui(session, {
      id,
      approved: true,
      reason: "go on",
      payload: { note: 1 },
    });
    expect(committed).toMatchObject({ interaction_id: id, status: "resolved" });
    expect(committed.response?.payload).toEqual({ decision: "approved", note: 1 });
    const second = await refusal_of(respond_from_ui(session, { id, approved: false }));
    expect(second).toMatchObject({ code: "INTERACTION_TERMINAL", interaction: committed });
    await turn.finished;
    expect(decisions).toMatchObject([{ approved: true, reason: "go on" }]);
  });

  it("are refused where they are for something else, or nothing", async () => {
    const { session, id } = await asked();
    const codes = [
      [{ id, answers: [] }, "RESPONSE_TYPE_MISMATCH"],
      [{ id: "interaction:none", approved: true }, "INTERACTION_NOT_FOUND"],
      [{ id }, "INVALID_INPUT"],
      [{ id, approved: "yes" }, "INVALID_INPUT"],
      [{ id, approved: true, answers: [] }, "INVALID_INPUT"],
      [{ approved: true }, "INVALID_INPUT"],
      [null, "INVALID_INPUT"],
    ] as const;
    for (const [input, code] of codes) {
      expect((await refusal_of(respond_from_ui(session, input as never))).code).toBe(code);
    }
    expect(await session.interactions()).toHaveLength(1);
  });

  it("are taken out of messages, each once, and only where they are pending", async () => {
    const { session, id, turn } = await asked();
    const [, message] = to_ui_messages(await all_messages(session)) as [UiMessage, UiMessage];
    const part = (approval: object) => ({
      ...message,
      parts: [{ type: "tool-act", state: "approval-responded", approval }],
    });
    const unusable = [
      null,
      "text",
      { role: "user" },
      part({ id: 1 }),
      part({ id: "interaction:other", approved: true }),
    ];
    expect((await respond_from_ui(session, unusable)).interactions).toEqual([]);
    const answered = {
      messages: [part({ id, approved: false, reason: "no" }), part({ id, approved: true })],
    };
    const { interactions, after_revision } = await respond_from_ui(session, answered);
    expect(interactions).toMatchObject([
      { interaction_id: id, status: "denied", response: { reason: "no" } },
    ]);
    await turn.finished;
    const rest = await all_of(to_ui_message_stream(session, { after_revision }));
    expect(rest.map(({ type }) => type)).toContain("tool-output-available");
    expect((await respond_from_ui(session, answered)).interactions).toEqual([]);
  });

  it("decline a question, and answer one in the messages", async () => {
    const question = { questions: [{ question: "Which?", type: "text" }] };
    const { session } = await open(
      memory_store,
      [[{ call: "ask", input: question }], [{ call: "ask", input: question }], "Done."],
      {
        tools: { ask: AskQuestionsTool },
      },
    );
    const done = run(session);
    const first = await next_interaction(session);
    expect(await respond_from_ui(session, { id: first.interaction_id, approved: false })).toMatchObject({
      status: "denied",
    });
    const second = await next_interaction(session);
    const messages = to_ui_messages(await all_messages(session));
    const part = messages
      .at(-1)
      ?.parts.find(
        ({ type, ...rest }) => type === "data-question" && "id" in rest && rest.id === second.interaction_id,
      );
    const { questions } = second.payload as { questions: { question_id: string }[] };
    const answers = [{ question_id: questions[0]?.question_id, value: "v" }];
    Object.assign((part as { data: object }).data, { answers });
    const { interactions } = await respond_from_ui(session, { messages });
    expect(interactions).toMatchObject([{ status: "resolved", response: { payload: { answers } } }]);
    expect((await done).status).toBe("completed");
  });
});
