import { ShellSession, type ShellSessionTools } from "@downcity/agent";
import { next_interaction } from "@downcity/agent/testing";
import { expect, test } from "vitest";
import {
  approve,
  calls_of,
  deny,
  type OpenOptions,
  open,
  refusal_of,
  results_in,
  run,
} from "../support/session.js";
import { processes_with, temporary_workspace } from "../support/shell.js";
import { on_each_store, type Store, sqlite_store } from "../support/stores.js";

type Input = { [field: string]: unknown };
type Step = [tool: keyof ShellSessionTools, input: Input];

interface Options extends OpenOptions {
  shell?: ShellSession;
  store?: Store;
}

/** A model that makes these calls; `PROCESS` in an input stands for what `shell_start` gave last. */
async function open_processes(
  steps: Step[],
  { shell = new ShellSession(), store = sqlite_store, ...rest }: Options = {},
) {
  const workspace = temporary_workspace();
  let process_id = "none";
  const opened = await open(
    store,
    (prompt, step) => {
      for (const { output } of results_in(prompt)) {
        const value = output.value as { process_id?: string } | undefined;
        process_id = value?.process_id ?? process_id;
      }
      const next = steps[step];
      if (next === undefined) return "Done.";
      const [tool, input] = next;
      const given = input.process_id === "PROCESS" ? { ...input, process_id } : input;
      return [{ call: tool, input: given }];
    },
    { tools: { ...shell.tools }, session: { workspace, ...rest.session }, ...without_session(rest) },
  );
  return { ...opened, workspace };
}

function without_session({ session: _, ...rest }: OpenOptions): OpenOptions {
  return rest;
}

const outputs = async (session: Parameters<typeof calls_of>[0]) =>
  (await calls_of(session)).map(({ output }) => output);

async function gone(word: string): Promise<void> {
  while (processes_with(word).length > 0) await new Promise((resolve) => setTimeout(resolve, 10));
}

const ECHO = 'while read line; do echo "got $line"; done; echo over; exit 4';
const PROCESS = { process_id: "PROCESS" };

on_each_store("Processes of the Shell", (store) => {
  test("a confined process is started, written to, read and ends, without asking", async () => {
    const { session } = await open_processes(
      [
        ["shell_start", { command: ECHO }],
        ["shell_write", { ...PROCESS, input: "one\n" }],
        ["shell_read", { ...PROCESS, wait_ms: 60_000 }],
        ["shell_read", PROCESS],
        ["shell_write", { ...PROCESS, input: "two\n", close: true }],
        ["shell_stop", PROCESS],
        ["shell_read", PROCESS],
      ],
      { store },
    );
    await run(session);
    const [start, write, read, again, close, stop] = await outputs(session);
    expect(start).toEqual({ process_id: expect.stringMatching(/^process-/) });
    expect([write, close]).toEqual([{ written: true }, { written: true }]);
    expect(read).toEqual({ running: true, stdout: "got one\n", stderr: "", truncated: false });
    expect(again).toEqual({ running: true, stdout: "", stderr: "", truncated: false });
    expect(stop).toMatchObject({ running: false });
    expect((await calls_of(session)).at(-1)).toMatchObject({
      state: "failed",
      error: expect.stringContaining("no such process"),
    });
    expect((await calls_of(session)).flatMap(({ interactions = [] }) => interactions)).toEqual([]);
  });

  test("outside of the sandbox, start and each write are asked about, and exactly that is written", async () => {
    const command = 'read line; echo "got $line"';
    const { session, workspace } = await open_processes(
      [
        ["shell_start", { command, unrestricted: true, reason: "It serves." }],
        ["shell_write", { ...PROCESS, input: "secret\n", reason: "It asked." }],
        ["shell_write", { ...PROCESS, input: "plain\n" }],
        ["shell_read", { ...PROCESS, wait_ms: 60_000 }],
      ],
      { store },
    );
    const turn = await session.prompt({ query: "Go" });
    const started = await next_interaction(session);
    expect(started).toMatchObject({
      source: { type: "shell", tool_name: "shell_start" },
      payload: { operation: "start", command, cwd: workspace.path, reason: "It serves.", sandbox: "left" },
    });
    await session.respond(approve(started.interaction_id));
    const first = await next_interaction(session);
    expect(first).toMatchObject({
      source: { type: "shell", tool_name: "shell_write" },
      payload: { operation: "write", input: "secret\n", command, cwd: workspace.path, reason: "It asked." },
    });
    await session.respond(deny(first.interaction_id));
    await session.respond(approve((await next_interaction(session)).interaction_id));
    await turn.finished;
    expect((await outputs(session)).at(-1)).toMatchObject({ stdout: "got plain\n" });
  });
});

test("the end of a process is read once, with its exit code", async () => {
  const { session } = await open_processes([
    ["shell_start", { command: "echo out; echo err >&2; exit 4" }],
    ["shell_read", { ...PROCESS, wait_ms: 60_000 }],
    ["shell_read", { ...PROCESS, wait_ms: 60_000 }],
    ["shell_read", { ...PROCESS, wait_ms: 60_000 }],
    ["shell_read", { ...PROCESS, wait_ms: 60_000 }],
  ]);
  await run(session);
  const read = (await outputs(session)).slice(1).filter((output) => output !== undefined) as {
    running: boolean;
    stdout: string;
    stderr: string;
  }[];
  expect(read.map(({ stdout }) => stdout).join("")).toBe("out\n");
  expect(read.map(({ stderr }) => stderr).join("")).toBe("err\n");
  expect(read.at(-1)).toMatchObject({ running: false, exit_code: 4 });
  expect(read.filter(({ running }) => !running)).toHaveLength(1);
});

test("a process goes on from Turn to Turn and ends with the Session", async () => {
  const word = `going-${crypto.randomUUID()}`;
  const command = `echo up; setsid sh -c 'sleep 1000; : ${word}' & wait`;
  const { session } = await open_processes([
    ["shell_start", { command }],
    ["shell_read", { ...PROCESS, wait_ms: 60_000 }],
  ]);
  await run(session);
  while (processes_with(word).length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
  expect((await run(session, "And?")).status).toBe("completed");
  expect(processes_with(word)).not.toEqual([]);
  await session.close();
  await gone(word);
});

test("stopping a Turn ends the Session's processes, and those of other Sessions go on", async () => {
  const shell = new ShellSession();
  const [ours, theirs] = [`ours-${crypto.randomUUID()}`, `theirs-${crypto.randomUUID()}`];
  const start = (word: string): Step => ["shell_start", { command: `trap '' TERM; sleep 1000; : ${word}` }];
  const other = await open_processes([start(theirs)], { shell });
  await run(other.session);
  const { session } = await open_processes([start(ours), ["shell_read", { ...PROCESS, wait_ms: 60_000 }]], {
    shell,
  });
  const turn = await session.prompt({ query: "Go" });
  while (processes_with(ours).length === 0 || processes_with(theirs).length === 0) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  await session.stop();
  await turn.finished;
  await gone(ours);
  expect(processes_with(theirs)).not.toEqual([]);
});

test("a process of another Session is not found", async () => {
  const shell = new ShellSession();
  const first = await open_processes([["shell_start", { command: "sleep 1000" }]], { shell });
  await run(first.session);
  const [started] = (await outputs(first.session)) as [{ process_id: string }];
  const second = await open_processes([["shell_stop", { process_id: started.process_id }]], { shell });
  await run(second.session);
  expect(await calls_of(second.session)).toMatchObject([{ state: "failed" }]);
});

test("a process that cannot be started says so", async () => {
  const { session } = await open_processes([["shell_start", { command: "ls", cwd: "nowhere" }]]);
  await run(session);
  expect(await calls_of(session)).toMatchObject([
    { state: "failed", error: expect.stringContaining("nowhere") },
  ]);
});

test("a timeout is refused: a process ends when it is stopped", async () => {
  const options = { timeout: 5 } as object;
  expect((await refusal_of(() => new ShellSession(options))).code).toBe("INVALID_INPUT");
});
