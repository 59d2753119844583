import type { Message, Mutation, Part, Session } from "@downcity/agent";
import { gate, next_interaction } from "@downcity/agent/testing";
import { expect, onTestFinished, test, vi } from "vitest";
import { all_messages, Fold } from "../support/fold.js";
import { answer_next, approve, asking_tool, open, run } from "../support/session.js";
import { on_each_store } from "../support/stores.js";

const ASKING = [[{ text: "I will ask." }, { call: "act", input: { a: [1] } }], "Done."];

function warnings_of_process(): string[] {
  const warnings: string[] = [];
  const spy = vi
    .spyOn(process, "emitWarning")
    .mockImplementation((warning) => void warnings.push(String(warning)));
  onTestFinished(() => spy.mockRestore());
  return warnings;
}

/** Iterates until the Turn ends, and waits for the gate before each further Mutation. */
async function read_turn(reading: AsyncIterable<Mutation>, wait: () => Promise<void>): Promise<Mutation[]> {
  const all: Mutation[] = [];
  for await (const mutation of reading) {
    all.push(mutation);
    if (mutation.variant === "turn" && mutation.type === "finish") break;
    await wait();
  }
  return all;
}

on_each_store("Observers", (store) => {
  test("two subscribers see the same, in one order, each in copies of its own", async () => {
    const { tool: act } = asking_tool();
    const { session } = await open(store, ASKING, { tools: { act }, chunk_size: 2 });
    const [one, other]: [string[], string[]] = [[], []];
    session.subscribe((mutation) => {
      one.push(JSON.stringify(mutation));
      for (const key of Object.keys(mutation)) delete (mutation as unknown as Record<string, unknown>)[key];
    });
    session.subscribe((mutation) => other.push(JSON.stringify(mutation)));
    const turn = await session.prompt({ query: "Go" });
    await answer_next(session);
    await turn.finished;
    expect(one).toEqual(other);
    expect(one.length).toBeGreaterThan(10);
  });

  test("revisions have no gaps, within the Session and within a Message", async () => {
    const { session, observer } = await open(store, ["One.", "Two.", "Three."], { chunk_size: 1 });
    for (const query of ["a", "b", "c"]) await run(session, query);
    const revisions = observer.mutations.map((mutation) => mutation.revision_of_session);
    expect(revisions).toEqual(revisions.map((_, index) => index + 1));
    const of_messages = new Map<string, number[]>();
    for (const mutation of observer.mutations) {
      if (!("message_id" in mutation)) continue;
      const { message_id, revision } = mutation;
      of_messages.set(message_id, [...(of_messages.get(message_id) ?? []), revision]);
    }
    for (const message of await all_messages(session)) {
      const distinct = [...new Set(of_messages.get(message.message_id))];
      expect(distinct).toEqual(Array.from({ length: message.revision }, (_, index) => index + 1));
    }
  });

  test("a listener that throws or rejects is named in a warning and disturbs nobody", async () => {
    const warnings = warnings_of_process();
    const { session, observer } = await open(store, ["Hi."]);
    const last: number[] = [];
    session.subscribe(() => {
      throw new Error("broken listener");
    });
    session.subscribe(async () => {
      await null;
      throw "a rejected string";
    });
    session.subscribe(({ revision_of_session }) => last.push(revision_of_session));
    expect((await run(session)).status).toBe("completed");
    await new Promise(setImmediate);
    expect(last).toEqual(observer.mutations.map((mutation) => mutation.revision_of_session));
    expect(warnings).toHaveLength(2 * last.length);
    expect(warnings.every((warning) => warning.includes(session.id))).toBe(true);
    expect(warnings.some((warning) => warning.includes("broken listener"))).toBe(true);
    expect(warnings.some((warning) => warning.includes("a rejected string"))).toBe(true);
  });

  test("unsubscribing inside a callback ends delivery there and to whoever comes later in the list", async () => {
    const { session } = await open(store, ["Hi.", "Again."]);
    const seen: string[] = [];
    const stop_first = session.subscribe(() => {
      seen.push("first");
      stop_first();
      stop_last();
      stop_first();
    });
    const stop_last = session.subscribe(() => seen.push("last"));
    await run(session);
    await run(session);
    expect(seen).toEqual(["first"]);
  });

  test("a slow reader loses no lifecycle Mutation, and its deltas come to the same text", async () => {
    const long = Array.from({ length: 3000 }, (_, index) => `${index} `);
    const { tool: act } = asking_tool();
    const script = [[{ text: long }, { reasoning: long }, { call: "act" }], [{ text: long }]];
    const { session, observer } = await open(store, script, { tools: { act } });
    const held = gate();
    const reading = read_turn(session.mutations(), () => held.wait());
    const turn = await session.prompt({ query: "Go" });
    await answer_next(session);
    await turn.finished;
    held.open();
    const read = await reading;
    const is_delta = ({ variant }: Mutation) => variant === "delta";
    expect(read.filter((mutation) => !is_delta(mutation))).toEqual(
      observer.mutations.filter((mutation) => !is_delta(mutation)),
    );
    const merged = new Fold(undefined, { may_skip: true });
    for (const mutation of read) merged.take(mutation);
    expect(merged.faults).toEqual([]);
    expect(merged.messages).toEqual(await all_messages(session));
    // How many deltas there are depends on how fast the store is; far more than are kept apart were in memory.
    if (store.name === "memory") expect(read.filter(is_delta).length).toBeLessThan(1000);
  });

  test("an iteration ends with its signal, and at once where the signal has fired before", async () => {
    const { session } = await open(store, ["Hi."]);
    const controller = new AbortController();
    const reading = session.mutations({ signal: controller.signal });
    const waiting = reading.next();
    controller.abort();
    expect(await waiting).toEqual({ done: true, value: undefined });
    const late = session.mutations({ signal: controller.signal });
    await run(session);
    expect(await late.next()).toEqual({ done: true, value: undefined });
  });

  test("nothing that was handed out or passed in is shared", async () => {
    const { tool: act, runs } = asking_tool();
    const { session, observer } = await open(store, ASKING, { tools: { act } });
    const parts = [{ type: "text" as const, text: "Go" }];
    const prompting = session.prompt({ query: parts });
    if (parts[0]) parts[0].text = "changed";
    const turn = await prompting;
    const listed = await next_interaction(session);
    const { interaction_id } = listed;
    (listed.payload as { validated_input?: unknown }).validated_input = { a: ["changed"] };
    const input = approve(interaction_id, { list: [1] });
    const answering = session.respond(input);
    (input.response.payload as { list: number[] }).list.push(2);
    const committed = await answering;
    expect(committed.response?.payload).toEqual({ decision: "approved", list: [1] });
    (committed.response as { payload: { list: number[] } }).payload.list.push(3);
    committed.status = "pending";
    const result = await turn.finished;
    const copy = JSON.stringify(result);
    result.text = "changed";
    expect(JSON.stringify(turn.result)).toBe(copy);
    const page = await session.messages();
    const [first] = page.items as Message[];
    expect(first?.parts).toMatchObject([{ text: "Go" }]);
    for (const message of page.items) message.parts.length = 0;
    const status = await session.status();
    status.security.approval_mode = "always-allow";
    expect((await session.status()).security.approval_mode).toBe("ask");
    expect(runs).toEqual([{ a: [1] }]);
    await observer.agrees();
  });

  test("no watcher hears anything before it has its snapshot", async () => {
    const { session } = await open(store, () => "Done.");
    const early: string[] = [];
    const watching: Promise<unknown>[] = [];
    const watch = async () => {
      let has_snapshot = false;
      await session.watch(({ variant, type }) => {
        if (!has_snapshot) early.push(`${variant}/${type}`);
      });
      has_snapshot = true;
    };
    const unsubscribe = session.subscribe(() => watching.push(watch()));
    for (let turn = 0; turn < 20; turn += 1) {
      const { finished } = await session.prompt({ query: "Go" });
      watching.push(watch());
      await finished;
    }
    unsubscribe();
    await Promise.all(watching);
    expect(early).toEqual([]);
  });

  test("late joiners of a long answer all come to the stored Messages", async () => {
    const words = Array.from({ length: 400 }, (_, index) => `${index}\u{1f600} `);
    const pauses = Array.from({ length: 8 }, () => gate());
    const told = pauses.flatMap((pause, index) => [
      { text: words.slice(index * 50, index * 50 + 50) },
      { hold: pause },
    ]);
    const script = [[...told, { call: "act", input: { words } }], [{ text: words }]];
    const { tool: act } = asking_tool();
    const { session, observer } = await open(store, script, { tools: { act }, chunk_size: 7 });
    const joiners: Promise<Fold>[] = [];
    session.subscribe((mutation) => {
      if (joiners.length < 40 && mutation.revision_of_session % 7 === 0) joiners.push(join(session));
    });
    const turn = await session.prompt({ query: "Go" });
    for (const pause of pauses) {
      await pause.reached;
      joiners.push(join(session));
      pause.open();
    }
    await answer_next(session);
    await turn.finished;
    const folds = await Promise.all(joiners);
    const stored = await all_messages(session);
    expect(folds.length).toBeGreaterThan(pauses.length);
    for (const fold of folds) {
      expect(fold.faults).toEqual([]);
      expect(fold.revision).toBe(observer.mutations.at(-1)?.revision_of_session);
      expect(fold.messages).toEqual(stored);
    }
    const texts = stored.flatMap(({ parts }) => (parts as Part[]).filter(({ type }) => type === "text"));
    const all = texts.map((part) => ("text" in part ? part.text : ""));
    expect([all[0], all.slice(1, 9).join(""), all[9]]).toEqual(["Go", words.join(""), words.join("")]);
  });
});

/** Watches from now on until the Turn has ended. */
function join(session: Session): Promise<Fold> {
  return new Promise((resolve, reject) => {
    const held: Mutation[] = [];
    let fold: Fold | undefined;
    const take = (mutation: Mutation) => {
      fold?.take(mutation);
      if (mutation.variant !== "turn" || mutation.type !== "finish" || !fold) return;
      resolve(fold);
    };
    session
      .watch((mutation) => (fold ? take(mutation) : void held.push(mutation)))
      .then(({ snapshot }) => {
        // Nothing may come before the snapshot is in hand.
        expect(held).toEqual([]);
        fold = new Fold(snapshot);
        if (snapshot.status.state === "idle") resolve(fold);
      })
      .catch(reject);
  });
}
