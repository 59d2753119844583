// Asks the person at the terminal.
import { createInterface } from "node:readline";
import { letter } from "./cards.mjs";
import { visible } from "./visible.mjs";

const DECLINE = "/decline";

export class Person {
  #lines;
  #say;
  #ended = false;

  /** `on_stop` is called for Ctrl-C at a prompt, and when the input ends. */
  constructor({ say, on_stop }) {
    this.#say = say;
    this.#lines = createInterface({ input: process.stdin, output: process.stdout });
    this.#lines.on("SIGINT", on_stop);
    this.#lines.on("close", () => {
      const by_itself = !this.#ended;
      this.#ended = true;
      if (by_itself) on_stop();
    });
  }

  /** The response. Rejects with an AbortError when the signal ends the wait. */
  answer(interaction, signal) {
    return interaction.type === "approval" ? this.#approval(signal) : this.#questions(interaction, signal);
  }

  close() {
    this.#ended = true;
    this.#lines.close();
  }

  async #approval(signal) {
    for (;;) {
      const said = (await this.#ask("Allow this? [y]es or [n]o: ", signal)).trim().toLowerCase();
      if (said === "y" || said === "yes") {
        return { response: { type: "approval", outcome: "resolved", payload: { decision: "approved" } } };
      }
      if (said === "n" || said === "no") {
        const reason = (await this.#ask("Why not? (Enter for no reason): ", signal)).trim();
        const response = { type: "approval", outcome: "denied", ...(reason === "" ? {} : { reason }) };
        return { response };
      }
      this.#say("Please type y or n.");
    }
  }

  async #questions({ payload }, signal) {
    this.#say(`Or type ${DECLINE} to answer none of them.`);
    const answers = [];
    for (const [index, question] of payload.questions.entries()) {
      const value = await this.#value(index + 1, question, signal);
      if (value === undefined) return { response: { type: "question", outcome: "denied" } };
      answers.push({ question_id: question.question_id, value });
    }
    return { response: { type: "question", outcome: "resolved", payload: { answers } } };
  }

  /** The answer as the question's type has it; undefined when the person declines. */
  async #value(number, question, signal) {
    for (;;) {
      const said = await this.#ask(`${number}. ${HINTS[question.type]}: `, signal);
      if (said.trim() === DECLINE) return undefined;
      if (question.type === "text") return said;
      const picked = picks(said, question.options);
      if (picked.unknown.length > 0) {
        this.#say(`There is no ${picked.unknown.map((word) => visible(word)).join(", ")} here.`);
      } else if (question.type === "multi_select") return picked.values;
      else if (picked.values.length === 1) return picked.values[0];
      else this.#say("Please pick exactly one.");
    }
  }

  #ask(prompt, signal) {
    return new Promise((resolve, reject) => {
      const stop = () =>
        reject(Object.assign(new Error("No answer is needed any more."), { name: "AbortError" }));
      if (this.#ended || signal.aborted) return stop();
      signal.addEventListener("abort", stop, { once: true });
      this.#lines.question(prompt, { signal }, (line) => {
        signal.removeEventListener("abort", stop);
        resolve(line);
      });
    });
  }
}

const HINTS = {
  text: "Your words",
  single_select: "One letter",
  multi_select: "Letters, such as a c (Enter for none, * for all)",
};

/** Letters as people write them: "a c", "a,c" or "ac"; a value or label in full does as well. */
function picks(said, options) {
  if (said.trim() === "*") return { values: options.map((option) => option.value), unknown: [] };
  const whole = option_of(said.trim(), options);
  const words = whole ? [said.trim()] : said.split(/[\s,]+/).filter((word) => word !== "");
  const found = new Set();
  const unknown = [];
  for (const word of words) {
    const option = option_of(word, options);
    const each = option ? [option] : Array.from(word, (character) => option_of(character, options));
    if (each.includes(undefined)) unknown.push(word);
    else for (const one of each) found.add(one.value);
  }
  const values = options.map((option) => option.value).filter((value) => found.has(value));
  return { values, unknown };
}

function option_of(word, options) {
  const small = word.toLowerCase();
  return options.find(
    ({ value, label }, index) => small === letter(index) || word === value || small === label.toLowerCase(),
  );
}
