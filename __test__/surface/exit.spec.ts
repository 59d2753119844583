import { spawn } from "node:child_process";
import { join } from "node:path";
import { Agent, sqlite } from "@downcity/agent";
import { expect, onTestFinished, test } from "vitest";
import { temporary_folder } from "../support/stores.js";

const PROGRAMS = join(process.cwd(), "__test__", "surface");

interface Ended {
  code: number | null;
  output: string;
}

function start(name: string, file = "", program = "exit_program.cjs") {
  const args = [join(PROGRAMS, program), name, file];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
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

/** What a program has left behind, read by a later one. */
function left_in(file: string): Agent {
  const agent = new Agent({ id: "exit", storage: sqlite(file) });
  onTestFinished(() => agent.dispose());
  return agent;
}

test("a Turn in flight keeps the program alive until it has ended", async () => {
  expect(await start("working").ended).toEqual({ code: 0, output: "Done." });
});

test("a tool that holds nothing else open ends, and its result is stored before the program does", async () => {
  const file = join(temporary_folder(), "sessions.db");
  expect(await start("unheard", file).ended).toEqual({ code: 0, output: "" });
  const session = await left_in(file).sessions.get("s");
  const { items } = await session.messages();
  expect(items[1]?.parts).toMatchObject([
    { type: "tool", state: "completed", output: "slept" },
    { type: "text", text: "Done." },
  ]);
  expect((await session.status()).state).toBe("idle");
});

test("a prompt that is awaited at the top of a module settles though its Turn waits for a person", async () => {
  const file = join(temporary_folder(), "sessions.db");
  expect(await start("awaited", file, "exit_await.mjs").ended).toEqual({ code: 0, output: "settled" });
  expect((await left_in(file).interactions()).items).toMatchObject([{ session_id: "s", type: "approval" }]);
});

test("a Turn that waits for a person keeps the program alive", async () => {
  const { child, said, ended } = start("waiting");
  await said;
  child.kill("SIGKILL");
  expect(await ended).toEqual({ code: null, output: "held" });
});

test("an unreferenced Agent lets the program end, and what was asked is there afterwards", async () => {
  const file = join(temporary_folder(), "sessions.db");
  expect(await start("unreferenced", file).ended).toEqual({ code: 0, output: "asked" });
  const { items } = await left_in(file).sessions.list();
  expect(items).toMatchObject([{ session_id: "s", state: "running", pending: 1 }]);
});
