/** Compares what was published before a kill with what the next process finds. */
import { isDeepStrictEqual } from "node:util";
import type { Message, Part, SessionInteraction, SessionSnapshot, ToolPart } from "@downcity/agent";
import { asked_in, by_id, calls_in, is_pending, is_terminal } from "./views.js";

const RANK = {
  "input-streaming": 0,
  ready: 1,
  running: 2,
  "waiting-user": 2,
  completed: 3,
  failed: 3,
} as const;

/** I2: everything that was published is there; nothing goes back, and what had ended is as it was. */
export function* faults_of_history(before: readonly Message[], now: SessionSnapshot): Generator<string> {
  const first = now.messages[0]?.sequence ?? 0;
  const found = new Map(now.messages.map((message) => [message.message_id, message]));
  for (const message of before) {
    const { message_id, sequence } = message;
    const kept = found.get(message_id);
    if (kept === undefined) {
      if (sequence >= first) yield `I2: the published message ${message_id} is gone`;
      continue;
    }
    if (kept.sequence !== sequence) yield `${message_id} moved from ${sequence} to ${kept.sequence}`;
    if (kept.revision < message.revision) yield `I2: ${message_id} fell to revision ${kept.revision}`;
    const kept_parts = new Map((kept.parts as Part[]).map((part) => [part.part_id, part]));
    for (const part of message.parts as Part[]) yield* faults_of_part(part, kept_parts.get(part.part_id));
  }
}

function* faults_of_part(before: Part, now: Part | undefined): Generator<string> {
  const { part_id, type } = before;
  if (now === undefined) {
    yield `I2: the published Part ${part_id} (${type}) is gone`;
    return;
  }
  if (before.type === "tool") yield* faults_of_call(before, now as ToolPart);
  else if (before.type === "interaction" && now.type === "interaction") {
    yield* faults_of_interaction(before.interaction, now.interaction);
  } else if ((before.type === "text" || before.type === "reasoning") && before.state === "streaming") {
    const { text } = now as typeof before;
    if (!text.startsWith(before.text))
      yield `I2: ${part_id} lost text: ${JSON.stringify([before.text, text])}`;
  } else if (!is_same_after_its_end(before, now)) yield `I2: ${part_id} (${type}) changed after its end`;
}

/** Nothing changes but that the answer which a Part belongs to may turn out to have broken off. */
function is_same_after_its_end(before: Part, now: Part): boolean {
  const marked = "interrupted" in now && !("interrupted" in before) ? { interrupted: true } : {};
  return isDeepStrictEqual({ ...before, ...marked }, now);
}

function* faults_of_call(before: ToolPart, now: ToolPart): Generator<string> {
  const { tool_call_id: id, state } = before;
  if (RANK[now.state] < RANK[state]) yield `I2: ${id} went back from ${state} to ${now.state}`;
  if (is_terminal(before) && !is_same_after_its_end(before, now)) yield `I5: ${id} changed after its end`;
  if (before.input !== undefined && !isDeepStrictEqual(before.input, now.input)) {
    yield `O-18: the input of ${id} changed`;
  }
  const text = now.input_text ?? "";
  if (state === "input-streaming" && now.input === undefined && !text.startsWith(before.input_text ?? "")) {
    yield `I2: ${id} lost some of its arguments`;
  }
  const kept = by_id(now.interactions ?? []);
  for (const interaction of before.interactions ?? []) {
    const same = kept.get(interaction.interaction_id);
    if (same === undefined) yield `I2: the published ${interaction.interaction_id} is gone`;
    else yield* faults_of_interaction(interaction, same);
  }
}

function* faults_of_interaction(before: SessionInteraction, now: SessionInteraction): Generator<string> {
  const { interaction_id } = before;
  if (!is_pending(before)) {
    if (!isDeepStrictEqual(before, now)) yield `I5: ${interaction_id} changed after its end`;
    return;
  }
  const { status: _, response: __, resolved_at: ___, cancel_reason: ____, ...same } = now;
  const { status: _____, ...asked } = before;
  if (!isDeepStrictEqual(same, asked)) yield `O-13: ${interaction_id} is not what was asked`;
}

/** What only a stop, a close or an answer may end: a gate, and whatever a replay tool has asked. */
const SURVIVES = new Set(["gated", "ruled", "replaying", "gated_replaying", "ask"]);

export interface Before {
  messages: readonly Message[];
  turn_id: string | undefined;
  /** Whether somebody tried to answer it, or to end what it belongs to. */
  is_touched(interaction_id: string): boolean;
  /** Calls of tools without replay that were entered before. */
  entered_once: ReadonlySet<string>;
}

/** Section 9: what waited goes on, what was going on and cannot ends. */
export function* faults_of_recovery(before: Before, now: SessionSnapshot): Generator<string> {
  const found = by_id(asked_in(now.messages));
  for (const { interaction_id, source } of survivors(before)) {
    const kept = found.get(interaction_id);
    if (kept === undefined) continue;
    if (!is_pending(kept)) {
      const why = kept.cancel_reason ?? "";
      yield `section 9: ${interaction_id} of ${source.tool_name} did not survive: ${kept.status} ${why}`;
    } else if (now.status.active_turn_id !== before.turn_id) {
      yield `section 9: the Turn that waits for ${interaction_id} does not go on`;
    }
  }
  for (const call of calls_in(now.messages)) {
    if (before.entered_once.has(call.tool_call_id) && !is_terminal(call)) {
      yield `I9: ${call.tool_call_id} of ${call.tool_name}, entered before, is ${call.state}`;
    }
  }
}

/** What was pending, must be so still, and nobody has touched. */
export function survivors(before: Before): SessionInteraction[] {
  const pending = asked_in(before.messages).filter(is_pending);
  return pending.filter(
    ({ interaction_id, source }) =>
      SURVIVES.has(source.tool_name ?? "") && !before.is_touched(interaction_id),
  );
}
