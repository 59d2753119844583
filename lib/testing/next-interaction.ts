import type { Interaction, SessionInteraction } from "../../types/interaction.js";
import type { Mutation } from "../../types/message.js";
import { abort_error } from "../errors.js";

/** What is used of a Session. */
export interface ObservedSession {
  readonly id: string;
  interactions<T extends Interaction = SessionInteraction>(): Promise<T[]>;
  subscribe(listener: (mutation: Mutation) => unknown): () => void;
}

export interface NextInteractionOptions {
  /** Ends the wait with an `AbortError`. */
  signal?: AbortSignal;
}

/**
 * The oldest Interaction that is pending and that the predicate takes, now or as soon as there is one. No clock is
 * involved: without such an Interaction it waits until the signal aborts.
 *
 * @example
 * const { interaction_id } = await next_interaction(session);
 * await session.respond({ interaction_id, response: { type: "approval", outcome: "denied" } });
 */
export function next_interaction<T extends Interaction = SessionInteraction>(
  session: ObservedSession,
  predicate: (interaction: T) => boolean = () => true,
  { signal }: NextInteractionOptions = {},
): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const settle = (act: () => void): void => {
      unsubscribe();
      signal?.removeEventListener("abort", abort);
      act();
    };
    const fail = (error: unknown): void => settle(() => reject(error));
    const abort = (): void => fail(abort_error(`No matching Interaction came up in Session ${session.id}.`));
    const look = async (): Promise<void> => {
      try {
        const found = (await session.interactions<T>()).find(predicate);
        if (found) settle(() => resolve(found));
      } catch (error) {
        fail(error);
      }
    };
    // Listening comes first: what is asked in between is then seen by one of the two.
    const unsubscribe = session.subscribe((mutation) => {
      if (asks(mutation)) void look();
    });
    if (signal?.aborted) return abort();
    signal?.addEventListener("abort", abort, { once: true });
    void look();
    return undefined;
  });
}

function asks(mutation: Mutation): boolean {
  // Looking at a closed Session rejects, and so does then the wait.
  if (mutation.variant === "session") return mutation.type === "closed";
  if (mutation.variant !== "part") return false;
  const { part } = mutation;
  if (part.type === "interaction") return part.interaction.status === "pending";
  return part.type === "tool" && (part.interactions ?? []).some(({ status }) => status === "pending");
}
