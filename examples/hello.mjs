import { tmpdir } from "node:os";
import { join } from "node:path";
import { Agent, define_agent_tool, sqlite } from "@downcity/agent";
import { ScriptedModel } from "@downcity/agent/testing";
import { z } from "zod";

const deploy = define_agent_tool({
  description: "Deploy the site to a region.",
  input_schema: z.object({ region: z.enum(["eu", "us"]) }),
  execute: async ({ region }, { interactions }) => {
    const { approved } = await interactions.approval.request({ payload: { operation: "tool" } });
    return approved ? { deployed: region } : { error: "denied" };
  },
});

// A script stands in for the model here: put in a model of any @ai-sdk/* provider.
const model = new ScriptedModel([[{ call: "deploy", input: { region: "eu" } }], "The site is live."]);
const storage = sqlite(join(tmpdir(), "downcity-hello", "sessions.db"));
const agent = new Agent({ id: "hello", model, tools: { deploy }, storage });
const session = await agent.sessions.create();

session.subscribe(async (mutation) => {
  if (mutation.variant !== "part" || mutation.part.type !== "tool") return;
  const asked = mutation.part.interactions?.find((item) => item.status === "pending");
  if (!asked) return;
  console.log("May it call", asked.source.tool_name, "with", asked.payload.validated_input, "? Yes.");
  const response = { type: "approval", outcome: "resolved", payload: { decision: "approved" } };
  await session.respond({ interaction_id: asked.interaction_id, response });
});
const turn = await session.prompt({ query: "Deploy the site in Europe." });
console.log((await turn.finished).text);
await agent.dispose();
