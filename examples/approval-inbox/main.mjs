// The approval inbox: agents at work, and a page where a person answers what they ask.
import { resolve } from "node:path";
import { model_of, TASK } from "../demo/main.mjs";
import { make_agent } from "./agent.mjs";
import { token_in } from "./guard.mjs";
import { serve_inbox } from "./server.mjs";

/** Serves until Ctrl-C. */
export async function main({ folder: given, port, endpoint }) {
  const folder = resolve(given);
  const agent = make_agent(folder, { model: await model_of({ endpoint }) });
  const { url, tasks, close } = await serve_inbox({ agent, folder, token: token_in(folder), port });
  const { items } = await agent.sessions.list({ limit: 1 });
  if (items.length === 0) await tasks.begin(TASK);
  const { items: pending, next } = await agent.interactions({ limit: 100 });
  const waiting = `${pending.length}${next === undefined ? "" : " or more"}`;
  process.stdout.write(`The inbox is at   ${url}\n`);
  process.stdout.write(`All is kept in    ${folder}\n`);
  process.stdout.write(`Waiting for you   ${waiting}\n`);
  process.stdout.write("Ctrl-C stops the server. Nothing is lost: start it again, and it all goes on.\n");
  await new Promise((stop) => {
    for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, stop);
  });
  await close();
  process.stdout.write("\nStopped. What waits for you still waits.\n");
}
