// One short run through the whole package, for runners other than the main one. Each gives its own `test`, and
// with it, in some, a realm of its own: what is handed out has to belong to it.
const assert = require("node:assert/strict");

exports.define = function define(test) {
  const { Agent, memory, SessionError, with_approval } = require("@downcity/agent");
  const { next_interaction, ScriptedModel } = require("@downcity/agent/testing");

  const answer = (interaction_id, decision) => ({
    interaction_id,
    response: { type: "approval", outcome: "resolved", payload: { decision } },
  });

  async function session_with(script, tools = {}) {
    const model = new ScriptedModel(script);
    const agent = new Agent({ id: "smoke", model, tools, storage: memory() });
    return { agent, model, session: await agent.sessions.create() };
  }

  test("a Turn waits for an approval and goes on", async () => {
    const runs = [];
    const act = with_approval({
      input_schema: { type: "object" },
      execute: (input) => void runs.push(input),
    });
    const { agent, session } = await session_with([[{ call: "act", input: { a: [1] } }], "Done."], { act });
    const turn = await session.prompt({ query: "Act" });
    const { interaction_id } = await next_interaction(session);
    assert.equal((await session.respond(answer(interaction_id, "approved"))).status, "resolved");
    assert.equal((await turn.finished).text, "Done.");
    assert.equal(JSON.stringify(runs), '[{"a":[1]}]');
    await agent.dispose();
  });

  test("errors, arrays and objects belong to the caller's realm", async () => {
    const { agent, session } = await session_with(["Hi."]);
    const error = await session.respond(answer("interaction:none", "approved")).catch((reason) => reason);
    assert(error instanceof Error);
    assert(error instanceof SessionError);
    assert.equal(error.code, "INTERACTION_NOT_FOUND");
    const messages = await session.messages();
    assert.equal(Object.getPrototypeOf(messages.items), Array.prototype);
    const { finished } = await session.prompt({ query: "Hello" });
    assert((await finished) instanceof Object);
    await agent.dispose();
  });

  test("a cancelled wait is an AbortError of the caller's realm", async () => {
    let caught;
    const act = {
      input_schema: { type: "object" },
      execute: async (_, context) => {
        caught = await context.interactions.approval
          .request({ payload: { operation: "tool" } })
          .catch((e) => e);
      },
    };
    const { agent, session } = await session_with([[{ call: "act", input: {} }]], { act });
    const turn = await session.prompt({ query: "Act" });
    await next_interaction(session);
    await session.stop();
    assert.equal((await turn.finished).status, "stopped");
    await new Promise((resolve) => setImmediate(resolve));
    assert(caught instanceof Error);
    assert.equal(caught.name, "AbortError");
    await agent.dispose();
  });

  test("values of another realm are tool results like any other", async () => {
    const foreign = require("node:vm").runInNewContext("({ at: new Date(0), list: [1, { a: undefined }] })");
    const act = { input_schema: { type: "object" }, execute: () => foreign };
    const { agent, session } = await session_with([[{ call: "act", input: {} }], "Done."], { act });
    await (await session.prompt({ query: "Act" })).finished;
    const parts = (await session.messages()).items.flatMap((message) => message.parts);
    const [call] = parts.filter((part) => part.type === "tool");
    assert.equal(JSON.stringify(call.output), '{"at":"1970-01-01T00:00:00.000Z","list":[1,{}]}');
    await agent.dispose();
  });
};
