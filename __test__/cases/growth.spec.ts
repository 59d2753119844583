import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { gate, next_interaction, type ScriptedAction } from "@downcity/agent/testing";
import { expect, test } from "vitest";
import { approve, calls_of, open, run } from "../support/session.js";
import { sqlite_store } from "../support/stores.js";
import { gated_tool } from "./support.js";

/** GROWTH_STEPS=800 goes further than there is time for each day. */
const STEPS = Number(process.env.GROWTH_STEPS ?? 240);
const DOUBLINGS = [STEPS / 8, STEPS / 4, STEPS / 2, STEPS];
/** What is linear doubles; what grows with the square of the length comes to four times as much. */
const TWICE = 2.3;

interface Measured {
  /** Bytes of the pages that are in use, everything moved out of the log. */
  bytes: number;
  /** Rows of all tables. */
  rows: number;
}

/** Another program moves the log into the file and looks at it. */
function measure(file: string): Measured {
  const program = `
import json, sqlite3, sys
d = sqlite3.connect(sys.argv[1])
d.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
one = lambda text: d.execute(text).fetchone()[0]
pages = one("PRAGMA page_count") - one("PRAGMA freelist_count")
names = [name for (name,) in d.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
rows = sum(one('SELECT count(*) FROM "%s"' % name) for name in names)
print(json.dumps({"bytes": pages * one("PRAGMA page_size"), "rows": rows}))
d.close()`;
  return JSON.parse(execFileSync("python3", ["-c", program, file], { encoding: "utf8" }));
}

/** Bytes that this process has given to the system to write. */
function written(): number {
  return Number(/wchar: (\d+)/.exec(readFileSync("/proc/self/io", "utf8"))?.[1]);
}

function expect_linear(sizes: readonly number[]): void {
  const growth = sizes.slice(1).map((size, index) => size / (sizes[index] as number));
  for (const factor of growth) expect(factor, `${sizes} grow by ${growth}`).toBeLessThan(TWICE);
}

test("a step costs what it adds, however many approved steps came before it", {
  timeout: 120_000,
}, async () => {
  const { tool: act, runs } = gated_tool();
  const words = "Something of constant length. ".repeat(20);
  const script = (_: unknown, step: number): ScriptedAction[] =>
    step < STEPS ? [{ text: words }, { call: "act", input: { words } }] : [{ text: "Done." }];
  const { session, place } = await open(sqlite_store, script, {
    tools: { act },
    max_steps: STEPS + 1,
    observed: false,
  });
  const file = place.file as string;
  const seen: { [name: string]: number[] } = { bytes: [], rows: [], written: [] };
  const before = { ...measure(file), written: written() };
  const turn = await session.prompt({ query: "Go" });
  for (let step = 1; step <= STEPS; step += 1) {
    const { interaction_id } = await next_interaction(session);
    if (DOUBLINGS.includes(step)) {
      const now = { ...measure(file), written: written() };
      seen.bytes?.push(now.bytes - before.bytes);
      seen.rows?.push(now.rows - before.rows);
      seen.written?.push(now.written - before.written);
    }
    await session.respond(approve(interaction_id));
  }
  expect((await turn.finished).text).toBe("Done.");
  expect(runs).toHaveLength(STEPS);
  for (const sizes of Object.values(seen)) expect_linear(sizes);
});

test("Turns that are short cost the same, however many came before", { timeout: 120_000 }, async () => {
  const words = "Something of constant length. ".repeat(20);
  const { session, place } = await open(sqlite_store, () => words, { observed: false });
  const seen: { [name: string]: number[] } = { bytes: [], rows: [], written: [] };
  const before = { ...measure(place.file as string), written: written() };
  for (let turn = 1; turn <= STEPS / 2; turn += 1) {
    await run(session);
    if (!DOUBLINGS.includes(turn)) continue;
    const now = { ...measure(place.file as string), written: written() };
    seen.bytes?.push(now.bytes - before.bytes);
    seen.rows?.push(now.rows - before.rows);
    seen.written?.push(now.written - before.written);
  }
  for (const sizes of Object.values(seen)) expect_linear(sizes);
});

test.each(["text", "reasoning", "tool_input"] as const)(
  "twice as many deltas of %s, each committed by itself, write twice as much",
  { timeout: 120_000 },
  async (kind) => {
    const sizes: number[] = [];
    for (const count of [250, 500, 1000]) sizes.push(await written_for(kind, count));
    expect_linear(sizes);
  },
);

/** Bytes written for one reply, whose every delta waits until the one before it was told. */
async function written_for(kind: "text" | "reasoning" | "tool_input", count: number): Promise<number> {
  const gates = Array.from({ length: count }, () => gate());
  const { tool: act } = gated_tool({}, { when: () => false });
  const piece = "Ten words. ".repeat(20);
  const { start, delta, end } = stream_parts(kind, piece, count);
  const deltas = gates.flatMap((held, index): ScriptedAction[] => [{ raw: delta(index) }, { hold: held }]);
  const script = [[{ raw: start }, ...deltas, ...end.map((raw) => ({ raw }))], "Done."];
  const { session } = await open(sqlite_store, script, { tools: { act }, observed: false });
  let told = 0;
  session.subscribe((mutation) => {
    if (mutation.variant !== "delta") return;
    gates[told]?.open();
    told += 1;
  });
  const before = written();
  const result = await run(session);
  const bytes = written() - before;
  expect(result.success).toBe(true);
  expect(told).toBeGreaterThanOrEqual(count);
  if (kind === "tool_input") expect((await calls_of(session))[0]?.state).toBe("completed");
  else expect(bytes).toBeGreaterThan(piece.length * count);
  return bytes;
}

function stream_parts(kind: "text" | "reasoning" | "tool_input", piece: string, count: number) {
  if (kind !== "tool_input") {
    return {
      start: { type: `${kind}-start`, id: "1" },
      delta: () => ({ type: `${kind}-delta`, id: "1", delta: piece }),
      end: [{ type: `${kind}-end`, id: "1" }],
    };
  }
  const pieces = Array.from({ length: count }, () => piece);
  pieces[0] = `{"text":"${piece}`;
  pieces[count - 1] = `${piece}"}`;
  const call = { type: "tool-call", toolCallId: "1", toolName: "act", input: pieces.join("") };
  return {
    start: { type: "tool-input-start", id: "1", toolName: "act" },
    delta: (index: number) => ({ type: "tool-input-delta", id: "1", delta: pieces[index] }),
    end: [{ type: "tool-input-end", id: "1" }, call],
  };
}
