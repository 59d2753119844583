import { spawn } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Agent, sqlite } from "@downcity/agent";
import { expect, test } from "vitest";

const PROGRAM = join(process.cwd(), "__test__", "surface", "exit_program.cjs");

interface Ended {
  code: number | null;
  output: string;
}

function start(name: string, file = "") {
  const child = spawn(process.execPath, [PROGRAM, name, file], { stdio: ["ignore", "pipe", "inherit"] });
  let output = "";
  const said = new Promise<void>((resolve) =>
    child.stdout.on("data", (text) => {
      output += text;
      resolve();
    }),
  );
  const ended = new Promise<Ended>((resolve) => child.on("close", (code) => resolve({ code, output })));
  return { child, said, ended };
}

test.each(["idle", "finished", "closed"])("a program ends by itself once it is %s", async (name) => {
  expect(await start(name).ended).toEqual({ code: 0, output: "" });
});

test("a Turn in flight keeps the program alive until it has ended", async () => {
  expect(await start("working").ended).toEqual({ code: 0, output: "Done." });
});

test("a Turn that waits for a person keeps the program alive", async () => {
  const { child, said, ended } = start("waiting");
  await said;
  child.kill("SIGKILL");
  expect(await ended).toEqual({ code: null, output: "held" });
});

test("an unreferenced Agent lets the program end, and what was asked is there afterwards", async () => {
  const file = join(mkdtempSync(join(tmpdir(), "downcity-exit-")), "sessions.db");
  expect(await start("unreferenced", file).ended).toEqual({ code: 0, output: "asked" });
  const agent = new Agent({ id: "exit", storage: sqlite(file) });
  const { items } = await agent.sessions.list();
  expect(items).toMatchObject([{ session_id: "s", state: "running", pending: 1 }]);
  await agent.dispose();
});
