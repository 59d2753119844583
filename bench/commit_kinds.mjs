/**
 * What each kind of commit costs: the milliseconds from what brings it about to what only happens after it, and on
 * SQLite the pages it adds to the write-ahead log. One Session after another, so that no commit shares its sync.
 */
import { openSync, readSync } from "node:fs";
import { Agent } from "@downcity/agent";
import { quantile } from "./quantile.mjs";
import { approved, asking_tool, instant_model, on_pending, turn_parts } from "./unit_of_work.mjs";

const ROUNDS = 300;
const WARM_UP = 50;
/** Where the header of SQLite's WAL index (the `-shm` file, walformat.html) says how many pages the log holds. */
const PAGES_IN_LOG = 16;

/** How long it took from one moment to another, and how many pages the log had got, by kind. */
class Meter {
  #path;
  #index;
  #kinds = new Map();

  /** `path` is the database file, where there is one. */
  constructor(path) {
    this.#path = path;
  }

  /** Gives what ends it: all that was written meanwhile counts for its kind. */
  begin(kind) {
    const pages = this.#pages();
    const began = performance.now();
    return () => {
      const entry = { ms: performance.now() - began, pages: this.#pages() - pages };
      if (!this.#kinds.has(kind)) this.#kinds.set(kind, []);
      this.#kinds.get(kind).push(entry);
    };
  }

  async measure(kind, work) {
    const end = this.begin(kind);
    const value = await work();
    end();
    return value;
  }

  forget() {
    this.#kinds.clear();
  }

  figures() {
    const figures = {};
    for (const [kind, entries] of this.#kinds) {
      const median = (name) =>
        quantile(
          entries.map((entry) => entry[name]),
          0.5,
        );
      figures[`${kind}_ms`] = median("ms");
      if (this.#path !== undefined) figures[`${kind}_pages`] = median("pages");
    }
    return figures;
  }

  #pages() {
    if (this.#path === undefined) return 0;
    // Never closed: that would end the locks this process holds on it.
    this.#index ??= openSync(`${this.#path}-shm`);
    const number = new Uint32Array(1);
    readSync(this.#index, number, 0, 4, PAGES_IN_LOG);
    return number[0];
  }
}

/** An Agent whose model and tool say how far its Turn has come: what is under way ends, the next kind begins. */
function metered_agent(storage, next) {
  const model = instant_model((prompt) => {
    next(prompt.at(-1).role === "tool" ? "end" : "call");
    return turn_parts(prompt);
  });
  const remove = asking_tool({ entered: () => next("pause"), answered: () => next("result") });
  return new Agent({ id: "bench", model, tools: { remove }, storage });
}

/** `path` is the database file, where there is one. */
export async function commit_kinds(storage, path) {
  const meter = new Meter(path);
  let end;
  const next = (kind) => {
    end?.();
    end = kind && meter.begin(kind);
  };
  const agent = metered_agent(storage, next);
  // Makes the file.
  await agent.sessions.list();
  for (let count = 0; count < WARM_UP + ROUNDS; count += 1) {
    if (count === WARM_UP) meter.forget();
    await a_whole_turn(agent, meter, next);
    await a_stopped_turn(agent, meter, next);
  }
  return meter.figures();
}

async function a_whole_turn(agent, meter, next) {
  const session = await meter.measure("create", () => agent.sessions.create());
  const { turn, interaction_id } = await paused_turn(session, next);
  next("respond");
  await session.respond({ interaction_id, response: approved });
  await turn.finished;
  next();
  await session.close();
}

async function a_stopped_turn(agent, meter, next) {
  const session = await agent.sessions.create();
  const mode = (approval_mode) => session.set({ security: { approval_mode } });
  await meter.measure("set", () => mode("always-allow"));
  await mode("ask");
  await paused_turn(session, next);
  await meter.measure("queue", () => session.prompt({ query: "And then?" }));
  await meter.measure("stop", () => session.stop());
  await session.close();
}

async function paused_turn(session, next) {
  const asked = on_pending(session)();
  next("prompt");
  const turn = await session.prompt({ query: "Delete temp.txt" });
  const { interaction_id } = await asked;
  next();
  return { turn, interaction_id };
}
