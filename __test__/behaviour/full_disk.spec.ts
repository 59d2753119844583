import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Agent, sqlite } from "@downcity/agent";
import { ScriptedModel } from "@downcity/agent/testing";
import { expect, onTestFinished, test } from "vitest";

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
