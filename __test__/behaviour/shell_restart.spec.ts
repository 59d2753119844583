/** What becomes of commands when the Turn, the Session or the process ends. */
import { spawn } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { Agent, type Session, ShellTool, sqlite, type Workspace } from "@downcity/agent";
import { next_interaction, ScriptedModel } from "@downcity/agent/testing";
import { expect, onTestFinished, test } from "vitest";
import { approve, calls_of, deny, run, until } from "../support/session.js";
import { open_shell, output_of, processes_with, temporary_workspace } from "../support/shell.js";
import { temporary_folder } from "../support/stores.js";

const HERE = pathToFileURL(join(process.cwd(), "__test__", "behaviour", "program.mjs")).href;

/** An Agent in a process of its own, whose model makes one call; it says what becomes of the Tool Part. */
function host(folder: string, call: object, end: string) {
  const source = `
import { createRequire } from "node:module";
const { Agent, ShellTool, Workspace, sqlite } = createRequire(${JSON.stringify(HERE)})("@downcity/agent");
const { ScriptedModel } = createRequire(${JSON.stringify(HERE)})("@downcity/agent/testing");
const [, , store, path] = process.argv;
const model = new ScriptedModel([[{ call: "shell", input: ${JSON.stringify(call)} }], "Done."]);
const agent = new Agent({ id: "process", model, tools: { shell: new ShellTool() }, storage: sqlite(store) });
const session = await agent.sessions.create({ session_id: "s", workspace: new Workspace({ id: "w", path }) });
session.subscribe(({ part }) => {
  if (part?.type !== "tool") return;
  console.log(part.state + (part.output ? " " + part.output.stdout.trim() : ""));
  ${end}
});
await session.prompt({ query: "Go" });
`;
  const file = join(folder, "program.mjs");
  writeFileSync(file, source);
  const workspace = temporary_workspace();
  const store = join(folder, "sessions.db");
  const child = spawn(process.execPath, [file, store, workspace.path], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const said: string[] = [];
  const waiting: (() => void)[] = [];
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    said.push(...text.split("\n").filter(Boolean));
    for (const wake of waiting.splice(0)) wake();
  });
  const ended = new Promise((resolve) => child.on("close", resolve));
  return {
    workspace,
    async says(line: string) {
      while (!said.includes(line)) await new Promise<void>((resolve) => waiting.push(resolve));
    },
    async kill() {
      child.kill("SIGKILL");
      await ended;
    },
  };
}

/** The Session as the next process finds it, with the same tool. */
async function next_host(folder: string, workspace: Workspace, tools: object = { shell: new ShellTool() }) {
  const model = new ScriptedModel(["Done."]);
  const storage = sqlite(join(folder, "sessions.db"));
  const agent = new Agent({ id: "process", model, tools: tools as never, storage });
  onTestFinished(() => agent.dispose());
  return { model, session: await agent.sessions.get("s", { workspace }) };
}

async function gone(word: string): Promise<void> {
  while (processes_with(word).length > 0) await new Promise((resolve) => setTimeout(resolve, 10));
}

const CALL = { command: "echo ran >> ran", cwd: ".", reason: "To see.", unrestricted: true };

test("a question about a command survives the end of the process, and approved it runs there once", async () => {
  const folder = temporary_folder();
  const first = host(folder, CALL, "");
  await first.says("waiting-user");
  await first.kill();
  const { session } = await next_host(folder, first.workspace);
  const [asked] = await session.interactions();
  expect(asked).toMatchObject({
    source: { type: "shell", tool_name: "shell" },
    payload: { operation: "exec", command: CALL.command, cwd: first.workspace.path, reason: "To see." },
  });
  const turn = session.active_turn();
  await session.respond(approve(asked?.interaction_id ?? ""));
  expect((await turn?.finished)?.status).toBe("completed");
  expect(await calls_of(session)).toMatchObject([{ state: "completed", output: { exit_code: 0 } }]);
  expect(readFileSync(join(first.workspace.path, "ran"), "utf8")).toBe("ran\n");
});

test("denied in the next process, it is not run", async () => {
  const folder = temporary_folder();
  const first = host(folder, CALL, "");
  await first.says("waiting-user");
  await first.kill();
  const { session } = await next_host(folder, first.workspace);
  const turn = session.active_turn();
  await session.respond(deny((await next_interaction(session)).interaction_id, "No."));
  await turn?.finished;
  expect(await calls_of(session)).toMatchObject([{ state: "failed", error_code: "denied" }]);
  expect(existsSync(join(first.workspace.path, "ran"))).toBe(false);
});

test.each([
  ["confined", {}],
  ["unrestricted", { unrestricted: true }],
])(
  "a %s command ends with the process that runs it, and its call is failed, outcome unknown",
  async (_, more) => {
    const folder = temporary_folder();
    const word = `hosted-${crypto.randomUUID()}`;
    const tree = `i=0; while [ $i -lt 20 ]; do setsid sh -c 'sleep 1000; : ${word}' & i=$((i+1)); done; echo up; trap "" TERM; sleep 1000`;
    const answer = `const asked = part.interactions?.find(({ status }) => status === "pending");
    if (asked) session.respond({ interaction_id: asked.interaction_id,
      response: { type: "approval", outcome: "resolved", payload: { decision: "approved" } } });`;
    const first = host(folder, { command: tree, ...more }, answer);
    await first.says("running up");
    while (processes_with(word).length < 20) await new Promise((resolve) => setTimeout(resolve, 10));
    await first.kill();
    await gone(word);
    const { session, model } = await next_host(folder, first.workspace);
    expect(await calls_of(session)).toMatchObject([
      { state: "failed", error_code: "interrupted", error: expect.stringContaining("outcome is unknown") },
    ]);
    expect((await run(session, "And?")).status).toBe("completed");
    expect(JSON.stringify(model.prompts.at(-1))).toContain("outcome is unknown");
  },
);

const ENDS: { [name: string]: (session: Session, agent: Agent) => Promise<unknown> } = {
  stop: (session) => session.stop(),
  close: (session) => session.close(),
  detach: (session) => session.detach(),
  dispose: (_, agent) => agent.dispose(),
};

test.each(Object.entries(ENDS))("%s() leaves nothing running of a command", async (_, end) => {
  const word = `ended-${crypto.randomUUID()}`;
  const sleeper = `sh -c 'trap "" TERM; sleep 1000; : ${word}'`;
  const command = `i=0; while [ $i -lt 50 ]; do setsid ${sleeper} & i=$((i+1)); done; echo up; wait`;
  const { session, agent } = await open_shell([command], { observed: false });
  const turn = await session.prompt({ query: "Go" });
  await until(session, async () => output_of((await calls_of(session))[0])?.stdout === "up\n");
  await end(session, agent);
  await turn.finished;
  await gone(word);
});

test("an aborted prompt leaves nothing running", async () => {
  const word = `aborted-${crypto.randomUUID()}`;
  const { session } = await open_shell([`echo up; sleep 1000; : ${word}`]);
  const controller = new AbortController();
  const turn = await session.prompt({ query: "Go", signal: controller.signal });
  await until(session, async () => output_of((await calls_of(session))[0])?.stdout === "up\n");
  controller.abort();
  expect((await turn.finished).status).toBe("stopped");
  await gone(word);
});

test("a Session whose Shell is gone keeps the question, and an approval runs nothing", async () => {
  const folder = temporary_folder();
  const first = host(folder, CALL, "");
  await first.says("waiting-user");
  await first.kill();
  const { session } = await next_host(folder, first.workspace, {});
  const turn = session.active_turn();
  await session.respond(approve((await next_interaction(session)).interaction_id));
  await turn?.finished;
  expect(await calls_of(session)).toMatchObject([{ state: "failed", error_code: "cannot_go_on" }]);
  expect(existsSync(join(first.workspace.path, "ran"))).toBe(false);
});
