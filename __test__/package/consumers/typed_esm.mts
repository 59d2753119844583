import { Agent, type Mutation, type SessionInteraction } from "@downcity/agent";
import {
  to_ui_message_stream,
  to_ui_messages,
  to_ui_response,
  type UiMessageChunk,
} from "@downcity/agent/ai-sdk";
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
const turn = await session.prompt({ query: "Hello" });
const chunks: UiMessageChunk[] = [];
for await (const chunk of to_ui_message_stream(session, { turn })) chunks.push(chunk);
await turn.finished;
const [, shown] = to_ui_messages((await session.messages()).items);
if (chunks.at(-1)?.type !== "finish" || shown?.parts.at(-1)?.type !== "text")
  throw new Error("not as it should be");
if (to_ui_response(session).status !== 204) throw new Error("nothing runs");
const pending: SessionInteraction[] = await session.interactions();
if (pending.length > 0 || seen.length === 0 || workspace.id !== "w") throw new Error("not as it should be");
await agent.dispose();
