// Every error code that can be provoked, through the public API, for any runner. Each gives its own `test`.
const assert = require("node:assert/strict");
const { mkdtempSync, rmSync } = require("node:fs");
const { tmpdir } = require("node:os");
const { join } = require("node:path");
const { storage_errors } = require("./storage_errors.cjs");

exports.define = function define(test) {
  const { Agent, memory, SessionError, sqlite } = require("@downcity/agent");
  const { gate, next_interaction, ScriptedModel } = require("@downcity/agent/testing");

  /** What was refused: of the caller's realm, with a code, and with words that say what to do. */
  async function refused(code, work) {
    let error;
    try {
      await work();
    } catch (reason) {
      error = reason;
    }
    assert.ok(error instanceof SessionError, `not refused with a SessionError: ${String(error)}`);
    assert.ok(error instanceof Error);
    assert.equal(error.code, code);
    assert.equal(error.name, "SessionError");
    assert.match(error.message, /\w+ \w+/);
    assert.ok(error.message.length > 20, error.message);
    assert.equal(typeof error.stack, "string");
    return error;
  }

  const asking = {
    input_schema: { type: "object" },
    execute: async (_, context) => {
      const { approved } = await context.interactions.approval.request({ payload: { operation: "tool" } });
      return { approved };
    },
  };
  /** Asks a question of its own each time it is entered, and keeps how it was refused. */
  const changing = {
    refusal: undefined,
    tool: {
      input_schema: { type: "object" },
      resume: "replay",
      execute: async (_, { resumed, interactions }) => {
        const payload = { operation: "tool", resumed };
        const { approved } = await interactions.approval.request({ payload }).catch((error) => {
          changing.refusal = error;
          throw error;
        });
        return { approved };
      },
    },
  };
  const response = (fields) => ({ type: "approval", outcome: "resolved", ...fields });
  const approved = response({ payload: { decision: "approved" } });

  /** Runs with a fresh Session on each store; afterwards the Session has to work as before. */
  function on_a_session(name, work, options = {}) {
    for (const store of ["memory", "sqlite"]) {
      test(`${name} (${store})`, async () => {
        const folder = mkdtempSync(join(tmpdir(), "downcity-errors-"));
        const script = options.script ?? (() => "Still here.");
        const model = new ScriptedModel(script);
        const storage = store === "memory" ? memory() : sqlite(join(folder, "sessions.db"));
        const settings = { id: "errors", model, tools: { asking }, storage, ...options.agent };
        const agent = new Agent(settings);
        // What is opened after `agent` has let go.
        const again = new Agent(settings);
        try {
          const session = await agent.sessions.create({ session_id: "s" });
          await work({ agent, session, model, again });
          const usable = await (options.let_go ? again : agent).sessions.get("s");
          await usable.set({ model: new ScriptedModel(["Still here."]) });
          const { status, text } = await (await usable.prompt({ query: "Hello" })).finished;
          assert.deepEqual({ status, text }, { status: "completed", text: "Still here." });
        } finally {
          await agent.dispose();
          await again.dispose();
          rmSync(folder, { recursive: true, force: true });
        }
      });
    }
  }

  const asks = { script: (prompt) => (prompt.at(-1).role === "user" ? [{ call: "asking" }] : "Done.") };

  async function asked(session) {
    const turn = await session.prompt({ query: "Ask" });
    return { turn, ...(await next_interaction(session)) };
  }

  on_a_session("INVALID_INPUT", async ({ session }) => {
    await refused("INVALID_INPUT", () => session.prompt({ query: "" }));
    await refused("INVALID_INPUT", () => session.set({ security: { approval_mode: "perhaps" } }));
  });

  on_a_session(
    "INVALID_RESPONSE leaves the Interaction pending",
    async ({ session }) => {
      const { interaction_id, turn } = await asked(session);
      const error = await refused("INVALID_RESPONSE", () =>
        session.respond({ interaction_id, response: response({ payload: { decision: "maybe" } }) }),
      );
      assert.ok(Array.isArray(error.issues));
      assert.ok(error.issues.length > 0);
      assert.equal((await session.interactions()).length, 1);
      await session.respond({ interaction_id, response: approved });
      await turn.finished;
    },
    asks,
  );

  on_a_session("INTERACTION_NOT_FOUND", async ({ session }) => {
    const interaction_id = "interaction:none";
    await refused("INTERACTION_NOT_FOUND", () => session.respond({ interaction_id, response: approved }));
  });

  on_a_session(
    "INTERACTION_TERMINAL carries the committed Interaction",
    async ({ session }) => {
      const { interaction_id, turn } = await asked(session);
      const committed = await session.respond({ interaction_id, response: approved });
      await turn.finished;
      const denied = { type: "approval", outcome: "denied" };
      const error = await refused("INTERACTION_TERMINAL", () =>
        session.respond({ interaction_id, response: denied }),
      );
      assert.deepEqual(error.interaction, committed);
    },
    asks,
  );

  on_a_session(
    "RESPONSE_TYPE_MISMATCH",
    async ({ session }) => {
      const { interaction_id, turn } = await asked(session);
      const answers = { type: "question", outcome: "resolved", payload: { answers: [] } };
      await refused("RESPONSE_TYPE_MISMATCH", () => session.respond({ interaction_id, response: answers }));
      await session.respond({ interaction_id, response: approved });
      await turn.finished;
    },
    asks,
  );

  on_a_session("TOOL_CALL_NOT_ACTIVE", async ({ session }) => {
    await refused("TOOL_CALL_NOT_ACTIVE", () =>
      session.interactions.approval.request({ turn_id: "turn:none", payload: { operation: "tool" } }),
    );
  });

  on_a_session("SESSION_NOT_FOUND", async ({ agent }) => {
    await refused("SESSION_NOT_FOUND", () => agent.sessions.get("none"));
    await refused("SESSION_NOT_FOUND", () => agent.sessions.remove("none"));
    await refused("SESSION_NOT_FOUND", () => agent.sessions.archive("none"));
  });

  on_a_session("SESSION_EXISTS", async ({ agent }) => {
    await refused("SESSION_EXISTS", () => agent.sessions.create({ session_id: "s" }));
  });

  on_a_session(
    "SESSION_BUSY",
    async ({ agent, session }) => {
      const { turn } = await asked(session);
      await refused("SESSION_BUSY", () => agent.sessions.archive("s"));
      await refused("SESSION_BUSY", () => agent.sessions.remove("s"));
      await session.stop();
      await turn.finished;
    },
    asks,
  );

  on_a_session("SESSION_CLOSED", async ({ session }) => {
    await session.close();
    await refused("SESSION_CLOSED", () => session.status());
  });

  on_a_session("MODEL_INVALID", async ({ session }) => {
    await refused("MODEL_INVALID", () => new Agent({ id: "a", model: { doStream() {} } }));
    await refused("MODEL_INVALID", () => session.set({ model: { specificationVersion: "v1" } }));
  });

  async function failed_turn(session, code) {
    const result = await (await session.prompt({ query: "Go" })).finished;
    assert.equal(result.status, "failed");
    assert.equal(result.error_code, code);
    assert.ok(result.error.length > 10);
    const error = (await session.messages()).items.at(-1).parts.at(-1);
    assert.equal(error.type, "error");
    assert.equal(error.error_code, code);
    assert.equal(error.message, result.error);
  }

  on_a_session("MODEL_MISSING", ({ session }) => failed_turn(session, "MODEL_MISSING"), {
    agent: { model: undefined },
  });
  on_a_session("MODEL_FAILED", ({ session }) => failed_turn(session, "MODEL_FAILED"), {
    script: () => ({ reject: new Error("The provider said no.") }),
  });
  on_a_session("MAX_STEPS", ({ session }) => failed_turn(session, "MAX_STEPS"), {
    script: () => [{ call: "none" }],
    agent: { max_steps: 2 },
  });

  on_a_session(
    "an AbortError, which is an Error of the caller, for a wait that is cancelled",
    async ({ agent, session }) => {
      const held = gate();
      const turn = await session.prompt({ query: "Ask" });
      await next_interaction(session);
      const payload = { operation: "tool" };
      const waiting = session.interactions.approval.request({ turn_id: turn.id, payload }).catch((e) => e);
      held.open();
      await session.stop();
      const error = await waiting;
      assert.ok(error instanceof Error);
      assert.equal(error.name, "AbortError");
      assert.equal((await agent.sessions.get("s")).id, "s");
    },
    asks,
  );

  on_a_session(
    "REPLAY_MISMATCH for a tool that asks something else when it is entered again",
    async ({ agent, session, again }) => {
      await asked(session);
      await agent.detach();
      const same = await again.sessions.get("s");
      const { status } = await same.active_turn().finished;
      assert.equal(status, "completed");
      const error = await refused("REPLAY_MISMATCH", () => Promise.reject(changing.refusal));
      assert.match(error.message, /asked/);
      assert.deepEqual(await same.interactions(), []);
    },
    { ...asks, agent: { tools: { asking: changing.tool } }, let_go: true },
  );

  storage_errors(test, { refused, asked, asking, approved });
};
