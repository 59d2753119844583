// Every error code that can be provoked, through the public API, for any runner. Each gives its own `test`.
const assert = require("node:assert/strict");
const { mkdtempSync, rmSync, writeFileSync, readFileSync } = require("node:fs");
const { execFileSync, spawn, spawnSync } = require("node:child_process");
const { tmpdir } = require("node:os");
const { join } = require("node:path");

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
        const agent = new Agent({ id: "errors", model, tools: { asking }, storage, ...options.agent });
        try {
          const session = await agent.sessions.create({ session_id: "s" });
          await work({ agent, session, model });
          const usable = await agent.sessions.get("s");
          await usable.set({ model: new ScriptedModel(["Still here."]) });
          const { status, text } = await (await usable.prompt({ query: "Hello" })).finished;
          assert.deepEqual({ status, text }, { status: "completed", text: "Still here." });
        } finally {
          await agent.dispose();
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

  /** A file in a folder of its own. */
  function with_file(name, work) {
    test(name, async () => {
      const folder = mkdtempSync(join(tmpdir(), "downcity-errors-"));
      try {
        await work(join(folder, "sessions.db"));
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    });
  }

  async function with_agent(path, work) {
    const model = new ScriptedModel(() => "Hi.");
    const agent = new Agent({ id: "errors", model, storage: sqlite(path) });
    try {
      return await work(agent);
    } finally {
      await agent.dispose();
    }
  }

  /** One value, read or written by another program. */
  function query(path, statement) {
    const program =
      "import json,sqlite3,sys;d=sqlite3.connect(sys.argv[1]);r=d.execute(sys.argv[2]).fetchone();";
    const ending = "d.commit();d.close();print(json.dumps(r and r[0]))";
    return JSON.parse(
      execFileSync("python3", ["-c", program + ending, path, statement], { encoding: "utf8" }),
    );
  }

  /** Another program holds the write lock until it is told to go. */
  async function locked(path) {
    const program =
      "import sqlite3,sys;d=sqlite3.connect(sys.argv[1],isolation_level=None);d.execute('BEGIN IMMEDIATE');" +
      "print('locked',flush=True);sys.stdin.read();d.execute('ROLLBACK');d.close()";
    const child = spawn("python3", ["-c", program, path], { stdio: ["pipe", "pipe", "inherit"] });
    const ended = new Promise((resolve) => child.once("close", resolve));
    await new Promise((resolve) => child.stdout.once("data", resolve));
    return () => {
      child.stdin.end();
      return ended;
    };
  }

  async function make_store(path) {
    await with_agent(path, async (agent) => {
      const session = await agent.sessions.create({ session_id: "s" });
      await (await session.prompt({ query: "Hello" })).finished;
    });
  }

  with_file("STORAGE_CORRUPT for a file that is no database, which stays as it was", async (path) => {
    const garbage = "This is no database. ".repeat(1000);
    writeFileSync(path, garbage);
    await with_agent(path, async (agent) => {
      await refused("STORAGE_CORRUPT", () => agent.sessions.create());
      await refused("STORAGE_CORRUPT", () => agent.sessions.list());
    });
    assert.equal(readFileSync(path, "utf8"), garbage);
  });

  // A second, independent SQLite looks at the file and locks it. Where there is none, this part is left out.
  if (spawnSync("python3", ["-c", "import sqlite3"]).status === 0) {
    with_file("STORAGE_VERSION for a file of a later version, which stays as it was", async (path) => {
      await make_store(path);
      const version = query(path, "PRAGMA user_version");
      query(path, `PRAGMA user_version = ${version + 1}`);
      await with_agent(path, async (agent) => {
        const error = await refused("STORAGE_VERSION", () => agent.sessions.get("s"));
        assert.match(error.message, new RegExp(String(version + 1)));
      });
      assert.equal(query(path, "PRAGMA user_version"), version + 1);
      query(path, `PRAGMA user_version = ${version}`);
      await with_agent(path, async (agent) => {
        const session = await agent.sessions.get("s");
        assert.equal((await session.messages()).items.length, 2);
      });
      assert.equal(query(path, "PRAGMA integrity_check"), "ok");
    });

    with_file("STORAGE_BUSY for a lock that stays, and the same call works once it is gone", async (path) => {
      await make_store(path);
      await with_agent(path, async (agent) => {
        const session = await agent.sessions.get("s");
        const mode = { security: { approval_mode: "always-allow" } };
        const unlock = await locked(path);
        try {
          await refused("STORAGE_BUSY", () => session.set(mode));
          assert.equal((await session.status()).security.approval_mode, "ask");
          assert.equal((await session.messages()).items.length, 2);
        } finally {
          await unlock();
        }
        await session.set(mode);
        assert.equal((await session.status()).security.approval_mode, "always-allow");
        assert.equal((await (await session.prompt({ query: "Hello" })).finished).text, "Hi.");
      });
      assert.equal(query(path, "PRAGMA integrity_check"), "ok");
    });

    with_file("a lock that goes away in time only delays", async (path) => {
      await make_store(path);
      await with_agent(path, async (agent) => {
        const session = await agent.sessions.get("s");
        const unlock = await locked(path);
        const prompting = session.prompt({ query: "Hello" });
        await unlock();
        assert.equal((await (await prompting).finished).text, "Hi.");
      });
    });
  }

  with_file("STORAGE_UNAVAILABLE for a folder that cannot be made", async (path) => {
    writeFileSync(path, "a file, not a folder");
    for (const impossible of [join(path, "deeper", "sessions.db"), "/proc/none/sessions.db"]) {
      await with_agent(impossible, (agent) => refused("STORAGE_UNAVAILABLE", () => agent.sessions.create()));
    }
  });

  with_file("STORAGE_UNAVAILABLE for a path that is a folder", async (path) => {
    const { dirname } = require("node:path");
    await with_agent(dirname(path), (agent) => refused("STORAGE_UNAVAILABLE", () => agent.sessions.create()));
  });

  with_file("an Agent whose store was out of reach works once the cause is gone", async (path) => {
    const blocked = join(path, "sessions.db");
    writeFileSync(path, "in the way");
    await with_agent(blocked, async (agent) => {
      await refused("STORAGE_UNAVAILABLE", () => agent.sessions.create({ session_id: "s" }));
      rmSync(path);
      const session = await agent.sessions.create({ session_id: "s" });
      assert.equal((await (await session.prompt({ query: "Hello" })).finished).text, "Hi.");
    });
  });
};
