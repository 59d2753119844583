/** Agents beside each other on one SQLite file: in one process, in a worker thread, in a process of their own. */
import { fork } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import type { ScriptedModel } from "@downcity/agent/testing";
import { onTestFinished } from "vitest";
import { temporary_folder } from "./stores.js";

export type Where = "process" | "thread" | "agent";
export const EVERYWHERE: Where[] = ["process", "thread", "agent"];

export type Script = ConstructorParameters<typeof ScriptedModel>[0];
type Asked = { id: number; op: string; input?: object };
type Handlers = { make_handler(): (request: Omit<Asked, "id">) => Promise<Reply> };
type Reply = { value?: unknown; refused?: string; message?: string };

const PROGRAM = join(process.cwd(), "__test__/support/peer/program.cjs");

export class Peer {
  #last = 0;
  readonly #waiting = new Map<number, (reply: Reply) => void>();

  constructor(
    private readonly send: (message: Asked) => void,
    /** Its process, where it has one of its own. */
    readonly signal: (name: NodeJS.Signals) => void,
    /** Kills its process, and resolves when that is gone. */
    readonly end: () => Promise<void>,
  ) {}

  take({ id, ...reply }: Reply & { id: number }): void {
    this.#waiting.get(id)?.(reply);
    this.#waiting.delete(id);
  }

  ask<T = unknown>(op: string, input?: object): Promise<T> {
    return this.try(op, input).then((reply) => {
      if (reply.refused !== undefined) throw new Error(`${op}: ${reply.refused}: ${reply.message}`);
      return reply.value as T;
    });
  }

  /** Its reply, also where it is a refusal. */
  try(op: string, input?: object): Promise<Reply> {
    this.#last += 1;
    const id = this.#last;
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve);
      this.send({ id, op, input });
    });
  }
}

function start(where: Where): Peer {
  if (where === "process") {
    const child = fork(PROGRAM, { stdio: ["ignore", "inherit", "inherit", "ipc"] });
    const gone = new Promise<void>((resolve) => child.once("close", () => resolve()));
    const peer = new Peer(
      (message) => child.send(message),
      (name) => child.kill(name),
      () => {
        child.kill("SIGKILL");
        return gone;
      },
    );
    child.on("message", (message) => peer.take(message as never));
    onTestFinished(() => void child.kill("SIGKILL"));
    return peer;
  }
  const none = () => {
    throw new Error("only a process of its own takes signals");
  };
  if (where === "thread") {
    const worker = new Worker(PROGRAM);
    const peer = new Peer((message) => worker.postMessage(message), none, none);
    worker.on("message", (message) => peer.take(message));
    onTestFinished(() => void worker.terminate());
    return peer;
  }
  const { make_handler } = createRequire(PROGRAM)("./handler.cjs") as Handlers;
  const handle = make_handler();
  const answer = async ({ id, ...request }: Asked) => peer.take({ id, ...(await handle(request)) });
  const peer: Peer = new Peer((message) => void answer(message), none, none);
  onTestFinished(() => void handle({ op: "dispose" }));
  return peer;
}

/** One file and those who use it. */
export class Place {
  readonly file = join(temporary_folder(), "sessions.db");

  async peer(where: Where, script?: Script, lease_seconds?: number): Promise<Peer> {
    const peer = start(where);
    await peer.ask("agent", { file: this.file, script, lease_seconds });
    return peer;
  }

  /** The tools that were entered, in order. */
  entered(): string[] {
    const file = `${this.file}.entered`;
    return existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : [];
  }
}

export const GATED: Script = [[{ call: "gated", input: { path: "a" } }], "Done."];
/** Its tool asks by itself, and is entered again by whoever goes on. */
export const ASKING: Script = [[{ call: "asks", input: {} }], "Done."];

/** The Interaction that waits longest, once there is one. */
export async function pending(peer: Peer): Promise<string> {
  return until(async () => (await peer.ask<{ interaction_id: string }[]>("interactions"))[0]?.interaction_id);
}

/** An owner whose Turn waits for a person. */
export async function waiting_owner(where: Where, script: Script = GATED, lease_seconds?: number) {
  const place = new Place();
  const owner = await place.peer(where, script, lease_seconds);
  await owner.ask("create");
  await owner.ask("prompt", { query: "Go" });
  return { place, owner, interaction_id: await pending(owner) };
}

/** Waits until something holds; the test's own time limit ends it. */
export async function until<T>(look: () => Promise<T | undefined | false>): Promise<T> {
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== false) return found as T;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
