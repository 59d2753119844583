// A model may ask questions once the host has registered the tool for it.
import assert from "node:assert/strict";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Agent } from "@downcity/agent";
import { next_interaction, ScriptedModel } from "@downcity/agent/testing";
import { AskQuestionsTool } from "@downcity/agent/tools";
import { Workspace } from "@downcity/city";
import { region_question } from "./support.js";

const model = new ScriptedModel([[{ call: "ask_question", input: region_question }], "China it is."]);
const agent = new Agent({
  id: "repo-helper",
  tools: {
    ask_question: AskQuestionsTool,
  },
});
const workspace = new Workspace({
  id: "project",
  path: mkdtempSync(join(tmpdir(), "downcity-snippet-")),
});

const session = await agent.sessions.create({ workspace });
await session.set({ model });
const turn = await session.prompt({ query: "Deploy it" });
const request = await next_interaction(session);
assert(request.type === "question");
const question_id = request.payload.questions[0]?.question_id ?? "";
assert.match(question_id, /^question:/);
await session.respond({
  interaction_id: request.interaction_id,
  response: {
    type: "question",
    outcome: "resolved",
    payload: { answers: [{ question_id, value: "cn" }] },
  },
});
assert.equal((await turn.finished).text, "China it is.");

const parts = (await session.messages()).items.flatMap((message) => [...message.parts]);
const call = parts.find((part) => part.type === "tool");
assert.deepEqual(call?.output, { status: "resolved", answers: [{ question_id, value: "cn" }] });
await agent.dispose();
