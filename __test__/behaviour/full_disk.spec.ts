import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Agent, sqlite } from "@downcity/agent";
import { gate, ScriptedModel } from "@downcity/agent/testing";
import { expect, onTestFinished, test } from "vitest";
import { gated_tool } from "../cases/support.js";
import { approve, calls_of, pending_of, results_in, run, tool } from "../support/session.js";

/** A file system of its own that is soon full; undefined where this user may not mount one. */
function small_disk(megabytes: number): string | undefined {
  const folder = mkdtempSync(join(tmpdir(), "downcity-disk-"));
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", `size=${megabytes}m`, "tmpfs", folder], { stdio: "ignore" });
  } catch {
    rmSync(folder, { recursive: true });
    return undefined;
  }
  onTestFinished(() => {
    execFileSync("umount", ["-l", folder]);
    rmSync(folder, { recursive: true });
  });
  return folder;
}

test("a full disk refuses the call, keeps what was there, and the Session goes on once there is space", async (context) => {
  const disk = small_disk(4);
  if (disk === undefined) return context.skip("mounting a small file system needs more rights");
  const model = new ScriptedModel(["Fine.", "Fine again."]);
  const agent = new Agent({ id: "behaviour", model, storage: sqlite(join(disk, "sessions.db")) });
  onTestFinished(() => agent.dispose());
  const session = await agent.sessions.create({ session_id: "s" });
  await (await session.prompt({ query: "One" })).finished;
  const before = await session.messages();

  const filler = join(disk, "filler");
  fill(filler);
  const refused = session.prompt({ query: "x".repeat(500_000) });
  await expect(refused).rejects.toMatchObject({ code: "STORAGE_FULL", name: "SessionError" });
  expect(await session.messages()).toEqual(before);
  expect((await session.status()).state).toBe("idle");

  rmSync(filler);
  const turn = await session.prompt({ query: "x".repeat(500_000) });
  expect(await turn.finished).toMatchObject({ success: true, text: "Fine again." });
});

/** Writes until nothing more fits. */
function fill(path: string): void {
  for (let size = 1 << 20; size >= 1 << 12; size >>= 1) {
    try {
      for (;;) writeFileSync(path, Buffer.alloc(size), { flag: "a" });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
    }
  }
}

test("on a full disk an answer is refused and a result is kept, and the Turn goes on once there is space", async (context) => {
  const disk = small_disk(8);
  if (disk === undefined) return context.skip("mounting a small file system needs more rights");
  const held = gate();
  const { tool: gated, runs } = gated_tool();
  let made = 0;
  const big = tool(async () => {
    made += 1;
    await held.wait();
    return "x".repeat(500_000);
  });
  const calls = [
    { call: "gated", id: "g" },
    { call: "big", id: "b" },
  ];
  const model = new ScriptedModel((prompt) =>
    JSON.stringify(prompt.at(-1)).includes("Go") ? calls : "Fine.",
  );
  const tools = { gated, big };
  const agent = new Agent({ id: "behaviour", model, tools, storage: sqlite(join(disk, "sessions.db")) });
  onTestFinished(() => agent.dispose());
  const other = await agent.sessions.create({ session_id: "other" });
  await run(other, "Hello");
  const session = await agent.sessions.create({ session_id: "s" });
  const turn = await session.prompt({ query: "Go" });
  const [asked] = await pending_of(session, 1);
  await held.reached;

  const filler = join(disk, "filler");
  fill(filler);
  const answer = approve(asked?.interaction_id ?? "", { why: "y".repeat(500_000) });
  await expect(session.respond(answer)).rejects.toMatchObject({ code: "STORAGE_FULL" });
  held.open();
  await expect(session.respond(answer)).rejects.toMatchObject({ code: "STORAGE_FULL" });
  expect(await session.interactions()).toEqual([asked]);
  expect((await calls_of(session)).map(({ state }) => state)).toEqual(["waiting-user", "running"]);
  expect(runs).toEqual([]);
  expect((await other.messages()).items).toHaveLength(2);
  const after = new Agent({ id: "behaviour", storage: sqlite(join(disk, "sessions.db")) });
  onTestFinished(() => after.dispose());
  expect((await after.interactions()).items).toMatchObject([{ interaction_id: asked?.interaction_id }]);

  rmSync(filler);
  expect(await session.respond(answer)).toMatchObject({ status: "resolved" });
  expect(await turn.finished).toMatchObject({ status: "completed", text: "Fine." });
  expect([made, runs.length]).toEqual([1, 1]);
  const results = results_in(model.prompts.at(-1));
  expect(results.map(({ toolCallId }) => toolCallId)).toEqual(["g", "b"]);
  expect((await calls_of(session))[1]).toMatchObject({ state: "completed", output: "x".repeat(500_000) });
  expect((await run(other, "More")).text).toBe("Fine.");
});

test("a process that starts on a full disk is told so, and goes on with what waits once there is space", async (context) => {
  const disk = small_disk(4);
  if (disk === undefined) return context.skip("mounting a small file system needs more rights");
  const { tool: gated, runs } = gated_tool();
  const model = new ScriptedModel((prompt) =>
    JSON.stringify(prompt.at(-1)).includes("Go") ? [{ call: "gated" }] : "Fine.",
  );
  const agent_here = () => {
    const storage = sqlite(join(disk, "sessions.db"));
    const agent = new Agent({ id: "behaviour", model, tools: { gated }, storage });
    onTestFinished(() => agent.dispose());
    return agent;
  };
  const former = agent_here();
  const begun = await former.sessions.create({ session_id: "s" });
  await begun.prompt({ query: "Go" });
  const [asked] = await pending_of(begun, 1);
  await former.detach();

  const filler = join(disk, "filler");
  fill(filler);
  const agent = agent_here();
  for (const call of [
    () => agent.sessions.get("s"),
    () => agent.sessions.create(),
    () => agent.interactions(),
  ]) {
    await expect(call()).rejects.toMatchObject({ code: "STORAGE_FULL", name: "SessionError" });
  }
  expect(model.requests).toHaveLength(1);

  rmSync(filler);
  const session = await agent.sessions.get("s");
  expect(await session.interactions()).toEqual([asked]);
  const turn = session.active_turn();
  await session.respond(approve(asked?.interaction_id ?? ""));
  expect(await turn?.finished).toMatchObject({ status: "completed", text: "Fine." });
  expect(runs).toHaveLength(1);
});
