/**
 * What every provider is taken through: three calls at once of which one runs freely, one is approved and one denied;
 * a second pause in the same Turn; and, after the Session was opened anew, another user turn.
 */
import { Agent, type AgentOptions, type Session, with_approval } from "@downcity/agent";
import { next_interaction, spy_tool } from "@downcity/agent/testing";
import { expect, onTestFinished } from "vitest";
import type { Place, Store } from "./stores.js";

/** The calls of the first reply; the second calls `write` alone. */
export const CALLS = {
  read: { path: "a" },
  write: { z: 1, a: { path: "b" } },
  remove: { path: "c" },
  write_again: { z: 2 },
};
export const REASON = "use /tmp instead";
export const TEXTS = ["Let me look.", "", "Done \u{1f389}", "Yes."] as const;

function open(place: Place, model: AgentOptions["model"]) {
  const [read, write, remove] = [spy_tool({ execute: () => "content" }), spy_tool(), spy_tool()];
  const tools = { read, write: with_approval(write), remove: with_approval(remove) };
  const agent = new Agent({
    id: "journey",
    instruction: "Be brief.",
    storage: place.storage(),
    model,
    tools,
  });
  onTestFinished(() => agent.dispose());
  return { agent, runs: () => [read, write, remove].map(({ inputs }) => inputs.length) };
}

export async function ask(session: Session, query = "go") {
  return (await session.prompt({ query })).finished;
}

async function answer(session: Session, tool_name: string, decision: "approved" | "denied"): Promise<void> {
  const wanted = ({ source }: { source: { tool_name?: string } }) => source.tool_name === tool_name;
  const { interaction_id } = await next_interaction(session, wanted);
  const payload = decision === "denied" ? { decision, reason: REASON } : { decision };
  await session.respond({ interaction_id, response: { type: "approval", outcome: "resolved", payload } });
}

export async function journey(store: Store, model: AgentOptions["model"]): Promise<void> {
  const place = store.place();
  const { agent, runs } = open(place, model);
  const session = await agent.sessions.create();
  const running = ask(session);
  // Another order than that of the calls: the results still come in theirs.
  await answer(session, "remove", "denied");
  await answer(session, "write", "approved");
  await answer(session, "write", "approved");
  expect(await running).toMatchObject({ status: "completed", text: TEXTS[2] });
  expect(runs()).toEqual([1, 2, 0]);
  await agent.dispose();
  const later = open(place, model);
  const same = await later.agent.sessions.get(session.id);
  expect(await ask(same, "And now?")).toMatchObject({ status: "completed", text: TEXTS[3] });
  expect(later.runs()).toEqual([0, 0, 0]);
}

/** A Session with one free tool, for what is not the journey. */
export async function simple(model: AgentOptions["model"], store: Store, more: AgentOptions["tools"] = {}) {
  const spy = spy_tool();
  const tools = { spy, ...more };
  const agent = new Agent({ id: "simple", storage: store.place().storage(), model, tools });
  onTestFinished(() => agent.dispose());
  return { spy, session: await agent.sessions.create() };
}
