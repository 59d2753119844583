import { Agent, SessionError } from "@downcity/agent";
import { ScriptedModel } from "@downcity/agent/testing";
import { AskQuestionsTool } from "@downcity/agent/tools";
import { Workspace } from "@downcity/city";
import { define_agent_tool } from "@downcity/type";

const tools = {
  ask: AskQuestionsTool,
  nothing: define_agent_tool({ input_schema: {}, execute: () => null }),
};
const agent: Agent = new Agent({ id: "typed", model: new ScriptedModel(["Hi."]), tools });

async function main(): Promise<void> {
  const session = await agent.sessions.create();
  const { finished } = await session.prompt({ query: "Hello" });
  if ((await finished).text !== "Hi.") throw new Error("not what the model said");
  try {
    new Workspace({ id: "w", path: "/this/is/no/folder" });
  } catch (error) {
    if (!(error instanceof SessionError)) throw error;
  }
  await agent.dispose();
}

void main();
