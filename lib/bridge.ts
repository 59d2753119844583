import { type ErrorEnvelope, message_of, SessionError, session_error_from } from "./errors.js";
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

interface Ticket {
  ok(value: unknown): void;
  error(error: ErrorEnvelope): void;
}

/**
 * The one way between this layer and the native Agent of one store. Calls go down as JSON; answers, Mutations
 * and work come up through one ordered outbox, and are dispatched in that order, never on a caller's stack.
 */
export class Bridge {
  readonly #native: NativeAgent;
  readonly #keep_alive: KeepAlive;
  readonly #tickets = new Map<number, Ticket>();
  readonly #sessions = new Map<number, SessionEvents>();
  #last_ticket = 0;
  #scheduled = false;
  #draining = false;

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

  attached(handle: number): SessionEvents | undefined {
    return this.#sessions.get(handle);
  }

  /** The handle is of no more use; what still comes for it is dropped. */
  release(handle: number): void {
    this.#sessions.delete(handle);
    this.#sent(this.#native.call(JSON.stringify({ op: "release", session: handle })));
  }

  observe(handle: number, on: boolean): void {
    if (this.#sessions.has(handle)) this.#native.observe(handle, on);
  }

  /** A request to the Agent. `on_ok` runs in the order of events. */
  call<Ok, Result = Ok>(request: object, on_ok?: OnAnswer<Ok, Result>): Promise<Result> {
    return this.#ask((ticket) => this.#native.call(JSON.stringify({ ...request, ticket })), on_ok);
  }

  /** A request to a Session. `on_ok` runs in the order of events. */
  ask<Ok, Result = Ok>(handle: number, input: object, on_ok?: OnAnswer<Ok, Result>): Promise<Result> {
    return this.#ask((ticket) => this.#native.input(handle, JSON.stringify({ ...input, ticket })), on_ok);
  }

  /** Something that happened, as JSON text; nobody waits for an answer. */
  tell(handle: number, input_json: string): void {
    if (this.#sessions.has(handle)) this.#sent(this.#native.input(handle, input_json));
  }

  delta(handle: number, step_id: string, ref: number, text: string): void {
    if (this.#sessions.has(handle)) this.#sent(this.#native.delta(handle, step_id, ref, text));
  }

  #ask<Ok, Result>(send: (ticket: number) => boolean, on_ok?: OnAnswer<Ok, Result>): Promise<Result> {
    return new Promise<Result>((resolve, reject) => {
      this.#last_ticket += 1;
      const ticket = this.#last_ticket;
      const take = (settle: () => void) => {
        this.#tickets.delete(ticket);
        this.#keep_alive.call_ended();
        settle();
      };
      this.#tickets.set(ticket, {
        ok: (value) => take(() => resolve(on_ok === undefined ? (value as Result) : on_ok(value as Ok))),
        error: (error) => take(() => reject(session_error_from(error))),
      });
      this.#keep_alive.call_started();
      try {
        this.#sent(send(ticket));
      } catch (error) {
        take(() => reject(error));
      }
    });
  }

  #sent(has_events: boolean): void {
    if (!has_events || this.#scheduled) return;
    this.#scheduled = true;
    queueMicrotask(() => this.#drain());
  }

  #drain(): void {
    this.#scheduled = false;
    // A listener may run this loop again by what it calls: the running one takes it all.
    if (this.#draining) return;
    this.#draining = true;
    try {
      for (let text = this.#native.drain(); text !== null; text = this.#native.drain()) {
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
    else if (event.e === "warning") process.emitWarning(String(event.message), { type: "SessionWarning" });
    else if (event.session !== undefined) this.#sessions.get(event.session)?.on_event(event);
  }

  #answer(event: NativeEvent): void {
    const ticket = this.#tickets.get(event.ticket as number);
    if (event.error === undefined) ticket?.ok(event.ok);
    else ticket?.error(event.error as ErrorEnvelope);
  }
}
