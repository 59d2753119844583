/** Messages, their Parts, and the Mutations that report a change of them. */
import type { Interaction, SessionInteraction } from "./interaction.js";

/** A provider's own data, returned to it unchanged. */
export type ProviderMetadata = { [provider: string]: { [key: string]: unknown } };

interface PartBase {
  part_id: string;
  /** Orders the Parts of a Message, from 1. */
  sequence: number;
  /** The model request it came from. */
  step_id?: string;
  /** The model's answer it belongs to broke off, or was stopped, before its proper end. */
  interrupted?: true;
}

export interface TextPart extends PartBase {
  type: "text";
  text: string;
  state: "streaming" | "done";
  provider_metadata?: ProviderMetadata;
}

export interface ReasoningPart extends PartBase {
  type: "reasoning";
  text: string;
  state: "streaming" | "done";
  provider_metadata?: ProviderMetadata;
}

export type ToolState = "input-streaming" | "ready" | "running" | "waiting-user" | "completed" | "failed";

/** Why a tool call failed, for programs; `error` says it in words. */
export type ToolErrorCode =
  | "tool_failed"
  | "invalid_input"
  | "unknown_tool"
  | "denied"
  | "stopped"
  | "not_run"
  | "interrupted"
  /** The tool is gone, or the recorded arguments no longer pass its schema. */
  | "cannot_go_on"
  /** Entered again after an interruption, the tool asked something else than before. */
  | "replay_mismatch";

/** What a provider asked before it runs a call of its own, and what it is told. */
export interface ProviderApproval {
  /** The provider's id of what it asked. */
  approval_id: string;
  /**
   * What the next request tells the provider; absent while that is not decided. False also for a call that was approved
   * and ended without a result: it is not to run later.
   */
  approved?: boolean;
  /** Why. */
  reason?: string;
}

/** A tool call. It is `waiting-user` exactly while one of its Interactions is `pending`. */
export interface ToolPart extends PartBase {
  type: "tool";
  tool_call_id: string;
  tool_name: string;
  state: ToolState;
  /** The arguments as text, while they stream and where they are no JSON object. */
  input_text?: string;
  /** The arguments the model sent. */
  input?: unknown;
  /** What `execute` returned, as JSON. */
  output?: unknown;
  error?: string;
  error_code?: ToolErrorCode;
  title?: string;
  model_explanation?: string;
  /** How many arguments came before the explanation, where it was not the last of them. */
  model_explanation_index?: number;
  /** The provider ran it; there is nothing to execute here. */
  provider_executed?: boolean;
  /** The provider's id, where it had to be made unique within the Session. */
  provider_tool_call_id?: string;
  provider_metadata?: ProviderMetadata;
  /** What the provider attached to the result of a call it ran itself. */
  result_metadata?: ProviderMetadata;
  /** The step in which the result of the provider's own call came, where that was a later one. */
  result_step_id?: string;
  /** Set where the provider does not run its own tool before a person has agreed. */
  provider_approval?: ProviderApproval;
  /** `output` is not the last word: the tool has yielded it and goes on. */
  preliminary?: true;
  /** What the model is shown instead of `output`, where the tool says so (`toModelOutput`). */
  model_output?: unknown;
  interactions?: SessionInteraction[];
}

/** An Interaction that belongs to no tool call. */
export interface InteractionPart extends PartBase {
  type: "interaction";
  interaction: SessionInteraction;
}

export interface FilePart extends PartBase {
  type: "file";
  media_type: string;
  url?: string;
  /** Base64. */
  data?: string;
  filename?: string;
  /** It belongs to the model's reasoning. */
  reasoning?: boolean;
  provider_metadata?: ProviderMetadata;
}

export interface SourcePart extends PartBase {
  type: "source";
  source_type: "url" | "document";
  source_id?: string;
  url?: string;
  title?: string;
  media_type?: string;
  filename?: string;
  provider_metadata?: ProviderMetadata;
}

/** A producer's own JSON. */
export interface DataPart extends PartBase {
  type: "data";
  name?: string;
  data: unknown;
}

/** Something the Session did, such as a change of its configuration. */
export interface ActionPart extends PartBase {
  type: "action";
  title: string;
  description: string;
  state: "completed";
}

export interface ErrorPart extends PartBase {
  type: "error";
  error_code: string;
  message: string;
}

export type UserPart = TextPart | FilePart | DataPart;

/** Narrow it by `type`. */
export type Part =
  | TextPart
  | ReasoningPart
  | ToolPart
  | InteractionPart
  | FilePart
  | SourcePart
  | DataPart
  | ActionPart
  | ErrorPart;

interface MessageBase {
  message_id: string;
  session_id: string;
  turn_id?: string;
  /** Orders the Messages of a Session, from 1, without gaps. */
  sequence: number;
  /** Grows by one with each committed change of the Message. */
  revision: number;
  /** `streaming` while something in it may still change. */
  state: "streaming" | "done";
  /** Milliseconds since the epoch. */
  created_at: number;
  updated_at: number;
}

export interface UserMessage extends MessageBase {
  role: "user";
  parts: UserPart[];
}

export interface AssistantMessage extends MessageBase {
  role: "assistant";
  parts: Part[];
}

/** Narrow it by `role`. */
export type Message = UserMessage | AssistantMessage;

export type ApprovalMode = "ask" | "always-allow";

export interface SessionSecurity {
  /** As configured. */
  approval_mode: ApprovalMode;
  /** As it rules the running step; it differs while a change waits for the next checkpoint. */
  effective_approval_mode: ApprovalMode;
}

/** Token counts, as far as the provider told them. */
export interface Usage {
  input_tokens: number;
  output_tokens: number;
  total_tokens: number;
  reasoning_tokens: number;
  cached_input_tokens: number;
}

interface MutationBase {
  mutation_id: string;
  session_id: string;
  /** Counts the Mutations of the Session, from 1, without gaps and repeats. */
  revision_of_session: number;
  /** Milliseconds since the epoch. */
  created_at: number;
}

/** The whole Message as it now is. */
export interface MessageMutation extends MutationBase {
  variant: "message";
  type: Message["role"];
  message_id: string;
  revision: number;
  message: Message;
}

/** The whole Part as it now is. */
export interface PartMutation extends MutationBase {
  variant: "part";
  type: Part["type"];
  message_id: string;
  revision: number;
  part: Part;
}

/** A fragment appended to a Part that is still streaming. */
export interface DeltaMutation extends MutationBase {
  variant: "delta";
  type: "text" | "reasoning" | "tool_input";
  message_id: string;
  part_id: string;
  revision: number;
  delta: string;
}

export interface TurnStartMutation extends MutationBase {
  variant: "turn";
  type: "start";
  turn_id: string;
  status: "running";
}

export interface TurnFinishMutation extends MutationBase {
  variant: "turn";
  type: "finish";
  turn_id: string;
  status: "completed" | "failed" | "stopped";
  text?: string;
  usage?: Usage;
  error?: string;
  error_code?: string;
}

export interface SessionConfigMutation extends MutationBase {
  variant: "session";
  type: "config";
  security: SessionSecurity;
}

export interface SessionClosedMutation extends MutationBase {
  variant: "session";
  type: "closed";
}

/** A committed change. Narrow it by `variant`, then by `type`. */
export type Mutation =
  | MessageMutation
  | PartMutation
  | DeltaMutation
  | TurnStartMutation
  | TurnFinishMutation
  | SessionConfigMutation
  | SessionClosedMutation;

/** A pending Interaction with the Session it belongs to. */
export type InteractionOfSession<T extends Interaction = SessionInteraction> = T & { session_id: string };
