import { execFileSync } from "node:child_process";
import { gate, next_interaction } from "@downcity/agent/testing";
import { expect, test } from "vitest";
import { interactions_of } from "../support/fold.js";
import { lock } from "../support/lock.js";
import { approve, open, run, tool, until } from "../support/session.js";
import { sqlite_store } from "../support/stores.js";
import { begin, gated_tool } from "./support.js";

/** Whether another program finds a text in any row of the file. */
function is_stored(file: string, text: string): boolean {
  const program = `
import sqlite3, sys
d = sqlite3.connect("file:" + sys.argv[1] + "?mode=ro", uri=True)
names = [name for (name,) in d.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
rows = (row for name in names for row in d.execute('SELECT * FROM "%s"' % name))
as_text = lambda value: value.decode("utf8", "replace") if isinstance(value, bytes) else str(value)
print(any(sys.argv[2] in as_text(value) for row in rows for value in row))`;
  return execFileSync("python3", ["-c", program, file, text], { encoding: "utf8" }).trim() === "True";
}

test("what is announced is in the file by then, and an answer to it waits for the lock and is taken", {
  timeout: 60_000,
}, async () => {
  const { tool: act, runs } = gated_tool();
  const big = tool(() => "x".repeat(10 * 2 ** 20));
  const script = [[{ call: "big" }], "Kept.", [{ call: "act", input: { n: 1 } }], "Done."];
  const opened = await open(sqlite_store, script, { tools: { act, big }, observed: false });
  const { session } = opened;
  const file = opened.place.file as string;
  await run(session, "Much");
  const stored: boolean[] = [];
  let answering: Promise<unknown> | undefined;
  let release: (() => Promise<void>) | undefined;
  const answered = new Promise<void>((resolve, reject) => {
    session.subscribe(async (mutation) => {
      const pending = mutation.variant === "part" ? interactions_of(mutation.part) : [];
      const asked = pending.find(({ status }) => status === "pending");
      if (asked === undefined || answering) return;
      stored.push(is_stored(file, asked.interaction_id));
      answering = Promise.resolve();
      release = await lock(file, 3);
      answering = session.respond(approve(asked.interaction_id));
      answering.then(() => resolve(), reject);
      // Reading goes on while the answer waits for the lock; it is still pending for everybody.
      expect(await session.interactions()).toEqual([asked]);
      await release();
    });
  });
  const turn = await session.prompt({ query: "Go" });
  await answered;
  expect((await turn.finished).text).toBe("Done.");
  expect(stored).toEqual([true]);
  expect(runs).toEqual([{ n: 1 }]);
});

test("a question is announced only once it is stored, however long the store takes", async () => {
  const held = gate();
  const ask = tool(async (_, { interactions }) => {
    await held.wait();
    return interactions.approval.request({ payload: { operation: "tool" } });
  });
  const opened = await begin(sqlite_store, [[{ call: "ask" }], "Done."], { tools: { ask } });
  const { session, observer } = opened;
  const turn = await session.prompt({ query: "Go" });
  await held.reached;
  await until(session, (mutation) => mutation === undefined || mutation.variant === "part");
  const release = await lock(opened.place.file as string);
  held.open();
  for (let look = 0; look < 20; look += 1) expect(await session.interactions()).toEqual([]);
  const told = observer.mutations.flatMap((mutation) =>
    mutation.variant === "part" ? interactions_of(mutation.part) : [],
  );
  expect(told).toEqual([]);
  await release();
  const { interaction_id } = await next_interaction(session);
  await session.respond(approve(interaction_id));
  expect((await turn.finished).text).toBe("Done.");
});
