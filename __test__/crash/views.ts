/** Messages as the checks look at them, and what holds of any view of a Session at any moment. */
import { isDeepStrictEqual } from "node:util";
import type {
  Interaction,
  Message,
  Part,
  SessionInteraction,
  SessionSnapshot,
  ToolPart,
} from "@downcity/agent";
import { interactions_of } from "../support/fold.js";

export const parts_in = (messages: readonly Message[]): Part[] =>
  messages.flatMap(({ parts }) => parts as Part[]);

export const calls_in = (messages: readonly Message[]): ToolPart[] =>
  parts_in(messages).filter((part) => part.type === "tool");

export const asked_in = (messages: readonly Message[]): SessionInteraction[] =>
  parts_in(messages).flatMap(interactions_of);

export const is_terminal = ({ state }: ToolPart): boolean => state === "completed" || state === "failed";

export const is_pending = ({ status }: Interaction): boolean => status === "pending";

/** By the id of the Interaction. */
export function by_id<T extends Interaction>(list: readonly T[]): Map<string, T> {
  return new Map(list.map((item) => [item.interaction_id, item]));
}

export function texts_of(messages: readonly Message[]): string[] {
  const users = messages.filter(({ role }) => role === "user");
  return parts_in(users).flatMap((part) => (part.type === "text" ? [part.text] : []));
}

/** I1 and what is derived from it, in one picture. */
export function* faults_of_snapshot({ messages, interactions, status }: SessionSnapshot): Generator<string> {
  for (const call of calls_in(messages)) {
    const waits = (call.interactions ?? []).some(is_pending);
    if (waits !== (call.state === "waiting-user")) {
      yield `I1: ${call.tool_call_id} is ${call.state} with ${waits ? "something" : "nothing"} pending`;
    }
  }
  const pending = by_id(asked_in(messages).filter(is_pending));
  for (const item of interactions) {
    const shown = pending.get(item.interaction_id);
    pending.delete(item.interaction_id);
    if (!isDeepStrictEqual(shown, item))
      yield `I1: ${item.interaction_id} differs in its Part and in the list`;
  }
  for (const id of pending.keys()) yield `I1: ${id} is pending in its Part and not in the list`;
  const runs = status.state === "running";
  if (runs !== (status.active_turn_id !== undefined))
    yield `the state ${status.state} and the active Turn disagree`;
  if (interactions.length > 0 && !runs) yield "an idle Session has something pending";
  if (!runs && messages.some(({ state }) => state !== "done")) yield "an idle Session has something open";
}
