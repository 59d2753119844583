import type { TurnResult } from "../index.js";
import type { KeepAlive } from "./keep-alive.js";
import { TurnHandle } from "./turn-handle.js";

const NO_USAGE = {
  input_tokens: 0,
  output_tokens: 0,
  total_tokens: 0,
  reasoning_tokens: 0,
  cached_input_tokens: 0,
};

function detached(turn_id: string): TurnResult {
  return { turn_id, status: "detached", success: false, text: "", usage: NO_USAGE };
}

/** The handles of a Session's prompts: which Turn each belongs to, and which have not ended. */
export class TurnBook {
  readonly #keep_alive: KeepAlive;
  /** Queued, and not yet part of any Turn. */
  readonly #queued = new Map<string, TurnHandle>();
  /** Of Turns in flight, by Turn; the first is the one `active_turn()` gives. */
  readonly #running = new Map<string, TurnHandle[]>();
  readonly #held = new WeakSet<TurnHandle>();
  #let_go = false;

  constructor(keep_alive: KeepAlive) {
    this.#keep_alive = keep_alive;
  }

  /** A prompt is durably queued. `turn_id` is the Turn it will join unless that one fails first. */
  queued(prompt_id: string, turn_id: string): TurnHandle {
    const handle = this.#open(turn_id);
    this.#queued.set(prompt_id, handle);
    return handle;
  }

  /** A Turn has absorbed the prompt, perhaps one that an earlier process queued. */
  absorbed(prompt_id: string, turn_id: string): void {
    const handle = this.#queued.get(prompt_id);
    this.#queued.delete(prompt_id);
    if (handle === undefined) {
      this.taken(turn_id);
      return;
    }
    TurnHandle.move(handle, turn_id);
    this.#running.set(turn_id, [...(this.#running.get(turn_id) ?? []), handle]);
  }

  dropped(prompt_id: string, result: TurnResult): void {
    const handle = this.#queued.get(prompt_id);
    this.#queued.delete(prompt_id);
    if (handle !== undefined) TurnHandle.end(handle, result);
  }

  /** A Turn goes on elsewhere. Its handle does not hold this process. */
  seen(turn_id: string): void {
    if (!this.#running.has(turn_id)) this.#running.set(turn_id, [this.#open(turn_id, false)]);
  }

  /** A Turn goes on here that was begun elsewhere, or by an earlier process. */
  taken(turn_id: string): void {
    this.seen(turn_id);
    const [first] = this.#running.get(turn_id) ?? [];
    if (first !== undefined) this.#hold(first);
  }

  ended(result: TurnResult): void {
    const handles = this.#running.get(result.turn_id) ?? [];
    this.#running.delete(result.turn_id);
    for (const handle of handles) TurnHandle.end(handle, result);
  }

  /** This process lets go: whatever has not ended goes on elsewhere, or later. */
  detach(): void {
    const handles = [...this.#queued.values(), ...[...this.#running.values()].flat()];
    this.#queued.clear();
    this.#running.clear();
    this.#let_go = true;
    for (const handle of handles) TurnHandle.end(handle, detached(handle.id));
  }

  active(): TurnHandle | null {
    const [first] = this.#running.values();
    return first?.[0] ?? this.#queued.values().next().value ?? null;
  }

  #open(turn_id: string, holds = true): TurnHandle {
    const handle = new TurnHandle(turn_id);
    if (this.#let_go) TurnHandle.end(handle, detached(turn_id));
    else if (holds) this.#hold(handle);
    return handle;
  }

  /** The process lives on until the Turn has ended. */
  #hold(handle: TurnHandle): void {
    if (this.#held.has(handle)) return;
    this.#held.add(handle);
    this.#keep_alive.turn_started();
    TurnHandle.when_ended(handle, () => this.#keep_alive.turn_ended());
  }
}
