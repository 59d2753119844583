import type {
  ApprovalDecision,
  ApprovalRequest,
  Interaction,
  InteractionHandle,
  InteractionRequest,
  SessionInteraction,
  SessionInteractions,
  ToolApprovalRequest,
  ToolInteractionRequest,
  ToolInteractions,
} from "../index.js";
import { accept_json, accept_options } from "./accept.js";
import type { Bridge } from "./bridge.js";
import { abort_error } from "./errors.js";
import { fields_of } from "./fields.js";
import type { JsonObject, JsonValue } from "./json.js";
import { native_schema } from "./schema/native.js";

/** Which call asks, for requests made inside a tool. */
export interface AskingCall {
  turn_id: string;
  tool_call_id: string;
  tool_name: string;
}

interface Waiter {
  resolve(interaction: Interaction, decision: ApprovalDecision | undefined): void;
  reject(error: Error): void;
}

type ApprovalAnswer = { decision: ApprovalDecision } | { interaction: Interaction };

const REQUEST_KEYS = [
  "type",
  "turn_id",
  "tool_call_id",
  "tool_name",
  "title",
  "description",
  "payload",
  "response_schema",
];
const APPROVAL_KEYS = ["type", "turn_id", "tool_call_id", "tool_name", "payload", "response_schema"];

/** Makes requests, and wakes whoever waits for their end. */
export class InteractionDesk {
  readonly #bridge: Bridge;
  readonly #handle: number;
  readonly #waiting = new Map<string, Waiter>();
  #ended: (() => Error) | undefined;
  #detached = false;

  constructor(bridge: Bridge, handle: number) {
    this.#bridge = bridge;
    this.#handle = handle;
  }

  list(): Promise<Interaction[]> {
    return this.#bridge.call({ op: "interactions", session: this.#handle });
  }

  async request(input: unknown, call?: AskingCall): Promise<InteractionHandle<Interaction>> {
    const given = accept_options(input, "interactions.request", REQUEST_KEYS);
    const request = accept_json({ ...given, ...call }, "the request");
    const native_schema = native_schema_of(request);
    if (call !== undefined && this.#detached) return never();
    return this.#ask(
      { input: "request", request, native_schema, from_call: call !== undefined },
      (interaction: Interaction) => ({
        interaction_id: interaction.interaction_id,
        result: this.#result_of(interaction.interaction_id),
      }),
    );
  }

  /** Never an unhandled rejection: a tool may be gone by the time its wait is cancelled. */
  approval(input: unknown, call?: AskingCall): Promise<ApprovalDecision> {
    return handled(this.#approval(input, call));
  }

  /** Settles whoever waits for the Interaction. */
  ended(interaction: Interaction, decision: ApprovalDecision | undefined): void {
    const waiter = this.#waiting.get(interaction.interaction_id);
    this.#waiting.delete(interaction.interaction_id);
    if (interaction.status === "resolved" || interaction.status === "denied") {
      waiter?.resolve(interaction, decision);
    } else {
      const why = interaction.cancel_reason ?? interaction.status;
      waiter?.reject(abort_error(`The Interaction ${interaction.interaction_id} ended unanswered (${why}).`));
    }
  }

  /** The handle of the Session has ended: nothing will wake those who wait, now or later. */
  end(why: () => Error): void {
    this.#ended = why;
    const waiters = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const waiter of waiters) waiter.reject(why());
  }

  /** This process lets go: what its tools wait for never settles, now or later. */
  detach(): void {
    this.#detached = true;
  }

  #wait(interaction_id: string, waiter: Waiter): void {
    if (this.#ended === undefined) this.#waiting.set(interaction_id, waiter);
    else waiter.reject(this.#ended());
  }

  async #approval(input: unknown, call?: AskingCall): Promise<ApprovalDecision> {
    const given = accept_options(input, "interactions.approval.request", APPROVAL_KEYS);
    const request = accept_json({ ...given, ...call }, "the request");
    const native_schema = native_schema_of(request);
    if (call !== undefined && this.#detached) return never();
    // The waiter is in place before any later event is seen; the wait itself comes after.
    const { wait } = await this.#ask(
      { input: "approval", request, native_schema, from_call: call !== undefined },
      (answer: ApprovalAnswer) => ({
        wait: "decision" in answer ? Promise.resolve(answer.decision) : this.#decision_of(answer.interaction),
      }),
    );
    return wait;
  }

  #ask<Ok, Result>(input: object, on_ok: (ok: Ok) => Result): Promise<Result> {
    return this.#bridge.ask(this.#handle, input, on_ok);
  }

  #result_of(interaction_id: string): Promise<Interaction> {
    return handled(new Promise((resolve, reject) => this.#wait(interaction_id, { resolve, reject })));
  }

  #decision_of(interaction: Interaction): Promise<ApprovalDecision> {
    const decided = new Promise<ApprovalDecision>((resolve, reject) => {
      this.#wait(interaction.interaction_id, {
        resolve: (_, decision) => resolve(decision as ApprovalDecision),
        reject,
      });
    });
    return handled(decided);
  }
}

/** The schema of the answer as the native side has to read it, where that differs from what is shown. */
function native_schema_of(request: JsonValue): JsonObject | undefined {
  const { response_schema: schema } = fields_of(request);
  if (typeof schema !== "object" || schema === null || Array.isArray(schema)) return undefined;
  const native = native_schema(schema as JsonObject, "response_schema");
  return JSON.stringify(native) === JSON.stringify(schema) ? undefined : native;
}

function never<T>(): Promise<T> {
  return new Promise(() => {});
}

/** Whoever does not await it has no unhandled rejection. */
function handled<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}

/** The public `session.interactions`: a function that also carries the ways to ask. */
export function session_interactions(desk: InteractionDesk, check_open: () => void): SessionInteractions {
  const list = async <T extends Interaction = SessionInteraction>(): Promise<T[]> => {
    check_open();
    return (await desk.list()) as T[];
  };
  const request = async <T extends Interaction = SessionInteraction>(input: InteractionRequest<T>) => {
    check_open();
    return (await desk.request(input)) as InteractionHandle<T>;
  };
  const approve = async (input: ApprovalRequest) => {
    check_open();
    return desk.approval(input);
  };
  const approval = Object.freeze({ request: (input: ApprovalRequest) => handled(approve(input)) });
  return Object.freeze(Object.assign(list, { request, approval }));
}

/** What a tool gets as `context.interactions`: the same, for its own call. */
export function tool_interactions(desk: InteractionDesk, call: AskingCall): ToolInteractions {
  const request = async <T extends Interaction = SessionInteraction>(input: ToolInteractionRequest<T>) =>
    (await desk.request(input, call)) as InteractionHandle<T>;
  const approval = { request: (input: ToolApprovalRequest) => desk.approval(input, call) };
  return Object.freeze({ request, approval: Object.freeze(approval) });
}
