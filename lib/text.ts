/** Text that is safe to hand on: well formed UTF-16, and cut without breaking a character. */

// Node 20 has both; the declared library of this project is older.
type ModernString = { isWellFormed(): boolean; toWellFormed(): string };

/** The text with every lone surrogate replaced by U+FFFD. Well formed text comes back as it is. */
export function well_formed(text: string): string {
  const modern = text as unknown as ModernString;
  return modern.isWellFormed() ? text : modern.toWellFormed();
}

function is_high_surrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}

/**
 * The first `max` characters of a longer text and a mark that says how much was left out. The mark comes on top
 * of `max`, and a surrogate pair is never split.
 */
export function cut(text: string, max: number): string {
  if (text.length <= max) return text;
  const end = max > 0 && is_high_surrogate(text.charCodeAt(max - 1)) ? max - 1 : max;
  return `${text.slice(0, end)}\n[${text.length - end} of ${text.length} characters were left out here]`;
}

/** Joins the fragments of a streamed text so that each one handed on is well formed by itself. */
export class SurrogateJoiner {
  #held = "";

  /** What can be handed on now; a trailing high surrogate waits for its other half. */
  push(delta: string): string {
    const text = this.#held + delta;
    if (text !== "" && is_high_surrogate(text.charCodeAt(text.length - 1))) {
      this.#held = text.slice(-1);
      return well_formed(text.slice(0, -1));
    }
    this.#held = "";
    return well_formed(text);
  }

  /** What is left at the end of the stream. */
  end(): string {
    const rest = well_formed(this.#held);
    this.#held = "";
    return rest;
  }
}
