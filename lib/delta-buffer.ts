/** Characters that are handed on without waiting for more. */
const FULL = 4096;

/**
 * Joins the fragments of one Part that arrive together: whatever a provider's chunk held goes on as one when the
 * event loop has gone round, so that a slow stream is passed on as it comes and a fast one costs little.
 */
export class DeltaBuffer {
  readonly #hand_on: (ref: number, text: string) => void;
  #ref = 0;
  #text = "";
  #scheduled: NodeJS.Immediate | undefined;

  constructor(hand_on: (ref: number, text: string) => void) {
    this.#hand_on = hand_on;
  }

  add(ref: number, text: string): void {
    if (ref !== this.#ref) this.flush();
    this.#ref = ref;
    this.#text += text;
    if (this.#text.length >= FULL) this.flush();
    else this.#scheduled ??= setImmediate(() => this.flush());
  }

  /** Before anything else of the stream is passed on: order is kept. */
  flush(): void {
    clearImmediate(this.#scheduled);
    this.#scheduled = undefined;
    if (this.#text === "") return;
    const text = this.#text;
    this.#text = "";
    this.#hand_on(this.#ref, text);
  }
}
