import type { Mutation, QuestionAnswer, Session, SessionInteraction } from "@downcity/agent";
import type { ScriptedAction, ScriptedStep } from "@downcity/agent/testing";
import { AskQuestionsTool } from "@downcity/agent/tools";
import { expect, test } from "vitest";
import { all_messages, Fold, interactions_of } from "../support/fold.js";
import { answer, approve, asking_tool, deny, open, random_numbers, tool } from "../support/session.js";
import { on_each_store, type Store } from "../support/stores.js";

const QUESTIONS = {
  title: "Some questions",
  questions: [
    { question: "Why?", type: "text" },
    { question: "Which?", type: "single_select", options: [{ value: "a", label: "A" }] },
    { question: "Which ones?", type: "multi_select", options: [{ value: "x", label: "X" }] },
  ],
};

/** Random numbers in the words that are needed here. */
class Dice {
  readonly #random: () => number;

  constructor(seed: number) {
    this.#random = random_numbers(seed);
  }

  below(limit: number): number {
    return Math.floor(this.#random() * limit);
  }

  chance(probability: number): boolean {
    return this.#random() < probability;
  }

  pick<Item>(items: readonly Item[]): Item {
    return items[this.below(items.length)] as Item;
  }

  text(): string[] {
    const alphabet = ["word ", "\u{1f600}", "\ud83d", "\ude00", "\n", "é", "\u0000", "x"];
    return Array.from({ length: 1 + this.below(8) }, () => this.pick(alphabet));
  }
}

function random_action(dice: Dice): ScriptedAction {
  const actions: (() => ScriptedAction)[] = [
    () => ({ text: dice.text() }),
    () => ({ reasoning: dice.text(), metadata: { scripted: { signature: dice.text().join("") } } }),
    () => ({ call: "act", input: { n: dice.below(9) }, id: dice.pick(["", "call_0", "call_1"]) }),
    () => ({ call: "act", input: {} }),
    () => ({ call: "ask", input: dice.chance(0.8) ? QUESTIONS : { questions: [] } }),
    () => ({ call: "free", input: { text: dice.text().join("") } }),
    () => ({ call: "broken", input: {} }),
    () => ({ call: "unknown", input: {} }),
    () => ({ call: "free", arguments: dice.pick(['{"a":', '"text"', "[1]", "null", ""]) }),
  ];
  return dice.pick(actions)();
}

function random_step(dice: Dice, step: number): ScriptedStep {
  if (step > 0 && dice.chance(0.35)) return [{ text: dice.text() }];
  const actions = Array.from({ length: 1 + dice.below(4) }, () => random_action(dice));
  const end = dice.below(16);
  if (end === 0) actions.push({ break_off: new Error("The line broke.") });
  if (end === 1) actions.push({ finish: dice.pick(["length", "content-filter", "error"]) });
  return actions;
}

function random_answer(dice: Dice, asked: SessionInteraction) {
  if (asked.type === "approval") {
    return dice.chance(0.6)
      ? approve(asked.interaction_id)
      : deny(asked.interaction_id, dice.text().join(""));
  }
  if (dice.chance(0.2)) {
    const response = { type: "question", outcome: "denied" } as const;
    return { interaction_id: asked.interaction_id, response };
  }
  const values: QuestionAnswer["value"][] = [dice.text().join(""), "a", dice.chance(0.5) ? ["x"] : []];
  const answers = asked.payload.questions.map(({ question_id }, index) => ({
    question_id,
    value: values[index] ?? "",
  }));
  return answer(asked.interaction_id, answers);
}

/** Does something at each Mutation: answers, twice at times, stops, prompts, changes the mode, looks. */
function meddle(session: Session, dice: Dice, folds: Promise<Fold>[]): void {
  session.subscribe(async (mutation) => {
    if (mutation.variant === "session") return;
    const pending = pending_of(mutation);
    if (pending !== undefined) {
      const answers = Array.from({ length: dice.chance(0.2) ? 2 : 1 }, () =>
        session.respond(random_answer(dice, pending)),
      );
      const ends = await Promise.allSettled(answers);
      for (const end of ends) {
        if (end.status === "rejected") expect(end.reason).toMatchObject({ code: "INTERACTION_TERMINAL" });
      }
    }
    if (dice.chance(0.004)) await session.stop();
    if (dice.chance(0.01))
      await session.set({ security: { approval_mode: dice.pick(["ask", "always-allow"]) } });
    if (dice.chance(0.02) && folds.length < 40) folds.push(joined(session));
  });
}

function pending_of(mutation: Mutation): SessionInteraction | undefined {
  if (mutation.variant !== "part") return undefined;
  return interactions_of(mutation.part).find(({ status }) => status === "pending");
}

async function joined(session: Session): Promise<Fold> {
  let fold: Fold | undefined;
  const { snapshot } = await session.watch((mutation) => fold?.take(mutation));
  fold = new Fold(snapshot);
  return fold;
}

async function many_turns(store: Store, seed: number, turns: number): Promise<void> {
  const dice = new Dice(seed);
  const { tool: act } = asking_tool();
  const free = tool(() => dice.text().join(""));
  const broken = tool(() => {
    throw new Error("It does not work.");
  });
  const tools = { act, free, broken, ask: AskQuestionsTool };
  let step = 0;
  const script = () => {
    step += 1;
    return random_step(dice, step - 1);
  };
  const { session, observer } = await open(store, script, { tools, max_steps: 6, chunk_size: 3 });
  const folds: Promise<Fold>[] = [];
  meddle(session, dice, folds);
  for (let turn = 0; turn < turns; turn += 1) {
    step = 0;
    const handle = await session.prompt({ query: `Turn ${turn}` });
    if (dice.chance(0.3)) await session.prompt({ query: "And more" });
    if (dice.chance(0.3)) await observer.agrees_at_once();
    const result = await handle.finished;
    expect(["completed", "failed", "stopped"]).toContain(result.status);
    // A strict provider takes every prompt: its refusal would be told here.
    expect(result.error ?? "").not.toContain("A strict provider");
  }
  await session.stop();
  expect((await session.status()).state).toBe("idle");
  await observer.agrees();
  const stored = await all_messages(session);
  for (const fold of await Promise.all(folds)) {
    expect(fold.faults).toEqual([]);
    expect(fold.messages).toEqual(stored.slice(-fold.messages.length));
  }
}

on_each_store("Whatever happens, Mutations add up to what is stored", (store) => {
  const seeds = store.name === "memory" ? [1, 2, 3, 4, 5, 6, 7, 8] : [11, 12, 13];
  test.each(seeds)("in 25 random Turns (seed %i)", { timeout: 60_000 }, async (seed) => {
    await many_turns(store, seed, 25);
  });
});
