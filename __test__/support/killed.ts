/** Programs that kill themselves at an instant of their own, and the Session as the next process has it. */
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { Agent, type Session, type SessionInteraction, sqlite } from "@downcity/agent";
import { ScriptedModel, spied_runs } from "@downcity/agent/testing";
import { expect, onTestFinished } from "vitest";
import type { Script, Tools } from "./session.js";

const HERE = pathToFileURL(join(process.cwd(), "__test__", "support", "program.mjs")).href;

/** What every program has. It kills itself where it says so, having told the rest what it saw. */
const PROLOGUE = `
import { appendFileSync, writeSync } from "node:fs";
import { createRequire } from "node:module";
const require = createRequire(${JSON.stringify(HERE)});
const { Agent, sqlite, with_approval } = require("@downcity/agent");
const { gate, next_interaction, ScriptedModel, spy_tool } = require("@downcity/agent/testing");
const { AskQuestionsTool } = require("@downcity/agent/tools");
const { z } = require("zod");
const folder = process.argv[2];
const ANY = { type: "object" };
const note = (file) => spy_tool({ file: folder + "/" + file });
const die = (facts = null) => {
  writeSync(1, JSON.stringify(facts));
  process.kill(process.pid, "SIGKILL");
};
async function begin(script, tools, options) {
  const model = new ScriptedModel(script, options);
  const agent = new Agent({ id: "killed", model, tools, storage: sqlite(folder + "/sessions.db") });
  const session = await agent.sessions.create({ session_id: "s" });
  return { model, session };
}
const calls_of = async (session) =>
  (await session.messages()).items.flatMap(({ parts }) => parts).filter(({ type }) => type === "tool");
/** Looks now and after each Mutation. */
const until = (session, holds) => new Promise((resolve) => {
  const look = async () => (await holds()) && resolve();
  session.subscribe(look);
  void look();
});
const pending = async (session, count) => {
  await until(session, async () => (await session.interactions()).length >= count);
  return session.interactions();
};
const completed = (session, count) => until(session, async () =>
  (await calls_of(session)).filter(({ state }) => state === "completed").length >= count);
const approve = ({ interaction_id }) =>
  ({ interaction_id, response: { type: "approval", outcome: "resolved", payload: { decision: "approved" } } });
const QUESTION = { questions: [{ question: "Why?", type: "text" }] };
const of_call = (items, id) => items.find(({ source }) => source.tool_call_id === id);
`;

/** Runs a program until it has killed itself; gives back what it told. */
export async function killed<Facts = SessionInteraction[]>(folder: string, source: string): Promise<Facts> {
  const file = join(folder, "program.mjs");
  writeFileSync(file, PROLOGUE + source);
  const child = spawn(process.execPath, [file, folder], { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  let told = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    told += text;
  });
  const ended = await new Promise((resolve) => child.on("close", (code, signal) => resolve(signal ?? code)));
  expect(ended).toBe("SIGKILL");
  return JSON.parse(told) as Facts;
}

/** The Session as the next process has it. */
export async function next(folder: string, script: Script, tools: Tools, specification?: "v2" | "v3" | "v4") {
  const model = new ScriptedModel(script, { specification });
  const agent = new Agent({ id: "killed", model, tools, storage: sqlite(join(folder, "sessions.db")) });
  onTestFinished(() => agent.dispose());
  const session = await agent.sessions.get("s");
  return { agent, model, session };
}

/** The Turn that goes on has ended, if there is one, and nothing is left of it. */
export async function goes_on(session: Session) {
  const result = await session.active_turn()?.finished;
  expect(await session.interactions()).toEqual([]);
  expect((await session.status()).state).toBe("idle");
  return result;
}

export const runs_in = (folder: string, name: string) => spied_runs(join(folder, name));
