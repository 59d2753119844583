import type {
  Interaction,
  Page,
  Session as PublicSession,
  SecurityOptions,
  SessionItem,
  Storage,
} from "../index.js";
import type { AgentSetup } from "./agent-setup.js";
import { Bridge } from "./bridge.js";
import { SessionError } from "./errors.js";
import type { KeepAlive } from "./keep-alive.js";
import { Session } from "./session.js";
import { SessionPort } from "./session-port.js";
import { SessionWorker } from "./session-worker.js";
import { native_store } from "./storage.js";
import { StoreFeed } from "./store-feed.js";
import type { Workspace } from "./workspace.js";

interface Opened {
  session: number;
  session_id: string;
  turn_id?: string;
}

export interface CreateFields {
  session_id?: string;
  metadata?: unknown;
  security?: SecurityOptions;
}

export interface PageRequest {
  limit?: number;
  after?: string;
}

/** An Agent's Sessions in one store. */
export class AgentStore {
  readonly #setup: AgentSetup;
  readonly #keep_alive: KeepAlive;
  readonly feed: StoreFeed;
  readonly #bridge: Bridge;
  readonly #open = new Map<number, Session>();
  /** Handles that were just given up; the native side never uses a number again. */
  readonly #gone = new Set<number>();
  /** Sessions on their way out: whoever opens one meanwhile waits until it has gone. */
  readonly #leaving = new Map<string, Promise<unknown>>();

  constructor(setup: AgentSetup, storage: Storage, keep_alive: KeepAlive) {
    this.#setup = setup;
    this.#keep_alive = keep_alive;
    this.#bridge = new Bridge(native_store(storage), setup.settings_json, keep_alive);
    this.feed = new StoreFeed(this.#bridge, `Agent ${setup.id}`);
  }

  create(fields: CreateFields, workspace: Workspace | undefined): Promise<PublicSession> {
    return this.#bridge.call({ op: "create", ...fields }, (opened: Opened) => this.#admit(opened, workspace));
  }

  async get(session_id: string, workspace?: Workspace): Promise<PublicSession> {
    for (;;) {
      await this.#leaving.get(session_id);
      const open = this.#bridge.call({ op: "open", session_id }, (opened: Opened) =>
        this.#gone.has(opened.session) ? undefined : this.#admit(opened, workspace),
      );
      const session = await open.catch((error: unknown) => this.#closed_meanwhile(error));
      if (session !== undefined) return session;
      // It was closed between the question and the answer: asked again, a new handle is opened.
    }
  }

  async list(archived: boolean, page: PageRequest): Promise<Page<SessionItem>> {
    await this.feed.begun();
    return this.#bridge.call({ op: "list", archived, ...page });
  }

  /** Takes over every Session that nobody goes on with. */
  async claim(workspace: Workspace | undefined): Promise<PublicSession[]> {
    const ids: string[] = await this.#bridge.call({ op: "claim" });
    return Promise.all(ids.map((id) => this.get(id, workspace)));
  }

  /** What is pending in any Session, open or not, oldest first. */
  async pending(page: PageRequest): Promise<Page<Interaction>> {
    await this.feed.begun();
    return this.#bridge.call({ op: "pending", ...page });
  }

  async change(op: "archive" | "remove", session_id: string): Promise<void> {
    await this.#leaving.get(session_id);
    await this.#bridge.call({ op, session_id });
  }

  /** The Agent has ended, and no Session is open any more. */
  end(): Promise<void> {
    this.feed.end();
    return this.#bridge.end();
  }

  /** Every Session that is open. */
  opened(): Session[] {
    return [...this.#open.values()];
  }

  /** Opening an open Session gives its handle again, and so the same object. */
  #admit(opened: Opened, workspace: Workspace | undefined): Session {
    const known = this.#open.get(opened.session);
    if (known !== undefined) return known;
    const worker_for = (port: SessionPort) => new SessionWorker(port, this.#setup, workspace ?? null);
    const { session: handle, session_id } = opened;
    const port = new SessionPort(this.#bridge, handle, session_id, this.#keep_alive, worker_for);
    const session = new Session(port, this.#setup.models, {
      leaving: (gone) => this.#leave(session_id, gone),
      closed: () => {
        this.#open.delete(handle);
        this.#gone.add(handle);
        // What still names it is in the queue that is being dispatched.
        setImmediate(() => this.#gone.delete(handle));
      },
    });
    this.#bridge.attach(handle, port);
    this.#open.set(handle, session);
    if (opened.turn_id !== undefined) port.turns.seen(opened.turn_id);
    return session;
  }

  #closed_meanwhile(error: unknown): undefined {
    if (error instanceof SessionError && error.code === "SESSION_CLOSED" && !this.#bridge.ended)
      return undefined;
    throw error;
  }

  #leave(session_id: string, gone: Promise<unknown>): void {
    const settled = gone
      .catch(() => {})
      .then(() => {
        if (this.#leaving.get(session_id) === settled) this.#leaving.delete(session_id);
      });
    this.#leaving.set(session_id, settled);
  }
}
