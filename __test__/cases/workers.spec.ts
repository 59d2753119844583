import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { temporary_folder } from "../support/stores.js";

const HERE = pathToFileURL(join(process.cwd(), "__test__", "cases", "worker.mjs")).href;
/** WORKER_ROUNDS=100 goes on for longer than there is time for each day. */
const ROUNDS = Number(process.env.WORKER_ROUNDS ?? 4);
const WORKERS = 8;

const COMMON = `
import { createRequire } from "node:module";
import { Worker, isMainThread, parentPort, workerData } from "node:worker_threads";
const require = createRequire(${JSON.stringify(HERE)});
`;

/** Opens the Session of its name and runs Turns of its kind for as long as it is let. */
const WORKER = `${COMMON}
const { Agent, sqlite, with_approval } = require("@downcity/agent");
const { ScriptedModel } = require("@downcity/agent/testing");
const { file, id, kind } = workerData;
const words = Array.from({ length: 200 }, (_, index) => "word " + index + " ");
const input_schema = { type: "object" };
const steps = {
  streaming: [{ text: words }],
  running: [{ text: "I will." }, { call: "free" }],
  pending: [{ text: "I will ask." }, { call: "gated", input: { id } }],
  committing: Array.from({ length: 40 }, () => ({ call: "quick" })),
};
const script = (prompt) => (prompt.at(-1).role === "user" ? steps[kind] : "Done.");
const free = { input_schema, execute: () => new Promise(() => {}) };
const quick = { input_schema, execute: () => "quick" };
const gated = with_approval({ input_schema, execute: () => "gated" });
const agent = new Agent({
  id: "workers", model: new ScriptedModel(script, { strict: true }), tools: { free, quick, gated }, storage: sqlite(file),
});
const session = await agent.sessions.get(id).catch(() => agent.sessions.create({ session_id: id }));
session.subscribe((mutation) => parentPort.postMessage(mutation.revision_of_session));
parentPort.postMessage("open");
for (const { interaction_id } of await session.interactions())
  await session.respond({ interaction_id, response: { type: "approval", outcome: "denied" } });
for (;;) {
  const turn = await session.prompt({ query: "Go" });
  await turn.finished;
}
`;

/** Only its workers load the addon, until they are all gone. */
const MAIN = `${COMMON}
const [, , worker, file, rounds, workers] = process.argv;
let state = 36;
const random = (limit) => {
  state = (state * 1664525 + 1013904223) >>> 0;
  return Math.floor((state / 4294967296) * limit);
};
const KINDS = ["streaming", "running", "pending", "committing"];
/** Ends the worker once it has said so much. */
async function round(id, kind) {
  const patience = random(kind === "pending" || kind === "running" ? 6 : 60);
  const thread = new Worker(worker, { workerData: { file, id, kind } });
  await new Promise((resolve, reject) => {
    let heard = 0;
    thread.on("error", reject);
    thread.on("message", () => {
      heard += 1;
      if (heard > patience) resolve();
    });
  });
  await thread.terminate();
}
for (let at = 0; at < Number(rounds); at += 1) {
  const ids = Array.from({ length: Number(workers) }, (_, index) => index);
  await Promise.all(ids.map((index) => round("s" + index, KINDS[(index + at) % KINDS.length])));
}
const { Agent, sqlite, with_approval } = require("@downcity/agent");
const { ScriptedModel, next_interaction } = require("@downcity/agent/testing");
const input_schema = { type: "object" };
const ran = [];
const gated = with_approval({ input_schema, execute: ({ id }) => ran.push(id) });
const agent = new Agent({ id: "workers", model: new ScriptedModel(() => "Fine."), tools: { gated }, storage: sqlite(file) });
const said = { sessions: 0, idle: 0, answered: 0, ran: 0, fine: 0 };
const { items } = await agent.sessions.list({ limit: 100 });
for (const { session_id } of items) {
  const session = await agent.sessions.get(session_id);
  said.sessions += 1;
  for (const { interaction_id } of await session.interactions()) {
    await session.respond({ interaction_id, response: { type: "approval", outcome: "resolved", payload: { decision: "approved" } } });
    said.answered += 1;
  }
  await session.active_turn()?.finished;
  if ((await session.status()).state === "idle" && (await session.interactions()).length === 0) said.idle += 1;
  const { text } = await (await session.prompt({ query: "And now?" })).finished;
  if (text === "Fine.") said.fine += 1;
}
said.ran = ran.length;
await agent.dispose();
process.stdout.write(JSON.stringify(said));
`;

test("workers that are ended at any moment leave a sound process, and Sessions that go on", {
  timeout: 600_000,
}, async () => {
  const folder = temporary_folder();
  const [worker, main] = [join(folder, "worker.mjs"), join(folder, "main.mjs")];
  writeFileSync(worker, WORKER);
  writeFileSync(main, MAIN);
  const args = [main, worker, join(folder, "sessions.db"), String(ROUNDS), String(WORKERS)];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text) => {
    output += text;
  });
  const ended = await new Promise((resolve) => {
    child.on("close", (code, signal) => resolve({ code, signal }));
  });
  expect(ended).toEqual({ code: 0, signal: null });
  const said = JSON.parse(output);
  expect(said).toMatchObject({ sessions: WORKERS, idle: WORKERS, fine: WORKERS });
  expect(said.ran).toBe(said.answered);
});
