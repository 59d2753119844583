import type { Mutation, SessionSnapshot } from "@downcity/agent";
import { gate, next_interaction } from "@downcity/agent/testing";
import { afterEach, expect, test, vi } from "vitest";
import { approve, asking_tool, name_of, open_session } from "./support.js";

afterEach(() => vi.restoreAllMocks());

const run = async (opened: Awaited<ReturnType<typeof open_session>>) =>
  (await opened.session.prompt({ query: "Go" })).finished;

test("every subscriber sees the same Mutations in the same order, and has its own copies", async () => {
  const opened = await open_session(["Hello there."]);
  const [one, other]: [Mutation[], Mutation[]] = [[], []];
  opened.session.subscribe((mutation) => {
    one.push(structuredClone(mutation));
    if (mutation.variant === "message") mutation.message.parts.length = 0;
  });
  opened.session.subscribe((mutation) => other.push(mutation));
  await run(opened);
  expect(one).toEqual(other);
  expect(one.map((mutation) => mutation.revision_of_session)).toEqual(one.map((_, index) => index + 1));
  expect(name_of(one.at(-1) as Mutation)).toBe("turn/finish");
});

test("nothing is delivered on the caller's stack", async () => {
  const { session } = await open_session(["Hi."]);
  let on_stack = true;
  const seen: boolean[] = [];
  session.subscribe(() => seen.push(on_stack));
  const prompted = session.prompt({ query: "Go" });
  on_stack = false;
  await (await prompted).finished;
  expect(seen.length).toBeGreaterThan(0);
  expect(seen).not.toContain(true);
});

test("a listener that throws or rejects disturbs nobody and is named in a warning", async () => {
  const warnings: string[] = [];
  vi.spyOn(process, "emitWarning").mockImplementation((warning) => void warnings.push(String(warning)));
  const opened = await open_session(["Hi."]);
  const good: [string[], string[]] = [[], []];
  opened.session.subscribe((mutation) => good[0].push(name_of(mutation)));
  for (const reason of [new Error("broken"), "a string", undefined, null]) {
    opened.session.subscribe(() => {
      throw reason;
    });
  }
  opened.session.subscribe(async () => Promise.reject(new Error("later")));
  opened.session.subscribe((mutation) => good[1].push(name_of(mutation)));
  const { status } = await run(opened);
  await new Promise(setImmediate);
  expect(status).toBe("completed");
  expect(good[0]).toEqual(good[1]);
  expect(good[0].at(-1)).toBe("turn/finish");
  expect(warnings.length).toBe(5 * good[0].length);
  expect(warnings.every((warning) => warning.includes(opened.session.id))).toBe(true);
});

test("unsubscribing inside a callback stops delivery at once", async () => {
  const opened = await open_session(["Hi."]);
  let calls = 0;
  const unsubscribe = opened.session.subscribe(() => {
    calls += 1;
    unsubscribe();
    stop_other();
  });
  const stop_other = opened.session.subscribe(() => {
    calls += 1;
  });
  await run(opened);
  expect(calls).toBe(1);
});

test("what a Mutation announces can be answered in the very callback", async () => {
  const script = [[{ call: "ask", input: {} }], "Done."];
  const opened = await open_session(script, { tools: { ask: asking_tool } });
  opened.session.subscribe((mutation) => {
    if (mutation.variant !== "part" || mutation.part.type !== "tool") return undefined;
    const pending = mutation.part.interactions?.find((item) => item.status === "pending");
    return pending && opened.session.respond(approve(pending.interaction_id));
  });
  expect((await run(opened)).text).toBe("Done.");
});

test("when a Turn has finished, all its Mutations were delivered and the Session is idle", async () => {
  const opened = await open_session(["Hi."]);
  const seen: string[] = [];
  opened.session.subscribe((mutation) => seen.push(name_of(mutation)));
  await run(opened);
  expect(seen.at(-1)).toBe("turn/finish");
  expect((await opened.session.status()).state).toBe("idle");
});

test("a watcher gets a snapshot and everything after it, nothing twice and nothing lost", async () => {
  const held = gate();
  const script = [[{ text: "one two three" }, { hold: held }, { text: " four" }]];
  const opened = await open_session(script);
  const turn = await opened.session.prompt({ query: "Go" });
  await held.reached;
  const after: number[] = [];
  const watching = opened.session.watch((mutation) => after.push(mutation.revision_of_session));
  held.open();
  const { snapshot } = await watching;
  await turn.finished;
  const first = snapshot.revision_of_session + 1;
  expect(after).toEqual(after.map((_, index) => first + index));
  const end: SessionSnapshot = (await opened.session.watch(() => {})).snapshot;
  expect(end.revision_of_session).toBe(after.at(-1) ?? snapshot.revision_of_session);
  expect(end.status.state).toBe("idle");
});

test("Mutations can be iterated over until the signal or the reader ends it", async () => {
  const opened = await open_session(["Hi.", "Again."]);
  const controller = new AbortController();
  const aborted = opened.session.mutations({ signal: controller.signal });
  const names: string[] = [];
  const reading = (async () => {
    for await (const mutation of opened.session.mutations()) {
      names.push(name_of(mutation));
      if (names.at(-1) === "turn/finish") break;
    }
  })();
  await run(opened);
  await reading;
  expect(names[0]).toBe("turn/start");
  expect((await aborted.next()).done).toBe(false);
  controller.abort();
  expect(await aborted.next()).toEqual({ done: true, value: undefined });
});

test("an iteration ends when the Session is closed, after what was still to be read", async () => {
  const opened = await open_session(["Hi."]);
  const reading = opened.session.mutations();
  await opened.session.close();
  const all: string[] = [];
  for await (const mutation of reading) all.push(name_of(mutation));
  expect(all).toEqual(["session/closed"]);
});

test("a subscription alone reports a question raised by the host", async () => {
  const script = [[{ call: "ask", input: {} }], "Done."];
  const { session } = await open_session(script, { tools: { ask: asking_tool } });
  const turn = await session.prompt({ query: "Go" });
  const { interaction_id } = await next_interaction(session);
  const questions = [{ question: "Why?", type: "text" as const }];
  const handle = await session.interactions.request({
    type: "question",
    turn_id: turn.id,
    payload: { questions },
  });
  expect(await session.interactions()).toHaveLength(2);
  await session.respond(approve(interaction_id));
  await expect(handle.result).rejects.toMatchObject({ name: "AbortError" });
  expect((await turn.finished).success).toBe(true);
});
