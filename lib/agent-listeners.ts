import type { MutationListener, Unsubscribe } from "../index.js";
import type { StoreFeed } from "./store-feed.js";

interface AgentListener {
  listener: MutationListener;
  /** Its subscription to each store's feed. */
  subscriptions: Map<StoreFeed, Unsubscribe>;
}

/** Listeners to all Sessions of an Agent, in each of the stores it uses. */
export class AgentListeners {
  readonly #feeds = new Set<StoreFeed>();
  readonly #listeners = new Set<AgentListener>();

  subscribe(listener: MutationListener): Unsubscribe {
    const entry: AgentListener = { listener, subscriptions: new Map() };
    this.#listeners.add(entry);
    for (const feed of this.#feeds) attach(entry, feed);
    return () => {
      this.#listeners.delete(entry);
      for (const unsubscribe of entry.subscriptions.values()) unsubscribe();
    };
  }

  /** A store is used from now on. */
  add(feed: StoreFeed): void {
    this.#feeds.add(feed);
    for (const entry of this.#listeners) attach(entry, feed);
  }
}

function attach({ listener, subscriptions }: AgentListener, feed: StoreFeed): void {
  subscriptions.set(feed, feed.subscribe(listener));
}
