import type { Interaction, Message } from "../../index.js";
import { invalid } from "../accept.js";
import { compact, interaction_part, plain_part } from "./parts.js";
import type { UiMessage, UiPart } from "./ui-types.js";

/**
 * Messages of a Session as AI SDK UI messages, one for each and in their order; they pass `validateUIMessages`
 * of `ai`. A step's tool calls come before what they ask: each Interaction is a data part of its own, and an
 * approval is the state of its tool part besides.
 */
export function to_ui_messages(messages: readonly Message[]): UiMessage[] {
  if (!Array.isArray(messages)) throw invalid("to_ui_messages takes an array: the `items` of messages().");
  return messages.map((message: Message) => ({
    id: message.message_id,
    role: message.role,
    metadata: compact({
      session_id: message.session_id,
      turn_id: message.turn_id,
      created_at: message.created_at,
    }),
    parts: message.role === "user" ? user_parts(message) : assistant_parts(message),
  }));
}

function user_parts({ parts }: Message): UiPart[] {
  return parts.flatMap((part) => plain_part(part) ?? []);
}

function assistant_parts({ parts }: Message): UiPart[] {
  const shown: UiPart[] = [];
  let step: string | undefined;
  let asked: Interaction[] = [];
  const end_step = () => {
    // Ids begin with the time they were made.
    asked.sort((one, other) => (one.interaction_id < other.interaction_id ? -1 : 1));
    shown.push(...asked.map(interaction_part));
    asked = [];
  };
  for (const part of parts) {
    if (part.step_id !== undefined && part.step_id !== step) {
      end_step();
      step = part.step_id;
      shown.push({ type: "step-start" });
    }
    const own = plain_part(part);
    if (own !== undefined) shown.push(own);
    if (part.type === "tool") asked.push(...(part.interactions ?? []));
  }
  end_step();
  return shown;
}
