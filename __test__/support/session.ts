/** Sessions whose model follows a script, and short words for what people answer. */
import {
  Agent,
  type AgentOptions,
  type AgentTool,
  type ApprovalDecision,
  type CreateSessionOptions,
  type Mutation,
  type Part,
  type QuestionAnswer,
  type RespondInput,
  type Session,
  SessionError,
  type SessionInteraction,
  type ToolContext,
  type ToolPart,
  type TurnResult,
} from "@downcity/agent";
import { next_interaction, ScriptedModel } from "@downcity/agent/testing";
import { expect, onTestFinished } from "vitest";
import { all_messages, Observer } from "./fold.js";
import type { Place, Store } from "./stores.js";

export type Script = ConstructorParameters<typeof ScriptedModel>[0];
export type Tools = NonNullable<AgentOptions["tools"]>;

export interface OpenOptions extends Partial<AgentOptions> {
  session?: CreateSessionOptions;
  place?: Place;
  chunk_size?: number;
  specification?: "v2" | "v3" | "v4";
  /** Whether the observer's picture has to be whole at the end; it is by default. */
  observed?: boolean;
}

export interface Opened {
  place: Place;
  agent: Agent;
  session: Session;
  model: ScriptedModel;
  observer: Observer;
}

/** A new Session. At the end of the test all that its observer saw has to be all there is. */
export async function open(store: Store, script: Script, options: OpenOptions = {}): Promise<Opened> {
  const { session: session_options, place = store.place(), ...rest } = options;
  const made = make_agent(place, script, rest);
  const session = await made.agent.sessions.create(session_options);
  const observer = new Observer(session);
  onTestFinished(async () => {
    if (options.observed !== false && (await is_open(session))) await observer.agrees();
    await made.agent.dispose();
  });
  return { place, session, observer, ...made };
}

/** Another Agent on the same place, as a later process would have it. */
export async function reopen(
  { place, agent, session }: Opened,
  script: Script,
  options: OpenOptions = {},
): Promise<Opened> {
  await agent.dispose();
  const made = make_agent(place, script, options);
  onTestFinished(() => made.agent.dispose());
  const opened = await made.agent.sessions.get(session.id);
  return { place, session: opened, observer: new Observer(opened), ...made };
}

function make_agent(place: Place, script: Script, options: OpenOptions) {
  const { chunk_size, specification, observed: _, session: __, place: ___, ...rest } = options;
  const model = new ScriptedModel(script, { chunk_size, specification });
  return { model, agent: new Agent({ id: "behaviour", model, storage: place.storage(), ...rest }) };
}

async function is_open(session: Session): Promise<boolean> {
  return session.status().then(
    ({ state }) => state === "idle",
    () => false,
  );
}

export async function run(session: Session, query = "Go"): Promise<TurnResult> {
  return (await session.prompt({ query })).finished;
}

export function approve(interaction_id: string, more: object = {}): RespondInput {
  const payload = { decision: "approved" as const, ...more };
  return { interaction_id, response: { type: "approval", outcome: "resolved", payload } };
}

export function deny(interaction_id: string, reason?: string): RespondInput {
  const response = { type: "approval", outcome: "denied", ...(reason === undefined ? {} : { reason }) };
  return { interaction_id, response: response as RespondInput["response"] };
}

export function answer(interaction_id: string, answers: QuestionAnswer[]): RespondInput {
  return { interaction_id, response: { type: "question", outcome: "resolved", payload: { answers } } };
}

/** Waits for something that is pending and answers it. */
export async function answer_next(session: Session, input: (id: string) => RespondInput = approve) {
  const { interaction_id } = await next_interaction(session);
  return session.respond(input(interaction_id));
}

/** Waits until so many Interactions are pending at once. */
export async function pending_of(session: Session, count: number): Promise<SessionInteraction[]> {
  await until(session, async () => (await session.interactions()).length >= count);
  return session.interactions();
}

/** Waits until something holds; looked at now and after each Mutation. */
export function until(session: Session, holds: (mutation?: Mutation) => boolean | Promise<boolean>) {
  return new Promise<void>((resolve, reject) => {
    const look = (mutation?: Mutation) =>
      Promise.resolve(holds(mutation)).then((yes) => {
        if (!yes) return;
        unsubscribe();
        resolve();
      }, reject);
    const unsubscribe = session.subscribe(look);
    void look();
  });
}

/** A tool that asks for approval inside its execution; its runs are what was approved. */
export function asking_tool(options: Partial<AgentTool> = {}) {
  const runs: unknown[] = [];
  const decisions: ApprovalDecision[] = [];
  const tool: AgentTool = {
    description: "Acts when it may.",
    input_schema: { type: "object" },
    execute: async (input: unknown, context: ToolContext) => {
      const decision = await context.interactions.approval.request({ payload: { operation: "tool" } });
      decisions.push(decision);
      if (!decision.approved) return { success: false, error: "denied", reason: decision.reason ?? null };
      runs.push(input);
      return { success: true };
    },
    ...options,
  };
  return { tool, runs, decisions };
}

/** Any tool of one function. */
export function tool(execute: AgentTool["execute"], options: Partial<AgentTool> = {}): AgentTool {
  return { input_schema: { type: "object" }, execute, ...options };
}

export async function parts_of(session: Session): Promise<Part[]> {
  return (await all_messages(session)).flatMap(({ parts }) => parts as Part[]);
}

export async function calls_of(session: Session): Promise<ToolPart[]> {
  return (await parts_of(session)).filter((part) => part.type === "tool");
}

/** The results of calls in the last prompt the model was given: by call id, in order. */
export function results_in(prompt: readonly { role: string; content: unknown }[] | undefined) {
  const messages = (prompt ?? []).filter(({ role }) => role === "tool");
  type Result = {
    toolCallId: string;
    toolName: string;
    output: { type: string; value?: unknown; reason?: string };
  };
  return messages.flatMap(({ content }) => content as Result[]);
}

/** What a rejected call was refused with. */
export async function refusal_of(work: PromiseLike<unknown> | (() => unknown)): Promise<SessionError> {
  try {
    await (typeof work === "function" ? work() : work);
  } catch (error) {
    expect(error).toBeInstanceOf(SessionError);
    expect(error).toBeInstanceOf(Error);
    return error as SessionError;
  }
  throw new Error("This was not refused.");
}

/** The same numbers each time: a test that fails can be run again. */
export function random_numbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
