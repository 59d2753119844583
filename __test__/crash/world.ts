/** One SQLite file, the processes that work with it and are killed one after the other, and what they told. */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Agent, type InteractionOfSession, type SessionItem, sqlite } from "@downcity/agent";
import { type Fact, type PromptMessage, read_facts } from "./facts.js";
import { SessionLedger } from "./session_ledger.js";

const PROGRAM = join(process.cwd(), "__test__", "crash", "child", "program.mjs");
/** A child that does not come by its named instant is killed after this. */
const PATIENCE_MS = 1_200;
/** Nothing that goes on takes longer: it has stalled. */
const STALLED_MS = 30_000;

/**
 * How a child is killed: `at <point>#<n>` at a named instant, `ms <n>` so long after it was ready, `boot <n>` so
 * long after it was started.
 */
export type Kill = string;

interface Ended {
  code: number | null;
  signal: NodeJS.Signals | null;
  errors: string;
}

export class World {
  readonly folder = mkdtempSync(join(tmpdir(), "downcity-crash-"));
  readonly faults: string[] = [];
  readonly hits: string[] = [];
  kills = 0;
  readonly #seed: number;
  readonly #sessions = new Map<string, SessionLedger>();
  #children = 0;

  constructor(seed: number) {
    this.#seed = seed;
  }

  /** Kills a child for each entry of the plan, then brings everything to its end. */
  async run(plan: readonly Kill[]): Promise<void> {
    for (const [at, kill] of plan.entries()) {
      await this.#one(kill);
      if (this.faults.length > 0) return;
      if (at % 3 === 1) await this.#look_from_outside();
    }
    await this.#finish();
    if (this.faults.length === 0) rmSync(this.folder, { recursive: true, force: true });
  }

  async #one(kill: Kill): Promise<void> {
    const [how, what = ""] = kill.split(" ");
    const { code, signal, errors } = await this.#child("work", how === "at" ? what : "", (child, ready) => {
      const ms = how === "at" ? PATIENCE_MS : Number(what);
      if (ready === (how !== "boot")) return setTimeout(() => child.kill("SIGKILL"), ms);
      return undefined;
    });
    if (signal === "SIGKILL") this.kills += 1;
    else this.faults.push(`a child ended by itself: ${code} ${signal}`);
    if (errors !== "") this.faults.push(`a child wrote: ${errors}`);
    this.#take();
  }

  async #finish(): Promise<void> {
    const { code, errors } = await this.#child("finish", "", (child, ready) =>
      ready ? undefined : setTimeout(() => child.kill("SIGKILL"), STALLED_MS),
    );
    const facts = this.#take();
    if (facts.at(-1)?.f !== "done") {
      const ended = facts.flatMap((fact) => (fact.f === "end" ? [fact.s] : []));
      const open = [...this.#sessions.keys()].filter((session_id) => !ended.includes(session_id));
      this.faults.push(`I12: stalled: ${open.join(", ")}`);
    }
    if (code !== 0) this.faults.push(`the last child ended with ${code}`);
    if (errors !== "") this.faults.push(`the last child wrote: ${errors}`);
  }

  /** Runs a child to its end. `arm` is called when it was started and when it is ready. */
  #child(
    mode: "work" | "finish",
    crash_at: string,
    arm: (child: ReturnType<typeof spawn>, ready: boolean) => NodeJS.Timeout | undefined,
  ): Promise<Ended> {
    const args = [PROGRAM, this.folder, String(this.#seed), String(this.#children), mode];
    const env = { ...process.env, CRASH_AT: crash_at };
    const child = spawn(process.execPath, args, { env, stdio: ["ignore", "pipe", "pipe"] });
    const timers = [arm(child, false)];
    let errors = "";
    child.stdout.on("data", () => timers.push(arm(child, true)));
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      errors += text;
    });
    return new Promise((resolve, reject) => {
      child.on("error", reject);
      child.on("close", (code, signal) => {
        for (const timer of timers) clearTimeout(timer);
        resolve({ code, signal, errors });
      });
    });
  }

  /** Takes what the child that just ended has told. */
  #take(): Fact[] {
    const number = this.#children;
    this.#children += 1;
    const facts = read_facts(this.folder, number);
    const prompts: PromptMessage[][] = [];
    for (const fact of facts) {
      if (fact.f === "hit") this.hits.push(fact.point);
      else if (fact.f === "fault") this.faults.push(`child ${number}: ${fact.what}`);
      else if (fact.f === "prompt") prompts.push(fact.prompt);
      else if (fact.f === "list") this.#check_list(fact.items);
      else if ("s" in fact) this.#session(fact.s).take(fact, number, prompts);
    }
    this.#collect();
    return facts;
  }

  #collect(): void {
    for (const [session_id, { faults }] of this.#sessions) {
      this.faults.push(...faults.splice(0).map((what) => `${session_id}, ${what}`));
    }
  }

  #session(session_id: string): SessionLedger {
    const known = this.#sessions.get(session_id) ?? new SessionLedger();
    this.#sessions.set(session_id, known);
    return known;
  }

  #check_list(items: readonly SessionItem[]): void {
    const listed = new Set(items.map(({ session_id }) => session_id));
    for (const [session_id, { created }] of this.#sessions) {
      if (created && !listed.has(session_id)) this.faults.push(`the Session ${session_id} is gone`);
    }
  }

  /** What a process without a model, which goes on with nothing, sees after the kill. */
  async #look_from_outside(): Promise<void> {
    const agent = new Agent({ id: "crash", storage: sqlite(`${this.folder}/sessions.db`) });
    const { items } = await agent.sessions.list({ limit: 200 });
    const pending = await all_pending(agent);
    for (const { session_id } of items) {
      const session = await agent.sessions.get(session_id);
      const { snapshot } = await session.watch(() => {});
      this.#session(session_id).left(snapshot);
    }
    await agent.detach();
    this.#check_list(items);
    const listed = new Set(pending.map(({ interaction_id }) => interaction_id));
    for (const { session_id, state, pending: count } of items) {
      const of_it = pending.filter((item) => item.session_id === session_id).length;
      if (of_it !== count) this.faults.push(`${session_id} counts ${count} pending and lists ${of_it}`);
      if (count > 0 && state === "idle") this.faults.push(`${session_id} is idle with something pending`);
    }
    for (const [session_id, ledger] of this.#sessions) {
      for (const { interaction_id } of ledger.survivors) {
        if (!listed.has(interaction_id)) this.faults.push(`${session_id}: ${interaction_id} is not listed`);
      }
      for (const id of ledger.answered.keys()) {
        if (listed.has(id)) this.faults.push(`I4: ${session_id}: the answered ${id} is pending`);
      }
    }
    this.#collect();
  }
}

async function all_pending(agent: Agent): Promise<InteractionOfSession[]> {
  const list: InteractionOfSession[] = [];
  let after: string | undefined;
  do {
    const page = await agent.interactions({ limit: 50, after });
    list.push(...page.items);
    after = page.next;
  } while (after !== undefined);
  return list;
}
