/** The approval inbox in a real Chromium: a server of its own for each test, and pages that look at it. */
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { Agent, type AgentOptions, sqlite } from "@downcity/agent";
import { ScriptedModel } from "@downcity/agent/testing";
import { type Browser, chromium, type Page } from "playwright-core";
import { afterAll, onTestFinished } from "vitest";
import type { Script, Tools } from "../support/session.js";
import { temporary_folder } from "../support/stores.js";

/** `npm test` brings it and names it. */
export const chromium_path = [process.env.CHROMIUM, "/usr/bin/chromium"].find(
  (path) => path !== undefined && existsSync(path),
);

let started: Promise<Browser> | undefined;
afterAll(async () => (await started)?.close());

function browser(): Promise<Browser> {
  started ??= chromium.launch({ executablePath: chromium_path, args: ["--no-sandbox", "--disable-gpu"] });
  return started;
}

interface Served {
  tasks: { begin(task: string): Promise<{ id: string }> };
  url: string;
  port: number;
  /** As Ctrl-C stops it: nothing is ended. */
  close(): Promise<void>;
}

export interface Inbox extends Served {
  agent: Agent;
  /** Starts a server on the same folder and port, as `npm run inbox` does after a stop. */
  restart(script: Script): Promise<Inbox>;
}

const TOKEN = "0123456789_0123456789_0123456789_0123456789";

export async function inbox(
  script: Script,
  tools: Tools,
  folder = temporary_folder(),
  port = 0,
): Promise<Inbox> {
  const options: AgentOptions = { id: "inbox", model: new ScriptedModel(script), tools };
  const agent = new Agent({ ...options, storage: sqlite(join(folder, "sessions.db")) });
  const program = pathToFileURL(resolve("examples/approval-inbox/server.mjs")).href;
  const { serve_inbox } = (await import(program)) as { serve_inbox(options: object): Promise<Served> };
  const served = await serve_inbox({ agent, folder, token: TOKEN, port });
  let closed: Promise<void> | undefined;
  const close = () => {
    closed ??= served.close();
    return closed;
  };
  onTestFinished(close);
  const restart = async (next: Script) => {
    await close();
    return inbox(next, tools, folder, served.port);
  };
  return { agent, ...served, close, restart };
}

/** A page of a browser of its own, as another person has it. */
export async function new_page(url: string, problems: string[] = []): Promise<Page> {
  const context = await (await browser()).newContext({ viewport: { width: 1200, height: 800 } });
  onTestFinished(() => context.close());
  const page = await context.newPage();
  page.setDefaultTimeout(15_000);
  page.on("pageerror", (error) => void problems.push(error.message));
  await page.goto(url);
  return page;
}

/** The inbox in a tab. What goes wrong in the page is kept in `problems`. */
export async function tab(
  { url }: { url: string },
  problems: string[] = [],
  state: "connected" | "refused" = "connected",
): Promise<Page> {
  const page = await new_page(url, problems);
  await page.locator(`#connection[data-state=${state}]`).waitFor();
  return page;
}
