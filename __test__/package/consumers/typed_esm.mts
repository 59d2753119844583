import { Agent, type Mutation, type SessionInteraction } from "@downcity/agent";
import { ScriptedModel } from "@downcity/agent/testing";
import { AskQuestionsTool } from "@downcity/agent/tools";
import { Workspace } from "@downcity/city";
import { define_agent_tool, type ToolContext } from "@downcity/type";

const workspace: Workspace = new Workspace({ id: "w", path: "." });
const echo = define_agent_tool({
  input_schema: { type: "object" },
  execute: (input, context: ToolContext) => [input, context.workspace?.id],
});
const agent = new Agent({
  id: "typed",
  model: new ScriptedModel(["Hi."]),
  tools: { echo, ask: AskQuestionsTool },
});
const session = await agent.sessions.create();
const seen: Mutation[] = [];
session.subscribe((mutation) => seen.push(mutation));
await (await session.prompt({ query: "Hello" })).finished;
const pending: SessionInteraction[] = await session.interactions();
if (pending.length > 0 || seen.length === 0 || workspace.id !== "w") throw new Error("not as it should be");
await agent.dispose();
