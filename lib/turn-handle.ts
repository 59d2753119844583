import type { TurnHandle as PublicTurnHandle, TurnResult } from "../index.js";

/** Each receiver gets its own. `structuredClone` would make objects of another realm under some test runners. */
function copy(result: TurnResult): TurnResult {
  return JSON.parse(JSON.stringify(result)) as TurnResult;
}

export class TurnHandle implements PublicTurnHandle {
  readonly finished: Promise<TurnResult>;
  #id: string;
  #result: TurnResult | null = null;
  #resolve!: (result: TurnResult) => void;
  readonly #on_end: (() => void)[] = [];

  constructor(id: string) {
    this.#id = id;
    this.finished = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  get id(): string {
    return this.#id;
  }

  get result(): TurnResult | null {
    return this.#result === null ? null : copy(this.#result);
  }

  /** @internal The prompt has moved to another Turn. */
  static move(handle: TurnHandle, turn_id: string): void {
    handle.#id = turn_id;
  }

  /** @internal */
  static end(handle: TurnHandle, result: TurnResult): void {
    if (handle.#result !== null) return;
    handle.#result = copy(result);
    handle.#id = result.turn_id;
    handle.#resolve(copy(result));
    for (const listener of handle.#on_end.splice(0)) listener();
  }

  /** @internal */
  static when_ended(handle: TurnHandle, listener: () => void): void {
    if (handle.#result === null) handle.#on_end.push(listener);
    else listener();
  }
}
