import type {
  Interaction,
  MessagesOptions,
  MessagesPage,
  Mutation,
  MutationListener,
  PromptInput,
  Session as PublicSession,
  TurnHandle as PublicTurnHandle,
  RespondInput,
  SessionConfig,
  SessionInteraction,
  SessionInteractions,
  SessionSnapshot,
  SessionStatus,
  SetOptions,
  StopResult,
  Unsubscribe,
} from "../index.js";
import {
  accept_count,
  accept_json,
  accept_listener,
  accept_optional,
  accept_options,
  accept_response,
  accept_signal,
  not_so,
} from "./accept.js";
import { abort_error, SessionError } from "./errors.js";
import { session_interactions } from "./interactions.js";
import { SessionJournal } from "./journal.js";
import type { ModelShelf } from "./models.js";
import type { SessionPort } from "./session-port.js";
import { TurnHandle } from "./turn-handle.js";

/** In characters; those that the core gives are far shorter. A longer one is not carried along, nor named in full. */
const LONGEST_ID = 1024;

/** Whoever keeps the list of open Sessions is told when this one goes. */
export interface SessionEnds {
  leaving(gone: Promise<void>): void;
  closed(): void;
}

type Prompted = { prompt_id: string; turn_id: string };

/** The public handle of an open Session: checks what it is given and passes it on. */
export class Session implements PublicSession {
  readonly id: string;
  readonly interactions: SessionInteractions;
  readonly #port: SessionPort;
  readonly #models: ModelShelf;
  readonly #ends: SessionEnds;
  #closing: Promise<void> | undefined;
  #lost: SessionError | undefined;

  constructor(port: SessionPort, models: ModelShelf, ends: SessionEnds) {
    this.id = port.session_id;
    this.#port = port;
    this.#models = models;
    this.#ends = ends;
    port.on_lost = (why) => this.#lose(why);
    this.interactions = session_interactions(port.desk, () => this.#check_open());
    Object.defineProperty(this, "id", { writable: false });
    Object.defineProperty(this, "interactions", { writable: false });
  }

  /** @internal For what this package builds on a Session; undefined where it is none of ours. */
  static journal_of(session: unknown): SessionJournal | undefined {
    if (typeof session !== "object" || session === null || !(#port in session)) return undefined;
    session.#check_open();
    return new SessionJournal(session.#port);
  }

  async prompt(input: PromptInput): Promise<PublicTurnHandle> {
    this.#check_open();
    const { query, signal: given } = accept_options(input, "prompt", ["query", "signal"]);
    const parts = accept_query(query);
    const signal = accept_signal(given);
    if (signal?.aborted) throw abort_error("The prompt's signal was already aborted.");
    return this.#port.ask({ input: "prompt", parts }, ({ prompt_id, turn_id }: Prompted) => {
      const handle = this.#port.turns.queued(prompt_id, turn_id);
      if (signal !== undefined) this.#withdraw_on(signal, prompt_id, handle);
      return handle;
    });
  }

  async stop(): Promise<StopResult> {
    this.#check_open();
    return this.#port.ask({ input: "stop" });
  }

  close(): Promise<void> {
    if (this.#closing === undefined) {
      this.#closing = this.#close();
      this.#ends.leaving(this.#closing);
    }
    return this.#closing;
  }

  async detach(): Promise<void> {
    if (this.#closing !== undefined) return this.#closing;
    this.#closing = this.#port.detached();
    this.#ends.leaving(this.#closing);
    this.#ends.closed();
    return this.#closing;
  }

  subscribe(listener: MutationListener): Unsubscribe {
    accept_listener(listener, "subscribe");
    this.#check_open();
    return this.#port.subscribers.subscribe(listener);
  }

  async watch(listener: MutationListener): Promise<{ snapshot: SessionSnapshot; unsubscribe: Unsubscribe }> {
    accept_listener(listener, "watch");
    this.#check_open();
    const reader = this.#port.subscribers.watch(listener);
    try {
      const snapshot = await this.#ask_agent("snapshot", {}, (answer: SessionSnapshot) => {
        reader.start(answer.revision_of_session);
        return answer;
      });
      return { snapshot, unsubscribe: () => reader.stop() };
    } catch (error) {
      reader.stop();
      throw error;
    }
  }

  mutations(options?: { signal?: AbortSignal }): AsyncIterableIterator<Mutation> {
    const { signal } = accept_optional(options, "mutations", ["signal"]);
    const accepted = accept_signal(signal);
    this.#check_open();
    return this.#port.subscribers.iterate(accepted);
  }

  async messages(options?: MessagesOptions): Promise<MessagesPage> {
    this.#check_open();
    const given = accept_optional(options, "messages", ["before_sequence", "limit"]);
    const before_sequence = accept_count(given.before_sequence, "before_sequence");
    const limit = accept_count(given.limit, "limit");
    return this.#ask_agent("messages", { before_sequence, limit });
  }

  async respond<T extends Interaction = SessionInteraction>(input: RespondInput<T>): Promise<T> {
    this.#check_open();
    const given = accept_options(input, "respond", ["interaction_id", "response"]);
    if (typeof given.interaction_id !== "string") {
      throw not_so(
        "`interaction_id` has to be the string that names a pending Interaction",
        given.interaction_id,
      );
    }
    const { interaction_id } = given;
    if (interaction_id.length > LONGEST_ID) {
      throw new SessionError(
        "INTERACTION_NOT_FOUND",
        `No Interaction has an id of ${interaction_id.length} characters.`,
      );
    }
    const { response, refusal } = accept_response(given.response);
    const answered = this.#port.ask<T>({ input: "respond", interaction_id, response });
    if (refusal === undefined) return answered;
    // What is no JSON is sent as null, so that an Interaction that is unknown or has ended is told first.
    return answered.catch((error: unknown) => {
      throw error instanceof SessionError && error.code === "INVALID_RESPONSE" ? refusal : error;
    });
  }

  async set(config: SessionConfig, options?: SetOptions): Promise<void> {
    this.#check_open();
    const { model, ...rest } = accept_options(config, "set", ["security", "model"]);
    const flags = accept_optional(options, "The second argument of set", [
      "persist_action",
      "publish_mutation",
    ]);
    await this.#port.ask({
      input: "set",
      config: accept_json(rest, "the configuration"),
      options: accept_json(flags, "the options"),
      model: model === undefined ? undefined : this.#models.keep(model),
    });
  }

  async status(): Promise<SessionStatus> {
    this.#check_open();
    return this.#ask_agent("status", {});
  }

  active_turn(): PublicTurnHandle | null {
    this.#check_open();
    return this.#port.turns.active();
  }

  /** Runtimes older than the symbol find the method under the name TypeScript's own helpers use. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #ask_agent<Ok, Result = Ok>(op: string, fields: object, on_ok?: (ok: Ok) => Result): Promise<Result> {
    return this.#port.bridge.call({ op, session: this.#port.handle, ...fields }, on_ok);
  }

  /** Nothing is left to end: the handle only lets go. */
  #lose(why: SessionError): void {
    this.#lost = why;
    this.#closing ??= Promise.resolve();
    this.#ends.closed();
  }

  #check_open(): void {
    if (this.#lost !== undefined) throw new SessionError(this.#lost.code, this.#lost.message);
    if (this.#closing === undefined) return;
    throw new SessionError(
      "SESSION_CLOSED",
      `This handle of Session ${this.id} is closed; open the Session again with agent.sessions.get().`,
    );
  }

  async #close(): Promise<void> {
    try {
      await this.#port.ask({ input: "close" }, () => {
        this.#port.closed();
        this.#ends.closed();
      });
    } catch (error) {
      if (this.#lost !== undefined) return;
      // Nothing was closed: the handle stays usable.
      this.#closing = undefined;
      throw error;
    }
  }

  #withdraw_on(signal: AbortSignal, prompt_id: string, handle: TurnHandle): void {
    const input = JSON.stringify({ input: "withdraw", prompt_id });
    const withdraw = () => this.#port.bridge.tell(this.#port.handle, input);
    TurnHandle.when_ended(handle, () => signal.removeEventListener("abort", withdraw));
    if (signal.aborted) withdraw();
    else signal.addEventListener("abort", withdraw, { once: true });
  }
}

function accept_query(query: unknown): unknown {
  if (typeof query === "string") return accept_json([{ type: "text", text: query }], "query");
  if (Array.isArray(query)) return accept_json(query, "query");
  throw not_so('`query` has to be a string, or an array of parts such as { type: "text", text }', query);
}
