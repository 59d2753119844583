import type { DeltaMutation, Mutation } from "../index.js";

/** How many Mutations wait before deltas are merged: a reader that keeps up never notices. */
const MERGE_ABOVE = 256;

/** Deltas with nothing else between them, by Part. Insertion order is their order of revision. */
type DeltaRun = Map<string, DeltaMutation>;

/**
 * Mutations that wait for a slow reader. Above a limit the deltas of one Part that have no other kind of
 * Mutation between them become one; nothing else is ever merged or dropped.
 */
export class MutationQueue {
  readonly #entries: (Mutation | DeltaRun)[] = [];
  #size = 0;

  get size(): number {
    return this.#size;
  }

  push(mutation: Mutation): void {
    if (mutation.variant === "delta" && this.#size >= MERGE_ABOVE) {
      this.#merge(mutation);
    } else {
      this.#entries.push(mutation);
      this.#size += 1;
    }
  }

  shift(): Mutation | undefined {
    const head = this.#entries[0];
    if (!(head instanceof Map)) {
      if (head !== undefined) this.#size -= 1;
      return this.#entries.shift() as Mutation | undefined;
    }
    const [key, delta] = head.entries().next().value as [string, DeltaMutation];
    head.delete(key);
    if (head.size === 0) this.#entries.shift();
    this.#size -= 1;
    return delta;
  }

  clear(): void {
    this.#entries.length = 0;
    this.#size = 0;
  }

  #merge(mutation: DeltaMutation): void {
    let run = this.#entries.at(-1);
    if (!(run instanceof Map)) {
      run = new Map();
      this.#entries.push(run);
    }
    const key = `${mutation.type} ${mutation.part_id}`;
    const before = run.get(key);
    if (before === undefined) {
      this.#size += 1;
      run.set(key, mutation);
      return;
    }
    // The merged one stands where the later one would, so revisions still ascend.
    run.delete(key);
    run.set(key, { ...mutation, delta: before.delta + mutation.delta });
  }
}
