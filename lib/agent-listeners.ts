import type { MutationListener, Unsubscribe } from "../index.js";
import type { Subscribers } from "./subscribers.js";

interface AgentListener {
  listener: MutationListener;
  /** Its subscription to each Session. */
  subscriptions: Map<Subscribers, Unsubscribe>;
}

/**
 * Listeners to all Sessions of an Agent. This is the one place that decides which Sessions those are: the ones
 * it has open, each from when it was opened.
 */
export class AgentListeners {
  readonly #sessions = new Set<Subscribers>();
  readonly #listeners = new Set<AgentListener>();

  subscribe(listener: MutationListener): Unsubscribe {
    const entry: AgentListener = { listener, subscriptions: new Map() };
    this.#listeners.add(entry);
    for (const session of this.#sessions) attach(entry, session);
    return () => {
      this.#listeners.delete(entry);
      for (const unsubscribe of entry.subscriptions.values()) unsubscribe();
    };
  }

  opened(session: Subscribers): void {
    this.#sessions.add(session);
    for (const entry of this.#listeners) attach(entry, session);
  }

  closed(session: Subscribers): void {
    this.#sessions.delete(session);
    for (const { subscriptions } of this.#listeners) subscriptions.delete(session);
  }
}

function attach({ listener, subscriptions }: AgentListener, session: Subscribers): void {
  subscriptions.set(session, session.subscribe(listener));
}
