import type { ModelEvent } from "./model/events.js";

/** Characters of text that are handed on without waiting for more. */
const FULL = 4096;

/** A run of a stream's events, or a single fragment of text. */
export interface StreamReceiver {
  events(events: readonly BufferedEvent[]): void;
  delta(ref: number, text: string): void;
}

export type BufferedEvent = ModelEvent | { type: "delta"; ref: number; text: string };

/**
 * Joins what arrives of a stream together: whatever a provider's chunk held goes on as one when the event loop has
 * gone round, so that a slow stream is passed on as it comes and a fast one costs little. Order is kept.
 */
export class StreamBuffer {
  readonly #receiver: StreamReceiver;
  #events: BufferedEvent[] = [];
  #characters = 0;
  #scheduled: NodeJS.Immediate | undefined;

  constructor(receiver: StreamReceiver) {
    this.#receiver = receiver;
  }

  add_delta(ref: number, text: string): void {
    const last = this.#events.at(-1);
    if (last?.type === "delta" && last.ref === ref) last.text += text;
    else this.#events.push({ type: "delta", ref, text });
    this.#characters += text.length;
    this.#hand_on(this.#characters >= FULL);
  }

  add(event: ModelEvent): void {
    this.#events.push(event);
    // Nothing comes after these.
    this.#hand_on(event.type === "finish" || event.type === "failed");
  }

  #hand_on(at_once: boolean): void {
    if (at_once) this.flush();
    else this.#scheduled ??= setImmediate(() => this.flush());
  }

  /** Before anything else that happened later is passed on. */
  flush(): void {
    clearImmediate(this.#scheduled);
    this.#scheduled = undefined;
    const events = this.#events;
    this.#events = [];
    this.#characters = 0;
    const [first] = events;
    if (events.length === 1 && first?.type === "delta") this.#receiver.delta(first.ref, first.text);
    else if (events.length > 0) this.#receiver.events(events);
  }
}
