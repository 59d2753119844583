import { existsSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Agent, memory, SessionError, sqlite, Workspace } from "@downcity/agent";
import { gate, next_interaction, ScriptedModel } from "@downcity/agent/testing";
import { expect, test } from "vitest";
import { approve, asking_tool, open_session } from "./support.js";

const folder = () => mkdtempSync(join(tmpdir(), "downcity-surface-"));

test("an open Session is always the same object, also when it is opened twice at once", async () => {
  const { agent, session } = await open_session([]);
  expect(await agent.sessions.get(session.id)).toBe(session);
  await session.close();
  const [one, other] = await Promise.all([agent.sessions.get(session.id), agent.sessions.get(session.id)]);
  expect(one).toBe(other);
  expect(one).not.toBe(session);
});

test("a Session that is being closed can be opened again right away", async () => {
  const { agent, session } = await open_session(["Hi."]);
  const closing = session.close();
  const opened = agent.sessions.get(session.id);
  await closing;
  const again = await opened;
  expect(again).not.toBe(session);
  expect((await (await again.prompt({ query: "Hi" })).finished).success).toBe(true);
});

test("a closed handle answers SESSION_CLOSED, and closing it again is no error", async () => {
  const { session } = await open_session([]);
  await session.close();
  await session.close();
  const calls = [
    () => session.prompt({ query: "Hi" }),
    () => session.stop(),
    () => session.messages(),
    () => session.interactions(),
    () => session.respond(approve("interaction:x")),
    () => session.set({}),
    () => session.status(),
    () => session.watch(() => {}),
    async () => session.subscribe(() => {}),
    async () => session.mutations(),
    async () => session.active_turn(),
  ];
  for (const call of calls) await expect(call()).rejects.toMatchObject({ code: "SESSION_CLOSED" });
});

test("disposing an Agent cancels what is pending, and does so once", async () => {
  const script = [[{ call: "ask", input: {} }], "Done."];
  const { agent, session } = await open_session(script, { tools: { ask: asking_tool } });
  const turn = await session.prompt({ query: "Go" });
  await next_interaction(session);
  await Promise.all([agent.dispose(), agent.dispose()]);
  expect((await turn.finished).status).toBe("stopped");
  await expect(agent.sessions.list()).rejects.toMatchObject({ code: "SESSION_CLOSED" });
  await expect(agent.sessions.create()).rejects.toBeInstanceOf(SessionError);
});

test("a detached handle leaves its Turn unfinished", async () => {
  const script = [[{ call: "ask", input: {} }], "Done."];
  const { session } = await open_session(script, { tools: { ask: asking_tool } });
  const turn = await session.prompt({ query: "Go" });
  await next_interaction(session);
  await session.detach();
  expect(await turn.finished).toMatchObject({ status: "detached", success: false, turn_id: turn.id });
  await expect(session.status()).rejects.toMatchObject({ code: "SESSION_CLOSED" });
});

test("Sessions of a Workspace are kept in it, and those of an own storage in that", async () => {
  const path = folder();
  const workspace = new Workspace({ id: "w", path });
  const agent = new Agent({ id: "kept", model: new ScriptedModel([]) });
  await agent.sessions.create({ workspace, session_id: "one" });
  expect(existsSync(join(path, ".downcity", "agents", "kept", "sessions.db"))).toBe(true);
  expect((await agent.sessions.list({ workspace })).items.map((item) => item.session_id)).toEqual(["one"]);
  expect((await agent.sessions.list()).items).toEqual([]);

  const file = join(folder(), "deep", "er.db");
  const other = new Agent({ id: "kept", storage: sqlite(file, { synchronous: "normal" }) });
  await other.sessions.create({ workspace, session_id: "two" });
  expect((await other.sessions.list()).items.map((item) => item.session_id)).toEqual(["two"]);
  await Promise.all([agent.dispose(), other.dispose()]);
});

test("one memory store serves several Agents, each with its own Sessions", async () => {
  const storage = memory();
  const [one, other] = [new Agent({ id: "one", storage }), new Agent({ id: "other", storage })];
  await one.sessions.create({ session_id: "s" });
  await expect(other.sessions.get("s")).rejects.toMatchObject({ code: "SESSION_NOT_FOUND" });
  await expect(one.sessions.create({ session_id: "s" })).rejects.toMatchObject({ code: "SESSION_EXISTS" });
});

test("a prompt whose signal fires before it is absorbed is withdrawn", async () => {
  const held = gate();
  const { session } = await open_session([[{ text: "One." }, { hold: held }], "Two."]);
  const turn = await session.prompt({ query: "First" });
  await held.reached;
  const controller = new AbortController();
  const second = await session.prompt({ query: "Second", signal: controller.signal });
  expect(second.id).toBe(turn.id);
  controller.abort();
  expect((await second.finished).status).toBe("stopped");
  held.open();
  expect(await turn.finished).toMatchObject({ status: "completed", text: "One." });
  const gone = AbortSignal.abort();
  await expect(session.prompt({ query: "x", signal: gone })).rejects.toMatchObject({ name: "AbortError" });
});

test("a signal that fires later stops the Turn", async () => {
  const held = gate();
  const { session } = await open_session([[{ text: "One." }, { hold: held }]]);
  const controller = new AbortController();
  const turn = await session.prompt({ query: "Go", signal: controller.signal });
  await held.reached;
  expect(session.active_turn()).toBe(turn);
  controller.abort();
  expect((await turn.finished).status).toBe("stopped");
  expect(session.active_turn()).toBeNull();
});

test("what a caller passed in or was given can be changed without effect", async () => {
  const metadata = { tags: ["a"] };
  const { agent } = await open_session([]);
  const session = await agent.sessions.create({ metadata });
  metadata.tags.push("b");
  const { items } = await agent.sessions.list();
  const found = items.find((item) => item.session_id === session.id);
  expect(found?.metadata).toEqual({ tags: ["a"] });
});

test("a disposable Agent and Session end with their block", async () => {
  const { agent, session } = await open_session([]);
  await session[Symbol.asyncDispose]();
  await expect(session.status()).rejects.toMatchObject({ code: "SESSION_CLOSED" });
  await agent[Symbol.asyncDispose]();
  await expect(agent.sessions.list()).rejects.toMatchObject({ code: "SESSION_CLOSED" });
});

test("an Agent lists what is pending in all its Sessions, and pages through it", async () => {
  const script = [[{ call: "ask", input: {} }], [{ call: "ask", input: {} }]];
  const { agent, session } = await open_session(script, { tools: { ask: asking_tool } });
  const other = await agent.sessions.create();
  for (const one of [session, other]) {
    await one.prompt({ query: "Go" });
    await next_interaction(one);
  }
  const first = await agent.interactions({ limit: 1 });
  const second = await agent.interactions({ limit: 1, after: first.next });
  const ids = [...first.items, ...second.items].map((item) => item.session_id);
  expect(ids).toEqual([session.id, other.id]);
  expect(first.items[0]).toMatchObject({ type: "approval", status: "pending" });
  expect(second.next).toBeUndefined();
  await agent.dispose();
});
