/** A model that says and calls whatever comes up, and tells when a prompt is none a strict provider takes. */
import { ScriptedModel } from "@downcity/agent/testing";
import { child, deadly, point, say, turns_of_the_loop } from "./facts.mjs";

const QUESTIONS = {
  title: "Some questions",
  questions: [
    { question: "Why?", type: "text" },
    { question: "Which?", type: "single_select", options: [{ value: "a", label: "A" }] },
    { question: "Which ones?", type: "multi_select", options: [{ value: "a", label: "A" }] },
  ],
};

const CALLS = {
  plain: 5,
  broken: 1,
  asking: 3,
  gated: 5,
  ruled: 3,
  replaying: 5,
  gated_replaying: 2,
  racing: 1,
  drifting: 1,
  ask: 3,
  unknown: 1,
};

class Script {
  #dice;
  #made = 0;

  constructor(dice) {
    this.#dice = dice;
  }

  step() {
    if (child.finishing) return "All is said.";
    const dice = this.#dice;
    if (dice.chance(40)) return this.#text();
    const actions = dice.chance(40) ? this.#text() : [];
    const count = 1 + dice.below(4);
    for (let made = 0; made < count; made += 1) actions.push(this.#call(), this.#pause());
    const end = dice.below(deadly === "seen:part:error" ? 2 : 20);
    if (end === 0) actions.push({ break_off: new Error("The line broke.") });
    if (end === 1) actions.push({ finish: dice.pick(["length", "content-filter", "error"]) });
    return actions;
  }

  #text() {
    const dice = this.#dice;
    const kind = dice.chance(25) ? "reasoning" : "text";
    const id = `${kind}-${this.#next()}`;
    const signature = { scripted: { signature: id } };
    const start = { raw: { type: `${kind}-start`, id, providerMetadata: signature } };
    const deltas = dice
      .pieces()
      .flatMap((delta) => [{ raw: { type: `${kind}-delta`, id, delta } }, this.#pause()]);
    return [start, ...deltas, { raw: { type: `${kind}-end`, id } }, this.#pause()];
  }

  #call() {
    const dice = this.#dice;
    const tool = dice.weighted(CALLS);
    // Some providers number their calls from 0 in each answer, some leave the id out.
    const id = dice.pick(["call_0", "call_1", "", undefined]);
    if (dice.chance(4)) return { call: tool, id, arguments: dice.pick(['{"a":', '"text"', "[1]", ""]) };
    if (tool === "ask") return { call: tool, id, input: dice.chance(90) ? QUESTIONS : { questions: [] } };
    const plan = Array.from({ length: 1 + dice.below(3) }, () => dice.pick(["approval", "question", "form"]));
    const input = {
      z: dice.pieces().join(""),
      key: `${child.number}.${this.#next()}`,
      plan,
      at_once: dice.chance(40),
      asks: dice.chance(70),
      ticks: dice.below(4),
    };
    return { call: tool, id, input };
  }

  #pause() {
    const ticks = this.#dice.below(4);
    const wait = async () => {
      await turns_of_the_loop(ticks);
      point("model:chunk");
    };
    return { hold: { wait } };
  }

  #next() {
    this.#made += 1;
    return this.#made;
  }
}

export function make_model(dice) {
  const script = new Script(dice);
  const step = (prompt) => {
    point("before:model_answer");
    if (child.finishing) say({ f: "prompt", prompt: JSON.parse(JSON.stringify(prompt)) });
    return script.step();
  };
  const model = new ScriptedModel(step, { chunk_size: 5 });
  const stream = model.doStream.bind(model);
  model.doStream = async (options) => {
    try {
      return await stream(options);
    } catch (error) {
      say({ f: "fault", what: `a prompt was refused: ${error.message}`, prompt: options.prompt });
      throw error;
    }
  };
  return model;
}
