import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Agent, type Mutation, sqlite, Workspace, with_approval } from "@downcity/agent";
import { next_interaction, ScriptedModel } from "@downcity/agent/testing";
import { expect, onTestFinished, test, vi } from "vitest";
import { interactions_of } from "../support/fold.js";
import { lock } from "../support/lock.js";
import { approve, asking_tool, open, pending_of, refusal_of, run, tool, until } from "../support/session.js";
import { on_each_store, sqlite_store, temporary_folder } from "../support/stores.js";

const ASKS = [{ call: "act", input: {} }];

on_each_store("An Agent's listener", (store) => {
  test("hears every Session, also one that is opened later, each in its own order", async () => {
    const { agent, session } = await open(store, () => "Well.");
    const heard: Mutation[] = [];
    const own: Mutation[] = [];
    agent.subscribe((mutation) => void heard.push(mutation));
    const later = await agent.sessions.create();
    for (const one of [session, later]) one.subscribe((mutation) => void own.push(mutation));
    await Promise.all([run(session, "One"), run(later, "Two"), run(later, "Three")]);
    for (const { id } of [session, later]) {
      const of_session = heard.filter(({ session_id }) => session_id === id);
      expect(of_session.map(({ revision_of_session }) => revision_of_session)).toEqual(
        of_session.map((_, index) => index + 1),
      );
      expect(of_session).toEqual(own.filter(({ session_id }) => session_id === id));
    }
  });

  test("hears a Session that is closed to its end, and again when it is opened again", async () => {
    const { agent, session } = await open(store, ["One.", "Two."], { observed: false });
    const heard: string[] = [];
    agent.subscribe((mutation) => void heard.push(`${mutation.variant} ${mutation.type}`));
    await run(session);
    await session.close();
    await expect.poll(() => heard.at(-1)).toBe("session closed");
    const ended = heard.length;
    await run(await agent.sessions.get(session.id));
    await expect.poll(() => heard.slice(ended)).toContain("turn finish");
    expect(heard.slice(ended).filter((told) => told === "turn start")).toHaveLength(1);
  });

  test("is heard no more once it unsubscribes, and disturbs nobody when it throws", async () => {
    const warnings: Error[] = [];
    const warn = (warning: Error) => void warnings.push(warning);
    process.on("warning", warn);
    onTestFinished(() => void process.off("warning", warn));
    const { agent, session } = await open(store, ["One."]);
    const heard: Mutation[] = [];
    agent.subscribe(({ type }) => {
      if (type === "start") throw new Error("a broken inbox");
    });
    const once: Mutation[] = [];
    const unsubscribe = agent.subscribe((mutation) => {
      once.push(mutation);
      unsubscribe();
    });
    agent.subscribe((mutation) => void heard.push(mutation));
    await run(session);
    expect(once).toHaveLength(1);
    expect(heard.at(-1)).toMatchObject({ variant: "turn", type: "finish" });
    await expect.poll(() => warnings.some(({ message }) => message.includes("a broken inbox"))).toBe(true);
  });

  test("is refused where it is no function, and when the Agent has ended", async () => {
    const { agent } = await open(store, [], { observed: false });
    expect((await refusal_of(() => agent.subscribe("inbox" as never))).code).toBe("INVALID_INPUT");
    await agent.dispose();
    expect((await refusal_of(() => agent.subscribe(() => {}))).code).toBe("SESSION_CLOSED");
  });
});

test("a listener hears a store that was out of reach when it subscribed, and one warning says that it did not", async () => {
  const warned = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
  onTestFinished(() => warned.mockRestore());
  const folder = join(temporary_folder(), "store");
  writeFileSync(folder, "in the way");
  const storage = sqlite(join(folder, "sessions.db"));
  const agent = new Agent({ id: "behaviour", model: new ScriptedModel(() => "Hi."), storage });
  onTestFinished(() => agent.dispose());
  const heard: Mutation[] = [];
  agent.subscribe((mutation) => void heard.push(mutation));
  for (let attempt = 0; attempt < 2; attempt += 1)
    expect((await refusal_of(agent.sessions.list())).code).toBe("STORAGE_UNAVAILABLE");
  rmSync(folder);
  const session = await agent.sessions.create();
  const own: Mutation[] = [];
  session.subscribe((mutation) => void own.push(mutation));
  while (heard.length === 0) await run(session);
  await run(session);
  await expect.poll(() => heard.at(-1)).toEqual(own.at(-1));
  expect(heard).toEqual(own.slice(-heard.length));
  const words = warned.mock.calls.map(([warning]) => String(warning));
  expect(words.filter((text) => text.includes("agent.subscribe tells nothing"))).toHaveLength(1);
});

test("what is asked between subscribing and listing is listed, or told", async () => {
  const act = with_approval(tool(() => "ran"));
  const opened = await open(sqlite_store, [ASKS, "Done."], { tools: { act }, observed: false });
  const { agent, session, place } = opened;
  const turn = await session.prompt({ query: "Go" });
  await next_interaction(session);
  const release = await lock(place.file as string);
  // Waits for the lock. So does whoever begins to listen; a reader would not.
  const requesting = session.interactions.request<never>({
    type: "vote",
    turn_id: turn.id,
    payload: {},
  } as never);
  const known = new Set<string>();
  agent.subscribe((mutation) => {
    if (mutation.variant !== "part") return;
    for (const { interaction_id } of interactions_of(mutation.part)) known.add(interaction_id);
  });
  const listing = agent.interactions();
  await release();
  for (const { interaction_id } of (await listing).items) known.add(interaction_id);
  const { interaction_id, result } = await requesting;
  result.catch(() => {});
  await until(session, () => known.has(interaction_id));
});

test("a listing is refused while a listener that subscribed before it cannot begin", async () => {
  const act = with_approval(tool(() => "ran"));
  const { agent, session, place } = await open(sqlite_store, [ASKS], { tools: { act }, observed: false });
  await session.prompt({ query: "Go" });
  const { interaction_id } = await next_interaction(session);
  const release = await lock(place.file as string);
  const heard: Mutation[] = [];
  agent.subscribe((mutation) => void heard.push(mutation));
  const [pending, sessions] = [agent.interactions(), agent.sessions.list()];
  expect((await refusal_of(pending)).code).toBe("STORAGE_BUSY");
  expect((await refusal_of(sessions)).code).toBe("STORAGE_BUSY");
  await release();
  // The listener has begun by the time that this is answered.
  expect((await agent.interactions()).items).toMatchObject([{ interaction_id }]);
  await session.respond(approve(interaction_id));
  await expect.poll(() => heard.length).toBeGreaterThan(0);
  expect(heard[0]).toMatchObject({ variant: "part", part: { interactions: [{ status: "resolved" }] } });
});

on_each_store("An Agent's inbox", (store) => {
  test("pages through what is pending while it is answered, in Sessions that are open or not", async () => {
    const place = store.place();
    const act = with_approval(tool(() => "ran"));
    const options = { place, tools: { act }, observed: false };
    const { agent } = await open(store, () => ASKS, options);
    for (let count = 0; count < 7; count += 1) {
      const session = await agent.sessions.create({ session_id: `s${count}` });
      await session.prompt({ query: "Go" });
      await next_interaction(session);
      if (count % 2 === 0) await session.detach();
    }
    const first = await agent.interactions({ limit: 3 });
    expect(first.items.map(({ session_id }) => session_id)).toEqual(["s0", "s1", "s2"]);
    for (const { session_id, interaction_id } of first.items) {
      const session = await agent.sessions.get(session_id);
      expect(await session.respond(approve(interaction_id))).toMatchObject({ status: "resolved" });
      await session.stop();
    }
    const second = await agent.interactions({ limit: 3, after: first.next });
    expect(second.items.map(({ session_id }) => session_id)).toEqual(["s3", "s4", "s5"]);
    const third = await agent.interactions({ limit: 3, after: second.next });
    expect(third.items.map(({ session_id }) => session_id)).toEqual(["s6"]);
    expect(third.next).toBeUndefined();
    expect((await agent.interactions()).items.map(({ session_id }) => session_id)).toEqual([
      "s3",
      "s4",
      "s5",
      "s6",
    ]);
  });
});

test("An Agent's inbox is that of the Workspace it is asked for", async () => {
  // Made first, so that they are removed last: the Agent ends what waits in them.
  const [one, two] = ["one", "two"].map((id) => new Workspace({ id, path: temporary_folder() }));
  const { tool: act } = asking_tool();
  const agent = new Agent({ id: "inbox", model: new ScriptedModel(() => ASKS), tools: { act } });
  onTestFinished(() => agent.dispose());
  for (const workspace of [one, two]) {
    const session = await agent.sessions.create({ workspace, session_id: `in_${workspace?.id}` });
    await session.prompt({ query: "Go" });
    await pending_of(session, 1);
  }
  for (const workspace of [one, two]) {
    const { items } = await agent.interactions({ workspace });
    expect(items.map(({ session_id }) => session_id)).toEqual([`in_${workspace?.id}`]);
  }
  expect(await agent.interactions()).toEqual({ items: [] });
});

test("An Agent without a model reads the inbox of another, before it opens any Session", async () => {
  const { tool: act } = asking_tool();
  const file = `${temporary_folder()}/sessions.db`;
  const agent = new Agent({
    id: "inbox",
    model: new ScriptedModel(() => ASKS),
    tools: { act },
    storage: sqlite(file),
  });
  const session = await agent.sessions.create({ session_id: "asks" });
  await session.prompt({ query: "Go" });
  await next_interaction(session);
  await agent.detach();
  const reader = new Agent({ id: "inbox", storage: sqlite(file) });
  onTestFinished(() => reader.detach());
  const { items } = await reader.interactions();
  expect(items).toMatchObject([{ session_id: "asks", type: "approval", payload: { validated_input: {} } }]);
  expect(await new Agent({ id: "other", storage: sqlite(file) }).interactions()).toEqual({ items: [] });
});
