import type { ApprovalDecision, Interaction, Mutation, TurnResult } from "../index.js";
import type { Bridge, NativeEvent, SessionEvents } from "./bridge.js";
import { abort_error, type ErrorEnvelope, type SessionError, session_error_from } from "./errors.js";
import { InteractionDesk } from "./interactions.js";
import type { KeepAlive } from "./keep-alive.js";
import { Subscribers } from "./subscribers.js";
import { TurnBook } from "./turn-book.js";

/** Does the work a Session asks of JavaScript: asks the model, runs the tools. */
export interface Worker {
  on_event(event: NativeEvent): void;
  /** Passes on what has come of models' streams by now. */
  flush(): void;
  turn_stopped(): void;
  /** Nothing that is still going on matters any more. */
  abandon(): void;
}

export type WorkerFor = (port: SessionPort) => Worker;

/** What the native side sees of an open Session: takes its events to whoever they are for. */
export class SessionPort implements SessionEvents {
  readonly session_id: string;
  readonly handle: number;
  readonly bridge: Bridge;
  readonly desk: InteractionDesk;
  readonly turns: TurnBook;
  readonly subscribers: Subscribers;
  readonly #worker: Worker;
  /** Told once when the Session is lost. */
  on_lost: ((why: SessionError) => void) | undefined;

  constructor(
    bridge: Bridge,
    handle: number,
    session_id: string,
    keep_alive: KeepAlive,
    worker_for: WorkerFor,
  ) {
    this.bridge = bridge;
    this.handle = handle;
    this.session_id = session_id;
    this.desk = new InteractionDesk(bridge, handle);
    this.turns = new TurnBook(keep_alive);
    this.subscribers = new Subscribers(`Session ${session_id}`, (on) => bridge.observe(handle, on));
    this.#worker = worker_for(this);
  }

  /** Something that happened, as JSON text. */
  tell(input_json: string): void {
    this.bridge.tell(this.handle, input_json);
  }

  ask<Ok, Result = Ok>(input: object, on_ok?: (ok: Ok) => Result): Promise<Result> {
    this.#worker.flush();
    return this.bridge.ask(this.handle, input, on_ok);
  }

  on_event(event: NativeEvent): void {
    switch (event.e) {
      case "mutation":
        this.subscribers.publish(event.mutation as Mutation);
        break;
      case "interaction_ended":
        this.desk.ended(event.interaction as Interaction, event.decision as ApprovalDecision | undefined);
        break;
      case "prompt_turn":
        this.turns.absorbed(event.prompt_id as string, event.turn_id as string);
        break;
      case "prompt_dropped":
        this.turns.dropped(event.prompt_id as string, event.result as TurnResult);
        break;
      case "turn_seen":
        this.turns.seen(event.turn_id as string);
        break;
      case "turn_taken":
        this.turns.taken(event.turn_id as string);
        break;
      case "turn_ended":
        this.#turn_ended(event.result as TurnResult);
        break;
      case "lost":
        this.#lost(session_error_from(event.error as ErrorEnvelope));
        break;
      default:
        this.#worker.on_event(event);
        break;
    }
  }

  #turn_ended(result: TurnResult): void {
    if (result.status === "stopped") this.#worker.turn_stopped();
    this.subscribers.when_live(() => this.turns.ended(result));
  }

  /** The handle was closed; everything it had to tell has been told. */
  closed(): void {
    this.desk.end(() => abort_error("The Session was closed."));
    this.#let_go().catch(() => {});
  }

  /** Another owner has the Session now, or it was removed. */
  #lost(why: SessionError): void {
    this.desk.end(() => why);
    this.#let_go().catch(() => {});
    this.on_lost?.(why);
  }

  /** The handle is given up while things go on: waits in tools never settle. Resolves when others can go on. */
  detached(): Promise<void> {
    this.desk.detach();
    return this.#let_go();
  }

  #let_go(): Promise<void> {
    this.#worker.abandon();
    this.subscribers.end();
    this.turns.detach();
    return this.bridge.release(this.handle);
  }
}
