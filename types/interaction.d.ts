/** What asks a person, what was asked, and how it is answered. */

/** A JSON Schema, draft 2020-12 or as its `$schema` says. Remote `$ref`s are never fetched. */
export type JsonSchema = { [keyword: string]: unknown };

export type InteractionStatus = "pending" | "resolved" | "denied" | "cancelled" | "failed";

/** Why a pending Interaction ended without an answer. */
export type CancelReason =
  | "turn_stopped"
  | "session_disposed"
  | "runtime_interrupted"
  | "tool_ended"
  | "turn_ended";

/** Who asks. `tool_call_id` links the Interaction with its Tool Part. */
export interface InteractionSource {
  type: "tool" | "shell" | "execution";
  tool_call_id?: string;
  tool_name?: string;
}

/** An answer as it is given to `respond()`. A denial needs no payload. */
export type InteractionResponse<Type extends string, Answer> =
  | { type: Type; outcome: "resolved"; payload: Answer; reason?: string }
  | { type: Type; outcome: "denied"; payload?: unknown; reason?: string };

/**
 * Something the running Turn asks a person. It has this one flat shape in a Part, from `interactions()`,
 * from `respond()` and as a handle's `result`.
 *
 * A producer of its own kind names it by extending this type, for example
 * `interface Vote extends Interaction<"vote", { options: string[] }, { choice: string }> {}`, and passes it
 * as the type argument of `request`, `interactions` and `respond`.
 *
 * It starts `pending` and ends exactly once; no clock ever ends it.
 */
export interface Interaction<Type extends string = string, Payload = unknown, Answer = unknown> {
  /** `interaction:` and a UUID; stable over restarts. */
  interaction_id: string;
  type: Type;
  status: InteractionStatus;
  turn_id: string;
  source: InteractionSource;
  title?: string;
  description?: string;
  payload: Payload;
  response_schema?: JsonSchema;
  /** The response as it was committed, for `resolved` and `denied`. */
  response?: InteractionResponse<Type, Answer>;
  /** Milliseconds since the epoch. */
  created_at: number;
  /** Milliseconds since the epoch; set when it is no longer pending. */
  resolved_at?: number;
  /** Set for `cancelled`. */
  cancel_reason?: CancelReason;
}

/** `tool` for a tool that acts; the others for a shell. */
export type ApprovalOperation = "tool" | "exec" | "start" | "write";

export interface ApprovalPayload {
  operation: ApprovalOperation;
  /** The JSON of what passed the tool's schema: show this, not a summary of it. */
  validated_input?: unknown;
  /** From the tool's definition. */
  tool_description?: string;
  /** What the model says about this call. It is no security signal. */
  model_explanation?: string;
  [field: string]: unknown;
}

/** Further fields may go to the tool with the decision. */
export interface ApprovalAnswer {
  decision: "approved" | "denied";
  [field: string]: unknown;
}

export type QuestionType = "text" | "single_select" | "multi_select";

export interface QuestionOption {
  /** What an answer carries. Unique among the question's options. */
  value: string;
  /** What a person reads. It is never an answer. */
  label: string;
  description?: string;
}

/** A question as it is asked. The Session makes the `question_id` where it is left out. */
export interface QuestionInput {
  question_id?: string;
  question: string;
  type: QuestionType;
  /** At least one for the select types, none for `text`. */
  options?: QuestionOption[];
}

export interface Question extends QuestionInput {
  question_id: string;
}

export interface QuestionPayload {
  questions: Question[];
}

/** A string for `text` and `single_select`, distinct values for `multi_select`. */
export interface QuestionAnswer {
  question_id: string;
  value: string | string[];
}

/** Exactly one answer for each question. */
export interface QuestionAnswers {
  answers: QuestionAnswer[];
}

export interface ApprovalInteraction extends Interaction<"approval", ApprovalPayload, ApprovalAnswer> {}
export interface QuestionInteraction extends Interaction<"question", QuestionPayload, QuestionAnswers> {}

/** The Interactions this package makes itself. Narrow it by `type`. */
export type SessionInteraction = ApprovalInteraction | QuestionInteraction;

/** What `payload` may hold when an Interaction is asked for. */
export type RequestPayload<T extends Interaction> = T extends ApprovalInteraction
  ? ApprovalRequestPayload
  : T extends QuestionInteraction
    ? { questions: QuestionInput[] }
    : T["payload"];

/** `validated_input`, `tool_description` and `model_explanation` are written by the Session. */
export interface ApprovalRequestPayload {
  operation: ApprovalOperation;
  [field: string]: unknown;
}

type RequestFields<T extends Interaction> = {
  type: T["type"];
  payload: RequestPayload<T>;
  title?: string;
  description?: string;
  /** Checked when the request is made; each answer is then checked against it. */
  response_schema?: JsonSchema;
  tool_name?: string;
};

/** Only what the request means; ids, time stamps and source are filled in. */
export type InteractionRequest<T extends Interaction = SessionInteraction> = T extends Interaction
  ? RequestFields<T> & {
      /** The active Turn. */
      turn_id: string;
      /** A call of that Turn that has not ended. Without it the Interaction stands for itself. */
      tool_call_id?: string;
    }
  : never;

/** The same from inside a tool, where the ids of the call are known. */
export type ToolInteractionRequest<T extends Interaction = SessionInteraction> = T extends Interaction
  ? RequestFields<T> & { turn_id?: string; tool_call_id?: string }
  : never;

export interface InteractionHandle<T extends Interaction = SessionInteraction> {
  interaction_id: string;
  /**
   * The Interaction once it was answered; the producer interprets it. Rejects with an `AbortError` when it is
   * cancelled, so that nothing after the await runs by mistake. Nobody has to await it.
   */
  result: Promise<T>;
}

export interface ApprovalRequest {
  turn_id: string;
  tool_call_id?: string;
  tool_name?: string;
  /** Instead of {@link SESSION_APPROVAL_RESPONSE_SCHEMA}; it has to require `decision`. */
  response_schema?: JsonSchema;
  payload: ApprovalRequestPayload;
}

export interface ToolApprovalRequest extends Omit<ApprovalRequest, "turn_id"> {
  turn_id?: string;
}

export interface ApprovalDecision {
  /** True only where a person, or the approval mode, said yes. */
  approved: boolean;
  /** The approval mode decided; no Interaction was made. */
  auto_approved: boolean;
  interaction_id?: string;
  reason?: string;
  /** The whole answer, with any further fields. */
  payload?: ApprovalAnswer;
}

export interface RespondInput<T extends Interaction = SessionInteraction> {
  interaction_id: string;
  response: NonNullable<T["response"]>;
}
