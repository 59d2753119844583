// The agents behind the inbox: the one of the demo, with tools that outlive a restart of the server.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { Agent, sqlite } from "@downcity/agent";
import { Workspace } from "@downcity/city";
import { write_notes } from "../demo/files.mjs";
import { INSTRUCTION } from "../demo/story.mjs";
import { tools as demo_tools } from "../demo/tools.mjs";

/** It does nothing before it asks, so it may be entered again: an approval outlives the server. */
const tools = { ...demo_tools, delete_file: { ...demo_tools.delete_file, resume: "replay" } };

/** An Agent on one SQLite file in the folder, and the Workspaces of its Sessions beside it. */
export function make_agent({ folder, model, ...options }) {
  mkdirSync(folder, { recursive: true });
  const storage = sqlite(join(folder, "sessions.db"));
  return new Agent({ id: "inbox", model, storage, tools, instruction: INSTRUCTION, ...options });
}

/** The Sessions of an Agent, each with a Workspace of its own. */
export class Desk {
  #agent;
  #folder;

  constructor(agent, folder) {
    this.#agent = agent;
    this.#folder = folder;
  }

  /** Begins a task in a new Session. */
  async begin(task) {
    const { items } = await this.#agent.sessions.list({ limit: 1 });
    const session_id = `task-${Date.now().toString(36)}-${items.length === 0 ? "first" : random()}`;
    const workspace = this.#workspace(session_id);
    write_notes(workspace.path);
    const metadata = { task };
    const session = await this.#agent.sessions.create({ session_id, workspace, metadata });
    await session.prompt({ query: task });
    return session;
  }

  open(session_id) {
    return this.#agent.sessions.get(session_id, { workspace: this.#workspace(session_id) });
  }

  /** Opens what was left with a Turn, so that it goes on without anybody looking at it. */
  async resume() {
    let after;
    do {
      const page = await this.#agent.sessions.list({ after });
      for (const { session_id, state } of page.items) if (state === "running") await this.open(session_id);
      after = page.next;
    } while (after !== undefined);
  }

  #workspace(session_id) {
    // An id of a Session is never a path: it has no slash.
    const path = join(this.#folder, "notes", session_id);
    mkdirSync(path, { recursive: true });
    return new Workspace({ id: session_id, path });
  }
}

function random() {
  return Math.random().toString(36).slice(2, 8);
}
