import { createHash } from "node:crypto";

/** Random choices that are the same for the same seed. */
export class Dice {
  #seed;
  #drawn = 0;

  constructor(...seed) {
    this.#seed = seed.join("/");
  }

  below(limit) {
    this.#drawn += 1;
    const bytes = createHash("sha256").update(`${this.#seed}/${this.#drawn}`).digest();
    return bytes.readUInt32LE(0) % limit;
  }

  chance(percent) {
    return this.below(100) < percent;
  }

  pick(items) {
    return items[this.below(items.length)];
  }

  /** One of the keys; its value says how often it comes, relative to the others. */
  weighted(weights) {
    let rest = this.below(Object.values(weights).reduce((sum, weight) => sum + weight, 0));
    for (const [name, weight] of Object.entries(weights)) {
      if (rest < weight) return name;
      rest -= weight;
    }
    throw new Error("The weights add up to more than was drawn.");
  }

  /** Pieces of text as they may stream in: a character may be cut in two. */
  pieces() {
    const alphabet = ["word ", "\u{1f600}", "\ud83d", "\ude00", "\n", "\u00e9", "a\u200b\u202e", "x "];
    return Array.from({ length: 1 + this.below(8) }, () => this.pick(alphabet));
  }

  /** Text with no half characters, as a person types it. */
  text() {
    return this.pieces().join("").toWellFormed();
  }
}
