// The error codes that have to do with a store in a file, through the public API.
const assert = require("node:assert/strict");
const { mkdtempSync, rmSync, writeFileSync, readFileSync } = require("node:fs");
const { execFileSync, spawn, spawnSync } = require("node:child_process");
const { tmpdir } = require("node:os");
const { dirname, join } = require("node:path");

exports.storage_errors = function storage_errors(test, { refused, asked, asking, approved }) {
  const { Agent, sqlite } = require("@downcity/agent");
  const { ScriptedModel } = require("@downcity/agent/testing");

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

    with_file("LEASE_LOST for an owner that was replaced, and nothing it does is stored", async (path) => {
      const model = new ScriptedModel([[{ call: "asking" }]]);
      const agent = new Agent({ id: "errors", model, tools: { asking }, storage: sqlite(path) });
      try {
        const session = await agent.sessions.create({ session_id: "s" });
        const { turn, interaction_id } = await asked(session);
        query(path, "UPDATE sessions SET fence = fence + 1000, owner = 'another'");
        const before = query(path, "SELECT commits FROM sessions");
        await refused("LEASE_LOST", () => session.respond({ interaction_id, response: approved }));
        assert.equal((await turn.finished).status, "detached");
        assert.equal(query(path, "SELECT commits FROM sessions"), before);
      } finally {
        await agent.dispose();
      }
      await with_agent(path, async (next) => {
        const session = await next.sessions.get("s");
        assert.equal((await (await session.prompt({ query: "Hello" })).finished).text, "Hi.");
      });
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

  /** Writes until nothing more fits. */
  function fill(path) {
    for (let size = 1 << 20; size >= 1 << 12; size >>= 1) {
      try {
        for (;;) writeFileSync(path, Buffer.alloc(size), { flag: "a" });
      } catch (error) {
        assert.equal(error.code, "ENOSPC");
      }
    }
  }

  // A small disk of its own, which not every user may mount; where it may not be, this part is left out.
  const mount = (folder) =>
    spawnSync("mount", ["-t", "tmpfs", "-o", "size=4m", "tmpfs", folder], { stdio: "ignore" }).status === 0;
  const trial = mkdtempSync(join(tmpdir(), "downcity-errors-"));
  const mounts = mount(trial);
  if (mounts) execFileSync("umount", ["-l", trial]);
  rmSync(trial, { recursive: true });
  if (mounts) {
    with_file("STORAGE_FULL for a full disk, and the same call works once there is space", async (path) => {
      const disk = dirname(path);
      assert.ok(mount(disk));
      try {
        await with_agent(path, async (agent) => {
          const session = await agent.sessions.create({ session_id: "s" });
          fill(join(disk, "filler"));
          const query = "x".repeat(500_000);
          await refused("STORAGE_FULL", () => session.prompt({ query }));
          assert.deepEqual((await session.messages()).items, []);
          rmSync(join(disk, "filler"));
          assert.equal((await (await session.prompt({ query })).finished).text, "Hi.");
        });
      } finally {
        execFileSync("umount", ["-l", disk]);
      }
    });
  }

  with_file("STORAGE_UNAVAILABLE for a folder that cannot be made", async (path) => {
    writeFileSync(path, "a file, not a folder");
    for (const impossible of [join(path, "deeper", "sessions.db"), "/proc/none/sessions.db"]) {
      await with_agent(impossible, (agent) => refused("STORAGE_UNAVAILABLE", () => agent.sessions.create()));
    }
  });

  with_file("STORAGE_UNAVAILABLE for a path that is a folder", async (path) => {
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
