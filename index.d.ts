/// <reference lib="esnext.disposable" />
/**
 * The public types of `@downcity/agent`.
 *
 * Everything that is handed out is a detached copy: changing it changes nothing. Every rejected call rejects
 * with a {@link SessionError} (a cancelled wait with an `AbortError`) and leaves the Session usable.
 */
import type { Interaction, SessionInteraction } from "./types/interaction.js";
import type { ApprovalMode, InteractionOfSession } from "./types/message.js";
import type { MutationListener, Session, Unsubscribe } from "./types/session.js";
import type { AgentTool, AnyTool } from "./types/tool.js";

export * from "./types/interaction.js";
export * from "./types/message.js";
export * from "./types/session.js";
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

/** How {@link sqlite} writes. */
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
  /** A name of your own for it. */
  id: string;
  /** Absolute, or relative to the current directory; it has to exist. */
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

/** Each code, why it comes and what to do about it: docs/errors.md. */
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

/** One thing that is wrong with a value. */
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

/** What an Agent works with. Nothing of it but `id` is stored with a Session. */
export interface AgentOptions {
  /** Letters, digits and `._:-`, at most 128. Sessions are kept under it. */
  id: string;
  /** What Turns ask; `session.set({ model })` gives a Session another one. */
  model?: AgentModel;
  /** By the name the model calls them by. */
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
  /** `ask`, the default, has a person decide; `always-allow` approves without asking. */
  approval_mode?: ApprovalMode;
}

export interface CreateSessionOptions {
  /** What tools find as `context.workspace`. Without a `storage` of the Agent it also names the file. */
  workspace?: Workspace;
  /** Made by the Session where it is left out. */
  session_id?: string;
  security?: SecurityOptions;
  /** JSON of your own, given back by `sessions.list`. */
  metadata?: { [key: string]: unknown };
}

export interface StoreOptions {
  /** Names the default store of that Workspace. */
  workspace?: Workspace;
}

export interface PageOptions extends StoreOptions {
  /** 1 to 1000; 100 by default. */
  limit?: number;
  /** The `next` of the page before. */
  after?: string;
}

export interface Page<Item> {
  items: Item[];
  /** For `after` of the next page; set where there is more. */
  next?: string;
}

/** A Session in a list. */
export interface SessionItem {
  session_id: string;
  metadata?: { [key: string]: unknown };
  /** Milliseconds since the epoch. */
  created_at: number;
  /** Milliseconds since the epoch. */
  updated_at: number;
  message_count: number;
  /** Whether a Turn is unfinished, here or in another process. */
  state: "idle" | "running";
  /** How many Interactions are pending. */
  pending: number;
}

/** The Sessions of an Agent: `agent.sessions`. */
export interface Sessions {
  /** @throws SessionError `SESSION_EXISTS`, `INVALID_INPUT`, `STORAGE_*` */
  create(options?: CreateSessionOptions): Promise<Session>;
  /**
   * Opens a Session; an open one gives the same object. A Turn that a crash left unfinished goes on.
   * @throws SessionError `SESSION_NOT_FOUND`, `INVALID_INPUT`, `STORAGE_*`
   */
  get(session_id: string, options?: StoreOptions): Promise<Session>;
  /** The most recently changed first. Archived ones are in `archived` alone. */
  list(options?: PageOptions): Promise<Page<SessionItem>>;
  /** Takes a Session out of `list`. @throws SessionError `SESSION_NOT_FOUND`, `SESSION_BUSY` */
  archive(session_id: string, options?: StoreOptions): Promise<void>;
  /** The archived Sessions, the most recently changed first. */
  archived(options?: PageOptions): Promise<Page<SessionItem>>;
  /** Deletes a Session for good. @throws SessionError `SESSION_NOT_FOUND`, `SESSION_BUSY` */
  remove(session_id: string, options?: StoreOptions): Promise<void>;
  /**
   * Opens every Session whose unfinished Turn nobody goes on with, because its process has ended or has let go, and
   * goes on with it. Needs a model. Sessions that another process owns are left alone.
   */
  claim(options?: StoreOptions): Promise<Session[]>;
}

/** Opens Sessions and works on them, with one model and one set of tools. */
export declare class Agent {
  /**
   * @throws SessionError `INVALID_INPUT` for options or tools it cannot work with, `MODEL_INVALID` for a model
   * that is no LanguageModel
   */
  constructor(options: AgentOptions);
  readonly id: string;
  readonly sessions: Sessions;
  /** What is pending in all Sessions of the store, open or not, oldest first; archived ones are left out. */
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
  /**
   * Closes every Session it has open; what is pending is cancelled (`session_disposed`). Resolves when the files that
   * no other Agent of this process uses are closed too.
   */
  dispose(): Promise<void>;
  /** Lets go without ending anything: a later process, or another, goes on. */
  detach(): Promise<void>;
  /** Lets the process end although a Turn is in flight; everything committed is kept. */
  unref(): this;
  /** Undoes `unref()`. */
  ref(): this;
  /** As `dispose()`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
}
