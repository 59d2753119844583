// A tool asks for permission inside its own execution, and decides itself what a denial means.
import assert from "node:assert/strict";
import { Agent } from "@downcity/agent";
import { next_interaction, ScriptedModel } from "@downcity/agent/testing";
import { define_agent_tool } from "@downcity/type";
import { z } from "zod";

const removed: string[] = [];
const remove_workspace_file = async (path: string) => void removed.push(path);
const model = new ScriptedModel([
  [{ call: "delete_file", input: { path: "kept.txt" } }],
  [{ call: "delete_file", input: { path: "gone.txt" } }],
  "Done.",
]);

const delete_file = define_agent_tool({
  description: "Delete a specified file from the workspace.",
  input_schema: z.object({
    path: z.string(),
  }),
  execute: async ({ path }, context) => {
    // The port waits for a person, or passes where the approval mode says so.
    const decision = await context.interactions.approval.request({
      turn_id: context.turn_id,
      tool_call_id: context.tool_call_id,
      tool_name: "delete_file",
      payload: { operation: "tool", validated_input: { path } },
    });
    if (!decision.approved) {
      return { success: false, error: "denied" };
    }
    await remove_workspace_file(path);
    return { deleted: path };
  },
});

const agent = new Agent({
  id: "repo-helper",
  model,
  tools: { delete_file },
});
const session = await agent.sessions.create();
const turn = await session.prompt({ query: "Clean up" });
for (const decision of ["denied", "approved"] as const) {
  const { interaction_id } = await next_interaction(session);
  await session.respond({
    interaction_id,
    response: { type: "approval", outcome: "resolved", payload: { decision } },
  });
}
assert.equal((await turn.finished).success, true);
assert.deepEqual(removed, ["gone.txt"]);
const parts = (await session.messages()).items.flatMap((message) => [...message.parts]);
assert.deepEqual(
  parts.flatMap((part) => (part.type === "tool" ? [part.output] : [])),
  [{ success: false, error: "denied" }, { deleted: "gone.txt" }],
);
await agent.dispose();
