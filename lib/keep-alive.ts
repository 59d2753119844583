/** The longest period a timer takes; the timer only has to exist. */
const PERIOD_MS = 2 ** 31 - 1;

/**
 * Keeps the process alive while a call is unanswered or a Turn is in flight.
 *
 * The native side only ever wakes Node weakly, so that open Agents and subscriptions never hold the process.
 * One timer per Agent does, and only while there is a reason.
 */
export class KeepAlive {
  #calls = 0;
  #turns = 0;
  #holds_for_turns = true;
  #timer: NodeJS.Timeout | undefined;

  /** A call waits for its answer. */
  call_started(): void {
    this.#calls += 1;
    this.#update();
  }

  call_ended(): void {
    this.#calls -= 1;
    this.#update();
  }

  turn_started(): void {
    this.#turns += 1;
    this.#update();
  }

  turn_ended(): void {
    this.#turns -= 1;
    this.#update();
  }

  /** Whether a Turn in flight holds the process. An unanswered call always does. */
  hold_for_turns(hold: boolean): void {
    this.#holds_for_turns = hold;
    this.#update();
  }

  #update(): void {
    const wanted = this.#calls > 0 || (this.#holds_for_turns && this.#turns > 0);
    if (wanted && this.#timer === undefined) {
      this.#timer = setInterval(() => {}, PERIOD_MS);
    } else if (!wanted && this.#timer !== undefined) {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
  }
}
