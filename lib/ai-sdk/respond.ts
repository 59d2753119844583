import type { Session as PublicSession, RespondInput, SessionInteraction } from "../../index.js";
import { accept_options, invalid, not_so } from "../accept.js";
import { SessionError } from "../errors.js";
import { Session } from "../session.js";

/** An answer as an AI SDK client has it: for an approval what `addToolApprovalResponse` takes. */
export type UiAnswer =
  | {
      /** The `interaction_id`, which is `approval.id`. */
      id: string;
      /** For an approval. `false` also declines a question. */
      approved: boolean;
      reason?: string;
      /** Further fields of the answer, where the approval's own `response_schema` has them. */
      payload?: { [field: string]: unknown };
    }
  | { id: string; answers: { question_id: string; value: string | string[] }[]; reason?: string };

/** One answer, or the messages as the client sends them, alone or in the body of its request. */
export type UiAnswerInput = UiAnswer | readonly unknown[] | { messages: readonly unknown[] };

/** What became of the messages of a client. */
export interface UiResponses {
  /** What was answered with them, as it was committed. */
  interactions: SessionInteraction[];
  /**
   * Where the client's copy of the last message ends: what `to_ui_message_stream` takes to go on from there. It
   * is what an earlier stream has left in the message, else what was stored before these answers.
   */
  after_revision: number;
}

const ANSWER_KEYS = ["id", "approved", "answers", "reason", "payload"];

/**
 * Answers as `session.respond()` does, and rejects as it does. One answer gives the committed Interaction.
 *
 * Of messages, every approval that stands as answered in them (`approval-responded`) and every `data-question`
 * whose data holds `answers` is given to the Session, where it is still pending; what was answered before, here
 * or elsewhere, is passed over.
 * @throws SessionError `INVALID_INPUT`, `INTERACTION_NOT_FOUND`, `INTERACTION_TERMINAL`, `INVALID_RESPONSE`
 */
export function respond_from_ui(session: PublicSession, answer: UiAnswer): Promise<SessionInteraction>;
export function respond_from_ui(
  session: PublicSession,
  messages: readonly unknown[] | { messages: readonly unknown[] },
): Promise<UiResponses>;
export async function respond_from_ui(
  session: PublicSession,
  input: UiAnswerInput,
): Promise<SessionInteraction | UiResponses> {
  const messages = messages_of(input);
  if (messages !== undefined) return respond_from_messages(session, messages);
  const answer = accept_answer(input);
  const pending = await session.interactions();
  const asked = pending.find(({ interaction_id }) => interaction_id === answer.id);
  return session.respond(response_to(answer, asked?.type));
}

function messages_of(input: unknown): readonly unknown[] | undefined {
  if (Array.isArray(input)) return input;
  const { messages } = fields_of(input);
  return Array.isArray(messages) ? messages : undefined;
}

function accept_answer(input: unknown): UiAnswer {
  const given = accept_options(input, "respond_from_ui", ANSWER_KEYS);
  const { id, approved, answers, reason } = given;
  if (typeof id !== "string") throw not_so("`id` has to be the approval's id, or the question's", id);
  if ((approved === undefined) === (answers === undefined)) {
    throw invalid("respond_from_ui needs either `approved` or `answers`.");
  }
  if (approved !== undefined && typeof approved !== "boolean")
    throw not_so("`approved` has to be a boolean", approved);
  if (reason !== undefined && typeof reason !== "string") throw not_so("`reason` has to be a string", reason);
  return given as UiAnswer;
}

/** `type` is that of what is pending; where nothing is, the Session tells why the answer is refused. */
function response_to(answer: UiAnswer, type: string | undefined): RespondInput {
  const reason = answer.reason === undefined ? {} : { reason: answer.reason };
  return { interaction_id: answer.id, response: { ...response_of(answer, type), ...reason } } as RespondInput;
}

function response_of(answer: UiAnswer, type: string | undefined): object {
  if ("answers" in answer && answer.answers !== undefined) {
    return { type: "question", outcome: "resolved", payload: { answers: answer.answers } };
  }
  const { approved, payload } = answer as Extract<UiAnswer, { approved: boolean }>;
  if (!approved) return { type: type ?? "approval", outcome: "denied", ...(payload ? { payload } : {}) };
  return { type: "approval", outcome: "resolved", payload: { ...payload, decision: "approved" } };
}

async function respond_from_messages(
  session: PublicSession,
  messages: readonly unknown[],
): Promise<UiResponses> {
  const journal = Session.journal_of(session);
  if (journal === undefined) throw invalid("respond_from_ui takes a Session: what sessions.get() gave.");
  const head = await journal.head();
  const pending = new Map(head.pending.map((one) => [one.interaction_id, one.type]));
  const interactions: SessionInteraction[] = [];
  for (const answer of messages.flatMap(answers_in)) {
    const type = pending.get(answer.id);
    if (type === undefined) continue;
    pending.delete(answer.id);
    const done = await session.respond(response_to(answer, type)).catch(answered_meanwhile);
    if (done !== undefined) interactions.push(done);
  }
  return { interactions, after_revision: revision_in(messages) ?? head.revision };
}

function revision_in(messages: readonly unknown[]): number | undefined {
  const last = messages.map(fields_of).findLast(({ role }) => role === "assistant");
  const { revision_of_session } = fields_of(last?.metadata);
  const is_one = Number.isSafeInteger(revision_of_session) && (revision_of_session as number) >= 0;
  return is_one ? (revision_of_session as number) : undefined;
}

function answered_meanwhile(error: unknown): undefined {
  if (error instanceof SessionError && error.code === "INTERACTION_TERMINAL") return undefined;
  throw error;
}

type Fields = { [field: string]: unknown };

/** The answers that a message carries; what is shaped otherwise carries none. */
function answers_in(message: unknown): UiAnswer[] {
  const { role, parts } = fields_of(message);
  if (role !== "assistant" || !Array.isArray(parts)) return [];
  return parts.flatMap((part) => answer_in(fields_of(part)) ?? []);
}

function answer_in(part: Fields): UiAnswer | undefined {
  if (part.state === "approval-responded") {
    const { id, approved, reason } = fields_of(part.approval);
    if (typeof id !== "string" || typeof approved !== "boolean") return undefined;
    return { id, approved, ...(typeof reason === "string" ? { reason } : {}) };
  }
  if (part.type !== "data-question" || typeof part.id !== "string") return undefined;
  const { answers } = fields_of(part.data);
  return Array.isArray(answers) ? { id: part.id, answers } : undefined;
}

function fields_of(value: unknown): Fields {
  return typeof value === "object" && value !== null ? (value as Fields) : {};
}
