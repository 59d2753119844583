import {
  Agent,
  type AgentOptions,
  type Mutation,
  memory,
  type RespondInput,
  type Session,
} from "@downcity/agent";
import { ScriptedModel } from "@downcity/agent/testing";

type Script = ConstructorParameters<typeof ScriptedModel>[0];

export interface Opened {
  agent: Agent;
  session: Session;
  model: ScriptedModel;
}

/** A new Session in memory whose model follows a script. */
export async function open_session(script: Script, options: Partial<AgentOptions> = {}): Promise<Opened> {
  const model = new ScriptedModel(script);
  const agent = new Agent({ id: "surface", model, storage: memory(), ...options });
  return { agent, model, session: await agent.sessions.create() };
}

/** A tool that asks for approval inside its execution and tells the decision. */
export const asking_tool = {
  input_schema: { type: "object" },
  execute: async (_: unknown, context: import("@downcity/agent").ToolContext) =>
    context.interactions.approval.request({ payload: { operation: "tool" } }),
};

export function approve(interaction_id: string): RespondInput {
  return {
    interaction_id,
    response: { type: "approval", outcome: "resolved", payload: { decision: "approved" } },
  };
}

/** Short names for what a Mutation reports. */
export function name_of(mutation: Mutation): string {
  return `${mutation.variant}/${mutation.type}`;
}
