// What is pending can be asked for at any time, and is told apart by its type.
import assert from "node:assert/strict";
import type { ApprovalInteraction, Question } from "@downcity/agent";
import { next_interaction } from "@downcity/agent/testing";
import { SESSION_APPROVAL_RESPONSE_SCHEMA } from "@downcity/type";
import { open_session } from "./support.js";

const approvals: ApprovalInteraction[] = [];
const questions: Question[] = [];
const render_approval = (request: ApprovalInteraction) => approvals.push(request);
const render_questions = (asked: Question[]) => questions.push(...asked);

const { session } = await open_session({ calls: ["delete_file", "ask_question"] });
const turn = await session.prompt({ query: "Delete a.txt, and ask where to deploy" });
await next_interaction(session, (interaction) => interaction.type === "approval");
await next_interaction(session, (interaction) => interaction.type === "question");

const pending = await session.interactions();

for (const request of pending) {
  if (request.type === "approval") render_approval(request);
  else render_questions(request.payload.questions);
}

assert.equal(approvals.length, 1);
assert.deepEqual(approvals[0]?.response_schema, SESSION_APPROVAL_RESPONSE_SCHEMA);
assert.deepEqual(
  questions.map((question) => question.type),
  ["single_select"],
);
assert.deepEqual(await session.stop(), {
  stopped: true,
  turn_id: turn.id,
  cancelled_prompts: 0,
  reason: "stopped",
});
assert.deepEqual(await session.interactions(), []);
await session.close();
