/** Sessions that are looked at after every Mutation, and that go from one Agent to the next without an end. */
import {
  Agent,
  type AgentTool,
  type Mutation,
  type Part,
  type RespondInput,
  type Session,
  type SessionInteraction,
  with_approval,
} from "@downcity/agent";
import { assert_strict_prompt, ScriptedModel } from "@downcity/agent/testing";
import { expect, onTestFinished } from "vitest";
import { interactions_of, Observer } from "../support/fold.js";
import { answer, type Opened, type OpenOptions, open, type Script, tool } from "../support/session.js";
import type { Store } from "../support/stores.js";

/** A new Session. At each Mutation its status and its list of what is pending have to agree. */
export async function begin(store: Store, script: Script, options: OpenOptions = {}): Promise<Opened> {
  const opened = await open(store, script, options);
  look_after(opened);
  return opened;
}

/** This Agent lets go without ending anything, and another one on the same place opens the Session. */
export async function hand_over(
  { place, agent, session }: Pick<Opened, "place" | "agent" | "session">,
  script: Script,
  { specification, chunk_size, ...options }: OpenOptions = {},
): Promise<Opened> {
  await agent.detach();
  const model = new ScriptedModel(script, { specification, chunk_size });
  const next = new Agent({ id: "behaviour", model, storage: place.storage(), ...options });
  onTestFinished(() => next.dispose());
  const same = await next.sessions.get(session.id);
  const opened = { place, agent: next, model, session: same, observer: new Observer(same) };
  look_after(opened);
  return opened;
}

/** Of the Turn that goes on after a hand-over: what it came to. */
export async function end_of(session: Session) {
  return session.active_turn()?.finished;
}

function look_after({ session, model }: Opened): void {
  const faults: string[] = [];
  const looks: Promise<void>[] = [];
  session.subscribe((mutation) => void looks.push(look(session, mutation, faults)));
  onTestFinished(async () => {
    await Promise.all(looks);
    expect(faults).toEqual([]);
    for (const prompt of model.prompts) assert_strict_prompt(prompt, model.specificationVersion);
  });
}

/** What a snapshot says about itself, taken after the Mutation was delivered. */
async function look(session: Session, mutation: Mutation, faults: string[]): Promise<void> {
  if (mutation.variant === "session" && mutation.type === "closed") return;
  const looking = Promise.resolve().then(() => session.watch(() => {}));
  const watching = await looking.catch(() => undefined);
  if (watching === undefined) return;
  watching.unsubscribe();
  const { status, interactions, messages, revision_of_session: revision } = watching.snapshot;
  const fault = (what: string) => faults.push(`at ${mutation.revision_of_session}: ${what}`);
  if (revision < mutation.revision_of_session) fault(`the snapshot is of ${revision}`);
  if (status.state === "idle" && interactions.length > 0) fault(`idle with ${interactions.length} pending`);
  if ((status.state === "running") !== (status.active_turn_id !== undefined))
    fault("a state without its Turn");
  const parts = messages.flatMap((message) => message.parts as Part[]);
  const shown = parts.flatMap(interactions_of).filter((item) => item.status === "pending");
  const ids = (items: readonly { interaction_id: string }[]) =>
    JSON.stringify(items.map((item) => item.interaction_id).sort());
  if (ids(shown) !== ids(interactions))
    fault(`pending are ${ids(shown)} in Parts, ${ids(interactions)} listed`);
}

/** A tool behind a gate, with what it was run with. */
export function gated_tool(
  options: Partial<AgentTool> = {},
  gate_options?: Parameters<typeof with_approval<AgentTool>>[1],
) {
  const runs: unknown[] = [];
  const execute = (input: unknown) => {
    runs.push(input);
    return { did: input };
  };
  const plain = tool(execute, { description: "Does what it is told.", ...options });
  return { tool: with_approval(plain, gate_options), plain, runs };
}

/** The name a call was given by the model, of what is pending. */
export function of_call<Item extends { source: { tool_call_id?: string } }>(
  items: readonly Item[],
  tool_call_id: string,
): Item {
  const found = items.find(({ source }) => source.tool_call_id === tool_call_id);
  if (found === undefined) throw new Error(`Nothing is pending for the call ${tool_call_id}.`);
  return found;
}

/** The answer to the first, or only, question of an Interaction. */
export function answer_to(asked: SessionInteraction, value: string | string[]): RespondInput {
  const [question] = asked.type === "question" ? asked.payload.questions : [];
  return answer(asked.interaction_id, [{ question_id: question?.question_id ?? "", value }]);
}
