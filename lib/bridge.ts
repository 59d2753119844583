import type { Mutation } from "../index.js";
import { type ErrorEnvelope, message_of, SessionError, session_error_from } from "./errors.js";
import { normalise } from "./json.js";
import type { KeepAlive } from "./keep-alive.js";
import { type NativeAgent, type NativeStore, native_binding } from "./native.js";

/** An event out of the native outbox. What else it carries depends on `e`. */
export interface NativeEvent {
  e: string;
  session?: number;
  [field: string]: unknown;
}

/** Whoever the events of one Session are for. */
export interface SessionEvents {
  on_event(event: NativeEvent): void;
}

/** Takes an answer in the order of events, before any later event is dispatched. */
type OnAnswer<Ok, Result> = (ok: Ok) => Result;

type Ask = (native: NativeAgent, ticket: number) => boolean;

interface Ticket {
  ok(value: unknown): void;
  error(error: ErrorEnvelope): void;
}

/** JSON writes a lone surrogate as an escape, which the native side refuses; such text is mended first. */
export function json_text(value: object): string {
  const text = JSON.stringify(value);
  return /\\u[dD][89a-fA-F]/.test(text) ? normalise(value).text : text;
}

/**
 * The one way between this layer and the native Agent of one store. Calls go down as JSON; answers, Mutations
 * and work come up through one ordered outbox, and are dispatched in that order, never on a caller's stack.
 */
export class Bridge {
  #native: NativeAgent | undefined;
  readonly #keep_alive: KeepAlive;
  readonly #tickets = new Map<number, Ticket>();
  readonly #sessions = new Map<number, SessionEvents>();
  #last_ticket = 0;
  #scheduled = false;
  #draining = false;
  #ended = false;
  #tell_closed: () => void = () => {};
  readonly #closed = new Promise<void>((resolve) => {
    this.#tell_closed = resolve;
  });
  /** Told each Mutation of the store's Sessions, while the feed is on. */
  on_feed: ((mutation: Mutation) => void) | undefined;

  constructor(store: NativeStore, settings_json: string, keep_alive: KeepAlive) {
    const { NativeAgent } = native_binding();
    try {
      this.#native = new NativeAgent(store, settings_json, () => this.#drain());
    } catch (error) {
      throw new SessionError("INVALID_INPUT", message_of(error), { cause: error });
    }
    this.#keep_alive = keep_alive;
  }

  attach(handle: number, session: SessionEvents): void {
    this.#sessions.set(handle, session);
  }

  /** The handle is of no more use; what still comes for it is dropped. Resolves when others can have the Session. */
  async release(handle: number): Promise<void> {
    this.#sessions.delete(handle);
    await this.call({ op: "release", session: handle });
  }

  get ended(): boolean {
    return this.#ended;
  }

  /**
   * The Agent has ended: lets the native side go, which holds this object as this object holds it. Calls that are not
   * answered yet keep it until they are. Resolves when it is gone, and with it what it had open.
   */
  end(): Promise<void> {
    this.#ended = true;
    this.#close_when_answered();
    return this.#closed;
  }

  #close_when_answered(): void {
    if (this.#tickets.size > 0) return;
    this.#native?.close();
    this.#native = undefined;
    this.#tell_closed();
  }

  observe(handle: number, on: boolean): void {
    if (this.#sessions.has(handle)) this.#native?.observe(handle, on);
  }

  /** A request to the Agent. `on_ok` runs in the order of events. */
  call<Ok, Result = Ok>(request: object, on_ok?: OnAnswer<Ok, Result>): Promise<Result> {
    return this.#ask((native, ticket) => native.call(json_text({ ...request, ticket })), on_ok);
  }

  /** A request to a Session. `on_ok` runs in the order of events. */
  ask<Ok, Result = Ok>(handle: number, input: object, on_ok?: OnAnswer<Ok, Result>): Promise<Result> {
    return this.#ask((native, ticket) => native.input(handle, json_text({ ...input, ticket })), on_ok);
  }

  /** Something that happened, as JSON text; nobody waits for an answer. */
  tell(handle: number, input_json: string): void {
    if (this.#sessions.has(handle)) this.#send((native) => native.input(handle, input_json));
  }

  /** What came of the model's stream together, as a JSON array of events. */
  model(handle: number, step_id: string, events_json: string): void {
    if (this.#sessions.has(handle)) this.#send((native) => native.model(handle, step_id, events_json));
  }

  delta(handle: number, step_id: string, ref: number, text: string): void {
    if (this.#sessions.has(handle)) this.#send((native) => native.delta(handle, step_id, ref, text));
  }

  #ask<Ok, Result>(send: Ask, on_ok?: OnAnswer<Ok, Result>): Promise<Result> {
    return new Promise<Result>((resolve, reject) => {
      this.#last_ticket += 1;
      const ticket = this.#last_ticket;
      const take = (settle: () => void) => {
        this.#tickets.delete(ticket);
        this.#keep_alive.call_ended();
        if (this.#ended) this.#close_when_answered();
        try {
          settle();
        } catch (error) {
          reject(error);
        }
      };
      this.#tickets.set(ticket, {
        ok: (value) => take(() => resolve(on_ok === undefined ? (value as Result) : on_ok(value as Ok))),
        error: (error) => take(() => reject(session_error_from(error))),
      });
      this.#keep_alive.call_started();
      try {
        this.#send((native) => send(native, ticket));
      } catch (error) {
        take(() => reject(error));
      }
    });
  }

  #send(send: (native: NativeAgent) => boolean): void {
    if (this.#native === undefined) throw new SessionError("SESSION_CLOSED", "The Agent was disposed.");
    if (!send(this.#native) || this.#scheduled) return;
    this.#scheduled = true;
    queueMicrotask(() => this.#drain());
  }

  #drain(): void {
    this.#scheduled = false;
    // A listener may run this loop again by what it calls: the running one takes it all.
    if (this.#draining) return;
    this.#draining = true;
    try {
      for (let text = this.#native?.drain(); typeof text === "string"; text = this.#native?.drain()) {
        for (const event of JSON.parse(text) as NativeEvent[]) this.#dispatch_safely(event);
      }
    } finally {
      this.#draining = false;
    }
  }

  #dispatch_safely(event: NativeEvent): void {
    try {
      this.#dispatch(event);
    } catch (error) {
      // Ours, and no reason to lose the events behind it.
      process.emitWarning(error instanceof Error ? error : String(error));
    }
  }

  #dispatch(event: NativeEvent): void {
    if (event.e === "answer") this.#answer(event);
    else if (event.e === "feed") this.on_feed?.(event.mutation as Mutation);
    else if (event.e === "warning") warn(event);
    else if (event.session !== undefined) this.#sessions.get(event.session)?.on_event(event);
  }

  #answer(event: NativeEvent): void {
    const ticket = this.#tickets.get(event.ticket as number);
    if (event.error === undefined) ticket?.ok(event.ok);
    else ticket?.error(event.error as ErrorEnvelope);
  }
}

function warn({ session_id, message }: NativeEvent): void {
  process.emitWarning(`Session ${session_id}: ${message}`, { type: "SessionWarning" });
}
