// The approval mode of a Session: configured at once, in force from the next checkpoint on.
import assert from "node:assert/strict";
import { open_session } from "./support.js";

const { session, deleted } = await open_session();
const current = await session.status();
assert.equal(current.security.approval_mode, "ask");

await session.set({
  security: {
    approval_mode: "always-allow",
  },
});

const waiting = await session.status();
assert.deepEqual(waiting.security, { approval_mode: "always-allow", effective_approval_mode: "ask" });
const turn = await session.prompt({ query: "Delete a.txt" });
assert.equal((await turn.finished).success, true);
assert.deepEqual(deleted, ["a.txt"]);
assert.equal((await session.status()).security.effective_approval_mode, "always-allow");

const parts = (await session.messages()).items.flatMap((message) => [...message.parts]);
const actions = parts.filter((part) => part.type === "action");
assert.deepEqual(
  actions.map((action) => [action.title, action.description]),
  [["Session configuration updated", "security.approval_mode: always-allow"]],
);
await session.close();
