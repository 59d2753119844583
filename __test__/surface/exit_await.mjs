// Waits at its top for the prompt, not for the Turn. Run as a child by exit.spec.ts.
import { Agent, sqlite, with_approval } from "@downcity/agent";
import { next_interaction, ScriptedModel, spy_tool } from "@downcity/agent/testing";

const file = process.argv[3];
const tools = { act: with_approval(spy_tool()) };
const model = new ScriptedModel([[{ call: "act" }], "Done."]);
const agent = new Agent({ id: "exit", model, tools, storage: sqlite(file) });
const session = await agent.sessions.create({ session_id: "s" });
await session.prompt({ query: "x" });
await next_interaction(session);
agent.unref();
process.stdout.write("settled");
