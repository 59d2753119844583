/// <reference lib="esnext.disposable" />
/** A Session: what it is given, what it tells, and what it can be asked. */
import type { AgentModel, SecurityOptions } from "../index.js";
import type {
  ApprovalDecision,
  ApprovalRequest,
  Interaction,
  InteractionHandle,
  InteractionRequest,
  RespondInput,
  SessionInteraction,
} from "./interaction.js";
import type { Message, Mutation, SessionSecurity, Usage } from "./message.js";

export interface TextInput {
  type: "text";
  text: string;
}

/** Give either `url` or `data` (base64). */
export interface FileInput {
  type: "file";
  media_type: string;
  url?: string;
  data?: string;
  filename?: string;
}

/** JSON of your own, which the model reads as text, under its name where it has one. */
export interface DataInput {
  type: "data";
  name?: string;
  data: unknown;
}

export type QueryPart = TextInput | FileInput | DataInput;

export interface PromptInput {
  /** A text, or parts that become one user Message. */
  query: string | QueryPart[];
  /** Withdraws the prompt before it is absorbed, and stops its Turn afterwards. */
  signal?: AbortSignal;
}

/** How a Turn ended. */
export interface TurnResult {
  turn_id: string;
  /** `detached`: this process let go, the Turn itself goes on elsewhere. */
  status: "completed" | "failed" | "stopped" | "detached";
  /** Whether `status` is `completed`. */
  success: boolean;
  /** The text of the last step. */
  text: string;
  /** Of all its model requests together. */
  usage: Usage;
  /** In words, for `failed`. */
  error?: string;
  /** For `failed`: `MODEL_FAILED`, `MODEL_MISSING`, `MAX_STEPS` or `runtime_interrupted`. */
  error_code?: string;
}

/** What `prompt()` gives: follows the prompt to the end of its Turn. */
export interface TurnHandle {
  /** The Turn the prompt belongs to; it changes when the prompt moves on to the next Turn. */
  readonly id: string;
  /** Null until the Turn has ended. */
  readonly result: TurnResult | null;
  /** Always resolves, after every Mutation of the Turn was delivered. */
  readonly finished: Promise<TurnResult>;
}

/** What `stop()` came to. */
export interface StopResult {
  /** False where no Turn was going on. */
  stopped: boolean;
  turn_id?: string;
  /** Prompts that were still queued and have been dropped. */
  cancelled_prompts: number;
  reason: "stopped" | "idle";
}

export interface SessionStatus {
  session_id: string;
  /** A Turn that waits for a person is `running`. */
  state: "idle" | "running";
  active_turn_id?: string;
  security: SessionSecurity;
}

/** A Session at one instant. */
export interface SessionSnapshot {
  session_id: string;
  /** That of the last Mutation that is in it. */
  revision_of_session: number;
  /** The last 100, ascending; `messages()` has the ones before. */
  messages: Message[];
  /** What is pending, oldest first. */
  interactions: SessionInteraction[];
  status: SessionStatus;
}

export interface MessagesOptions {
  /** Only Messages before this `sequence`. */
  before_sequence?: number;
  /** 1 to 1000; 100 by default. A page of large Messages may have fewer. */
  limit?: number;
}

export interface MessagesPage {
  /** Ascending. */
  items: Message[];
  /** For the page before; set where there is one. */
  next_before_sequence?: number;
}

/** What `set()` changes; what is left out stays. */
export interface SessionConfig {
  security?: SecurityOptions;
  /** Only for as long as this process has the Session: a model is never stored. */
  model?: AgentModel;
}

export interface SetOptions {
  /** Whether the change is kept as an action Part; true by default. */
  persist_action?: boolean;
  /** Whether subscribers are told; as `persist_action` by default. */
  publish_mutation?: boolean;
}

/** What it returns is not looked at, but a promise that rejects is reported like a throw. */
export type MutationListener = (mutation: Mutation) => unknown;
/** May be called more than once. */
export type Unsubscribe = () => void;

/** Callable: the pending Interactions, oldest first. Also the way a host asks something itself. */
export interface SessionInteractions {
  <T extends Interaction = SessionInteraction>(): Promise<T[]>;
  /** @throws SessionError `TOOL_CALL_NOT_ACTIVE`, `INVALID_INPUT` */
  request<T extends Interaction = SessionInteraction>(
    input: InteractionRequest<T>,
  ): Promise<InteractionHandle<T>>;
  readonly approval: {
    /** Waits for a person; passes at once under `always-allow`. Rejects with an `AbortError` when cancelled. */
    request(input: ApprovalRequest): Promise<ApprovalDecision>;
  };
}

/** A conversation with an agent. Made and opened by {@link Sessions}. */
export interface Session {
  readonly id: string;
  readonly interactions: SessionInteractions;
  /**
   * Resolves as soon as the prompt is durably queued. During a Turn it joins that Turn at the next step.
   * @throws SessionError `INVALID_INPUT`, `SESSION_CLOSED`, `STORAGE_*`
   */
  prompt(input: PromptInput): Promise<TurnHandle>;
  /** Ends the Turn as `stopped` and drops queued prompts; it never waits for a tool. */
  stop(): Promise<StopResult>;
  /** Ends what runs, cancels what is pending and closes the handle. The Session can be opened again. */
  close(): Promise<void>;
  /** Closes the handle without ending anything. */
  detach(): Promise<void>;
  /** Every Mutation from now on, never on the caller's stack. A listener that throws disturbs nobody else. */
  subscribe(listener: MutationListener): Unsubscribe;
  /** A snapshot, and every Mutation after it, without gap or repeat. */
  watch(listener: MutationListener): Promise<{ snapshot: SessionSnapshot; unsubscribe: Unsubscribe }>;
  /** The same Mutations to iterate over. For a slow reader adjacent deltas of a Part are merged. */
  mutations(options?: { signal?: AbortSignal }): AsyncIterableIterator<Mutation>;
  /** A page of Messages: the last ones, or those before `before_sequence`. */
  messages(options?: MessagesOptions): Promise<MessagesPage>;
  /**
   * Answers a pending Interaction. Exactly one of any number of answers succeeds.
   * @throws SessionError `INTERACTION_NOT_FOUND`, `INTERACTION_TERMINAL`, `RESPONSE_TYPE_MISMATCH`,
   * `INVALID_RESPONSE`
   */
  respond<T extends Interaction = SessionInteraction>(input: RespondInput<T>): Promise<T>;
  /**
   * Takes effect at the next step of the Turn, else before the next prompt.
   * @throws SessionError `INVALID_INPUT`, `MODEL_INVALID`; `SESSION_BUSY` for a `model` while another process owns the
   * Session
   */
  set(config: SessionConfig, options?: SetOptions): Promise<void>;
  status(): Promise<SessionStatus>;
  /** The handle of the Turn that is going on or about to begin; null where there is none. */
  active_turn(): TurnHandle | null;
  /** As `close()`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
}
