/** Many on one file: several processes, another program that locks it again and again, and Agents that come and go. */
import { execFileSync, spawn } from "node:child_process";
import { readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { Agent, sqlite } from "@downcity/agent";
import { ScriptedModel } from "@downcity/agent/testing";
import { expect, onTestFinished, test } from "vitest";
import { until } from "../support/peers.js";
import { run } from "../support/session.js";
import { temporary_folder } from "../support/stores.js";

const HERE = pathToFileURL(join(process.cwd(), "__test__", "cases", "program.mjs")).href;

/** Sessions of its own, each with approvals; says what they came to. Begins when it is told to. */
const PROGRAM = `
import { createRequire } from "node:module";
const require = createRequire(${JSON.stringify(HERE)});
const { Agent, sqlite, with_approval } = require("@downcity/agent");
const { next_interaction, ScriptedModel } = require("@downcity/agent/testing");
const [, , file, name, sessions, turns] = process.argv;
const said = { completed: 0, ran: 0 };
const execute = () => { said.ran += 1; return "acted"; };
const act = with_approval({ input_schema: { type: "object" }, execute });
const model = new ScriptedModel((prompt) => (prompt.at(-1).role === "user" ? [{ call: "act" }] : "Done."));
await new Promise((resolve) => { process.stdin.once("data", resolve); process.stdout.write("ready\\n"); });
const agent = new Agent({ id: "busy", model, tools: { act }, storage: sqlite(file) });
const payload = { decision: "approved" };
await Promise.all(Array.from({ length: Number(sessions) }, async (_, index) => {
  const session = await agent.sessions.create({ session_id: name + "-" + index });
  for (let at = 0; at < Number(turns); at += 1) {
    const turn = await session.prompt({ query: "Go" });
    const { interaction_id } = await next_interaction(session);
    await session.respond({ interaction_id, response: { type: "approval", outcome: "resolved", payload } });
    if ((await turn.finished).text === "Done.") said.completed += 1;
  }
}));
await agent.dispose();
process.stdin.destroy();
process.stdout.write(JSON.stringify(said));
`;

/** Processes that all begin at once. */
async function together(file: string, processes: number, sessions: number, turns: number) {
  const program = join(dirname(file), "program.mjs");
  writeFileSync(program, PROGRAM);
  const started = Array.from({ length: processes }, (_, index) => {
    const args = [program, file, `p${index}`, String(sessions), String(turns)];
    const child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"] });
    onTestFinished(() => void child.kill("SIGKILL"));
    let output = "";
    const ready = new Promise<void>((resolve) => {
      child.stdout.setEncoding("utf8").on("data", (text: string) => {
        output += text;
        resolve();
      });
    });
    const ended = new Promise((resolve) => {
      child.on("close", (code) => resolve({ code, said: output.slice("ready\n".length) }));
    });
    return { child, ready, ended };
  });
  await Promise.all(started.map(({ ready }) => ready));
  for (const { child } of started) child.stdin.write("go\n");
  return Promise.all(started.map(({ ended }) => ended));
}

const all_of = (processes: number, each: number) =>
  Array.from({ length: processes }, () => ({
    code: 0,
    said: JSON.stringify({ completed: each, ran: each }),
  }));

/** What a second, independent SQLite says of the file. */
function query(file: string, statement: string): unknown {
  const program =
    "import json,sqlite3,sys;print(json.dumps(sqlite3.connect(sys.argv[1]).execute(sys.argv[2]).fetchone()[0]))";
  return JSON.parse(execFileSync("python3", ["-c", program, file, statement], { encoding: "utf8" }));
}

/** Another program has the file for itself for two seconds, three times. */
function lock_three_times(file: string) {
  const program = `
import sqlite3, sys, time
d = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=60)
for locks in range(3):
    d.execute("BEGIN IMMEDIATE")
    print(locks, flush=True)
    time.sleep(2)
    d.execute("ROLLBACK")
    time.sleep(0.05)`;
  const child = spawn("python3", ["-c", program, file], { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill());
  const locked = new Promise<void>((resolve) => child.stdout.once("data", () => resolve()));
  const ended = new Promise((resolve) => child.on("close", resolve));
  return { locked, ended };
}

test("four processes with ten Sessions each all come to their end while another program locks the file", {
  timeout: 120_000,
}, async () => {
  const file = join(temporary_folder(), "sessions.db");
  const agent = new Agent({ id: "busy", storage: sqlite(file) });
  await agent.sessions.list();
  await agent.dispose();
  const locker = lock_three_times(file);
  await locker.locked;
  expect(await together(file, 4, 10, 3)).toEqual(all_of(4, 30));
  expect(await locker.ended).toBe(0);
  expect(query(file, "PRAGMA integrity_check")).toBe("ok");
  expect(query(file, "SELECT count(*) FROM sessions")).toBe(40);
});

test("eight processes make one file at once", { timeout: 60_000 }, async () => {
  const file = join(temporary_folder(), "sessions.db");
  expect(await together(file, 8, 1, 1)).toEqual(all_of(8, 1));
  expect(query(file, "PRAGMA integrity_check")).toBe("ok");
  expect(query(file, "SELECT count(*) FROM sessions")).toBe(8);
});

test("200 Agents that come and go leave no open file and no lock behind", { timeout: 60_000 }, async () => {
  const folder = temporary_folder();
  const file = join(folder, "sessions.db");
  const open_files = () => readdirSync("/proc/self/fd").length;
  const counts: number[] = [];
  for (let round = 0; round < 200; round += 1) {
    const model = new ScriptedModel(() => "Hi.");
    const agent = new Agent({ id: "files", model, storage: sqlite(file) });
    const session =
      round === 0 ? await agent.sessions.create({ session_id: "s" }) : await agent.sessions.get("s");
    expect((await run(session)).text).toBe("Hi.");
    if (round % 2 === 0) await agent.dispose();
    else await agent.detach();
    if (round % 50 === 49) counts.push(open_files());
  }
  // One that each of 150 left open would be seen.
  expect(counts.at(-1)).toBeLessThan((counts[0] as number) + 10);
  await until(async () => !readdirSync(folder).some((name) => name.includes("-owner-")));
});
