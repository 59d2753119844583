import { mkdirSync, readdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type ShellOptions, ShellTool, with_approval } from "@downcity/agent";
import { next_interaction } from "@downcity/agent/testing";
import { expect, onTestFinished, test } from "vitest";
import {
  answer_next,
  approve,
  calls_of,
  deny,
  parts_of,
  refusal_of,
  results_in,
  run,
  until,
} from "../support/session.js";
import {
  open_shell,
  output_of,
  processes_with,
  run_commands,
  temporary_workspace,
} from "../support/shell.js";
import { on_each_store } from "../support/stores.js";

on_each_store("The Shell", (store) => {
  test("a confined command runs without asking and gives its output", async () => {
    const { session, model, workspace } = await open_shell(
      [{ command: "pwd; echo oops >&2; echo text > file; exit 3", cwd: "sub" }],
      { store, workspace: with_folder("sub") },
    );
    expect(await run(session)).toMatchObject({ status: "completed", text: "Done." });
    const [part] = await calls_of(session);
    const result = {
      exit_code: 3,
      stdout: `${join(workspace.path, "sub")}\n`,
      stderr: "oops\n",
      timed_out: false,
      truncated: false,
    };
    expect(part).toMatchObject({ state: "completed", output: result });
    expect(part?.interactions).toBeUndefined();
    expect(results_in(model.prompts.at(-1))).toMatchObject([{ output: { type: "json", value: result } }]);
    expect(readFileSync(join(workspace.path, "sub", "file"), "utf8")).toBe("text\n");
  });

  test("an unrestricted command asks, with command, folder and reason apart, and runs exactly as approved", async () => {
    // A right-to-left override and a zero-width space: part of the command, and to be seen by whoever is asked.
    const command = "printf '%s' 'a\u202eb\u200bc'; touch \"$OUTSIDE\"";
    const outside = join(temporary_workspace().path, "outside");
    const tool = new ShellTool({ env: { OUTSIDE: outside } });
    const { session, workspace } = await open_shell(
      [{ command, cwd: "sub", unrestricted: true, reason: "It has to be outside." }],
      { store, tool, workspace: with_folder("sub") },
    );
    const turn = await session.prompt({ query: "Go" });
    const asked = await next_interaction(session);
    expect(asked).toMatchObject({
      type: "approval",
      source: { type: "shell", tool_name: "shell" },
      payload: {
        operation: "exec",
        command,
        cwd: join(workspace.path, "sub"),
        reason: "It has to be outside.",
        sandbox: "left",
        validated_input: { command, cwd: "sub", unrestricted: true, reason: "It has to be outside." },
        tool_description: tool.description,
      },
    });
    expect(asked.title).toBeUndefined();
    await session.respond(approve(asked.interaction_id));
    await turn.finished;
    const [part] = await calls_of(session);
    expect(part).toMatchObject({ state: "completed", output: { exit_code: 0, stdout: "a\u202eb\u200bc" } });
    expect(readFileSync(outside, "utf8")).toBe("");
  });

  test("a denied command is not run, and the model is told why", async () => {
    const { session, model } = await open_shell([{ command: "touch ran", unrestricted: true }, "ls"], {
      store,
    });
    const turn = await session.prompt({ query: "Go" });
    await answer_next(session, (id) => deny(id, "Not today."));
    await turn.finished;
    const [denied, listed] = await calls_of(session);
    expect(denied).toMatchObject({ state: "failed", error_code: "denied" });
    expect(JSON.stringify(results_in(model.prompts.at(-1)))).toContain("Not today.");
    expect(output_of(listed).stdout).toBe("");
  });

  test("without a sandbox every command asks, and says why there is none", async () => {
    const tool = new ShellTool({ sandbox: false });
    const { session } = await open_shell(["echo one", "echo two"], { store, tool });
    const turn = await session.prompt({ query: "Go" });
    for (const text of ["one", "two"]) {
      const asked = await next_interaction(session);
      expect(asked.payload).toMatchObject({
        command: `echo ${text}`,
        sandbox: "unavailable",
        sandbox_problem: "the host has switched it off",
      });
      await session.respond(approve(asked.interaction_id));
    }
    await turn.finished;
    expect((await calls_of(session)).map((part) => output_of(part).stdout)).toEqual(["one\n", "two\n"]);
  });

  test("under always-allow nothing asks, and an action says what ran without a sandbox", async () => {
    const tool = new ShellTool({ sandbox: false });
    const { session } = await open_shell(["echo free", { command: "echo left", unrestricted: true }], {
      store,
      tool,
      session: { security: { approval_mode: "always-allow" } },
    });
    await run(session);
    expect((await calls_of(session)).map((part) => output_of(part).stdout)).toEqual(["free\n", "left\n"]);
    const actions = (await parts_of(session)).filter((part) => part.type === "action");
    expect(actions).toMatchObject([
      {
        title: "Ran without a sandbox",
        description: "exec under always-allow: echo free",
        state: "completed",
      },
    ]);
  });

  test("always-allow leaves the sandbox as it is", async () => {
    const [inside, outside] = await run_commands(
      ["touch /usr/x", { command: "test -w /usr", unrestricted: true }],
      {
        store,
        session: { security: { approval_mode: "always-allow" } },
      },
    );
    expect(output_of(inside)).toMatchObject({ exit_code: 1, stderr: expect.stringContaining("Read-only") });
    expect(output_of(outside)).toMatchObject({ exit_code: (await is_root()) ? 0 : 1 });
  });

  test("a gate of the host's own asks about a confined command as the Shell would", async () => {
    const tool = with_approval(new ShellTool(), { when: () => true });
    const { session } = await open_shell(["touch /usr/x; echo $?"], { store, tool });
    const turn = await session.prompt({ query: "Go" });
    const asked = await next_interaction(session);
    expect(asked).toMatchObject({
      source: { type: "shell" },
      payload: { operation: "exec", sandbox: "confined" },
    });
    await session.respond(approve(asked.interaction_id));
    await turn.finished;
    expect(output_of((await calls_of(session))[0]).stdout).toBe("1\n");
  });

  test("output is shown as it comes, and bounded", async () => {
    const tool = new ShellTool({ max_output: 100 });
    const { session, observer, workspace } = await open_shell(
      ["echo first; until test -e go; do sleep 0.02; done; seq 1 1000; printf '\\377\\033[1m'"],
      { store, tool },
    );
    const turn = await session.prompt({ query: "Go" });
    await until(session, async () => {
      const [part] = await calls_of(session);
      return part?.preliminary === true && output_of(part).stdout === "first\n";
    });
    writeFileSync(join(workspace.path, "go"), "");
    await turn.finished;
    const [part] = await calls_of(session);
    expect(part?.preliminary).toBeUndefined();
    const { stdout, truncated } = output_of(part);
    expect(truncated).toBe(true);
    expect(stdout).toMatch(/^first\n1\n2\n.*\n\[\.\.\. 380\d bytes left out \.\.\.\]\n.*999\n1000\n/s);
    // A byte that is no text, and a control sequence as the text it is.
    expect(stdout.endsWith("1000\n\ufffd\u001b[1m")).toBe(true);
    expect(observer.mutations.length).toBeGreaterThan(0);
  });

  test("a stop ends a running command at once, and the call is failed", async () => {
    const word = `stopped-${crypto.randomUUID()}`;
    const { session } = await open_shell([`echo begun; sleep 1000; : ${word}`], { store });
    const turn = await session.prompt({ query: "Go" });
    await until(session, async () => output_of((await calls_of(session))[0])?.stdout === "begun\n");
    expect(processes_with(word)).not.toEqual([]);
    await session.stop();
    expect((await turn.finished).status).toBe("stopped");
    expect(await calls_of(session)).toMatchObject([{ state: "failed", error_code: "stopped" }]);
    await gone(word);
  });
});

test("a command that takes too long is ended and says so", async () => {
  const tool = new ShellTool({ timeout: 300 });
  const [part] = await run_commands(["echo begun; sleep 1000"], { tool });
  expect(part).toMatchObject({
    state: "completed",
    output: { exit_code: null, signal: "SIGTERM", stdout: "begun\n", timed_out: true },
  });
});

test("nothing of this process's environment is passed on but what was allowed", async () => {
  process.env.SHELL_TEST_SECRET = "secret";
  process.env.SHELL_TEST_ALLOWED = "allowed";
  onTestFinished(() => {
    delete process.env.SHELL_TEST_SECRET;
    delete process.env.SHELL_TEST_ALLOWED;
  });
  const tool = new ShellTool({ env: { SHELL_TEST_ALLOWED: true, SHELL_TEST_SET: "set" } });
  const commands = ["env", { command: "env; cat /proc/$PPID/environ", unrestricted: true }];
  const parts = await run_commands(commands, {
    tool,
    session: { security: { approval_mode: "always-allow" } },
  });
  for (const part of parts) {
    const { stdout } = output_of(part);
    expect(stdout).toContain("SHELL_TEST_ALLOWED=allowed\n");
    expect(stdout).toContain("SHELL_TEST_SET=set\n");
    expect(stdout).not.toContain("secret");
    const names = stdout
      .split("\n")
      .filter(Boolean)
      .map((line) => line.split("=")[0] ?? "");
    const known = ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TERM"];
    const allowed = [
      ...known,
      "TMPDIR",
      "PWD",
      "OLDPWD",
      "SHLVL",
      "_",
      "SHELL_TEST_ALLOWED",
      "SHELL_TEST_SET",
    ];
    expect(names.filter((name) => !allowed.includes(name))).toEqual([]);
  }
});

test("standard input is empty", async () => {
  const [part] = await run_commands(["cat; echo end"]);
  expect(output_of(part).stdout).toBe("end\n");
});

test.each([
  ["above the Workspace", { cwd: ".." }, "a folder of the Workspace"],
  ["at an absolute path", { cwd: "/etc" }, "a folder of the Workspace"],
  ["by a link in the Workspace", { cwd: "link" }, '"link" is a symbolic link'],
  ["in a folder behind a link", { cwd: "link/ssl" }, '"link" is a symbolic link'],
  ["that is a file", { cwd: "file" }, '"file" is no folder'],
  ["that is not there", { cwd: "nowhere" }, '"nowhere" does not exist'],
])("a cwd %s is refused before anybody is asked", async (_, more, told) => {
  const workspace = temporary_workspace();
  symlinkSync("/etc", join(workspace.path, "link"));
  writeFileSync(join(workspace.path, "file"), "");
  const [part] = await run_commands([{ command: "touch ran", unrestricted: true, ...more }], { workspace });
  expect(part).toMatchObject({ state: "failed", error: expect.stringContaining(told) });
  expect(part?.interactions).toBeUndefined();
});

test("a cwd that becomes a link while a person thinks is not followed", async () => {
  const workspace = with_folder("sub");
  const elsewhere = temporary_workspace();
  const call = { command: "touch ran", cwd: "sub", unrestricted: true };
  const { session } = await open_shell([call, "mv sub away"], { workspace });
  const turn = await session.prompt({ query: "Go" });
  const asked = await next_interaction(session);
  renameSync(join(workspace.path, "sub"), join(workspace.path, "before"));
  symlinkSync(elsewhere.path, join(workspace.path, "sub"));
  await session.respond(approve(asked.interaction_id));
  await turn.finished;
  expect((await calls_of(session))[0]).toMatchObject({
    state: "failed",
    error: expect.stringContaining("Nothing was run"),
  });
  expect(readdirSync(elsewhere.path)).toEqual([]);
});

test.each([
  ["no command", {}],
  ["an empty command", { command: "" }],
  ["an option nobody knows", { command: "ls", shell: "zsh" }],
  ["a zero character", { command: "ls\0" }],
])("%s is refused in words for the model", async (_, input) => {
  const [part] = await run_commands([input]);
  expect(part).toMatchObject({ state: "failed", error: expect.any(String) });
});

test("a Session without a Workspace runs nothing", async () => {
  const { session } = await open_shell(["echo ran"], { session: { workspace: undefined } });
  await run(session);
  expect(await calls_of(session)).toMatchObject([
    { state: "failed", error: expect.stringContaining("no Workspace") },
  ]);
});

test.each([
  [{ sandbox: "yes" }],
  [{ timeout: 0 }],
  [{ timeout: 2 ** 40 }],
  [{ max_output: 1.5 }],
  [{ env: ["PATH"] }],
  [{ env: { "A=B": "c" } }],
  [{ env: { A: 1 } }],
  [{ shell: "zsh" }],
])("the options %j are refused", async (options) => {
  const refusal = await refusal_of(() => new ShellTool(options as unknown as ShellOptions));
  expect(refusal.code).toBe("INVALID_INPUT");
});

function with_folder(name: string) {
  const workspace = temporary_workspace();
  mkdirSync(join(workspace.path, name));
  return workspace;
}

async function is_root(): Promise<boolean> {
  return process.getuid?.() === 0;
}

/** Waits until no process carries the word; the runner's limit is the only clock. */
async function gone(word: string): Promise<void> {
  while (processes_with(word).length > 0) await new Promise((resolve) => setTimeout(resolve, 10));
}
