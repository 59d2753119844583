import type { Mutation, Session as PublicSession, TurnHandle } from "../../index.js";
import { accept_count, accept_optional, invalid, not_so } from "../accept.js";
import { JOURNAL_PAGE, type JournalFollower, type JournalHead, type SessionJournal } from "../journal.js";
import { Session } from "../session.js";
import { Translator } from "./translator.js";
import type { UiMessageChunk } from "./ui-types.js";

export interface UiMessageStreamOptions {
  /** The Turn to tell, from its beginning to its end: its id, or the handle that `prompt` gave. */
  turn?: string | TurnHandle;
  /**
   * Only what comes after this `revision_of_session`: for a reader who has everything up to it. Without `turn`
   * it may lie in an earlier Turn.
   */
  after_revision?: number;
  /**
   * Where the stream ends. `turn`: when the Turn has ended. `waiting`: also when nothing goes on before a person
   * answers, as an AI SDK client expects it, which sends answers only between streams. By default `turn` where
   * `turn` is given, else `waiting`.
   */
  until?: "turn" | "waiting";
  /**
   * The version of `ai` that reads the stream. 6, the default, is understood by both; 7 is also told of answers
   * to approvals that others gave.
   */
  ai?: 6 | 7;
}

/** A chunk; the last one of a Mutation names the revision that is complete with it. */
export interface ToldChunk {
  chunk: UiMessageChunk;
  revision?: number;
}

export interface AcceptedStream {
  journal: SessionJournal;
  /** The Turn to tell; undefined for whatever runs. */
  turn_id: string | undefined;
  /** The Turn in flight as the stream begins. */
  active: TurnHandle | null;
  after_revision: number | undefined;
  until: "turn" | "waiting";
  ai: 6 | 7;
}

const KEYS = ["turn", "after_revision", "until", "ai"];

export function accept_stream(session: PublicSession, options: unknown, method: string): AcceptedStream {
  const journal = Session.journal_of(session);
  if (journal === undefined) throw invalid(`${method} takes a Session: what sessions.get() gave.`);
  const given = accept_optional(options, method, KEYS);
  const turn_id = accept_turn(given.turn, method);
  const { until = turn_id === undefined ? "waiting" : "turn", ai = 6 } = given;
  if (until !== "turn" && until !== "waiting") throw not_so('`until` has to be "turn" or "waiting"', until);
  if (ai !== 6 && ai !== 7) throw not_so("`ai` has to be 6 or 7", ai);
  const after_revision = accept_count(given.after_revision, "after_revision", 0);
  return { journal, turn_id, active: session.active_turn(), after_revision, until, ai };
}

function accept_turn(turn: unknown, method: string): string | undefined {
  if (turn === undefined || typeof turn === "string") return turn;
  const id = typeof turn === "object" && turn !== null ? (turn as TurnHandle).id : undefined;
  if (typeof id === "string") return id;
  throw invalid(`${method} takes \`turn\`: the id of a Turn, or its handle.`);
}

/** Tells a Session, or one Turn of it, from its journal: what is stored, then what comes. */
export class UiStreamSource {
  readonly #accepted: AcceptedStream;
  readonly #follower: JournalFollower;
  readonly #translator: Translator;
  /** What was stored, and what was pending, as the stream began. */
  #head: JournalHead = { revision: 0, pending: [] };
  /** The Mutations up to here were taken. */
  #at = 0;
  /** The reader has everything up to here already. */
  #known = 0;
  /** The Turn has not begun yet: nothing before it is told. */
  #seeking = false;
  /** Whether there was anything to tell. */
  #begun = false;
  #told: ToldChunk[] = [];

  constructor(accepted: AcceptedStream) {
    this.#accepted = accepted;
    this.#follower = accepted.journal.follow();
    const { session_id } = accepted.journal;
    const emit = (chunk: UiMessageChunk) => {
      if (this.#begun) this.#told.push({ chunk });
    };
    const is_past = (id: string) =>
      this.#at <= this.#head.revision &&
      !this.#head.pending.some(({ interaction_id }) => interaction_id === id);
    this.#translator = new Translator(session_id, emit, { ai: accepted.ai, is_past });
    // A prompt that is withdrawn before its Turn begins ends without a Mutation.
    void accepted.active?.finished.then(() => this.#follower.ring());
  }

  start(): Promise<void> {
    return this.#or_stop(async () => {
      this.#head = await this.#accepted.journal.head();
      await (this.#accepted.turn_id === undefined ? this.#begin_anywhere() : this.#begin_at_turn());
    });
  }

  pull(controller: ReadableStreamDefaultController<ToldChunk>): Promise<void> {
    return this.#or_stop(async () => {
      let over = false;
      while (!over && this.#told.length === 0) {
        this.#take(await this.#follower.now(this.#at));
        over = await this.#at_end();
      }
      for (const told of this.#told.splice(0)) controller.enqueue(told);
      if (!over) return;
      this.#follower.stop();
      controller.close();
    });
  }

  cancel(): void {
    this.#follower.stop();
  }

  async #or_stop(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#follower.stop();
      throw error;
    }
  }

  async #begin_at_turn(): Promise<void> {
    const { turn_id, active, after_revision = 0, journal } = this.#accepted;
    const start = await turn_before(journal, this.#head.revision, turn_id);
    if (start === undefined && active?.id !== turn_id) {
      throw invalid(`The Session ${journal.session_id} has no Turn ${turn_id}.`);
    }
    this.#seeking = start === undefined;
    this.#at = start === undefined ? this.#head.revision : start.revision_of_session - 1;
    this.#known = Math.max(after_revision, this.#at);
  }

  /** In the Turn the reader was in, so that what is said of it next can be understood. */
  async #begin_anywhere(): Promise<void> {
    const { after_revision, journal } = this.#accepted;
    const known = Math.min(after_revision ?? this.#head.revision, this.#head.revision);
    const turn = await turn_before(journal, known);
    this.#at = turn?.type === "start" ? turn.revision_of_session - 1 : known;
    this.#known = after_revision === undefined ? this.#at : known;
  }

  #take(mutations: readonly Mutation[]): void {
    for (const mutation of mutations) {
      if (this.#has_ended()) return;
      this.#at = mutation.revision_of_session;
      if (this.#seeking) this.#seeking = !this.#starts(mutation);
      if (this.#seeking) continue;
      const told = this.#told.length;
      if (!this.#begun && this.#at > this.#known) {
        this.#begun = true;
        this.#translator.open_again();
      }
      this.#translator.take(mutation);
      if (this.#told.length > told) this.#mark();
    }
  }

  #mark(): void {
    const last = this.#told.at(-1);
    if (last !== undefined) last.revision = this.#at;
  }

  #starts(mutation: Mutation): boolean {
    const { turn_id } = this.#accepted;
    return mutation.variant === "turn" && mutation.type === "start" && mutation.turn_id === turn_id;
  }

  #has_ended(): boolean {
    const { turn_id } = this.#accepted;
    return turn_id !== undefined && this.#translator.ended?.turn_id === turn_id;
  }

  /** Whether the stream ends here. Where it does not, and nothing is left to tell, waits for more. */
  async #at_end(): Promise<boolean> {
    if (!this.#has_ended()) {
      const more = await this.#follower.now(this.#at);
      if (more.length > 0) {
        this.#take(more);
        return false;
      }
      if (!this.#pauses() && !this.#is_idle()) {
        if (this.#told.length === 0) this.#take(await this.#follower.next(this.#at));
        return false;
      }
    }
    if (!this.#begun) return true;
    this.#translator.close(this.#at);
    this.#mark();
    return true;
  }

  #pauses(): boolean {
    return !this.#seeking && this.#accepted.until === "waiting" && this.#translator.waits;
  }

  /** Nothing runs, and nothing is about to. */
  #is_idle(): boolean {
    const { active } = this.#accepted;
    const { turn_id, ended } = this.#translator;
    if (turn_id !== undefined) return false;
    return active === null || active.result !== null || ended?.turn_id === active.id;
  }
}

type TurnMutation = Extract<Mutation, { variant: "turn" }>;

/** The last word on a Turn up to a revision: its start or its end. With an id, the start of that Turn. */
async function turn_before(
  journal: SessionJournal,
  revision: number,
  turn_id?: string,
): Promise<TurnMutation | undefined> {
  for (let to = revision; to > 0; ) {
    const from = Math.max(0, to - JOURNAL_PAGE);
    const page = await journal.read(from, to - from);
    const found = page.findLast(
      (mutation) =>
        mutation.variant === "turn" &&
        (turn_id === undefined || (mutation.type === "start" && mutation.turn_id === turn_id)),
    );
    if (found !== undefined) return found as TurnMutation;
    to = from;
  }
  return undefined;
}
