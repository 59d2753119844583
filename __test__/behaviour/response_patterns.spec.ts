/** A producer's `response_schema` may hold any pattern that ECMAScript takes: it is shown as given, and enforced. */
import type { Interaction, JsonSchema, Session } from "@downcity/agent";
import { gate, next_interaction } from "@downcity/agent/testing";
import { expect, onTestFinished, test } from "vitest";
import { PATTERNS, SAMPLES } from "../support/patterns.js";
import { calls_of, open, refusal_of, reopen, tool } from "../support/session.js";
import { memory_store, on_each_store, type Store } from "../support/stores.js";

interface Word extends Interaction<"word", { any?: boolean }, { a?: string }> {}

/** JSON Schema asks for Unicode mode; what only the older mode takes is read in that. */
function ecmascript(pattern: string): RegExp {
  try {
    return new RegExp(pattern, "u");
  } catch {
    return new RegExp(pattern);
  }
}

function ask(session: Session, turn_id: string, response_schema: JsonSchema) {
  return session.interactions.request<Word>({ type: "word", turn_id, payload: {}, response_schema });
}

async function held_turn(store: Store) {
  const held = gate();
  onTestFinished(() => held.open());
  const act = tool(async () => {
    await held.wait();
    return "done";
  });
  const opened = await open(store, [[{ call: "act" }], "Done."], { tools: { act } });
  const turn = await opened.session.prompt({ query: "Go" });
  await held.reached;
  return { ...opened, turn, held };
}

test("a response_schema's patterns take and refuse what ECMAScript does, and are shown as they were given", async () => {
  const { session, turn, held } = await held_turn(memory_store);
  for (const pattern of PATTERNS) {
    const response_schema = { type: "object", properties: { a: { type: "string", pattern } } };
    const { interaction_id } = await ask(session, turn.id, response_schema);
    const [asked] = await session.interactions<Word>();
    expect(asked?.response_schema).toEqual(response_schema);
    const respond = (a: string) =>
      session.respond<Word>({
        interaction_id,
        response: { type: "word", outcome: "resolved", payload: { a } },
      });
    const takes = (sample: string) => ecmascript(pattern).test(sample);
    for (const sample of SAMPLES.filter((sample) => !takes(sample)).slice(0, 3)) {
      const refusal = await refusal_of(respond(sample));
      expect(refusal).toMatchObject({ code: "INVALID_RESPONSE", issues: [{ path: "payload.a" }] });
      // In the producer's own words, whatever the validator reads.
      const [issue] = refusal.issues ?? [];
      expect(issue?.message.endsWith(` does not match the pattern ${pattern}`)).toBe(true);
    }
    const taken = SAMPLES.find(takes);
    if (taken === undefined)
      await session.respond<Word>({ interaction_id, response: { type: "word", outcome: "denied" } });
    else expect(await respond(taken)).toMatchObject({ status: "resolved", response_schema });
  }
  held.open();
  expect((await turn.finished).status).toBe("completed");
});

on_each_store("A response_schema with a pattern", (store) => {
  test("is refused where the pattern is no regular expression, and says where", async () => {
    const { session, turn, held } = await held_turn(store);
    const request = ask(session, turn.id, { type: "object", properties: { a: { pattern: "a(" } } });
    const refusal = await refusal_of(request);
    expect(refusal.code).toBe("INVALID_INPUT");
    expect(refusal.message).toContain('response_schema.properties.a.pattern is "a("');
    expect(await session.interactions()).toEqual([]);
    held.open();
    await turn.finished;
  });

  test("is enforced also by the next process", async () => {
    const response_schema = { type: "object", properties: { a: { pattern: "^(?=.*\\d)\\S+$" } } };
    const act = tool(
      async (_input, { interactions }) => {
        const { result } = await interactions.request<Word>({ type: "word", payload: {}, response_schema });
        const { response } = await result;
        return (response?.payload as { a?: string } | undefined)?.a ?? null;
      },
      { resume: "replay" },
    );
    const opened = await open(store, [[{ call: "act" }]], { tools: { act }, observed: false });
    await opened.session.prompt({ query: "Go" });
    const { interaction_id } = await next_interaction(opened.session);
    await opened.agent.detach();
    const { session } = await reopen(opened, ["Done."], { tools: { act } });
    const turn = session.active_turn();
    const respond = (a: string) =>
      session.respond<Word>({
        interaction_id,
        response: { type: "word", outcome: "resolved", payload: { a } },
      });
    expect((await refusal_of(respond("words"))).code).toBe("INVALID_RESPONSE");
    await respond("word1");
    expect((await turn?.finished)?.text).toBe("Done.");
    expect(await calls_of(session)).toMatchObject([{ state: "completed", output: "word1" }]);
  });
});
