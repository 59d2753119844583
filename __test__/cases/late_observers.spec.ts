import type { Mutation, Part, Session, SessionInteraction } from "@downcity/agent";
import type { ScriptedAction } from "@downcity/agent/testing";
import { AskQuestionsTool } from "@downcity/agent/tools";
import { expect, test } from "vitest";
import { all_messages, Fold, interactions_of } from "../support/fold.js";
import { approve, open, parts_of, pending_of, random_numbers, run, tool } from "../support/session.js";
import { on_each_store, type Store } from "../support/stores.js";
import { answer_to, begin, gated_tool, hand_over } from "./support.js";

const QUESTION = {
  title: "Before I go on",
  questions: [
    {
      question: "Which?",
      type: "single_select",
      options: [{ value: "a", label: "A", description: "first" }],
    },
  ],
};

/** Subscribes after so many Mutations, reads what is pending, and keeps that up to date with what it hears. */
class Cards {
  readonly #session: Session;
  readonly #items = new Map<string, SessionInteraction>();
  readonly #heard: Mutation[] = [];
  readonly #waits: () => void;
  #reading: Promise<void> | undefined;
  #has_read = false;
  unsubscribe: () => void = () => {};

  constructor(session: Session, moment: number) {
    this.#session = session;
    let seen = 0;
    this.#waits = session.subscribe(() => {
      seen += 1;
      if (seen === moment) void this.joined();
    });
    if (moment === 0) void this.joined();
  }

  /** Joins now, where it has not done so. */
  joined(): Promise<void> {
    this.#reading ??= this.#join();
    return this.#reading;
  }

  async #join(): Promise<void> {
    this.#waits();
    this.unsubscribe = this.#session.subscribe((mutation) => {
      if (this.#has_read) this.#take(mutation);
      else this.#heard.push(mutation);
    });
    for (const item of await this.#session.interactions()) this.#items.set(item.interaction_id, item);
    this.#has_read = true;
    for (const mutation of this.#heard) this.#take(mutation);
  }

  #take(mutation: Mutation): void {
    if (mutation.variant !== "part") return;
    for (const item of interactions_of(mutation.part)) {
      const known = this.#items.get(item.interaction_id);
      // What was read may be newer than what is heard after it, never the other way round.
      if (known && known.status !== "pending" && item.status === "pending") continue;
      this.#items.set(item.interaction_id, item);
    }
  }

  get pending(): SessionInteraction[] {
    return [...this.#items.values()].filter(({ status }) => status === "pending");
  }
}

on_each_store("Those who come late", (store) => {
  test("the list alone is enough to draw a card and to answer it, though nobody was listening", async () => {
    const { tool: act, runs } = gated_tool();
    const input = { path: "a\u200b", list: [1, { z: null, a: "\u{1f600}" }] };
    const calls = [
      { call: "act", id: "g", input },
      { call: "ask", id: "q", input: QUESTION },
    ];
    const tools = { act, ask: AskQuestionsTool };
    const opened = await open(store, [calls, "Done."], { tools, observed: false });
    const turn = await opened.session.prompt({ query: "Go" });
    const [gate_card, question_card] = (await pending_of(opened.session, 2)).sort((one) =>
      one.type === "approval" ? -1 : 1,
    );
    expect(gate_card).toMatchObject({
      type: "approval",
      status: "pending",
      turn_id: turn.id,
      source: { type: "tool", tool_call_id: "g", tool_name: "act" },
      payload: { operation: "tool", validated_input: input, tool_description: "Does what it is told." },
    });
    expect(question_card).toMatchObject({
      type: "question",
      title: "Before I go on",
      source: { tool_call_id: "q", tool_name: "ask" },
      payload: { questions: QUESTION.questions },
    });
    const { items } = await opened.agent.interactions();
    expect(items.map(({ session_id }) => session_id)).toEqual([opened.session.id, opened.session.id]);
    await opened.session.respond(approve(gate_card?.interaction_id ?? ""));
    await opened.session.respond(answer_to(question_card as SessionInteraction, "a"));
    opened.session.subscribe(() => {});
    expect((await turn.finished).text).toBe("Done.");
    expect(runs).toEqual([input]);
  });

  // In Sessions of 50 Turns: what is looked at here is moments, not the length of a history.
  const sessions = 10;
  test(`in ${50 * sessions} Turns, a list that is read at any moment and what is heard after it are the whole`, {
    timeout: 180_000,
  }, async () => {
    for (let seed = 1; seed <= sessions; seed += 1) await join_at_random(store, random_numbers(seed), 50);
  });

  test("twenty who join and leave while 2,000 deltas stream all have the stored text", {
    timeout: 60_000,
  }, async () => {
    const random = random_numbers(store.name === "memory" ? 26 : 27);
    const { actions, text, argument } = interleaved(random, 2000);
    const echo = tool((input) => input);
    const tools = { echo };
    const opened = await open(store, [actions, "Done."], { tools });
    const { session, observer } = opened;
    const joiners: Promise<Joiner>[] = [];
    const joins = new Set(Array.from({ length: 20 }, () => 2 + Math.floor(random() * 600)));
    let left = 20 - joins.size;
    session.subscribe(({ revision_of_session }) => {
      if (joins.delete(revision_of_session)) joiners.push(join(session, Math.floor(random() * 400)));
    });
    for (; left > 0; left -= 1) joiners.push(join(session, 40 * left));
    expect((await run(session)).text).toBe("Done.");
    for (const late of joins) joiners.push(join(session, late));
    const all = await Promise.all(joiners);
    expect(all).toHaveLength(20);
    const stored = await all_messages(session);
    let left_early = 0;
    for (const { fold, has_left } of all) {
      expect(fold.faults).toEqual([]);
      if (!has_left()) {
        expect(fold.messages).toEqual(stored);
        continue;
      }
      left_early += 1;
      // What it had when it left is what everybody had at that moment.
      expect(fold.messages).toEqual(observer.fold(fold.revision).messages);
    }
    expect(left_early).toBeGreaterThan(0);
    const streamed = (stored[1]?.parts ?? []) as Part[];
    expect(streamed.map((part) => ("text" in part ? part.text : part.type))).toEqual([
      text,
      "tool",
      text,
      "Done.",
    ]);
    expect((await parts_of(session)).find(({ type }) => type === "tool")).toMatchObject({
      output: { argument },
    });
    const later = await hand_over(opened, [], { tools });
    expect(await all_messages(later.session)).toEqual(stored);
  });

  test("nobody is told a delta of a Part after its end", async () => {
    const { actions } = interleaved(random_numbers(3), 300);
    const { session, observer } = await begin(store, [actions, "Done."], { tools: { echo: tool(() => 1) } });
    await run(session);
    const ended = new Set<string>();
    let last = 0;
    for (const mutation of observer.mutations) {
      expect(mutation.revision_of_session).toBeGreaterThan(last);
      last = mutation.revision_of_session;
      if (mutation.variant === "delta") expect(ended).not.toContain(mutation.part_id);
      const parts = mutation.variant === "part" ? [mutation.part] : [];
      for (const part of parts) {
        if ("state" in part && part.state !== "streaming" && part.state !== "input-streaming")
          ended.add(part.part_id);
      }
    }
    expect(ended.size).toBe(4);
  });
});

/** In each Turn somebody subscribes and reads what is pending at a moment of its own, then answers what it sees. */
async function join_at_random(store: Store, random: () => number, turns: number): Promise<void> {
  const { tool: act } = gated_tool();
  const asks = [{ call: "act" }, { call: "ask", input: QUESTION }, { call: "act" }];
  const script = (prompt: readonly { role: string }[]) => (prompt.at(-1)?.role === "user" ? asks : "Done.");
  const { session } = await open(store, script, { tools: { act, ask: AskQuestionsTool } });
  const respond = (item: SessionInteraction) =>
    session.respond(item.type === "approval" ? approve(item.interaction_id) : answer_to(item, "a"));
  for (let turn = 0; turn < turns; turn += 1) {
    const late = new Cards(session, Math.floor(random() * 12));
    const { finished } = await session.prompt({ query: "Go" });
    const asked = await pending_of(session, 3);
    await late.joined();
    for (const item of asked.slice(0, 2)) await respond(item);
    // One item stays until both lists were compared.
    const listed = await session.interactions();
    expect(listed).toHaveLength(1);
    expect(late.pending).toEqual(listed);
    for (const item of late.pending) await respond(item);
    await finished;
    expect(late.pending).toEqual([]);
    late.unsubscribe();
  }
}

interface Joiner {
  fold: Fold;
  has_left(): boolean;
}

/** Watches from now on, and leaves after so many Mutations. */
async function join(session: Session, patience: number): Promise<Joiner> {
  let fold: Fold | undefined;
  let heard = 0;
  let has_left = false;
  const { snapshot, unsubscribe } = await session.watch((mutation) => {
    fold?.take(mutation);
    heard += 1;
    if (heard <= patience) return;
    has_left = true;
    unsubscribe();
  });
  fold = new Fold(snapshot);
  return { fold, has_left: () => has_left };
}

/** Two texts and a call's arguments, in deltas of random sizes that come mixed. */
function interleaved(random: () => number, count: number) {
  const alphabet = ["a", "word ", "\u{1f600}", "é", "\n", "\u{1f389}\u{1f389}"];
  const pieces = Array.from({ length: Math.floor(count / 3) }, () =>
    Array.from({ length: 1 + Math.floor(random() * 6) }, () => alphabet[Math.floor(random() * 6)]).join(""),
  );
  const text = pieces.join("");
  const argument = pieces.join("");
  const input = JSON.stringify({ argument });
  const cuts = pieces.map(() => 1 + Math.floor(random() * (2 * (input.length / pieces.length))));
  const raw = (part: object): ScriptedAction => ({ raw: part });
  const call = [...pieces.keys()].map((index) => {
    const from = cuts.slice(0, index).reduce((sum, cut) => sum + cut, 0);
    return input.slice(from, index === pieces.length - 1 ? undefined : from + (cuts[index] as number));
  });
  const actions = [
    raw({ type: "text-start", id: "t1" }),
    raw({ type: "tool-input-start", id: "c", toolName: "echo" }),
    raw({ type: "text-start", id: "t2" }),
    ...pieces.flatMap((piece, index) =>
      [
        { type: "text-delta", id: "t1", delta: piece },
        { type: "tool-input-delta", id: "c", delta: call[index] },
        { type: "text-delta", id: "t2", delta: piece },
      ]
        .filter(({ delta }) => delta !== "")
        .map(raw),
    ),
    raw({ type: "text-end", id: "t1" }),
    raw({ type: "tool-input-end", id: "c" }),
    raw({ type: "tool-call", toolCallId: "c", toolName: "echo", input }),
    raw({ type: "text-end", id: "t2" }),
  ];
  return { actions, text, argument };
}
