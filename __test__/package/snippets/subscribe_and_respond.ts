// A subscriber draws the card of a pending Interaction, and the answer lets the tool go on.
import assert from "node:assert/strict";
import type { SessionInteraction } from "@downcity/agent";
import { open_session, spied } from "./support.js";

const { session, deleted } = await open_session();
const shown = spied<SessionInteraction>();
const render_interaction = shown.call;

const unsubscribe = session.subscribe((mutation) => {
  if (mutation.variant !== "part" || mutation.part.type !== "tool") return;
  const interaction = (mutation.part.interactions ?? []).find((item) => item.status === "pending");
  if (!interaction) return;

  render_interaction(interaction);
});

const turn = await session.prompt({ query: "Delete a.txt" });
const { interaction_id, payload } = await shown.first;
assert.deepEqual((payload as { validated_input: unknown }).validated_input, { path: "a.txt" });

await session.respond({
  interaction_id,
  response: {
    type: "approval",
    outcome: "resolved",
    payload: { decision: "approved" },
  },
});

assert.equal((await turn.finished).status, "completed");
assert.deepEqual(deleted, ["a.txt"]);
unsubscribe();
await session.close();
