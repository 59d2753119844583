/// <reference lib="esnext.disposable" />
/**
 * The public types of `@downcity/agent`.
 *
 * Everything that is handed out is a detached copy: changing it changes nothing. Every rejected call rejects
 * with a {@link SessionError} (a cancelled wait with an `AbortError`) and leaves the Session usable.
 */
import type {
  ApprovalDecision,
  ApprovalRequest,
  Interaction,
  InteractionHandle,
  InteractionRequest,
  RespondInput,
  SessionInteraction,
} from "./types/interaction.js";
import type {
  ApprovalMode,
  InteractionOfSession,
  Message,
  Mutation,
  SessionSecurity,
  Usage,
} from "./types/message.js";
import type { AgentTool, AnyTool } from "./types/tool.js";

export * from "./types/interaction.js";
export * from "./types/message.js";
export * from "./types/shell.js";
export * from "./types/tool.js";

/** Any `@ai-sdk/*` model: an AI SDK LanguageModel of specification v2, v3 or v4. */
export interface AgentModel {
  readonly specificationVersion: "v2" | "v3" | "v4";
  readonly provider: string;
  readonly modelId: string;
  doStream(options: never): PromiseLike<{ stream: unknown }>;
}

declare const storage_brand: unique symbol;

/** Where Sessions are kept. Made by {@link memory} or {@link sqlite}; one can serve several Agents. */
export interface Storage {
  readonly [storage_brand]: true;
}

export interface SqliteOptions {
  /**
   * `full`, the default, survives a power cut with every acknowledged change; `normal` is faster and survives a
   * crash of the process.
   */
  synchronous?: "full" | "normal";
}

/** Keeps Sessions in this process only. */
export declare function memory(): Storage;

/**
 * Keeps Sessions in one SQLite file, which is made, folders included, when it is first used.
 * @throws SessionError `INVALID_INPUT`
 */
export declare function sqlite(path: string, options?: SqliteOptions): Storage;

export interface WorkspaceOptions {
  id: string;
  path: string;
}

/** An existing directory that Sessions work in. */
export declare class Workspace {
  /** @throws SessionError `INVALID_INPUT` when the path is no directory. */
  constructor(options: WorkspaceOptions);
  readonly id: string;
  /** Absolute. */
  readonly path: string;
}

export type SessionErrorCode =
  | "INVALID_INPUT"
  | "INVALID_RESPONSE"
  | "INTERACTION_NOT_FOUND"
  | "INTERACTION_TERMINAL"
  | "RESPONSE_TYPE_MISMATCH"
  | "TOOL_CALL_NOT_ACTIVE"
  | "SESSION_NOT_FOUND"
  | "SESSION_EXISTS"
  | "SESSION_BUSY"
  | "SESSION_CLOSED"
  | "MODEL_MISSING"
  | "MODEL_INVALID"
  | "MODEL_FAILED"
  | "MAX_STEPS"
  | "REPLAY_MISMATCH"
  | "LEASE_LOST"
  | "STORAGE_BUSY"
  | "STORAGE_FULL"
  | "STORAGE_CORRUPT"
  | "STORAGE_VERSION"
  | "STORAGE_UNAVAILABLE"
  | "INTERNAL";

export interface Issue {
  /** Where in the value, as one would write it: `payload.answers[0].value`. */
  path: string;
  message: string;
}

export interface SessionErrorDetails {
  issues?: Issue[];
  interaction?: SessionInteraction;
  cause?: unknown;
}

/** A refused call. Its message says what to do. */
export declare class SessionError extends Error {
  constructor(code: SessionErrorCode, message: string, details?: SessionErrorDetails);
  readonly code: SessionErrorCode;
  /** Everything that is wrong with a refused value. */
  readonly issues?: Issue[];
  /** The committed Interaction, for `INTERACTION_TERMINAL`. */
  readonly interaction?: SessionInteraction;
}

/** The default `response_schema` of every approval. */
export declare const SESSION_APPROVAL_RESPONSE_SCHEMA: {
  readonly type: "object";
  readonly required: readonly ["decision"];
  readonly properties: {
    readonly decision: { readonly type: "string"; readonly enum: readonly ["approved", "denied"] };
  };
};

/** The optional tool that lets a model ask a person questions. */
export declare const AskQuestionsTool: AgentTool;

export interface AgentOptions {
  /** Letters, digits and `._:-`, at most 128. Sessions are kept under it. */
  id: string;
  model?: AgentModel;
  tools?: { [name: string]: AnyTool };
  /** The system prompt. */
  instruction?: string;
  /** Default: a SQLite file in the Session's Workspace, or memory where there is none. */
  storage?: Storage;
  /** Model requests in one Turn; 50 by default. */
  max_steps?: number;
  /** Characters of one tool result that reach the model; 262144 by default. */
  max_tool_result_chars?: number;
  /**
   * How long an owner of a Session whose process cannot be seen may be silent before another one takes the Session
   * over; 10 seconds by default. An owner that has died is replaced at once.
   */
  lease_seconds?: number;
}

export interface SecurityOptions {
  approval_mode?: ApprovalMode;
}

export interface CreateSessionOptions {
  workspace?: Workspace;
  /** Made by the Session where it is left out. */
  session_id?: string;
  security?: SecurityOptions;
  metadata?: { [key: string]: unknown };
}

export interface StoreOptions {
  /** Names the default store of that Workspace. */
  workspace?: Workspace;
}

export interface PageOptions extends StoreOptions {
  limit?: number;
  /** The `next` of the page before. */
  after?: string;
}

export interface Page<Item> {
  items: Item[];
  /** Set where there is more. */
  next?: string;
}

export interface SessionItem {
  session_id: string;
  metadata?: { [key: string]: unknown };
  /** Milliseconds since the epoch. */
  created_at: number;
  updated_at: number;
  message_count: number;
  state: "idle" | "running";
  /** How many Interactions are pending. */
  pending: number;
}

export interface Sessions {
  /** @throws SessionError `SESSION_EXISTS`, `INVALID_INPUT`, `STORAGE_*` */
  create(options?: CreateSessionOptions): Promise<Session>;
  /**
   * Opens a Session; an open one gives the same object. A Turn that a crash left unfinished goes on.
   * @throws SessionError `SESSION_NOT_FOUND`, `STORAGE_*`
   */
  get(session_id: string, options?: StoreOptions): Promise<Session>;
  /** The most recently changed first. */
  list(options?: PageOptions): Promise<Page<SessionItem>>;
  /** Takes a Session out of `list`. @throws SessionError `SESSION_NOT_FOUND`, `SESSION_BUSY` */
  archive(session_id: string, options?: StoreOptions): Promise<void>;
  archived(options?: PageOptions): Promise<Page<SessionItem>>;
  /** Deletes a Session for good. @throws SessionError `SESSION_NOT_FOUND`, `SESSION_BUSY` */
  remove(session_id: string, options?: StoreOptions): Promise<void>;
  /**
   * Opens every Session whose unfinished Turn nobody goes on with, because its process has ended or has let go, and
   * goes on with it. Needs a model. Sessions that another process owns are left alone.
   */
  claim(options?: StoreOptions): Promise<Session[]>;
}

export declare class Agent {
  /**
   * @throws SessionError `INVALID_INPUT` for options or tools it cannot work with, `MODEL_INVALID` for a model
   * that is no LanguageModel
   */
  constructor(options: AgentOptions);
  readonly id: string;
  readonly sessions: Sessions;
  /** What is pending in all Sessions of the store, open or not, oldest first. */
  interactions<T extends Interaction = SessionInteraction>(
    options?: PageOptions,
  ): Promise<Page<InteractionOfSession<T>>>;
  /**
   * Every Mutation from now on of all the Agent's Sessions in the stores it uses, each with its `session_id`,
   * whether they are open here, in another process or nowhere. In order within a Session, soon after they are
   * committed: where other processes commit too, perhaps later than a Turn's `finished` resolves here. A listener
   * that throws disturbs nobody else.
   * @throws SessionError `SESSION_CLOSED` after `dispose()` or `detach()`
   */
  subscribe(listener: MutationListener): Unsubscribe;
  /** Closes every Session it has open; what is pending is cancelled (`session_disposed`). */
  dispose(): Promise<void>;
  /** Lets go without ending anything: a later process, or another, goes on. */
  detach(): Promise<void>;
  /** Lets the process end although a Turn is in flight; everything committed is kept. */
  unref(): this;
  /** Undoes `unref()`. */
  ref(): this;
  [Symbol.asyncDispose](): Promise<void>;
}

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

export interface DataInput {
  type: "data";
  name?: string;
  data: unknown;
}

export type QueryPart = TextInput | FileInput | DataInput;

export interface PromptInput {
  query: string | QueryPart[];
  /** Withdraws the prompt before it is absorbed, and stops its Turn afterwards. */
  signal?: AbortSignal;
}

export interface TurnResult {
  turn_id: string;
  /** `detached`: this process let go, the Turn itself goes on elsewhere. */
  status: "completed" | "failed" | "stopped" | "detached";
  /** Whether `status` is `completed`. */
  success: boolean;
  /** The text of the last step. */
  text: string;
  usage: Usage;
  error?: string;
  error_code?: string;
}

export interface TurnHandle {
  /** The Turn the prompt belongs to; it changes when the prompt moves on to the next Turn. */
  readonly id: string;
  /** Null until the Turn has ended. */
  readonly result: TurnResult | null;
  /** Always resolves, after every Mutation of the Turn was delivered. */
  readonly finished: Promise<TurnResult>;
}

export interface StopResult {
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

export interface SessionSnapshot {
  session_id: string;
  revision_of_session: number;
  messages: Message[];
  interactions: SessionInteraction[];
  status: SessionStatus;
}

export interface MessagesOptions {
  /** Only Messages before this `sequence`. */
  before_sequence?: number;
  /** 100 by default. */
  limit?: number;
}

export interface MessagesPage {
  /** Ascending. */
  items: Message[];
  /** For the page before; set where there is one. */
  next_before_sequence?: number;
}

export interface SessionConfig {
  security?: SecurityOptions;
  model?: AgentModel;
}

export interface SetOptions {
  /** Whether the change is kept as an action Part; true by default. */
  persist_action?: boolean;
  /** Whether subscribers are told; as `persist_action` by default. */
  publish_mutation?: boolean;
}

export type MutationListener = (mutation: Mutation) => unknown;
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
  messages(options?: MessagesOptions): Promise<MessagesPage>;
  /**
   * Answers a pending Interaction. Exactly one of any number of answers succeeds.
   * @throws SessionError `INTERACTION_NOT_FOUND`, `INTERACTION_TERMINAL`, `RESPONSE_TYPE_MISMATCH`,
   * `INVALID_RESPONSE`
   */
  respond<T extends Interaction = SessionInteraction>(input: RespondInput<T>): Promise<T>;
  /** Takes effect at the next step of the Turn, else before the next prompt. @throws SessionError `INVALID_INPUT` */
  set(config: SessionConfig, options?: SetOptions): Promise<void>;
  status(): Promise<SessionStatus>;
  active_turn(): TurnHandle | null;
  [Symbol.asyncDispose](): Promise<void>;
}
