/** Whoever answers: at once from inside a subscriber, later, twice at the same time, or not at all. */
import { call, child, turns_of_the_loop } from "./facts.mjs";

const LATE = ["INTERACTION_TERMINAL", "SESSION_CLOSED"];

export class Person {
  #dice;

  constructor(dice) {
    this.#dice = dice;
  }

  /** Called from a subscriber with something pending. */
  asked(session, interaction) {
    if (child.finishing) return this.#respond(session, interaction);
    const mood = this.#dice.weighted({ at_once: 60, later: 25, never: 15 });
    if (mood === "never") return undefined;
    if (mood === "at_once") return this.#respond(session, interaction);
    const ticks = 1 + this.#dice.below(60);
    return turns_of_the_loop(ticks).then(() => this.#respond(session, interaction));
  }

  async #respond(session, interaction) {
    const times = this.#dice.chance(20) ? 2 : 1;
    const { interaction_id } = interaction;
    const answers = Array.from({ length: times }, () => this.#answer(interaction));
    const working = answers.map((response) => {
      const input = { interaction_id, response };
      return call("respond", session.id, input, () => session.respond(input), LATE);
    });
    await Promise.all(working);
  }

  #answer({ type, payload }) {
    const dice = this.#dice;
    const reason = dice.text();
    if (dice.chance(type === "approval" ? 25 : 12)) {
      return { type, outcome: "denied", ...(dice.chance(70) ? { reason } : {}) };
    }
    if (type === "approval") {
      const decision = dice.chance(90) ? "approved" : "denied";
      return { type, outcome: "resolved", payload: { decision, note: reason } };
    }
    if (type === "form") return { type, outcome: "resolved", payload: { name: reason } };
    const answers = payload.questions.map(({ question_id, type: kind, options }) => {
      if (kind === "text") return { question_id, value: reason };
      const [{ value }] = options;
      if (kind === "single_select") return { question_id, value };
      return { question_id, value: dice.chance(50) ? [value] : [] };
    });
    return { type, outcome: "resolved", payload: { answers } };
  }
}
