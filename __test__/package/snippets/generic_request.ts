// The primitive under everything: only what the request means is given.
import assert from "node:assert/strict";
import { next_interaction } from "@downcity/agent/testing";
import { open_session } from "./support.js";

const { session } = await open_session();
const turn = await session.prompt({ query: "Delete a.txt" });
const approval = await next_interaction(session);
const turn_id = turn.id;
const tool_call_id = approval.source.tool_call_id;
const questions = [{ question_id: "why", question: "Why?", type: "text" as const }];

const handle = await session.interactions.request({
  type: "question",
  turn_id,
  tool_call_id,
  payload: { questions },
});
await session.respond({
  interaction_id: handle.interaction_id,
  response: {
    type: "question",
    outcome: "resolved",
    payload: { answers: [{ question_id: "why", value: "It is old" }] },
  },
});
const result = await handle.result;

assert.equal(result.status, "resolved");
assert(result.response?.outcome === "resolved");
assert.deepEqual(result.response.payload, { answers: [{ question_id: "why", value: "It is old" }] });
await session.close();
