// One answer for each question; a select question is answered with values.
import assert from "node:assert/strict";
import { next_interaction } from "@downcity/agent/testing";
import { open_session } from "./support.js";

const { session, model } = await open_session({ calls: ["ask_region_and_features"] });
const turn = await session.prompt({ query: "Set it up" });
const { interaction_id } = await next_interaction(session);

await session.respond({
  interaction_id,
  response: {
    type: "question",
    outcome: "resolved",
    payload: {
      answers: [
        { question_id: "region", value: "cn" },
        { question_id: "features", value: ["search", "files"] },
      ],
    },
  },
});

assert.equal((await turn.finished).success, true);
assert.match(JSON.stringify(model.prompts.at(-1)), /"value":\["search","files"\]/);
await session.close();
