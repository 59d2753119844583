import type { RespondInput, Session } from "@downcity/agent";
import { next_interaction } from "@downcity/agent/testing";
import { AskQuestionsTool } from "@downcity/agent/tools";
import { expect, test } from "vitest";
import { REFUSED_IDS } from "../support/ids.js";
import {
  answer,
  approve,
  asking_tool,
  calls_of,
  deny,
  open,
  refusal_of,
  results_in,
  run,
} from "../support/session.js";
import { on_each_store, type Store } from "../support/stores.js";

const loose = <T>(value: unknown): T => value as T;

const OPTIONS = [
  { value: "a", label: "b" },
  { value: "b", label: "a" },
  { value: "x", label: "Yes, always" },
  { value: "y", label: "Yes" },
];
const QUESTIONS = [
  { question: "Why?", type: "text" },
  { question: "Which?", type: "single_select", options: OPTIONS },
  { question: "Which ones?", type: "multi_select", options: OPTIONS },
];

/** A Session that waits for an approval. */
async function waiting_for_approval(store: Store) {
  const { tool: act, runs } = asking_tool();
  const opened = await open(store, [[{ call: "act" }], "Done."], { tools: { act } });
  const turn = await opened.session.prompt({ query: "Go" });
  const { interaction_id } = await next_interaction(opened.session);
  return { ...opened, turn, interaction_id, runs };
}

async function waiting_for_answers(store: Store) {
  const script = [[{ call: "ask", input: { questions: QUESTIONS } }], "Done."];
  const opened = await open(store, script, { tools: { ask: AskQuestionsTool } });
  const turn = await opened.session.prompt({ query: "Go" });
  const asked = await next_interaction(opened.session);
  if (asked.type !== "question") throw new Error("a question was expected");
  const ids = asked.payload.questions.map(({ question_id }) => question_id);
  return { ...opened, turn, interaction_id: asked.interaction_id, ids: ids as [string, string, string] };
}

async function changes_nothing(session: Session, mutations: readonly unknown[], work: () => Promise<void>) {
  const before = [JSON.stringify(await session.interactions()), mutations.length];
  await work();
  expect([JSON.stringify(await session.interactions()), mutations.length]).toEqual(before);
}

on_each_store("Answers of the wrong kind", (store) => {
  test("what is neither yes nor no settles no approval", async () => {
    const { session, interaction_id, runs, turn, observer } = await waiting_for_approval(store);
    const shapes: unknown[] = [
      undefined,
      null,
      true,
      7,
      "approved",
      [],
      {},
      { type: "approval" },
      { outcome: "resolved", payload: { decision: "approved" } },
      { type: "approval", outcome: "approved" },
      { type: "approval", outcome: "resolved" },
      { type: "approval", outcome: "resolved", payload: null },
      { type: "approval", outcome: "resolved", payload: "approved" },
      { type: "approval", outcome: "resolved", payload: {} },
      { type: "approval", outcome: "resolved", payload: { approved: true } },
      { type: "approval", outcome: "resolved", payload: { approved: "false" } },
      { type: "approval", outcome: "resolved", payload: { decision: true } },
      { type: "approval", outcome: "resolved", payload: { decision: "APPROVED" } },
      { type: "approval", outcome: "resolved", payload: { decision: ["approved"] } },
      { type: "approval", outcome: "denied", payload: { decision: "approved" } },
      { type: "approval", outcome: "resolved", payload: { decision: "approved" }, extra: 1 },
      { type: "approval", outcome: "denied", reason: 7 },
      { type: "approval", outcome: "resolved", payload: { decision: "approved", big: 10n } },
    ];
    await changes_nothing(session, observer.mutations, async () => {
      for (const response of shapes) {
        const error = await refusal_of(session.respond(loose<RespondInput>({ interaction_id, response })));
        expect(
          error.code,
          JSON.stringify(response, (_, v) => String(v)),
        ).toMatch(/^INVALID_(RESPONSE|INPUT)$/);
        if (error.code === "INVALID_RESPONSE") expect(error.issues?.length).toBeGreaterThan(0);
      }
      const question = answer(interaction_id, []);
      expect((await refusal_of(session.respond(question))).code).toBe("RESPONSE_TYPE_MISMATCH");
    });
    expect(runs).toEqual([]);
    await session.respond(approve(interaction_id));
    expect((await turn.finished).text).toBe("Done.");
    expect(runs).toHaveLength(1);
  });

  test("a reason over 16 MiB is no answer, and a title of that size no request", async () => {
    const { session, interaction_id, runs, turn, observer } = await waiting_for_approval(store);
    const long = "x".repeat(17 * 2 ** 20);
    await changes_nothing(session, observer.mutations, async () => {
      const error = await refusal_of(session.respond(deny(interaction_id, long)));
      expect(error.code).toBe("INVALID_RESPONSE");
      expect(error.issues).toEqual([{ path: "reason", message: expect.stringContaining("16 MiB") }]);
      const request = { type: "vote", turn_id: turn.id, title: long, payload: 1 };
      const refused = await refusal_of(session.interactions.request(loose<never>(request)));
      expect(refused.code).toBe("INVALID_INPUT");
      expect(refused.message).toMatch(/title.*16 MiB/);
    });
    await session.respond(deny(interaction_id, long.slice(2 ** 20)));
    expect((await turn.finished).text).toBe("Done.");
    expect(runs).toEqual([]);
  });

  test("answers have to be exactly those to the questions", async () => {
    const { session, interaction_id, ids, turn, observer } = await waiting_for_answers(store);
    const [text, single, multi] = ids;
    const right = [
      { question_id: text, value: "" },
      { question_id: single, value: "a" },
      { question_id: multi, value: ["x", "y"] },
    ];
    const but = (index: number, value: unknown) =>
      right.map((item, at) => (at === index ? { ...item, value } : item));
    const wrong: unknown[] = [
      {},
      { answers: null },
      { answers: {} },
      { answers: [] },
      { answers: right.slice(1) },
      { answers: [...right, right[0]] },
      { answers: [...right, { question_id: "question:other", value: "" }] },
      { answers: right.map(({ value }) => ({ value })) },
      { answers: [...right.slice(0, 2), null] },
      { answers: but(0, 7) },
      { answers: but(0, null) },
      { answers: but(0, ["a"]) },
      { answers: but(1, "Yes") },
      { answers: but(1, ["a"]) },
      { answers: but(1, "") },
      { answers: but(2, "x") },
      { answers: but(2, ["x", "x"]) },
      { answers: but(2, ["Yes, always"]) },
      { answers: but(2, "x,y") },
      { answers: but(2, [1]) },
      { answers: right.map((item) => ({ ...item, text: "only on Mondays" })) },
      { decision: "approved" },
    ];
    await changes_nothing(session, observer.mutations, async () => {
      for (const payload of wrong) {
        const response = { type: "question", outcome: "resolved", payload };
        const error = await refusal_of(session.respond(loose<RespondInput>({ interaction_id, response })));
        expect(error.code, JSON.stringify(payload)).toBe("INVALID_RESPONSE");
        expect(error.issues?.length).toBeGreaterThan(0);
      }
    });
    const several = {
      answers: [
        { question_id: text, value: 7 },
        { question_id: single, value: "z" },
      ],
    };
    const response = { type: "question", outcome: "resolved", payload: several };
    const error = await refusal_of(session.respond(loose<RespondInput>({ interaction_id, response })));
    expect(error.issues?.length).toBeGreaterThanOrEqual(3);
    const committed = await session.respond(answer(interaction_id, right));
    expect(committed.response?.payload).toEqual({ answers: right });
    await turn.finished;
  });

  test("the answer to a select question is its value, though it reads like another's label", async () => {
    const { session, interaction_id, ids, turn, model } = await waiting_for_answers(store);
    const [text, single, multi] = ids;
    const answers = [
      { question_id: text, value: 'only "a"' },
      { question_id: single, value: "a" },
      { question_id: multi, value: [] },
    ];
    await session.respond(answer(interaction_id, answers));
    await turn.finished;
    expect(results_in(model.prompts[1])[0]?.output.value).toEqual({ status: "resolved", answers });
  });
});

on_each_store("Requests of the wrong kind", (store) => {
  const question = { question: "Why?", type: "text" };
  const select = (options: unknown) => ({ question: "Which?", type: "single_select", options });
  const option = { value: "a", label: "A" };
  const wrong: { [name: string]: object } = {
    "no payload for a question": { type: "question" },
    "no questions": { type: "question", payload: { questions: [] } },
    "questions that are no list": { type: "question", payload: { questions: question } },
    "a question without type": { type: "question", payload: { questions: [{ question: "Why?" }] } },
    "an unknown question type": {
      type: "question",
      payload: { questions: [{ question: "?", type: "date" }] },
    },
    "a select without options": { type: "question", payload: { questions: [select(undefined)] } },
    "an empty list of options": { type: "question", payload: { questions: [select([])] } },
    "an option without label": { type: "question", payload: { questions: [select([{ value: "a" }])] } },
    "an option with an empty value": {
      type: "question",
      payload: { questions: [select([{ value: "", label: "A" }])] },
    },
    "two options of one value": { type: "question", payload: { questions: [select([option, option])] } },
    "options for a text": { type: "question", payload: { questions: [{ ...question, options: [option] }] } },
    "a question_id twice": {
      type: "question",
      payload: { questions: [1, 2].map(() => ({ ...question, question_id: "same" })) },
    },
    "an approval without operation": { type: "approval", payload: {} },
    "an unknown operation": { type: "approval", payload: { operation: "delete" } },
    "a schema that is none": { type: "vote", payload: 1, response_schema: { type: "strng" } },
    "a schema with a broken pattern": { type: "vote", payload: 1, response_schema: { pattern: "(" } },
    "a schema from afar": {
      type: "vote",
      payload: 1,
      response_schema: { $ref: "https://example.com/schema.json" },
    },
    "an approval's schema without decision": {
      type: "approval",
      payload: { operation: "tool" },
      response_schema: { type: "object" },
    },
    "an empty type": { type: "", payload: 1 },
    "a type that is no text": { type: 7, payload: 1 },
    "a title that is no text": { type: "vote", payload: 1, title: 7 },
    "an unknown field": { type: "vote", payload: 1, interaction_id: "mine" },
    "a payload that is no JSON": { type: "vote", payload: { n: 1n } },
  };

  test("each is INVALID_INPUT, asks nobody and leaves the Turn as it was", async () => {
    const { session, interaction_id, turn, observer } = await waiting_for_approval(store);
    await changes_nothing(session, observer.mutations, async () => {
      for (const [name, fields] of Object.entries(wrong)) {
        const request = session.interactions.request(loose<never>({ turn_id: turn.id, ...fields }));
        expect((await refusal_of(request)).code, name).toBe("INVALID_INPUT");
      }
    });
    await session.respond(approve(interaction_id));
    await turn.finished;
  });

  test("a wrong mode, or a right one beside an unknown key, is refused as a whole", async () => {
    const { session, observer } = await open(store, ["Hi."]);
    const modes = ["autoo", "AUTO", "Ask", "ask ", "", null, 1, true, [], {}, ["ask"], "__proto__"];
    const configs: unknown[] = [
      ...modes.map((approval_mode) => ({ security: { approval_mode } })),
      { security: { approval_mode: "always-allow", other: 1 } },
      { security: { approval_mode: "always-allow" }, other: 1 },
      { security: null },
      { security: "ask" },
      {},
    ];
    await changes_nothing(session, observer.mutations, async () => {
      for (const config of configs) {
        const error = await refusal_of(session.set(loose(config)));
        expect(error.code, JSON.stringify(config)).toBe("INVALID_INPUT");
      }
      const mode = await refusal_of(session.set(loose({ security: { approval_mode: "autoo" } })));
      expect(mode.message).toMatch(/"ask".*"always-allow"/);
      for (const options of [{ persist_action: 1 }, { publish_mutation: "no" }, { silent: true }, null]) {
        const change = session.set({ security: { approval_mode: "always-allow" } }, loose(options));
        expect((await refusal_of(change)).code).toBe("INVALID_INPUT");
      }
    });
    const ask = { approval_mode: "ask", effective_approval_mode: "ask" };
    expect((await session.status()).security).toEqual(ask);
    expect((await run(session)).text).toBe("Hi.");
  });

  test("prompts that say nothing, or what nobody knows, are refused and start no Turn", async () => {
    const { session, observer } = await open(store, ["Hi."]);
    const queries: unknown[] = [
      "",
      [],
      [{ type: "text", text: "" }],
      [{ type: "text" }],
      [{ type: "image", url: "x" }],
      [{ type: "file", media_type: "image/png" }],
      [{ type: "file", url: "https://example.com/a.png" }],
      [null],
      ["text"],
      { type: "text", text: "x" },
      7,
      null,
    ];
    await changes_nothing(session, observer.mutations, async () => {
      for (const query of queries) {
        const error = await refusal_of(session.prompt(loose({ query })));
        expect(error.code, JSON.stringify(query)).toBe("INVALID_INPUT");
      }
    });
    expect((await session.status()).state).toBe("idle");
    expect((await run(session)).text).toBe("Hi.");
  });

  test("ids are data: each is refused, or is exactly that Session", async () => {
    const { agent, session } = await open(store, ["Hi."], { session: { session_id: "Case" } });
    for (const session_id of REFUSED_IDS) {
      expect((await refusal_of(agent.sessions.create({ session_id }))).code).toBe("INVALID_INPUT");
      expect((await refusal_of(agent.sessions.get(session_id))).code).toBe("INVALID_INPUT");
      expect((await refusal_of(agent.sessions.remove(session_id))).code).toBe("INVALID_INPUT");
    }
    const taken = ["CON", "case", "a..b", "x".repeat(128), "1", "a:b.c-d_e"];
    for (const session_id of taken) {
      const created = await agent.sessions.create({ session_id });
      expect(created.id).toBe(session_id);
      await created.set({ security: { approval_mode: "always-allow" } });
    }
    expect((await session.status()).security.approval_mode).toBe("ask");
    const { items } = await agent.sessions.list({ limit: 50 });
    expect(items.map((item) => item.session_id).sort()).toEqual(["Case", ...taken].sort());
    expect((await run(session)).text).toBe("Hi.");
  });

  test("a call whose schema failed leaves no trace of an Interaction", async () => {
    const { tool: act } = asking_tool({ input_schema: { type: "object", required: ["path"] } });
    const { session } = await open(store, [[{ call: "act", input: {} }], "Done."], { tools: { act } });
    await run(session);
    expect((await calls_of(session))[0]).not.toHaveProperty("interactions");
  });
});
