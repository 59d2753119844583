import type { MutationListener, Unsubscribe } from "../index.js";
import type { Bridge } from "./bridge.js";
import { message_of } from "./errors.js";
import { Subscribers } from "./subscribers.js";

/** How soon a feed that could not begin is begun again. */
const RETRY_MS = 500;

/** The Mutations of all Sessions of one store, read while somebody listens. */
export class StoreFeed {
  readonly #bridge: Bridge;
  readonly #subscribers: Subscribers;
  #wanted = false;
  #warned = false;
  #retry: NodeJS.Timeout | undefined;
  /** Gives what kept it from beginning. */
  #begun: Promise<{ error: unknown } | undefined> = Promise.resolve(undefined);

  /** `of` says in words whose Sessions they are. */
  constructor(bridge: Bridge, of: string) {
    this.#bridge = bridge;
    this.#subscribers = new Subscribers(of, (on) => this.#turn(on));
    bridge.on_feed = (mutation) => this.#subscribers.publish(mutation);
  }

  subscribe(listener: MutationListener): Unsubscribe {
    return this.#subscribers.subscribe(listener);
  }

  /**
   * Settles once those who listen by now hear what is committed from then on: what a reading of the store that begins
   * after it does not have, they are told. Fails where they cannot hear anything yet.
   */
  async begun(): Promise<void> {
    if (this.#retry !== undefined) this.#turn(true);
    const failed = await this.#begun;
    if (failed !== undefined && this.#wanted) throw failed.error;
  }

  /** The Agent has ended. */
  end(): void {
    this.#wanted = false;
    clearTimeout(this.#retry);
    this.#retry = undefined;
  }

  #turn(on: boolean): void {
    clearTimeout(this.#retry);
    this.#retry = undefined;
    this.#wanted = on;
    this.#begun = this.#bridge.call<unknown>({ op: "feed", on }).then(
      () => {
        this.#warned = false;
        return undefined;
      },
      (error: unknown) => {
        this.#failed(error);
        return { error };
      },
    );
  }

  /** The store may answer again; whoever listens is told once that it hears nothing meanwhile. */
  #failed(error: unknown): void {
    if (!this.#wanted) return;
    if (!this.#warned) {
      process.emitWarning(
        `agent.subscribe tells nothing of this store until it answers: ${message_of(error)}`,
      );
    }
    this.#warned = true;
    clearTimeout(this.#retry);
    this.#retry = setTimeout(() => this.#turn(true), RETRY_MS).unref();
  }
}
