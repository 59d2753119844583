/** Ways out of the sandbox. Each is tried inside, where it has to fail, and most outside, to see that they are ways. */
import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { ShellTool, sqlite, Workspace } from "@downcity/agent";
import { next_interaction } from "@downcity/agent/testing";
import { expect, onTestFinished, test } from "vitest";
import { approve, calls_of, run } from "../support/session.js";
import { open_shell, output_of, run_commands } from "../support/shell.js";
import { sqlite_store } from "../support/stores.js";

interface Attempt {
  command: string;
  /** Whether it succeeds outside: some would do harm, or depend on the machine. */
  outside?: false;
}

const node = (source: string) => `node -e '${source}'`;
const connect = (where: string) =>
  node(
    `require("net").connect(${where}).on("connect", () => { console.log("ESCAPED"); process.exit() }).on("error", (error) => { console.log(error.code) })`,
  );

const ATTEMPTS: { [name: string]: Attempt } = {
  "writing to a file outside": { command: "echo x >> $OUT/file && echo ESCAPED" },
  "making a file outside": { command: "touch $OUT/new && echo ESCAPED" },
  "removing a file outside": { command: "rm -f $OUT/spare && echo ESCAPED" },
  "changing the mode of a file outside": { command: "chmod 600 $OUT/file && echo ESCAPED" },
  "moving a file out": { command: "touch own && mv own $OUT/moved && echo ESCAPED" },
  "writing through a symbolic link": { command: "ln -s $OUT/file link && echo x >> link && echo ESCAPED" },
  "writing through a link to a folder": { command: "ln -s $OUT way && touch way/linked && echo ESCAPED" },
  "a hard link to a file outside": { command: "ln $OUT/file hard && echo x >> hard && echo ESCAPED" },
  "/proc/self/root": { command: "echo x >> /proc/self/root$OUT/file && echo ESCAPED" },
  "the root of the first process": { command: "ls /proc/1/root/ && echo ESCAPED", outside: false },
  "the working folder of the first process": { command: "cd /proc/1/cwd && echo ESCAPED", outside: false },
  "a descriptor of the first process": { command: "ls -l /proc/1/fd/ && echo ESCAPED", outside: false },
  "going up from the working folder": { command: "cd .. && touch outside/up && echo ESCAPED" },
  "a pipe that somebody outside reads": {
    command: node('require("fs").openSync(process.env.OUT + "/fifo", "r+"); console.log("ESCAPED")'),
  },
  "signalling the host": { command: "kill -0 $HOST && echo ESCAPED" },
  "reading the host's environment": { command: "cat /proc/$HOST/environ && echo ESCAPED" },
  "seeing processes of the host": { command: "ls -d /proc/$HOST && echo ESCAPED" },
  "the network, by loopback": { command: connect('+process.env.PORT, "127.0.0.1"') },
  "an abstract socket": { command: connect('"\\0" + process.env.ABSTRACT') },
  "a socket in the Workspace": { command: connect('"sock"') },
  "the list of the Session stores": {
    command: 'ls -A .downcity && [ -n "$(ls -A .downcity)" ] && echo ESCAPED',
  },
  "reading the Session database": { command: "grep -q SQLite $DB && echo ESCAPED" },
  "reading it through a link": { command: "ln -s $DB db && grep -q SQLite db && echo ESCAPED" },
  "reading it through /proc": { command: "grep -q SQLite /proc/self/root$DB && echo ESCAPED" },
  "writing the Session database": { command: "printf x >> $DB && echo ESCAPED", outside: false },
  "putting a journal beside it": { command: "touch $DB-journal && echo ESCAPED", outside: false },
  "moving the stores away": { command: "mv .downcity away && echo ESCAPED", outside: false },
  "removing the stores": { command: "rm -rf .downcity; [ ! -e .downcity ] && echo ESCAPED", outside: false },
  "unmounting what hides them": { command: "umount .downcity && echo ESCAPED", outside: false },
  "namespaces of its own": { command: "unshare -Ur sh -c 'umount .downcity; echo ESCAPED'", outside: false },
  "settings of the kernel": {
    command:
      "cat /proc/sys/kernel/core_pattern > own; cat own > /proc/sys/kernel/core_pattern && echo ESCAPED",
    outside: false,
  },
  "the devices of the machine": {
    command: "ls /dev | grep -E '^(mem|kmsg|[svx]d[a-z])' && echo ESCAPED",
    outside: false,
  },
};

interface Scene {
  workspace: Workspace;
  outside: string;
  tool: ShellTool;
}

/** Beside the Workspace, and not in the temporary folder, of which the sandbox has one of its own. */
async function scene(): Promise<Scene> {
  const base = realpathSync(mkdtempSync("/var/tmp/downcity-test-"));
  onTestFinished(() => rmSync(base, { recursive: true, force: true }));
  const [path, outside] = [join(base, "workspace"), join(base, "outside")];
  mkdirSync(path);
  mkdirSync(outside);
  for (const name of ["file", "spare"]) writeFileSync(join(outside, name), "untouched");
  execFileSync("mkfifo", [join(outside, "fifo")]);
  const abstract = `downcity-${crypto.randomUUID()}`;
  const port = await listening({ port: 0, host: "127.0.0.1" });
  await listening({ path: `\0${abstract}` });
  await listening({ path: join(path, "sock") });
  const env = {
    OUT: outside,
    HOST: String(process.pid),
    PORT: String(port),
    ABSTRACT: abstract,
    DB: join(path, ".downcity", "agents", "behaviour", "sessions.db"),
  };
  const workspace = new Workspace({ id: "workspace", path });
  return { workspace, outside, tool: new ShellTool({ env }) };
}

async function listening(where: object): Promise<number> {
  const server = createServer((socket) => socket.destroy());
  await new Promise<void>((resolve) => server.listen(where, resolve));
  onTestFinished(() => void server.close());
  return (server.address() as { port?: number }).port ?? 0;
}

const always_allow = { security: { approval_mode: "always-allow" as const } };

/** In the default store of the Workspace, which is the one that has to be kept out of sight. */
async function attempt({ workspace, tool }: Scene, command: string, unrestricted: boolean) {
  const call = unrestricted ? { command, unrestricted } : command;
  const options = { storage: undefined, session: { workspace, ...always_allow } };
  const [part] = await run_commands([call], { tool, workspace, ...options });
  expect(part?.state, part?.error).toBe("completed");
  return output_of(part);
}

test.each(Object.entries(ATTEMPTS))("%s leads nowhere", async (_, { command }) => {
  const place = await scene();
  const { stdout, stderr } = await attempt(place, command, false);
  expect(stdout, stderr).not.toContain("ESCAPED");
  expect(readFileSync(join(place.outside, "file"), "utf8")).toBe("untouched");
  expect(existsSync(join(place.outside, "spare"))).toBe(true);
  for (const name of ["new", "moved", "linked", "up"])
    expect(existsSync(join(place.outside, name))).toBe(false);
});

const REAL_WAYS = Object.entries(ATTEMPTS).filter(([, { outside }]) => outside === undefined);

test.each(REAL_WAYS)("%s is a way for a command that may leave the sandbox", async (_, { command }) => {
  expect((await attempt(await scene(), command, true)).stdout).toContain("ESCAPED");
});

test("a confined command reads the system, and writes in the Workspace and a /tmp of its own", async () => {
  const place = await scene();
  const command =
    "cat $OUT/file && echo x > own && mkdir -p a/b && mv own a/b/own && ln a/b/own hard && echo y > /tmp/mine && " +
    "ls /tmp && echo z > /dev/null && cat /etc/passwd > /dev/shm/copy && id -u && echo ok";
  const { stdout, stderr } = await attempt(place, command, false);
  expect(stderr).toBe("");
  expect(stdout).toBe(`untouchedmine\n${process.getuid?.()}\nok\n`);
  expect(readFileSync(join(place.workspace.path, "hard"), "utf8")).toBe("x\n");
  expect(existsSync("/tmp/mine")).toBe(false);
});

test("a server and its client in one confined command find each other", async () => {
  const place = await scene();
  const source = `const server = require("net").createServer((socket) => socket.end("hello"));
    server.listen(0, "127.0.0.1", () => require("net").connect(server.address().port, "127.0.0.1")
      .on("data", (data) => { console.log(String(data)); server.close(); }));`;
  expect((await attempt(place, node(source), false)).stdout).toBe("hello\n");
});

test("a store in a folder of the Workspace is out of sight with its folder", async () => {
  const { workspace, tool } = await scene();
  const folder = join(workspace.path, "data");
  mkdirSync(folder);
  const storage = sqlite(join(folder, "sessions.db"));
  const command =
    "ls data; touch data/sessions.db-journal && echo ESCAPED; cat data/sessions.db && echo ESCAPED";
  const { session } = await open_shell([command], { workspace, tool, storage, session: { workspace } });
  await run(session);
  expect(output_of((await calls_of(session))[0]).stdout).toBe("");
});

test("a store that lies in the Workspace itself cannot be hidden, so every command asks", async () => {
  const { workspace, tool } = await scene();
  const storage = sqlite(join(workspace.path, "sessions.db"));
  const { session } = await open_shell(["echo ran"], { workspace, tool, storage, session: { workspace } });
  const turn = await session.prompt({ query: "Go" });
  const asked = await next_interaction(session);
  expect(asked.payload).toMatchObject({
    sandbox: "unavailable",
    sandbox_problem: expect.stringContaining("sessions.db"),
  });
  await session.respond(approve(asked.interaction_id));
  expect((await turn.finished).status).toBe("completed");
});

test("where the sandbox is lost after it was found, nothing runs outside of it", async () => {
  const { workspace, tool } = await scene();
  // The same store, so that all is as it was when the sandbox was tried.
  const options = { workspace, tool, session: { workspace }, place: sqlite_store.place() };
  expect(output_of((await run_commands(["echo found"], options))[0]).stdout).toBe("found\n");
  // A link has taken the place of what has to be hidden.
  const own = join(workspace.path, ".downcity");
  renameSync(own, `${own}-moved`);
  symlinkSync(`${own}-moved`, own);
  const [part] = await run_commands(["touch ran"], options);
  expect(part).toMatchObject({ state: "failed", error: expect.stringContaining("Nothing was run") });
  expect(existsSync(join(workspace.path, "ran"))).toBe(false);
});

test("where the kernel gives this user no namespaces, every command asks and then runs without", async () => {
  const { workspace } = await scene();
  const source = `
    import { createRequire } from "node:module";
    const require = createRequire(${JSON.stringify(join(process.cwd(), "package.json"))});
    const { Agent, memory, ShellTool, Workspace } = require("@downcity/agent");
    const { next_interaction, ScriptedModel } = require("@downcity/agent/testing");
    const model = new ScriptedModel([[{ call: "shell", input: { command: "echo ran" } }], "Done."]);
    const agent = new Agent({ id: "a", model, tools: { shell: new ShellTool() }, storage: memory() });
    const workspace = new Workspace({ id: "w", path: ${JSON.stringify(workspace.path)} });
    const session = await agent.sessions.create({ workspace });
    const turn = await session.prompt({ query: "Go" });
    const { interaction_id, payload } = await next_interaction(session);
    const response = { type: "approval", outcome: "resolved", payload: { decision: "approved" } };
    await session.respond({ interaction_id, response });
    await turn.finished;
    const [, { parts: [part] }] = (await session.messages()).items;
    console.log(JSON.stringify([payload.sandbox, payload.sandbox_problem, part.output.stdout]));
    await agent.dispose();`;
  const limited = 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$0" --input-type=module -e "$1"';
  const said = execFileSync("unshare", ["-Ur", "sh", "-c", limited, process.execPath, source], {
    encoding: "utf8",
  });
  const [sandbox, problem, stdout] = JSON.parse(said);
  expect([sandbox, stdout]).toEqual(["unavailable", "ran\n"]);
  expect(problem).toContain("does not let this user have namespaces");
});
