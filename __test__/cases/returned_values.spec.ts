import { readdirSync } from "node:fs";
import { dirname } from "node:path";
import { Readable } from "node:stream";
import { expect, test } from "vitest";
import { all_messages } from "../support/fold.js";
import { REFUSED_IDS } from "../support/ids.js";
import { calls_of, refusal_of, reopen, results_in, run, tool } from "../support/session.js";
import { on_each_store } from "../support/stores.js";
import { begin } from "./support.js";

/** What a tool returns beside the everyday, and the JSON it is from then on. */
const KEPT: { [name: string]: [() => unknown, unknown] } = {
  "an Error": [() => new RangeError("too far"), { name: "RangeError", message: "too far" }],
  "an Error within": [() => ({ why: new Error("no") }), { why: { name: "Error", message: "no" } }],
  "a RegExp": [() => /a+/gi, "/a+/gi"],
  "an invalid Date": [() => new Date(Number.NaN), null],
  "a URL": [() => new URL("https://example.org/a"), "https://example.org/a"],
  "the number after 2^53": [() => 2 ** 53 + 1, 9007199254740992],
  "minus zero within": [() => [-0], [0]],
  "a Promise of a value": [() => Promise.resolve({ a: 1 }), { a: 1 }],
  "a frozen object": [() => Object.freeze({ a: Object.freeze([1]) }), { a: [1] }],
  "an object without a prototype": [() => Object.assign(Object.create(null), { a: 1 }), { a: 1 }],
  "a key called __proto__": [() => JSON.parse('{"__proto__":{"a":1}}'), JSON.parse('{"__proto__":{"a":1}}')],
  "an emoji as a key": [() => ({ "\u{1f600}": "\u{1f389}" }), { "\u{1f600}": "\u{1f389}" }],
  false: [() => false, false],
  "an empty object": [() => ({}), {}],
};

const revoked = () => {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
};

/** What JSON cannot hold, and a word that has to tell which it was. */
const REFUSED: { [name: string]: [() => unknown, RegExp] } = {
  "a BigInt": [() => 10n, /BigInt/],
  "a symbol": [() => Symbol("s"), /symbol/],
  "a function": [() => () => 1, /function/],
  "a Map": [() => new Map(), /Map/],
  "a Set": [() => new Set(), /Set/],
  "a Buffer": [() => Buffer.from("a"), /Buffer/],
  "bytes within": [() => ({ file: { bytes: new Uint8Array(3) } }), /file\.bytes.*Uint8Array/],
  "a web stream": [() => new ReadableStream(), /stream/],
  "a Node stream": [() => Readable.from(["a"]), /stream/],
  "a generator": [() => (function* () {})(), /generator/],
  "a toJSON that throws": [
    () => ({
      at: {
        toJSON() {
          throw new Error("boom");
        },
      },
    }),
    /at.*boom/,
  ],
  "a revoked Proxy within": [() => ({ list: [revoked()] }), /list\[0\].*cannot be read/],
};

on_each_store("What comes back from tools", (store) => {
  test("is one JSON value, the same when it is told, stored, sent to the model and read again", async () => {
    const makers = Object.values(KEPT);
    const runs: number[] = [];
    const make = tool(({ n }) => {
      runs.push(n as number);
      return makers[n as number]?.[0]();
    });
    const calls = makers.map((_, n) => ({ call: "make", id: `call_${n}`, input: { n } }));
    const opened = await begin(store, [calls, "Done."], { tools: { make } });
    const told = new Map<string, string>();
    opened.session.subscribe((mutation) => {
      if (mutation.variant !== "part" || mutation.part.type !== "tool") return;
      const { tool_call_id, state, output } = mutation.part;
      if (state === "completed") told.set(tool_call_id, JSON.stringify(output));
    });
    expect((await run(opened.session)).text).toBe("Done.");
    expect(runs).toHaveLength(makers.length);
    const made = await calls_of(opened.session);
    const expected = makers.map(([, value]) => JSON.stringify(value));
    expect(made.map(({ output }) => JSON.stringify(output))).toEqual(expected);
    expect(made.map(({ tool_call_id }) => told.get(tool_call_id))).toEqual(expected);
    const sent = results_in(opened.model.prompts[1]);
    for (const [index, { output }] of sent.entries()) {
      const value = makers[index]?.[1];
      expect(output).toEqual({ type: typeof value === "string" ? "text" : "json", value });
    }
    const again = await reopen(opened, ["Fine."], { tools: { make } });
    expect(await calls_of(again.session)).toEqual(made);
    expect((await run(again.session)).text).toBe("Fine.");
    expect(results_in(again.model.prompts[0])).toEqual(sent);
    expect(runs).toHaveLength(makers.length);
  });

  test("and cannot be JSON fails its call, which was executed and says so, and no other", async () => {
    const makers = Object.values(REFUSED);
    const runs: number[] = [];
    const make = tool(({ n }) => {
      runs.push(n as number);
      return makers[n as number]?.[0]();
    });
    const fine = tool(() => 17);
    const calls = [...makers.map((_, n) => ({ call: "make", input: { n } })), { call: "fine" }];
    const { session, model } = await begin(store, [calls, "Done."], { tools: { make, fine } });
    expect((await run(session)).text).toBe("Done.");
    expect(runs).toHaveLength(makers.length);
    const made = await calls_of(session);
    expect(made.at(-1)?.output).toBe(17);
    for (const [index, [, words]] of makers.entries()) {
      expect(made[index]).toMatchObject({ state: "failed", error_code: "tool_failed" });
      expect(made[index]?.error).toMatch(words);
      expect(made[index]?.error).toMatch(/make/);
      expect(made[index]?.error).toMatch(/was executed/);
    }
    const sent = results_in(model.prompts[1]).map(({ output }) => output.value);
    expect(sent.slice(0, -1)).toEqual(made.slice(0, -1).map(({ error }) => error));
  });
});

on_each_store("Session ids", (store) => {
  test("none reaches outside of its store, and those that differ are different Sessions", async () => {
    const { agent, place } = await begin(store, () => "Hi.", { session: { session_id: "e" } });
    const folder = place.file && dirname(place.file);
    // Whoever owns something holds a lock file beside the database.
    const names = () => readdirSync(folder as string).filter((name) => !name.includes("-owner-"));
    const files = () => (folder ? names().sort() : []);
    const before = files();
    for (const session_id of REFUSED_IDS)
      expect((await refusal_of(agent.sessions.create({ session_id }))).code).toBe("INVALID_INPUT");
    const taken = ["CON", "E", "a.b", "a:b", "a-b", "a_b"];
    for (const session_id of taken) {
      const session = await agent.sessions.create({ session_id, metadata: { own: session_id } });
      await run(session, session_id);
    }
    expect(files()).toEqual(before);
    for (const session_id of taken) {
      const session = await agent.sessions.get(session_id);
      const [first] = await all_messages(session);
      expect(first).toMatchObject({ session_id, parts: [{ text: session_id }] });
    }
    const { items } = await agent.sessions.list({ limit: 100 });
    expect(items.map(({ session_id }) => session_id).sort()).toEqual(["e", ...taken].sort());
    expect(items.find(({ session_id }) => session_id === "e")?.message_count).toBe(0);
  });
});
