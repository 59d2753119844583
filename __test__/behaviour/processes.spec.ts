import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { Agent, sqlite, with_approval } from "@downcity/agent";
import { ScriptedModel, spied_runs, spy_tool } from "@downcity/agent/testing";
import { expect, onTestFinished, test } from "vitest";
import { approve, asking_tool, calls_of, parts_of, results_in, run } from "../support/session.js";
import { temporary_folder } from "../support/stores.js";

const HERE = pathToFileURL(join(process.cwd(), "__test__", "behaviour", "program.mjs")).href;

/** What every program has: an Agent whose model first calls a tool, and a Session that is listened to. */
const PROLOGUE = `
import { createRequire } from "node:module";
const require = createRequire(${JSON.stringify(HERE)});
const { Agent, memory, sqlite, with_approval } = require("@downcity/agent");
const { ScriptedModel, next_interaction, spy_tool, gate } = require("@downcity/agent/testing");
const folder = process.argv[2];
const asking = spy_tool({
  file: folder + "/entered",
  execute: async (input, context) => {
    const { approved } = await context.interactions.approval.request({ payload: { operation: "tool" } });
    return { approved };
  },
});
const quick = spy_tool({ file: folder + "/quick" });
const gated = with_approval(spy_tool({ file: folder + "/gated" }));
const unrefd = { input_schema: { type: "object" }, execute: () => new Promise((resolve) => {
  setTimeout(resolve, 200, "slept").unref();
}) };
const tools = { asking, quick, gated, unrefd };
async function open(script, storage = sqlite(folder + "/sessions.db")) {
  const agent = new Agent({ id: "process", model: new ScriptedModel(script), tools, storage });
  const session = await agent.sessions.create({ session_id: "s" });
  session.subscribe(() => {});
  return { agent, session };
}
const say = (text) => process.stdout.write(text + "\\n");
`;

interface Ended {
  code: number | null;
  signal: NodeJS.Signals | null;
  said: string[];
}

/** Runs a program in a process of its own; `on_line` is told what it says. */
function program(source: string, on_line: (line: string, kill: () => void) => void = () => {}) {
  const folder = temporary_folder();
  const file = join(folder, "program.mjs");
  writeFileSync(file, PROLOGUE + source);
  const child = spawn(process.execPath, [file, folder], { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const said: string[] = [];
  let rest = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      said.push(line);
      on_line(line, () => child.kill("SIGKILL"));
    }
  });
  const ended = new Promise<Ended>((resolve) => {
    child.on("close", (code, signal) => resolve({ code, signal, said }));
  });
  return { folder, ended };
}

/** The Session as the next process finds it. */
async function next_process(
  folder: string,
  script: ConstructorParameters<typeof ScriptedModel>[0] = ["Fine."],
) {
  const model = new ScriptedModel(script);
  const { tool: asking } = asking_tool();
  const gated = with_approval(spy_tool({ file: join(folder, "gated") }));
  const agent = new Agent({
    id: "process",
    model,
    tools: { asking, gated },
    storage: sqlite(join(folder, "sessions.db")),
  });
  onTestFinished(() => agent.dispose());
  return { agent, model, session: await agent.sessions.get("s") };
}

const GOOD: { [name: string]: [string, string[]] } = {
  "with a live subscription and nothing in flight": [
    "const { session } = await open([]); say(session.id);",
    ["s"],
  ],
  "after a Turn without close": [
    'const { session } = await open(["Hi."]); say((await (await session.prompt({ query: "x" })).finished).text);',
    ["Hi."],
  ],
  "after a Turn, close and dispose": [
    `const { agent, session } = await open(["Hi."]);
     await (await session.prompt({ query: "x" })).finished;
     await session.close(); await agent.dispose(); say("closed");`,
    ["closed"],
  ],
  "while mutations() and watch() wait for more": [
    `const { session } = await open([]);
     session.mutations().next(); await session.watch(() => {}); say("waiting");`,
    ["waiting"],
  ],
  "only when a tool that sleeps on an unreferenced timer is done": [
    `const { session } = await open([[{ call: "unrefd" }], "Done."]);
     session.prompt({ query: "x" }).then(({ finished }) => finished).then(({ text }) => say(text));`,
    ["Done."],
  ],
  "after a top-level await of a whole Turn that asked": [
    `const { session } = await open([[{ call: "asking" }], "Done."]);
     const turn = await session.prompt({ query: "x" });
     const { interaction_id } = await next_interaction(session);
     await session.respond({ interaction_id, response: { type: "approval", outcome: "denied" } });
     say((await turn.finished).text);`,
    ["Done."],
  ],
};

test.each(Object.keys(GOOD))("a program ends by itself, without a fault, %s", async (name) => {
  const [source, said] = GOOD[name] as [string, string[]];
  expect(await program(source).ended).toEqual({ code: 0, signal: null, said });
});

test("a pending approval keeps the process, and unref() lets it end with the item still there", async () => {
  const { folder, ended } = program(`
    const { agent, session } = await open([[{ call: "asking", input: { n: 1 } }], "Done."]);
    await session.prompt({ query: "x" });
    const { interaction_id } = await next_interaction(session);
    say(interaction_id);
    // Whatever keeps the process now is the Turn: the timer does not.
    setTimeout(() => { say("kept"); agent.unref(); }, 300).unref();
  `);
  const { code, said } = await ended;
  expect({ code, kept: said[1] }).toEqual({ code: 0, kept: "kept" });
  const agent = new Agent({ id: "process", storage: sqlite(join(folder, "sessions.db")) });
  onTestFinished(() => agent.dispose());
  expect((await agent.sessions.list()).items).toMatchObject([
    { session_id: "s", state: "running", pending: 1 },
  ]);
});

test("a process that exits in the middle leaves a call that was entered with its outcome unknown", async () => {
  const { folder, ended } = program(`
    const { session } = await open([[{ text: "I will ask." }, { call: "asking", input: { n: 1 } }, { call: "quick" }], "Done."]);
    session.subscribe(async (mutation) => {
      if (mutation.variant !== "part" || mutation.part.tool_name !== "quick") return;
      if (mutation.part.state !== "completed") return;
      say((await next_interaction(session)).interaction_id);
      process.exit(3);
    });
    await session.prompt({ query: "Go" });
    await new Promise(() => {});
  `);
  const { code, said } = await ended;
  expect(code).toBe(3);
  const [interaction_id = ""] = said;
  const { session, model } = await next_process(folder);
  const [asked, quick] = await calls_of(session);
  expect(asked).toMatchObject({
    state: "failed",
    error_code: "interrupted",
    error: expect.stringMatching(/unknown/i),
    interactions: [{ interaction_id, status: "cancelled", cancel_reason: "runtime_interrupted" }],
  });
  expect(quick).toMatchObject({ state: "completed", output: { ok: true } });
  expect(await session.interactions()).toEqual([]);
  expect(await session.status()).toMatchObject({ state: "idle" });
  const late = session.respond(approve(interaction_id));
  await expect(late).rejects.toMatchObject({ code: "INTERACTION_TERMINAL" });
  expect((await run(session, "And now?")).text).toBe("Fine.");
  expect(results_in(model.prompts[0])).toHaveLength(2);
  expect(JSON.stringify(results_in(model.prompts[0])[0])).toMatch(/unknown/i);
  expect(spied_runs(join(folder, "entered"))).toEqual([{ n: 1 }]);
});

test("a killed process keeps the text that had arrived, and the Session goes on", async () => {
  const { folder, ended } = program(
    `
    const held = gate();
    const { session } = await open([[{ text: ["Half ", "an ", "answer"] }, { hold: held }]]);
    let text = "";
    session.subscribe((mutation) => {
      if (mutation.variant === "delta") text += mutation.delta;
      if (text === "Half an answer") say("there");
    });
    await session.prompt({ query: "Go" });
    await new Promise((resolve) => setInterval(resolve, 1e6));
  `,
    (line, kill) => line === "there" && kill(),
  );
  expect((await ended).signal).toBe("SIGKILL");
  const { session, model } = await next_process(folder);
  expect(await parts_of(session)).toMatchObject([
    { type: "text", text: "Go" },
    { type: "text", text: "Half an answer", state: "done" },
    { type: "error", error_code: "runtime_interrupted" },
  ]);
  expect((await run(session)).text).toBe("Fine.");
  expect(model.prompts[0]?.map(({ role }) => role)).toEqual(["user", "assistant", "user"]);
});

test("50 answers that were acknowledged are acted on after a kill, and nothing runs twice", {
  timeout: 240_000,
}, async () => {
  const names = ["s", "s1", "s2", "s3", "s4"];
  for (let round = 0; round < 10; round += 1) {
    // The first of them may have come further than the last when the process dies.
    const { folder, ended } = program(`
      const steps = (prompt) => prompt.at(-1).role === "tool" ? "Done." : [{ call: "gated", input: { n: 1 } }];
      const { agent, session } = await open(steps);
      const sessions = [session];
      for (const session_id of ${JSON.stringify(names.slice(1))}) sessions.push(await agent.sessions.create({ session_id }));
      const answers = await Promise.all(sessions.map(async (session) => {
        await session.prompt({ query: "Go" });
        const { interaction_id } = await next_interaction(session);
        const payload = { decision: "approved" };
        return { interaction_id, response: { type: "approval", outcome: "resolved", payload } };
      }));
      await Promise.all(sessions.map((session, index) => session.respond(answers[index])));
      process.kill(process.pid, "SIGKILL");
    `);
    expect((await ended).signal).toBe("SIGKILL");
    const { agent } = await next_process(folder, () => "Fine.");
    let completed = 0;
    let unknown = 0;
    for (const name of names) {
      const session = await agent.sessions.get(name);
      await session.active_turn()?.finished;
      const [call] = await calls_of(session);
      expect(call?.interactions).toMatchObject([
        { status: "resolved", response: { payload: { decision: "approved" } } },
      ]);
      expect(await session.interactions()).toEqual([]);
      expect((await session.status()).state).toBe("idle");
      if (call?.state === "completed") completed += 1;
      else {
        expect(call).toMatchObject({ error_code: "interrupted", error: expect.stringMatching(/unknown/i) });
        unknown += 1;
      }
      expect((await run(session, "And now?")).text).toBe("Fine.");
    }
    const runs = spied_runs(join(folder, "gated")).length;
    expect(runs).toBeGreaterThanOrEqual(completed);
    expect(runs).toBeLessThanOrEqual(completed + unknown);
    await agent.dispose();
  }
});

test("prompts that waited when the process ended start the next Turn", async () => {
  const { folder, ended } = program(`
    const { session } = await open([[{ call: "asking" }], "Done."]);
    await session.prompt({ query: "First" });
    await next_interaction(session);
    await session.prompt({ query: "Second" });
    process.exit(0);
  `);
  expect((await ended).code).toBe(0);
  const { session } = await next_process(folder, ["To the second."]);
  const turn = session.active_turn();
  expect((await turn?.finished)?.text).toBe("To the second.");
  const texts = (await parts_of(session)).map((part) => ("text" in part ? part.text : part.type));
  expect(texts).toEqual(["First", "tool", "error", "Second", "To the second."]);
});

test("what is pending when a process ends can be seen by one that has no model", async () => {
  const { folder, ended } = program(`
    const { session } = await open([[{ call: "asking" }], "Done."]);
    await session.prompt({ query: "x" });
    say((await next_interaction(session)).interaction_id);
    process.exit(0);
  `);
  const { said } = await ended;
  const agent = new Agent({ id: "process", storage: sqlite(join(folder, "sessions.db")) });
  onTestFinished(() => agent.dispose());
  const { items } = await agent.interactions();
  expect(items).toMatchObject([{ interaction_id: said[0], session_id: "s", status: "pending" }]);
});
