import type {
  AgentOptions,
  CreateSessionOptions,
  Interaction,
  InteractionOfSession,
  MutationListener,
  Page,
  PageOptions,
  Agent as PublicAgent,
  Session,
  SessionInteraction,
  SessionItem,
  Sessions,
  StoreOptions,
  Unsubscribe,
} from "../index.js";
import {
  accept_count,
  accept_id,
  accept_listener,
  accept_metadata,
  accept_optional,
  accept_security,
  accept_text,
} from "./accept.js";
import { AgentListeners } from "./agent-listeners.js";
import { type AgentSetup, agent_setup } from "./agent-setup.js";
import { AgentStore, type PageRequest } from "./agent-store.js";
import { SessionError } from "./errors.js";
import { KeepAlive } from "./keep-alive.js";
import { default_storage } from "./storage.js";
import { accept_workspace, type Workspace } from "./workspace.js";

export class Agent implements PublicAgent {
  readonly id: string;
  readonly sessions: Sessions;
  readonly #setup: AgentSetup;
  readonly #keep_alive = new KeepAlive();
  readonly #listeners = new AgentListeners();
  /** By Workspace path; one entry for everything where the Agent has a storage of its own. */
  readonly #stores = new Map<string, AgentStore>();
  #ending: Promise<void> | undefined;

  constructor(options: AgentOptions) {
    this.#setup = agent_setup(options);
    this.id = this.#setup.id;
    // The native side judges the tools, which has to fail here and not with the first Session.
    this.#store(undefined);
    this.sessions = this.#sessions();
    Object.defineProperty(this, "id", { writable: false });
    Object.defineProperty(this, "sessions", { writable: false });
  }

  async interactions<T extends Interaction = SessionInteraction>(
    options?: PageOptions,
  ): Promise<Page<InteractionOfSession<T>>> {
    const { store, page } = this.#page_of("interactions", options);
    return (await store.pending(page)) as Page<InteractionOfSession<T>>;
  }

  subscribe(listener: MutationListener): Unsubscribe {
    accept_listener(listener, "subscribe");
    if (this.#ending !== undefined) throw closed(this.id);
    return this.#listeners.subscribe(listener);
  }

  dispose(): Promise<void> {
    return this.#end((session) => session.close());
  }

  detach(): Promise<void> {
    return this.#end((session) => session.detach());
  }

  unref(): this {
    this.#keep_alive.hold_for_turns(false);
    return this;
  }

  ref(): this {
    this.#keep_alive.hold_for_turns(true);
    return this;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.dispose();
  }

  #end(end: (session: Session) => Promise<void>): Promise<void> {
    this.#ending ??= this.#end_all(end).catch((error: unknown) => {
      // Some Session is still open: whoever tries again ends it.
      this.#ending = undefined;
      throw error;
    });
    return this.#ending;
  }

  async #end_all(end: (session: Session) => Promise<void>): Promise<void> {
    const opened = [...this.#stores.values()].flatMap((store) => store.opened());
    const ends = await Promise.allSettled(opened.map(end));
    const failed = ends.find((outcome) => outcome.status === "rejected");
    if (failed !== undefined) throw failed.reason;
    const stores = [...this.#stores.values()];
    this.#stores.clear();
    await Promise.all(stores.map((store) => store.end()));
  }

  #sessions(): Sessions {
    return Object.freeze({
      create: (options?: CreateSessionOptions) => this.#create(options),
      get: (session_id: string, options?: StoreOptions) => this.#get(session_id, options),
      list: (options?: PageOptions) => this.#list("sessions.list", false, options),
      archived: (options?: PageOptions) => this.#list("sessions.archived", true, options),
      archive: (session_id: string, options?: StoreOptions) => this.#change("archive", session_id, options),
      remove: (session_id: string, options?: StoreOptions) => this.#change("remove", session_id, options),
      claim: (options?: StoreOptions) => this.#claim(options),
    });
  }

  async #create(options: unknown): Promise<Session> {
    const keys = ["workspace", "session_id", "security", "metadata"];
    const given = accept_optional(options, "sessions.create", keys);
    const workspace = accept_workspace(given.workspace);
    const { session_id } = given;
    const fields = {
      session_id: session_id === undefined ? undefined : accept_id(session_id, "`session_id`"),
      metadata: accept_metadata(given.metadata),
      security: accept_security(given.security),
    };
    return this.#admit(await this.#store(workspace).create(fields, workspace));
  }

  async #get(session_id: unknown, options: unknown): Promise<Session> {
    const workspace = store_of(options, "sessions.get");
    const id = accept_id(session_id, "`session_id`");
    return this.#admit(await this.#store(workspace).get(id, workspace));
  }

  async #claim(options: unknown): Promise<Session[]> {
    const workspace = store_of(options, "sessions.claim");
    return Promise.all(
      (await this.#store(workspace).claim(workspace)).map((session) => this.#admit(session)),
    );
  }

  async #list(method: string, archived: boolean, options: unknown): Promise<Page<SessionItem>> {
    const { store, page } = this.#page_of(method, options);
    return store.list(archived, page);
  }

  #page_of(method: string, options: unknown): { store: AgentStore; page: PageRequest } {
    const given = accept_optional(options, method, ["workspace", "limit", "after"]);
    const limit = accept_count(given.limit, "limit");
    const after = accept_text(given.after, "after");
    return { store: this.#store(accept_workspace(given.workspace)), page: { limit, after } };
  }

  async #change(op: "archive" | "remove", session_id: unknown, options: unknown): Promise<void> {
    const workspace = store_of(options, `sessions.${op}`);
    await this.#store(workspace).change(op, accept_id(session_id, "`session_id`"));
  }

  /** The Agent may have ended while the Session was being opened. */
  async #admit(session: Session): Promise<Session> {
    if (this.#ending === undefined) return session;
    await session.detach();
    throw closed(this.id);
  }

  #store(workspace: Workspace | undefined): AgentStore {
    if (this.#ending !== undefined) throw closed(this.id);
    const { storage } = this.#setup;
    const key = storage === undefined ? (workspace?.path ?? "") : "own";
    const known = this.#stores.get(key);
    if (known !== undefined) return known;
    const store = new AgentStore(
      this.#setup,
      storage ?? default_storage(this.id, workspace),
      this.#keep_alive,
    );
    this.#listeners.add(store.feed);
    this.#stores.set(key, store);
    return store;
  }
}

function store_of(options: unknown, method: string): Workspace | undefined {
  return accept_workspace(accept_optional(options, method, ["workspace"]).workspace);
}

function closed(id: string): SessionError {
  return new SessionError("SESSION_CLOSED", `The Agent ${id} was disposed; make a new one to go on.`);
}
