/** What is wrong with the file has a name, the file keeps its bytes, and the same Session goes on once it is mended. */
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  closeSync,
  copyFileSync,
  existsSync,
  openSync,
  readFileSync,
  renameSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { Agent, type Session, sqlite, with_approval } from "@downcity/agent";
import { ScriptedModel } from "@downcity/agent/testing";
import { expect, onTestFinished, type TestContext, test } from "vitest";
import { all_messages } from "../support/fold.js";
import { lock } from "../support/lock.js";
import { approve, refusal_of, run, tool } from "../support/session.js";
import { temporary_folder } from "../support/stores.js";

const PAGE = 4096;
/** Longer than a page, so that a Message has pages of its own. */
const LONG = 4 * PAGE;

const gated = with_approval(tool(() => "acted"));

function agent_on(file: string): Agent {
  const model = new ScriptedModel((prompt) =>
    JSON.stringify(prompt.at(-1)).includes("Call it") ? [{ call: "gated" }] : "Fine.",
  );
  const agent = new Agent({ id: "files", model, tools: { gated }, storage: sqlite(file) });
  onTestFinished(() => agent.dispose());
  return agent;
}

const text_of = (id: string) => `the words of ${id} `.repeat(LONG / 10);

/** A file with two Sessions of much text and one that waits for a person, written back and closed. */
async function populated(file: string): Promise<void> {
  const agent = agent_on(file);
  for (const session_id of ["one", "two"]) {
    const session = await agent.sessions.create({ session_id });
    expect(await run(session, text_of(session_id))).toMatchObject({ text: "Fine." });
  }
  const waiting = await agent.sessions.create({ session_id: "waiting" });
  const turn = await waiting.prompt({ query: "Call it" });
  await expect.poll(() => waiting.interactions()).toHaveLength(1);
  expect(turn.result).toBeNull();
  await agent.detach();
}

/** The Session that waited has its answer, and so has the prompt after it. */
async function goes_on(agent: Agent): Promise<void> {
  const session = await agent.sessions.get("waiting");
  const turn = await session.active_turn();
  const [pending] = await session.interactions();
  await session.respond(approve(pending?.interaction_id as string));
  expect(await turn?.finished).toMatchObject({ status: "completed", text: "Fine." });
  expect(await run(session, "More")).toMatchObject({ text: "Fine." });
}

/** Every way to the Session ends in this error, and the file is what it was. */
async function every_call_is_refused(file: string, code: string): Promise<void> {
  const before = readFileSync(file);
  const agent = agent_on(file);
  const calls = [
    () => agent.sessions.get("waiting"),
    () => agent.sessions.create({ session_id: "new" }),
    () => agent.sessions.list(),
    () => agent.interactions(),
    () => agent.sessions.remove("one"),
  ];
  for (const call of calls) expect(await refusal_of(call)).toMatchObject({ name: "SessionError", code });
  expect(readFileSync(file).equals(before)).toBe(true);
}

function place(): { file: string; whole: string } {
  const folder = temporary_folder();
  return { file: join(folder, "sessions.db"), whole: join(folder, "whole.db") };
}

test("a text in its place is no store, and the Sessions are there again with the file", async () => {
  const { file, whole } = place();
  await populated(file);
  copyFileSync(file, whole);
  writeFileSync(file, "Somebody's notes.\n".repeat(2_000));
  await every_call_is_refused(file, "STORAGE_CORRUPT");
  const agent = agent_on(file);
  expect(await refusal_of(() => agent.sessions.get("waiting"))).toMatchObject({ code: "STORAGE_CORRUPT" });
  copyFileSync(whole, file);
  await goes_on(agent);
});

test.each([
  ["in the middle of a page", (size: number) => Math.floor(size / 2) + 100],
  ["between two pages", (size: number) => size - 2 * PAGE],
  ["to its first page", () => PAGE],
  ["within its first page", () => 1_000],
])("a file cut %s is damaged, and the Sessions are there again with the rest", async (_, length) => {
  const { file, whole } = place();
  await populated(file);
  copyFileSync(file, whole);
  truncateSync(file, length(readFileSync(file).length));
  await every_call_is_refused(file, "STORAGE_CORRUPT");
  const agent = agent_on(file);
  expect(await refusal_of(() => agent.sessions.get("waiting"))).toMatchObject({ code: "STORAGE_CORRUPT" });
  copyFileSync(whole, file);
  await goes_on(agent);
});

test("a file of a later version is left alone, and used again once it is of this one", async () => {
  const { file, whole } = place();
  await populated(file);
  copyFileSync(file, whole);
  // Where the format of SQLite has PRAGMA user_version.
  overwrite(file, 60, Buffer.from([0, 0, 3, 231]));
  const agent = agent_on(file);
  const error = await refusal_of(() => agent.sessions.get("waiting"));
  expect(error).toMatchObject({ code: "STORAGE_VERSION" });
  expect(error.message).toContain("999");
  await every_call_is_refused(file, "STORAGE_VERSION");
  copyFileSync(whole, file);
  await goes_on(agent);
});

test("a file moved away under a running Turn refuses the answer, and takes it once it is back", async () => {
  const { file, whole } = place();
  await populated(file);
  const agent = agent_on(file);
  const session = await agent.sessions.get("waiting");
  const turn = await session.active_turn();
  const [pending] = await session.interactions();
  const answer = approve(pending?.interaction_id as string);
  renameSync(file, whole);
  for (const call of [
    () => session.respond(answer),
    () => session.prompt({ query: "More" }),
    () => session.messages(),
    () => agent.sessions.create(),
  ]) {
    const error = await refusal_of(call);
    expect(error).toMatchObject({ name: "SessionError", code: "STORAGE_UNAVAILABLE" });
    expect(error.message).toContain("put it back");
  }
  expect(existsSync(file)).toBe(false);
  renameSync(whole, file);
  expect(await session.respond(answer)).toMatchObject({ status: "resolved" });
  expect(await turn?.finished).toMatchObject({ status: "completed", text: "Fine." });
  expect(await run(session, "More")).toMatchObject({ text: "Fine." });
});

function overwrite(file: string, at: number, bytes: Uint8Array): void {
  const handle = openSync(file, "r+");
  writeSync(handle, bytes, 0, bytes.length, at);
  closeSync(handle);
}

test("a damaged page of one Session is told when it is read, and the others do not notice", async () => {
  const { file, whole } = place();
  await populated(file);
  copyFileSync(file, whole);
  const bytes = readFileSync(file);
  const own = pages_with(bytes, "the words of one").filter((page) => is_only_text(bytes, page));
  expect(own.length).toBeGreaterThan(2);
  const damage = Buffer.alloc(PAGE, 0xa5);
  for (const page of own) overwrite(file, page * PAGE, damage);

  const agent = agent_on(file);
  const one = await agent.sessions.get("one");
  expect(await refusal_of(() => one.messages())).toMatchObject({ code: "STORAGE_CORRUPT" });
  const two = await agent.sessions.get("two");
  expect(await words_of(two)).toContain(text_of("two"));
  expect(await run(two, "More")).toMatchObject({ text: "Fine." });
  await goes_on(agent);
  await agent.detach();
  const after = readFileSync(file);
  for (const page of own) {
    expect(after.subarray(page * PAGE, (page + 1) * PAGE).equals(damage), `page ${page}`).toBe(true);
  }

  for (const page of own) overwrite(file, page * PAGE, bytes.subarray(page * PAGE, (page + 1) * PAGE));
  const mended = await agent_on(file).sessions.get("one");
  expect(await words_of(mended)).toContain(text_of("one"));
  expect(await run(mended, "More")).toMatchObject({ text: "Fine." });
});

function pages_with(bytes: Buffer, text: string): number[] {
  const pages = Array.from({ length: bytes.length / PAGE }, (_, page) => page);
  return pages.filter((page) => bytes.subarray(page * PAGE, (page + 1) * PAGE).includes(text));
}

/** An overflow page: the number of the next one, then nothing but the text. */
function is_only_text(bytes: Buffer, page: number): boolean {
  const content = bytes.subarray(page * PAGE + 4, (page + 1) * PAGE);
  return content.every((byte) => (byte >= 0x20 && byte < 0x7f) || byte === 0);
}

async function words_of(session: Session): Promise<string> {
  return JSON.stringify(await all_messages(session));
}

test("whichever page is damaged, what is read is right or refused by name", {
  timeout: 120_000,
}, async () => {
  const { file, whole } = place();
  await populated(file);
  copyFileSync(file, whole);
  const bytes = readFileSync(file);
  const right = await everything_read(file);
  let refused = 0;
  const count = bytes.length / PAGE;
  for (let page = 1; page < count; page += 1) {
    copyFileSync(whole, file);
    const damaged = Buffer.from(bytes.subarray(page * PAGE, (page + 1) * PAGE));
    for (let at = 0; at < PAGE; at += 1) damaged[at] = (damaged[at] as number) ^ 0xff;
    overwrite(file, page * PAGE, damaged);
    const read = await everything_read(file);
    for (const [what, value] of Object.entries(read)) {
      if (value === "STORAGE_CORRUPT") refused += 1;
      else expect(value, `${what}, with page ${page} of ${count} damaged`).toEqual(right[what]);
    }
  }
  expect(refused).toBeGreaterThan(15);
  copyFileSync(whole, file);
  expect(await everything_read(file)).toEqual(right);
});

/** What each call gives: its value, or the code it is refused with. Nothing goes on: this Agent has no model. */
async function everything_read(file: string): Promise<Record<string, unknown>> {
  const agent = new Agent({ id: "files", tools: { gated }, storage: sqlite(file) });
  const told = async (work: () => Promise<unknown>) => work().catch((error) => error.code ?? error);
  const messages = (id: string) => async () => (await agent.sessions.get(id)).messages();
  const read = {
    list: await told(() => agent.sessions.list()),
    pending: await told(() => agent.interactions()),
    one: await told(messages("one")),
    two: await told(messages("two")),
    waiting: await told(messages("waiting")),
  };
  await agent.detach();
  return read;
}

/** Takes away the right to write below a folder; gives it back when it is called. None where that cannot be done. */
function read_only(folder: string): (() => void) | undefined {
  const file = join(folder, "sessions.db");
  if (process.getuid?.() !== 0) {
    chmodSync(file, 0o444);
    chmodSync(folder, 0o555);
    return () => {
      chmodSync(folder, 0o755);
      chmodSync(file, 0o644);
    };
  }
  // No permission holds for root, but a file system that is read-only does.
  const remount = (mode: string) =>
    execFileSync("mount", ["-o", `remount,bind,${mode}`, folder], { stdio: "ignore" });
  try {
    execFileSync("mount", ["--bind", folder, folder], { stdio: "ignore" });
  } catch {
    return undefined;
  }
  onTestFinished(() => void execFileSync("umount", ["-l", folder]));
  remount("ro");
  return () => void remount("rw");
}

test("a file that may only be read is out of reach, and used again once it may be written", async (context: TestContext) => {
  const { file } = place();
  await populated(file);
  const writable = read_only(dirname(file));
  if (writable === undefined) return context.skip("making a file system read-only needs more rights");
  await every_call_is_refused(file, "STORAGE_UNAVAILABLE");
  const agent = agent_on(file);
  expect(await refusal_of(() => agent.sessions.get("waiting"))).toMatchObject({
    code: "STORAGE_UNAVAILABLE",
  });
  writable();
  await goes_on(agent);
});

test("a lock of two seconds is waited for: nothing is refused and nothing is lost", async () => {
  const { file } = place();
  await populated(file);
  const agent = agent_on(file);
  const waiting = await agent.sessions.get("waiting");
  const turn = await waiting.active_turn();
  const two = await agent.sessions.get("two");
  const [pending] = await waiting.interactions();
  const gone = (await lock(file, 2))();
  const answered = waiting.respond(approve(pending?.interaction_id as string));
  const prompted = run(two, "More");
  // Reading does not wait.
  expect(await words_of(two)).toContain(text_of("two"));
  expect(await answered).toMatchObject({ status: "resolved" });
  expect(await turn?.finished).toMatchObject({ status: "completed", text: "Fine." });
  expect(await prompted).toMatchObject({ status: "completed", text: "Fine." });
  await gone;
});

test("a lock that outlasts the limit refuses the call by name, and the same call works once it is gone", {
  timeout: 60_000,
}, async () => {
  const { file } = place();
  await populated(file);
  const agent = agent_on(file);
  const waiting = await agent.sessions.get("waiting");
  const turn = await waiting.active_turn();
  const [pending] = await waiting.interactions();
  const gone = (await lock(file, 8))();
  const answer = approve(pending?.interaction_id as string);
  expect(await refusal_of(() => waiting.respond(answer))).toMatchObject({ code: "STORAGE_BUSY" });
  expect(await waiting.interactions()).toEqual([pending]);
  await gone;
  expect(await waiting.respond(answer)).toMatchObject({ status: "resolved" });
  expect(await turn?.finished).toMatchObject({ status: "completed", text: "Fine." });
});
