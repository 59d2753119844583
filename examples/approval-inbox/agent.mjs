// The agents behind the inbox: those of the demo, each task in a Session of its own.
import { randomUUID } from "node:crypto";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { Agent, sqlite } from "@downcity/agent";
import { Workspace } from "@downcity/city";
import { write_notes } from "../demo/files.mjs";
import { INSTRUCTION } from "../demo/main.mjs";
import { tools } from "../demo/tools.mjs";

/** An Agent on one SQLite file in the folder. `options` are the Agent's own. */
export function make_agent(folder, options) {
  mkdirSync(folder, { recursive: true });
  const storage = sqlite(join(folder, "sessions.db"));
  return new Agent({ id: "inbox", storage, tools, instruction: INSTRUCTION, ...options });
}

/** The Sessions of the Agent, each a task with a Workspace of its own below the folder. */
export class Tasks {
  #agent;
  #folder;

  constructor(agent, folder) {
    this.#agent = agent;
    this.#folder = folder;
  }

  /** Begins a task; gives its Session. */
  async begin(task) {
    const session_id = `task-${randomUUID()}`;
    const workspace = this.#workspace(session_id);
    write_notes(workspace.path);
    const session = await this.#agent.sessions.create({ session_id, workspace, metadata: { task } });
    await session.prompt({ query: task });
    return session;
  }

  /** An open Session is given again. */
  async open(session_id) {
    return this.#agent.sessions.get(session_id, { workspace: this.#workspace(session_id) });
  }

  /** Opens every Session that was left in the middle of a Turn, so that it goes on. */
  async resume() {
    let after;
    do {
      const { items, next } = await this.#agent.sessions.list({ after });
      for (const { session_id, state } of items) if (state === "running") await this.open(session_id);
      after = next;
    } while (after !== undefined);
  }

  #workspace(session_id) {
    const path = join(this.#folder, "notes", encodeURIComponent(session_id));
    mkdirSync(path, { recursive: true });
    return new Workspace({ id: "notes", path });
  }
}
