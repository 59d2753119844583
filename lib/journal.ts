import type { Mutation, SessionInteraction, SessionSnapshot, Unsubscribe } from "../index.js";
import { SessionError } from "./errors.js";
import type { SessionPort } from "./session-port.js";

/** How many Mutations are read from the store at once. */
export const JOURNAL_PAGE = 256;
/** How many are kept as they come; who falls further behind reads the store. */
const KEPT = 256;

export interface JournalHead {
  /** The last Mutation that is stored. */
  revision: number;
  /** What is pending there. */
  pending: SessionInteraction[];
}

/** The stored Mutations of an open Session, by revision. */
export class SessionJournal {
  readonly #port: SessionPort;

  constructor(port: SessionPort) {
    this.#port = port;
  }

  get session_id(): string {
    return this.#port.session_id;
  }

  async head(): Promise<JournalHead> {
    const { bridge, handle: session } = this.#port;
    const snapshot = await bridge.call<SessionSnapshot>({ op: "snapshot", session, limit: 1 });
    return { revision: snapshot.revision_of_session, pending: snapshot.interactions };
  }

  /** The Mutations after a revision, at most `limit` of them. */
  read(after: number, limit = JOURNAL_PAGE): Promise<Mutation[]> {
    const { bridge, handle: session } = this.#port;
    return bridge.call({ op: "journal", session, after, limit });
  }

  follow(): JournalFollower {
    return new JournalFollower(this, (deliver, end) => this.#port.subscribers.follow(deliver, end));
  }
}

type Follow = (deliver: (mutation: Mutation) => void, end: () => void) => Unsubscribe;

/**
 * Reads a journal to its end and beyond: what is stored, then what comes. Whoever reads slowly costs no memory,
 * as all of it can be read from the store.
 */
export class JournalFollower {
  readonly #journal: SessionJournal;
  readonly #stop: Unsubscribe;
  /** The newest Mutations, in order and without gaps. */
  #kept: Mutation[] = [];
  /** The newest that has come; what is stored before the first one, only the store knows. */
  #newest = 0;
  /** Whether the store was read up to where Mutations began to come. */
  #caught_up = false;
  #ended = false;
  #rings = 0;
  #wake: (() => void) | undefined;

  constructor(journal: SessionJournal, follow: Follow) {
    this.#journal = journal;
    this.#stop = follow(
      (mutation) => this.#keep(mutation),
      () => {
        this.#ended = true;
        this.ring();
      },
    );
  }

  /** What comes after a revision: waits for it. @throws SessionError `SESSION_CLOSED` when the handle has ended. */
  async next(after: number): Promise<Mutation[]> {
    for (;;) {
      const rings = this.#rings;
      const found = await this.now(after);
      if (found.length > 0) return found;
      if (this.#ended) throw this.#gone();
      if (rings === this.#rings) {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
        return [];
      }
    }
  }

  /** What there is after a revision, perhaps nothing. */
  async now(after: number): Promise<Mutation[]> {
    const kept = this.#kept_after(after);
    if (kept.length > 0) return kept;
    if (this.#ended || (this.#caught_up && this.#newest <= after)) return [];
    const rings = this.#rings;
    try {
      const page = await this.#journal.read(after);
      if (page.length < JOURNAL_PAGE && rings === this.#rings) this.#caught_up = true;
      return page;
    } catch (error) {
      // The handle has ended meanwhile, and its last Mutations came before that.
      if (this.#ended) return this.#kept_after(after);
      throw error;
    }
  }

  /** Has whoever waits look again. */
  ring(): void {
    this.#rings += 1;
    this.#wake?.();
    this.#wake = undefined;
  }

  stop(): void {
    this.#stop();
    this.#ended = true;
    this.ring();
  }

  #keep(mutation: Mutation): void {
    if (this.#kept.length >= KEPT) this.#kept = [];
    this.#kept.push(mutation);
    this.#newest = mutation.revision_of_session;
    this.ring();
  }

  #kept_after(after: number): Mutation[] {
    const [first] = this.#kept;
    if (first === undefined || first.revision_of_session > after + 1) return [];
    return this.#kept.splice(0).filter(({ revision_of_session }) => revision_of_session > after);
  }

  #gone(): SessionError {
    return new SessionError(
      "SESSION_CLOSED",
      `This handle of Session ${this.#journal.session_id} is closed; open the Session again to go on reading.`,
    );
  }
}
