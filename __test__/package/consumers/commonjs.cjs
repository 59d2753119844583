// A CommonJS program runs a Turn with an approval and ends by itself.
const assert = require("node:assert/strict");
const { Agent, SessionError, with_approval } = require("@downcity/agent");
const { next_interaction, ScriptedModel } = require("@downcity/agent/testing");

async function main() {
  const runs = [];
  const tool = { input_schema: { type: "object" }, execute: (input) => runs.push(input) };
  const model = new ScriptedModel([[{ call: "act", input: { a: 1 } }], "Done."]);
  const agent = new Agent({ id: "common", model, tools: { act: with_approval(tool) } });
  const session = await agent.sessions.create();
  session.subscribe(() => {});
  const turn = await session.prompt({ query: "Act" });
  const { interaction_id } = await next_interaction(session);
  const response = { type: "approval", outcome: "resolved", payload: { decision: "approved" } };
  await session.respond({ interaction_id, response });
  await assert.rejects(session.respond({ interaction_id, response }), (error) => {
    assert(error instanceof SessionError);
    return error.code === "INTERACTION_TERMINAL";
  });
  assert.equal((await turn.finished).text, "Done.");
  assert.deepEqual(runs, [{ a: 1 }]);
}

main();
