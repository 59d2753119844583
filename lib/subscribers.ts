import type { Mutation, MutationListener, Unsubscribe } from "../index.js";
import { MutationQueue } from "./mutation-queue.js";

interface Subscriber {
  active: boolean;
  deliver(mutation: Mutation): void;
  /** The Session's handle has ended: nothing more will come. */
  end?(): void;
}

/** Tells what a listener threw, and whose listener it was, without touching anybody else. */
export function warn_of_listener(of: string, reason: unknown): void {
  const warning = new Error(`A subscriber of ${of} threw: ${describe(reason)}`, { cause: reason });
  warning.name = "SessionSubscriberWarning";
  process.emitWarning(warning);
}

/** Reading what was thrown may itself throw, and must not: the listeners behind it are still to be told. */
function describe(reason: unknown): string {
  try {
    if (reason instanceof Error) return String(reason.message);
    return typeof reason === "object" ? JSON.stringify(reason) : String(reason);
  } catch {
    return "something that cannot be shown";
  }
}

/**
 * Everyone who wants the Mutations of one source: a Session, or all Sessions of an Agent in one store. Each gets a copy
 * of its own, in order, isolated from the others.
 */
export class Subscribers {
  /** What they subscribed to, in words. */
  readonly #of: string;
  readonly #observe: (on: boolean) => void;
  readonly #all = new Set<Subscriber>();
  /** They have a snapshot, and whoever asked for it is about to get it in hand. */
  readonly #starting = new Set<Subscriber>();
  readonly #told_when_live: (() => void)[] = [];

  constructor(of: string, observe: (on: boolean) => void) {
    this.#of = of;
    this.#observe = observe;
  }

  /** `mutation` was parsed for this call alone: the first receiver gets it, the others copies. */
  publish(mutation: Mutation): void {
    const receivers = [...this.#all];
    const text = receivers.length > 1 ? JSON.stringify(mutation) : "";
    receivers.forEach((receiver, index) => {
      if (receiver.active) receiver.deliver(index === 0 ? mutation : (JSON.parse(text) as Mutation));
    });
  }

  /** Runs when nobody holds anything back any more: a Turn's end is told after all its Mutations. */
  when_live(tell: () => void): void {
    if (this.#starting.size === 0) tell();
    else this.#told_when_live.push(tell);
  }

  #became_live(subscriber: Subscriber): void {
    this.#starting.delete(subscriber);
    if (this.#starting.size > 0) return;
    for (const tell of this.#told_when_live.splice(0)) tell();
  }

  end(): void {
    for (const subscriber of [...this.#all]) {
      subscriber.end?.();
      this.#remove(subscriber);
    }
  }

  subscribe(listener: MutationListener): Unsubscribe {
    const subscriber: Subscriber = { active: true, deliver: (mutation) => this.#call(listener, mutation) };
    this.#add(subscriber);
    return () => this.#remove(subscriber);
  }

  /** For ourselves: every Mutation from now on, and the end of the handle. Neither may throw. */
  follow(deliver: (mutation: Mutation) => void, end: () => void): Unsubscribe {
    const subscriber: Subscriber = { active: true, deliver, end };
    this.#add(subscriber);
    return () => this.#remove(subscriber);
  }

  /** Holds Mutations back until the snapshot is known, then delivers those it does not contain. */
  watch(listener: MutationListener): SnapshotReader {
    const held: Mutation[] = [];
    let after: number | undefined;
    let live = false;
    const pass = (mutation: Mutation) => {
      if (subscriber.active && mutation.revision_of_session > (after ?? 0)) this.#call(listener, mutation);
    };
    const subscriber: Subscriber = {
      active: true,
      deliver: (mutation) => (live ? pass(mutation) : void held.push(mutation)),
      end: () => {
        if (after !== undefined) go_live();
      },
    };
    const go_live = () => {
      if (live) return;
      live = true;
      for (const mutation of held.splice(0)) pass(mutation);
      this.#became_live(subscriber);
    };
    this.#add(subscriber);
    return {
      start: (revision) => {
        after = revision;
        this.#starting.add(subscriber);
        // Not before whoever asked has the snapshot in hand.
        setImmediate(go_live);
      },
      stop: () => this.#remove(subscriber),
    };
  }

  iterate(signal: AbortSignal | undefined): AsyncIterableIterator<Mutation> {
    const reader = new MutationReader(() => {
      signal?.removeEventListener("abort", stop);
      this.#remove(subscriber);
    });
    const stop = () => reader.stop();
    const subscriber: Subscriber = {
      active: true,
      deliver: (mutation) => reader.push(mutation),
      end: () => reader.end(),
    };
    this.#add(subscriber);
    if (signal?.aborted) stop();
    else signal?.addEventListener("abort", stop, { once: true });
    return reader;
  }

  #add(subscriber: Subscriber): void {
    this.#all.add(subscriber);
    if (this.#all.size === 1) this.#observe(true);
  }

  #remove(subscriber: Subscriber): void {
    subscriber.active = false;
    if (this.#starting.has(subscriber)) this.#became_live(subscriber);
    if (this.#all.delete(subscriber) && this.#all.size === 0) this.#observe(false);
  }

  #call(listener: MutationListener, mutation: Mutation): void {
    const fail = (reason: unknown) => warn_of_listener(this.#of, reason);
    try {
      const returned = listener(mutation);
      if (is_thenable(returned)) Promise.resolve(returned).catch(fail);
    } catch (reason) {
      fail(reason);
    }
  }
}

export interface SnapshotReader {
  /** The snapshot holds everything up to this revision. */
  start(revision: number): void;
  stop(): void;
}

function is_thenable(value: unknown): value is PromiseLike<unknown> {
  return (
    typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function"
  );
}

/** Hands Mutations to a `for await` loop at its own pace. */
class MutationReader implements AsyncIterableIterator<Mutation> {
  readonly #queue = new MutationQueue();
  readonly #waiting: ((result: IteratorResult<Mutation>) => void)[] = [];
  readonly #let_go: () => void;
  #ended = false;

  constructor(let_go: () => void) {
    this.#let_go = let_go;
  }

  push(mutation: Mutation): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#queue.push(mutation);
    else next({ done: false, value: mutation });
  }

  /** Nothing more comes; what waits can still be read. */
  end(): void {
    this.#ended = true;
    for (const next of this.#waiting.splice(0)) next({ done: true, value: undefined });
  }

  /** The reader has had enough. */
  stop(): void {
    this.#queue.clear();
    this.end();
    this.#let_go();
  }

  next(): Promise<IteratorResult<Mutation>> {
    const value = this.#queue.shift();
    if (value !== undefined) return Promise.resolve({ done: false, value });
    if (this.#ended) return Promise.resolve({ done: true, value: undefined });
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  return(): Promise<IteratorResult<Mutation>> {
    this.stop();
    return Promise.resolve({ done: true, value: undefined });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}
